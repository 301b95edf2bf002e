// The text form, the builder's and the verifier's messages, and the interpreter's treatment of in-place writes, views and sizes. The ops
// here are small ones of the test's own.
#include <gtest/gtest.h>

#include "codetta/base/error.h"
#include "codetta/graph/op_def.h"

namespace codetta::graph {
namespace {

using scalar::DType;
using scalar::HostArray;

// An elementwise op of equal shapes: out = f(x, y).
OpDef elementwise(std::string name, size_t arity, scalar::Prim prim) {
    OpDef op;
    op.name = std::move(name);
    op.signature = arity == 1 ? "(x)" : "(x, y?) mode: text = \"plain\", factor: number = 1, shape: exprs?";
    op.summary = "a test";
    op.infer = [](const NodeView& n) {
        if (n.has_input(1) && n.input(1).shape != n.input(0).shape) throw base::UserError("shapes differ");
        return std::vector{contiguous(n.input(0).dtype, n.input(0).shape)};
    };
    op.lower = [arity, prim](const NodeView& n) {
        problem::Problem p;
        p.name = n.node->op;
        p.facts = n.facts();
        problem::Stage s;
        s.name = "value";
        std::vector<sym::Expr> index;
        for (size_t d = 0; d < n.output().rank(); ++d) {
            p.axes.push_back({"i" + std::to_string(d), n.output().shape[d]});
            s.axes.emplace_back(d);
            index.push_back(sym::Expr::symbol(p.axes.back().name));
        }
        scalar::Builder b;
        std::vector<scalar::Value> values;
        for (size_t i = 0; i < arity; ++i) {
            p.operands.push_back(
                {"x" + std::to_string(i), n.input(i).dtype, n.input(i).shape, n.input(i).strides, problem::Role::in, false, std::nullopt});
            s.reads.push_back({problem::Read::From::operand, static_cast<uint32_t>(i), {index, {}, 0, {}}, {}});
            values.push_back(b.parameter(n.input(i).dtype));
        }
        p.operands.push_back({"out", n.output().dtype, n.output().shape, n.output().strides, problem::Role::out, false, std::nullopt});
        s.body = b.finish({b.apply(prim, values)});
        s.writes.push_back({problem::OperandId(p.operands.size() - 1), {index, {}, 0, {}}, false});
        p.stages.push_back(std::move(s));
        return p;
    };
    return op;
}

OpDef twice_negated() {
    OpDef op;
    op.name = "twice_negated";
    op.signature = "(x)";
    op.summary = "a decomposition";
    op.infer = [](const NodeView& n) { return std::vector{contiguous(n.input(0).dtype, n.input(0).shape)}; };
    op.decompose = [](const NodeView& n, GraphBuilder& b) { return std::vector{b.add1("neg", {b.add1("neg", {*n.node->inputs[0]})})}; };
    return op;
}

OpSet test_ops() { return OpSet({elementwise("neg", 1, scalar::Prim::neg), elementwise("add", 2, scalar::Prim::add), twice_negated()}); }

HostArray array(std::vector<int64_t> extents, std::vector<double> values) {
    HostArray a(DType::f32, std::move(extents));
    for (size_t i = 0; i < values.size(); ++i) a.as<float>()[i] = static_cast<float>(values[i]);
    return a;
}

std::vector<double> values_of(const HostArray& a) {
    std::vector<double> result;
    std::vector<int64_t> at(a.extents().size(), 0);
    for (int64_t n = a.size(); n > 0; --n) {
        scalar::Scalar s = a.load(at);
        result.push_back(scalar::is_float(s.dtype) ? s.f : static_cast<double>(s.i));
        for (size_t d = at.size(); d-- > 0;) {
            if (++at[d] < a.extents()[d]) break;
            at[d] = 0;
        }
    }
    return result;
}

std::string error_of(const std::function<void()>& f) {
    try {
        f();
    } catch (const base::Error& e) {
        return e.what();
    }
    return "no error";
}

const char* const kText =
    R"(graph everything(%x: f32[s0, 4], %w: f32[4] strides [2] parameter frozen, %c: f32[s0, 4]) sizes n where s0 >= 2 {
  %k: i64[3] = data([0, -3, 7])
  %h: bf16[2] = data([0.5, -inf])
  %0: f32[s0, 4] = add(%x, %c, factor=0.5, mode="a \"b\"", shape=[s0, 2*n])  # model.py:12
  %1: f32[s0, 4] = neg(%0) into %c
  return %0, %c, view(%1, f32[2, 2] strides [4, 1], offset 2), size(2*s0), %x
}
)";

TEST(GraphText, PrintsWhatItParses) {
    Graph g = parse_graph(kText);
    EXPECT_EQ(to_string(g), kText);
    EXPECT_EQ(g.inputs.size(), 5u);
    EXPECT_EQ(g.inputs[1].kind, InputKind::parameter);
    EXPECT_TRUE(g.inputs[1].frozen);
    EXPECT_EQ(g.nodes[0].location, "model.py:12");
    EXPECT_EQ(g.nodes[1].into, g.inputs[2].value);
    EXPECT_EQ(g.outputs[0].kind, Output::Kind::value);
    EXPECT_EQ(g.outputs[1].kind, Output::Kind::input);
    EXPECT_EQ(g.outputs[2].kind, Output::Kind::view);
    EXPECT_EQ(g.outputs[3].kind, Output::Kind::size);
    EXPECT_EQ(g.facts.range(sym::Expr::symbol("s0")).lo, 2);
}

TEST(GraphText, LargeConstantsGoByHash) {
    GraphBuilder b(test_ops(), {});
    HostArray big(DType::f32, {65});
    for (int i = 0; i < 65; ++i) big.as<float>()[i] = static_cast<float>(i);
    b.constant(big);
    Graph g = b.finish();
    std::string text = to_string(g);
    EXPECT_NE(text.find("data(hash \""), std::string::npos) << text;
    EXPECT_EQ(to_string(parse_graph(text, large_constants(g))), text);
    EXPECT_NE(error_of([&] { parse_graph(text); }).find("is not at hand"), std::string::npos);
}

TEST(GraphText, ErrorsSayLineAndColumn) {
    EXPECT_EQ(error_of([] { parse_graph("graph g(%x: f32[2]) {\n  %0: f32[2] = neg(%y)\n  return %0\n}"); }),
              "line 2, column 22: '%y' is not defined");
    EXPECT_EQ(error_of([] { parse_graph("graph g(%x: f32[2], %x: f32[2]) { return }"); }), "line 1, column 31: '%x' is defined twice");
    EXPECT_EQ(error_of([] { parse_graph("graph g() { %c: i64[2] = data([1]) return }"); }),
              "line 1, column 34: the constant has 2 elements, not 1");
}

TEST(Attributes, PrintWhatTheyParse) {
    for (const char* text :
         {"true", "false", "3", "-7", "0.5", "1.0", "-inf", "nan", "1e-05", "\"a \\\"b\\\"\"", "bf16", "s0 + 1", "[1, s0, 2*n]", "[]"})
        EXPECT_EQ(to_string(parse_attribute(text)), text);
    EXPECT_TRUE(std::holds_alternative<int64_t>(parse_attribute("3")));
    EXPECT_TRUE(std::holds_alternative<double>(parse_attribute("3.0")));
}

TEST(GraphBuilder, NamesTheMistake) {
    OpSet ops = test_ops();
    GraphBuilder b(ops, {});
    ValueId x = b.input("x", contiguous(DType::f32, {2})), y = b.input("y", contiguous(DType::f32, {3}));
    EXPECT_EQ(error_of([&] { b.add("nag", {x}, {}, "m.py:3"); }), "m.py:3: there is no op 'nag'; did you mean 'neg'?");
    EXPECT_EQ(error_of([&] { b.add("add", {x, y}, {}, "m.py:3"); }), "op 'add' at m.py:3: shapes differ");
    EXPECT_EQ(error_of([&] { b.add("neg", {}); }), "op 'neg': operand 'x' is missing");
    EXPECT_EQ(error_of([&] { b.add("neg", {x, y}); }), "op 'neg': takes 1 operands, not 2");
    EXPECT_EQ(error_of([&] { b.add("add", {x}, {{"mod", std::string("a")}}); }), "op 'add': unknown attribute 'mod'; did you mean 'mode'?");
    EXPECT_EQ(error_of([&] { b.add("add", {x}, {{"mode", 1.5}}); }), "op 'add': attribute 'mode' is 1.5, but text is needed");
    EXPECT_EQ(error_of([&] { b.input("x", contiguous(DType::f32, {2})); }).find("the input name 'x' is taken") != std::string::npos, true);
}

std::string verify_error(const std::string& text) {
    OpSet ops = test_ops();
    Graph g = parse_graph(text);
    return error_of([&] { verify(g, ops); });
}

TEST(Verify, AcceptsAndRefuses) {
    OpSet ops = test_ops();
    EXPECT_NO_THROW(verify(parse_graph(kText), ops));
    auto has = [](const std::string& error, const char* part) { EXPECT_NE(error.find(part), std::string::npos) << error; };
    has(verify_error("graph g(%x: f32[2]) { %0: f32[3] = neg(%x) return %0 }"), "'%0' is f32[3], but the op gives f32[2]");
    has(verify_error("graph g(%x: f32[2]) { %0: f32[2] = neg(%x) into %x %1: f32[2] = neg(%x) return %1 }"),
        "reads '%x' after it was overwritten");
    has(verify_error("graph g(%x: f32[2*n]) { %0: f32[2*n] = neg(%x) return %0 }"), "needs the size 'n'");
    has(verify_error("graph g(%x: f32[i0]) { %0: f32[i0] = neg(%x) return %0 }"), "may not be called 'i0'");
    has(verify_error("graph g(%x: f32[2]) { %k: f32[2] = data([1, 2]) %0: f32[2] = neg(%x) into %k return %0 }"), "which is not an input");
    Graph late = parse_graph("graph g(%x: f32[2]) { %0: f32[2] = neg(%x) %1: f32[2] = neg(%0) return %1 }");
    std::swap(late.nodes[0], late.nodes[1]);
    has(error_of([&] { verify(late, ops); }), "reads a value before it is made");
    Graph same = parse_graph("graph g(%x: f32[2]) { return %x }");
    same.outputs[0].kind = Output::Kind::value;
    has(error_of([&] { verify(same, ops); }), "is an input: say so, or clone it");
}

TEST(Interpret, GivesValuesInputsViewsAndSizes) {
    OpSet ops = test_ops();
    Graph g = parse_graph(R"(graph g(%x: f32[s0, 2], %c: f32[s0, 2]) sizes n {
  %0: f32[s0, 2] = add(%x, %c)
  %1: f32[s0, 2] strides [1, s0] = twice_negated(%0)
  %2: f32[s0, 2] = neg(%0) into %c
  return %0, %c, view(%1, f32[3] strides [1], offset 1), size(s0*n), %2
})");
    verify(g, ops);
    HostArray x = array({2, 2}, {1, 2, 3, 4}), c = array({2, 2}, {10, 20, 30, 40});
    std::vector<HostArray> arguments = {x, c};
    std::vector<int64_t> sizes = {5};
    std::vector<HostArray> out = interpret(g, ops, arguments, sizes);
    EXPECT_EQ(values_of(out[0]), (std::vector<double>{11, 22, 33, 44}));
    EXPECT_EQ(values_of(c), (std::vector<double>{-11, -22, -33, -44})) << "written in place";
    EXPECT_EQ(out[1].data(), c.data());
    EXPECT_EQ(values_of(out[2]), (std::vector<double>{33, 22, 44})) << "column-major memory from element 1";
    EXPECT_EQ(values_of(out[3]), (std::vector<double>{10}));
    EXPECT_EQ(out[4].data(), c.data());
}

TEST(Interpret, SizesMustFit) {
    OpSet ops = test_ops();
    Graph g = parse_graph("graph g(%x: f32[n], %y: f32[2*n]) { %0: f32[n] = neg(%x) return %0 }");
    std::vector<HostArray> arguments = {array({2}, {1, 2}), array({3}, {1, 2, 3})};
    EXPECT_EQ(error_of([&] { interpret(g, ops, arguments, {}); }), "graph 'g': size 0 of input '%y' is 3, but 2*n = 4 is needed");
    arguments.pop_back();
    EXPECT_EQ(error_of([&] { interpret(g, ops, arguments, {}); }), "graph 'g' takes 2 tensors, not 1");
}

TEST(OpSet, RefusesDuplicatesAndHalfEntries) {
    EXPECT_NE(
        error_of([] { OpSet({elementwise("neg", 1, scalar::Prim::neg), elementwise("neg", 1, scalar::Prim::neg)}); }).find("listed twice"),
        std::string::npos);
    OpDef half = elementwise("neg", 1, scalar::Prim::neg);
    half.lower = nullptr;
    EXPECT_NE(error_of([&] { OpSet({half}); }).find("needs infer and one of lower, decompose"), std::string::npos);
}

} // namespace
} // namespace codetta::graph
