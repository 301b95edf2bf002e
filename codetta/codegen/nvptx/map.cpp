// Scalar bodies over fragments: unrolled element by element; two results that become a pair of 16-bit floats are rounded together.
#include "codetta/base/error.h"
#include "codetta/codegen/nvptx/statements.h"
#include "codetta/tile/view.h"

#include <algorithm>

namespace codetta::codegen::nvptx {

using scalar::DType;
using scalar::Prim;
using sym::Expr;
using tile::View;

namespace {

bool is_small_float(DType t) { return t == DType::bf16 || t == DType::f16; }

// The body without its last rounding from f32 to a 16-bit float, when that is its one result.
std::optional<scalar::Function> before_rounding(const scalar::Function& f) {
    if (f.results.size() != 1) return std::nullopt;
    const scalar::Op& last = f.ops[f.results[0]];
    if (!scalar::is_conversion(last.prim) || !is_small_float(last.dtype) || f.ops[last.inputs[0]].dtype != DType::f32) return std::nullopt;
    scalar::Function out = f;
    out.results[0] = last.inputs[0];
    return out;
}

} // namespace

void NvptxStatements::emit(const tile::Map& s) {
    std::vector<std::vector<Expr>> destination_places, argument_places(s.arguments.size());
    for (const View& v : s.destinations) destination_places.push_back(places(v));
    for (size_t i = 0; i < s.arguments.size(); ++i)
        if (const View* v = std::get_if<View>(&s.arguments[i])) argument_places[i] = places(*v);
    std::vector<int64_t> extents;
    for (size_t i = 0; i < s.destinations[0].layout.rank(); ++i) extents.push_back(tile::static_size(s.destinations[0].layout.mode(i)));
    coarse_ =
        std::all_of(s.destinations.begin(), s.destinations.end(), [&](const View& v) { return is_small_float(kernel.buffer(v).dtype); });
    llvm::IRBuilderBase::FastMathFlagGuard keep(ir.b);
    llvm::FastMathFlags flags;
    flags.setAllowContract(true);
    ir.b.setFastMathFlags(flags);

    const auto parameter_types = s.body.parameters();
    const auto run = [&](const scalar::Function& f, size_t e) {
        std::vector<llvm::Value*> in;
        for (size_t i = 0; i < s.arguments.size(); ++i) {
            if (const View* v = std::get_if<View>(&s.arguments[i])) {
                in.push_back(body_.from_memory(load_element(*v, argument_places[i][e]), parameter_types[i]));
                continue;
            }
            sym::Substitution coordinates;
            auto rest = static_cast<int64_t>(e);
            for (size_t mode = 0; mode < extents.size(); ++mode) {
                coordinates.emplace("c" + std::to_string(mode), Expr(rest % extents[mode]));
                rest /= extents[mode];
            }
            in.push_back(kernel.integers.emit(sym::substitute(std::get<Expr>(s.arguments[i]), coordinates)));
        }
        return body_.emit(f, in, 1);
    };
    // All values before all stores: a destination may be an argument of a later element only in the same place.
    const size_t size = destination_places[0].size();
    const auto early = before_rounding(s.body);
    const View& first = s.destinations[0];
    for (size_t e = 0; e < size; ++e) {
        const Expr& place = destination_places[0][e];
        const bool pair = early && e + 1 < size && in_registers(first) && registers_.has_pairs(first.buffer) && place.constant() &&
                          *place.constant() % 2 == 0 && (destination_places[0][e + 1] - place).is(1);
        if (!pair) {
            const auto values = run(s.body, e);
            for (size_t i = 0; i < s.destinations.size(); ++i)
                store_element(s.destinations[i], destination_places[i][e],
                              body_.to_memory(values[i], kernel.buffer(s.destinations[i]).dtype));
            continue;
        }
        llvm::Value* two = llvm::PoisonValue::get(ir.lanes_of(ir.b.getFloatTy(), 2));
        two = ir.b.CreateInsertElement(two, run(*early, e)[0], uint64_t{0});
        two = ir.b.CreateInsertElement(two, run(*early, e + 1)[0], uint64_t{1});
        registers_.store_pair(first.buffer, *place.constant(), round_to_small(two, kernel.buffer(first).dtype));
        ++e;
    }
    coarse_ = false;
}

// Elements of one destination element are combined two by two, then the pairs' results, and so on; the destination's old state comes first.
void NvptxStatements::emit(const tile::Reduce& s) {
    const size_t states = s.destinations.size();
    std::vector<std::vector<Expr>> from, to;
    for (const View& v : s.sources) from.push_back(places(v));
    for (const View& v : s.destinations) to.push_back(places(v));
    std::vector<std::pair<Expr, std::vector<size_t>>> groups; // destination place, the elements that it takes
    for (size_t e = 0; e < to[0].size(); ++e) {
        auto found = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == to[0][e]; });
        if (found == groups.end()) found = groups.insert(groups.end(), {to[0][e], {}});
        found->second.push_back(e);
    }
    using State = std::vector<llvm::Value*>;
    const auto combine = [&](const State& a, const State& b) {
        State in = a;
        in.insert(in.end(), b.begin(), b.end());
        return body_.emit(s.combine, in, 1);
    };
    for (const auto& [place, elements] : groups) {
        std::vector<State> values;
        for (size_t e : elements) {
            State state;
            for (size_t i = 0; i < states; ++i)
                state.push_back(body_.from_memory(load_element(s.sources[i], from[i][e]), kernel.buffer(s.sources[i]).dtype));
            values.push_back(std::move(state));
        }
        while (values.size() > 1) {
            std::vector<State> half;
            for (size_t i = 0; i + 1 < values.size(); i += 2) half.push_back(combine(values[i], values[i + 1]));
            if (values.size() % 2) half.push_back(values.back());
            values = std::move(half);
        }
        State old;
        for (size_t i = 0; i < states; ++i)
            old.push_back(body_.from_memory(load_element(s.destinations[i], to[i][elements[0]]), kernel.buffer(s.destinations[i]).dtype));
        const State result = combine(old, values[0]);
        for (size_t i = 0; i < states; ++i)
            store_element(s.destinations[i], to[i][elements[0]], body_.to_memory(result[i], kernel.buffer(s.destinations[i]).dtype));
    }
}

} // namespace codetta::codegen::nvptx
