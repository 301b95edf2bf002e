#include "codetta/passes/common_subexpressions.h"

#include <map>

#include <fmt/format.h>

#include "codetta/passes/rewrite.h"

namespace codetta::passes {

namespace {

std::string key_of(const Node& n) {
    std::string key = n.op;
    for (const auto& v : n.inputs) key += v ? fmt::format(" {}", v->value) : " _";
    for (const auto& [name, value] : n.attributes) key += fmt::format(" {}={}", name, graph::to_string(value));
    return key;
}

} // namespace

Graph common_subexpressions(Graph g, const OpSet& ops, const base::Options&) {
    std::map<std::string, std::vector<ValueId>> seen; // in the new graph
    return rewrite(g, ops, [&](const Node& n, Rewriter& r) {
        if (n.into) return false;
        std::string key = key_of(r.mapped(n));
        auto [it, fresh] = seen.try_emplace(key);
        bool result = false; // the caller gets tensors of their own
        for (ValueId v : n.outputs) result = result || r.is_result(v);
        if (!fresh && (!result || n.outputs.size() == 1)) {
            if (n.outputs.size() == 1)
                r.forward(n, it->second[0]);
            else
                for (size_t i = 0; i < n.outputs.size(); ++i) r.replace(n.outputs[i], it->second[i]);
            return true;
        }
        r.keep(n);
        it->second.clear();
        for (ValueId v : n.outputs) it->second.push_back(r.now(v));
        return true;
    });
}

} // namespace codetta::passes
