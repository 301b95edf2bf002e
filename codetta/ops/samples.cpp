#include "codetta/ops/samples.h"

#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "codetta/base/error.h"
#include "codetta/base/hash.h"
#include "codetta/graph/cursor.h"
#include "codetta/scalar/dtype.h"
#include "codetta/scalar/evaluate.h"
#include "codetta/scalar/host_array.h"

namespace codetta::ops {

namespace {

using graph::Cursor;

SampleRange default_range(scalar::DType t) {
    if (t == scalar::DType::boolean) return {0, 2};
    return scalar::is_float(t) ? SampleRange{-2, 2} : SampleRange{t == scalar::DType::u8 ? 0.0 : -4.0, 5};
}

SampleRange parse_range(Cursor& at) {
    std::string text = at.until(",;");
    size_t dots = text.find("..");
    if (dots == std::string::npos) at.fail("a range is lo..hi");
    return {std::strtod(text.substr(0, dots).c_str(), nullptr), std::strtod(text.substr(dots + 2).c_str(), nullptr)};
}

// The graph's texts have types; this borrows their parser.
graph::TensorType parse_type(Cursor& at) {
    std::string type = at.until_word("in", ",;");
    graph::Graph g = graph::parse_graph("graph g(%x: " + type + ") { return %x }");
    return g.type(g.inputs[0].value);
}

// A number in [0, 1) that only the seed and the place decide.
double fraction(uint64_t seed, uint64_t input, uint64_t element) {
    return static_cast<double>(base::hash_combine(base::hash_combine(seed, input), element) >> 11) * 0x1p-53;
}

} // namespace

Sample make_sample(const graph::OpSet& ops, const std::string& op, const std::string& text) {
    Sample s{op, text, {}, {}};
    graph::Graph empty;
    empty.name = op;
    graph::GraphBuilder builder(ops, std::move(empty));
    std::vector<std::optional<graph::ValueId>> operands;
    graph::Attributes attributes;
    try {
        Cursor at(text);
        while (!at.at_end() && !at.next_is(";")) {
            if (!operands.empty()) at.expect(",");
            if (at.eat("_")) {
                operands.emplace_back();
                continue;
            }
            graph::TensorType type = parse_type(at);
            s.ranges.push_back(at.eat("in") ? parse_range(at) : default_range(type.dtype));
            operands.emplace_back(builder.input(fmt::format("x{}", s.ranges.size() - 1), type));
        }
        if (at.eat(";")) {
            do {
                std::string key = at.word();
                at.expect("=");
                attributes[key] = graph::parse_attribute(at.until(","));
            } while (at.eat(","));
        }
        for (graph::ValueId v : builder.add(op, operands, attributes)) builder.output(v);
    } catch (const base::UserError& e) {
        throw base::UserError(e.message(), fmt::format("sample \"{}\" of op '{}'", text, op));
    }
    s.graph = builder.finish();
    return s;
}

std::vector<Sample> samples(const graph::OpSet& ops) {
    std::vector<Sample> result;
    for (const graph::OpDef& op : ops.all())
        for (const std::string& text : op.samples) result.push_back(make_sample(ops, op.name, text));
    return result;
}

std::vector<scalar::HostArray> sample_inputs(const Sample& s, uint64_t seed) {
    std::vector<scalar::HostArray> arrays;
    for (size_t i = 0; i < s.graph.inputs.size(); ++i) {
        const graph::TensorType& t = s.graph.type(s.graph.inputs[i].value);
        std::vector<int64_t> extents, strides;
        int64_t elements = 1;
        for (size_t d = 0; d < t.shape.size(); ++d) {
            extents.push_back(*t.shape[d].constant());
            strides.push_back(*t.strides[d].constant());
            elements = extents[d] == 0 || elements == 0 ? 0 : elements + (extents[d] - 1) * strides[d];
        }
        scalar::HostArray flat(t.dtype, {elements});
        for (int64_t e = 0; e < elements; ++e) {
            double v = s.ranges[i].lo + (s.ranges[i].hi - s.ranges[i].lo) * fraction(seed, i, static_cast<uint64_t>(e));
            std::vector<int64_t> at = {e};
            bool whole = !scalar::is_float(t.dtype);
            flat.store(at, whole ? scalar::make_integer(t.dtype, static_cast<int64_t>(std::floor(v))) : scalar::make_float(t.dtype, v));
        }
        arrays.push_back(flat.view(extents, strides, 0));
    }
    return arrays;
}

} // namespace codetta::ops
