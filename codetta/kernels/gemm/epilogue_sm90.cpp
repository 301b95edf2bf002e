#include "codetta/kernels/gemm/epilogue_sm90.h"

#include <cmath>
#include <numbers>

#include "codetta/layout/int_tuple.h"
#include "codetta/layout/layout.h"
#include "codetta/scalar/dtype.h"
#include "codetta/scalar/function.h"
#include "codetta/sym/expr.h"
#include "codetta/targets/sm90/atoms.h"

namespace codetta::kernels::gemm {

using layout::IntTuple;
using layout::Layout;
using scalar::DType;
using scalar::Prim;
using scalar::Value;
using sym::Expr;
using tile::View;

namespace {

Value gelu(scalar::Builder& s, Value x, bool tanh_approximation) {
    if (!tanh_approximation) return s.apply(Prim::mul, {x, s.apply(Prim::normal_cdf, {x})});
    // 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
    double scale = std::sqrt(2 / std::numbers::pi);
    Value square = s.apply(Prim::mul, {x, x});
    Value inner = s.apply(Prim::fma, {square, s.constant(DType::f32, 0.044715 * scale), s.constant(DType::f32, scale)});
    Value t = s.apply(Prim::tanh, {s.apply(Prim::mul, {x, inner})});
    Value half = s.apply(Prim::mul, {x, s.constant(DType::f32, 0.5)});
    return s.apply(Prim::fma, {half, t, half});
}

Epilogue with_bias(DType out, const std::function<Value(scalar::Builder&, Value)>& activation) {
    scalar::Builder s;
    Value acc = s.parameter(DType::f32), bias = s.parameter(out);
    Value sum = s.apply(Prim::add, {acc, s.cast(DType::f32, bias)});
    return {s.finish({s.cast(out, activation(s, sum))}), {{EpilogueOperand::Kind::per_n, "bias", out}}};
}

} // namespace

Epilogue plain_epilogue(DType out) { return {scalar::cast_function(DType::f32, out), {}}; }

Epilogue bias_epilogue(DType out) {
    return with_bias(out, [](scalar::Builder&, Value x) { return x; });
}

Epilogue bias_gelu_epilogue(DType out, bool tanh_approximation) {
    return with_bias(out, [&](scalar::Builder& s, Value x) { return gelu(s, x, tanh_approximation); });
}

EpilogueViews declare(tile::Builder& b, const Epilogue& e, const Expr& m, const Expr& n) {
    EpilogueViews views;
    for (const EpilogueOperand& o : e.operands) {
        switch (o.kind) {
        case EpilogueOperand::Kind::per_n: views.operands.push_back(b.input(o.name, o.dtype, {n}, {1}, 16)); break;
        case EpilogueOperand::Kind::per_m: views.operands.push_back(b.input(o.name, o.dtype, {m}, {1}, 16)); break;
        case EpilogueOperand::Kind::scalar: views.operands.push_back(b.input(o.name, o.dtype, {1}, {0})); break;
        case EpilogueOperand::Kind::full: {
            Expr stride = b.integer("ld_" + o.name, {1, int64_t{1} << 31}, 8);
            views.operands.push_back(b.input(o.name, o.dtype, {m, n}, {stride, 1}, 16));
            break;
        }
        }
    }
    return views;
}

void emit_epilogue(tile::Builder& b, const Epilogue& e, const EpilogueViews& views, const ChunkPlace& place, const View& accumulator,
                   const View& result) {
    // A thread's values: modes (column of the pair, upper or lower row, pair). Its first element: row lane / 4 of the warp's 16, column 2 *
    // (lane % 4).
    Expr lane = Expr::symbol("lane"), warp = Expr::symbol("warp");
    Expr row = place.row + 16 * mod(warp, 4) + floor_div(lane, 4), column = place.column + 2 * mod(lane, 4);
    std::vector<tile::Argument> arguments{tile::with_layout(accumulator, targets::sm90::accumulator_values(64))};
    for (size_t i = 0; i < e.operands.size(); ++i) {
        const EpilogueOperand& o = e.operands[i];
        const View& source = views.operands[i];
        IntTuple all{2, 2, 8};
        switch (o.kind) {
        case EpilogueOperand::Kind::per_n: {
            View own = b.alloc(o.name + "_n", tile::Space::rmem, o.dtype, {IntTuple{2, 8}, IntTuple{1, 2}});
            View part = source;
            part.offset = source.offset + column;
            part.layout = {IntTuple{2, 8}, IntTuple{1, 8}};
            b.copy(part, own, {.limits = {{part.layout, place.n - column}}});
            arguments.emplace_back(tile::with_layout(own, {all, IntTuple{1, 0, 2}}));
            break;
        }
        case EpilogueOperand::Kind::per_m: {
            View own = b.alloc(o.name + "_m", tile::Space::rmem, o.dtype, {2, 1});
            View part = source;
            part.offset = source.offset + row;
            part.layout = {2, 8};
            b.copy(part, own, {.limits = {{part.layout, place.m - row}}});
            arguments.emplace_back(tile::with_layout(own, {all, IntTuple{0, 1, 0}}));
            break;
        }
        case EpilogueOperand::Kind::scalar: {
            View own = b.alloc(o.name + "_value", tile::Space::rmem, o.dtype, {1, 0});
            b.copy(tile::with_layout(source, {1, 0}), own);
            arguments.emplace_back(tile::with_layout(own, {all, IntTuple{0, 0, 0}}));
            break;
        }
        case EpilogueOperand::Kind::full: {
            View own = b.alloc(o.name + "_tile", tile::Space::rmem, o.dtype, targets::sm90::accumulator_values(64));
            Expr stride = leaves(source.layout)[0].stride;
            View part = source;
            part.offset = source.offset + row * stride + column;
            part.layout = {all, IntTuple{IntTuple(1), IntTuple(8 * stride), IntTuple(8)}};
            b.copy(part, own, {.limits = {{{all, IntTuple{0, 8, 0}}, place.m - row}, {{all, IntTuple{1, 0, 8}}, place.n - column}}});
            arguments.emplace_back(own);
            break;
        }
        }
    }
    b.map({tile::with_layout(result, targets::sm90::accumulator_values(64))}, std::move(arguments), e.body);
}

} // namespace codetta::kernels::gemm
