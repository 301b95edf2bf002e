// A kernel template: recognises Problems by their structure and writes tile programs for them.
#pragma once

#include <functional>
#include <string>

#include "codetta/base/target.h"
#include "codetta/base/verdict.h"
#include "codetta/kernels/kernel.h"

namespace codetta::kernels {

// What every build sees besides the Problem.
struct BuildContext {
  const base::Target* target = nullptr;
  sym::Bindings hints;  // likely values of size symbols (tile sizes may be chosen by them, correctness may not depend on them)
  int threads = 1;
};

struct Template {
  std::string name;     // `gemm`, `nest`, `attention`, `reference`
  std::string summary;
  std::function<base::Verdict(const problem::Problem&, const BuildContext&)> match;   // no: the reason as a sentence
  std::function<Candidate(const problem::Problem&, const BuildContext&)> build;       // @pre match
};

// kernels/list.cpp: every template, most special first; `reference` is last and matches any Problem.
std::vector<Template> list();

}  // namespace codetta::kernels
