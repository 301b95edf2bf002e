// The waist of the compiler: what one region computes, as a loop nest with stages. It knows no graph and no machine.
//
//   problem linear_gelu(m: 1.., n = 3072, k = 768)
//     x: bf16[m, k] in   w: bf16[n, k] in frozen   b: bf16[n] in   out: bf16[m, n] out
//     acc: f32[m, n] = sum(k) f32(x[m, k]) * f32(w[n, k])
//     y: bf16[m, n] = bf16(gelu(acc[m, n] + f32(b[n]))) -> out[m, n]
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codetta/base/id.h"
#include "codetta/scalar/combiner.h"
#include "codetta/scalar/function.h"
#include "codetta/sym/facts.h"

namespace codetta::problem {

using AxisId = base::Id<struct AxisTag>;
using OperandId = base::Id<struct OperandTag>;
using StageId = base::Id<struct StageTag>;

// A loop: its index runs over 0 <= name < extent. Extents speak of size symbols only. Axis names are unique and never name a size symbol.
struct Axis {
  std::string name;
  sym::Expr extent;
  friend bool operator==(const Axis&, const Axis&) = default;
};

enum class Role : uint8_t { in, out, inout };

// A strided array in memory: element [c0, c1, ...] lies at data + sum ci * strides[i] elements.
struct Operand {
  std::string name;
  scalar::DType dtype = scalar::DType::f32;
  std::vector<sym::Expr> shape, strides;  // of size symbols; strides in elements, 0 = broadcast
  Role role = Role::in;
  bool frozen = false;                    // same contents at every call: may be packed once
  std::optional<OperandId> aliases;       // an `out` that is the same memory as this (in-place); reads of the alias see old values until written
  friend bool operator==(const Operand&, const Operand&) = default;
};

// A coordinate that comes from data must lie in [lo, hi) or the kernel reports an index error (torch: IndexError) and reads nothing.
struct Check {
  uint32_t coordinate = 0;  // of Access::coordinates
  sym::Expr lo, hi;
  friend bool operator==(const Check&, const Check&) = default;
};

// Where an element lies: one expression per dimension of the operand (or per axis of the stage read), over axis names, size symbols, and `$i` = the
// integer value of reads[i] of the same stage (i smaller than this read: gathers). Outside the guard (a conjunction) nothing is touched: a read gives `fill`, a write does nothing.
struct Access {
  std::vector<sym::Expr> coordinates;
  std::vector<sym::Condition> guard;
  double fill = 0;
  std::vector<Check> checks;
  friend bool operator==(const Access&, const Access&) = default;
};

struct Read {
  enum class From : uint8_t { operand, stage, index };  // index: the value of `expression` itself as i64 (iota, masks, extents)
  From from = From::operand;
  uint32_t source = 0;       // operand or (earlier) stage
  Access access;             // a stage is read at coordinates of its own axes, in its order
  sym::Expr expression;      // index only
  friend bool operator==(const Read&, const Read&) = default;
};

struct Write {
  OperandId operand;
  Access access;             // over the stage's axes and `$i`
  bool accumulate = false;   // add to what is there, duplicates in index order
  friend bool operator==(const Write&, const Write&) = default;
};

// value[axes] = body(reads)                                 no combiner
// value[axes] = finish(combine over reduce of lift(body))   combiner and reduce: a reduction; axes exclude reduce
// value[axes] = finish(combine of lift(body) up to index)   combiner and scan: an inclusive scan along `scan`, which is one of axes
struct Stage {
  std::string name;
  std::vector<AxisId> axes;      // the domain, outermost first
  std::vector<AxisId> reduce;    // row-major order fixes the position that lift sees
  std::optional<AxisId> scan;
  std::vector<Read> reads;       // parameter i of body is reads[i], in the operand's or stage's dtype (index: i64)
  scalar::Function body;
  std::optional<scalar::Combiner> combiner;
  std::vector<Write> writes;
  scalar::DType dtype() const { return combiner ? combiner->finish.result_type() : body.result_type(); }
  friend bool operator==(const Stage&, const Stage&) = default;
};

// A value; stages are in SSA order. Everything a later step needs to compile it is in here.
struct Problem {
  std::string name;
  sym::Facts facts;              // of the size symbols
  std::vector<Axis> axes;
  std::vector<Operand> operands;
  std::vector<Stage> stages;

  const Axis& axis(AxisId a) const { return axes[a.value]; }
  const Operand& operand(OperandId o) const { return operands[o.value]; }
  const Stage& stage(StageId s) const { return stages[s.value]; }
  std::vector<std::string> size_symbols() const;  // sorted, those that occur
  friend bool operator==(const Problem&, const Problem&) = default;
};

// @post parse_problem(to_string(p)) == p
std::string to_string(const Problem& p);
Problem parse_problem(std::string_view text);  // UserError "line L, column C: ..."
// Every id in range, SSA order, dtypes of reads and body agree, coordinates have the right count and known symbols, each `out` is written. InternalError naming stage and operand.
void verify(const Problem& p);
// A key equal for problems that differ only in names of axes, operands, stages and the problem (sizes keep facts).
std::string canonical_key(const Problem& p);

}  // namespace codetta::problem
