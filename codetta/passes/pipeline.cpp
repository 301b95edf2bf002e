#include "codetta/passes/pipeline.h"

#include "codetta/base/error.h"
#include "codetta/base/nearest_name.h"
#include "codetta/passes/attention_pattern.h"
#include "codetta/passes/causal_mask.h"
#include "codetta/passes/common_subexpressions.h"
#include "codetta/passes/convolution_product.h"
#include "codetta/passes/dead_code.h"
#include "codetta/passes/decompose.h"
#include "codetta/passes/fold_constants.h"
#include "codetta/passes/grouped_heads.h"
#include "codetta/passes/in_place.h"
#include "codetta/passes/simplify.h"

#include <fmt/format.h>

namespace codetta::passes {

std::span<const Pass> pipeline() {
    static constexpr Pass passes[] = {
        {"decompose", "ops written in terms of others become those", decompose},
        {"dead_code", "nodes whose results nobody gets go away", dead_code},
        {"convolution_product", "convolutions become products of windows and weights", convolution_product},
        {"simplify", "view chains, undone casts and neutral operands go away", simplify},
        {"common_subexpressions", "equal nodes become one", common_subexpressions},
        {"in_place", "updates of an input that end in a copy into it write its memory", in_place},
        {"attention_pattern", "softmax(q k^T scale + mask) v becomes attention", attention_pattern},
        {"simplify", "views that the pattern has left", simplify},
        {"grouped_heads", "repeated keys and values are given to attention unrepeated", grouped_heads},
        {"causal_mask", "an attention mask that is a lower triangle becomes the causal flag", causal_mask},
        {"dead_code", "a causal mask needs no computing", dead_code},
        {"fold_constants", "what depends on no input is computed once", fold_constants},
        {"causal_mask", "and by its data", causal_mask},
        {"dead_code", "what only a mask needed goes away", dead_code},
        {"simplify", "what folding has made plain", simplify},
        {"common_subexpressions", "equal nodes become one", common_subexpressions},
        {"dead_code", "nodes whose results nobody gets go away", dead_code},
    };
    return passes;
}

const Pass& find_pass(std::string_view name) {
    std::vector<std::string_view> known;
    for (const Pass& p : pipeline()) {
        if (p.name == name) return p;
        known.push_back(p.name);
    }
    throw base::UserError(fmt::format("there is no pass '{}'{}", name, base::did_you_mean(name, known)));
}

graph::Graph run_passes(graph::Graph g, const graph::OpSet& ops, const base::Options& options) {
    for (const Pass& p : pipeline()) {
        g = p.run(std::move(g), ops, options);
        try {
            graph::verify(g, ops);
        } catch (const std::exception& e) {
            throw base::InternalError(fmt::format("pass '{}' broke the graph: {}\n{}", p.name, e.what(), graph::to_string(g)));
        }
    }
    return g;
}

} // namespace codetta::passes
