#include "codetta/providers/generated.h"

#include <fmt/format.h>

#include "codetta/kernels/template.h"

namespace codetta::providers {

namespace {

Offers offers(const Request& request) {
    const kernels::BuildContext context{request.target, request.hints, request.threads};
    Offers result;
    for (const kernels::Template& t : kernels::list()) {
        const base::Verdict verdict = t.match(*request.problem, context);
        if (!verdict) {
            result.reasons.push_back(fmt::format("{}: {}", t.name, verdict.reason()));
            continue;
        }
        result.names.push_back(t.name);
        result.candidates.push_back([t, context, problem = request.problem] {
            kernels::Candidate built = t.build(*problem, context);
            return Candidate{"generated", t.name, std::move(built.variants), built.estimate_us};
        });
    }
    return result;
}

} // namespace

Provider generated() {
    return {"generated", [](const base::Target&) { return base::Verdict::yes(); }, offers};
}

} // namespace codetta::providers
