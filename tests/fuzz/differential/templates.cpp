#include "codetta/base/error.h"
#include "tests/fuzz/differential/random_graph.h"

namespace codetta::test {

namespace {

using scalar::DType;

std::vector<DType> operand_dtypes(const ops::Sample& s) {
    std::vector<DType> dtypes;
    for (const auto& v : s.graph.nodes[0].inputs)
        if (v) dtypes.push_back(s.graph.type(*v).dtype);
    return dtypes;
}

bool is_legal(const graph::OpSet& ops, const ops::Sample& s, const std::vector<DType>& dtypes) {
    const graph::Node& node = s.graph.nodes[0];
    graph::GraphBuilder trial(ops, {});
    std::vector<std::optional<graph::ValueId>> inputs;
    size_t next = 0;
    try {
        for (const auto& v : node.inputs) {
            inputs.emplace_back();
            if (!v) continue;
            inputs.back() = trial.input("x" + std::to_string(next), graph::contiguous(dtypes[next], s.graph.type(*v).shape));
            ++next;
        }
        trial.add(node.op, inputs, node.attributes);
        if (ops.get(node.op).lower) (void)ops.lower(trial.graph(), trial.graph().nodes.back());
    } catch (const base::UserError&) {
        return false;
    }
    return true;
}

// The sample's dtypes with the first operand in `t`: all operands of its dtype with it, or those alone that hold values of its range
// (indices stay what they are).
std::optional<std::vector<DType>> dtypes_for(const graph::OpSet& ops, const ops::Sample& s, DType t) {
    const std::vector<DType> own = operand_dtypes(s);
    if (own.empty()) return s.graph.type(s.graph.nodes[0].outputs[0]).dtype == t ? std::optional(own) : std::nullopt;
    if (own[0] == t) return own;
    for (const bool all : {true, false}) {
        std::vector<DType> made = own;
        for (size_t i = 0; i < own.size(); ++i)
            if (own[i] == own[0] && (all || (s.ranges[i].lo == s.ranges[0].lo && s.ranges[i].hi == s.ranges[0].hi))) made[i] = t;
        if (is_legal(ops, s, made)) return made;
    }
    return std::nullopt;
}

} // namespace

Templates::Templates(const graph::OpSet& ops) : samples_(ops::samples(ops)) {
    std::erase_if(samples_, [](const ops::Sample& s) { return s.graph.nodes.size() != 1; });
    for (const graph::OpDef& op : ops.all())
        for (const DType t : scalar::kDTypes) {
            Pair pair{op.name, t, {}};
            for (const ops::Sample& s : samples_)
                if (s.op == op.name)
                    if (auto dtypes = dtypes_for(ops, s, t)) pair.choices.push_back({&s, std::move(*dtypes)});
            if (!pair.choices.empty()) pairs_.push_back(std::move(pair));
        }
}

} // namespace codetta::test
