// The parser and the verifier of graphs: any text either gives a UserError or a graph that prints and parses back to itself, and whose ops
// can be inferred.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "codetta/base/error.h"
#include "codetta/graph/op_def.h"
#include "codetta/ops/list.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace codetta;
    static const graph::OpSet ops = ops::list();
    std::string_view text(reinterpret_cast<const char*>(data), size);
    graph::Graph g;
    try {
        g = graph::parse_graph(text);
    } catch (const base::UserError&) {
        return 0;
    }
    const std::string printed = graph::to_string(g);
    if (graph::to_string(graph::parse_graph(printed, graph::large_constants(g))) != printed) std::abort();
    try {
        graph::verify(g, ops);
        for (const graph::Node& n : g.nodes)
            if (ops.get(n.op).lower) problem::verify(ops.lower(g, n));
    } catch (const base::UserError&) {
    } catch (const base::InternalError& e) {
        // Sizes that leave 64 bits, and products of very many sums, are found when expressions meet.
        const std::string_view what = e.what();
        if (what.find("does not fit 64 bits") == what.npos && what.find("is not written out") == what.npos) {
            std::fprintf(stderr, "%s\n", e.what());
            std::abort();
        }
    }
    return 0;
}
