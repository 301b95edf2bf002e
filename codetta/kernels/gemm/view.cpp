#include "codetta/kernels/gemm/view.h"

#include <algorithm>

#include "codetta/kernels/lanes.h"
#include "codetta/kernels/stage_emitter.h"

namespace codetta::kernels::gemm {

using problem::AxisId;
using problem::Problem;
using problem::Read;
using problem::Stage;
using sym::Expr;

std::optional<Side> side(const Problem& p, const Read& r, std::optional<AxisId> row, AxisId k, const std::vector<AxisId>& batch) {
    if (r.from != Read::From::operand || !r.access.guard.empty() || !r.access.checks.empty() || problem::depends_on_data(r.access))
        return std::nullopt;
    const problem::Operand& o = p.operands[r.source];
    Side s;
    s.operand = problem::OperandId{r.source};
    s.dtype = o.dtype;
    s.frozen = o.frozen;
    const auto along_k = sym::as_affine(address(r.access, o.strides), p.axis(k).name);
    if (!along_k) return std::nullopt;
    s.k_stride = along_k->coefficient;
    s.offset = along_k->rest;
    if (row) {
        const auto along_row = sym::as_affine(s.offset, p.axis(*row).name);
        if (!along_row) return std::nullopt;
        s.row_stride = along_row->coefficient;
        s.offset = along_row->rest;
    }
    for (uint32_t i = 0; i < p.axes.size(); ++i) {
        const std::string& axis = p.axes[i].name;
        if (sym::depends_on(s.k_stride, axis) || sym::depends_on(s.row_stride, axis)) return std::nullopt;
        if (!sym::depends_on(s.offset, axis)) continue;
        if (std::find(batch.begin(), batch.end(), AxisId{i}) == batch.end()) return std::nullopt;
        s.batched = true;
    }
    return s;
}

namespace {

bool on_own_domain(const Problem& p, const Stage& s, const Stage& product) {
    if (s.combiner || s.axes.size() != product.axes.size()) return false;
    for (const AxisId a : s.axes)
        if (std::find(product.axes.begin(), product.axes.end(), a) == product.axes.end()) return false;
    for (const Read& r : s.reads)
        if (r.from == Read::From::stage)
            for (size_t i = 0; i < r.access.coordinates.size(); ++i)
                if (r.access.coordinates[i] != Expr::symbol(p.axis(p.stages[r.source].axes[i]).name)) return false;
    return true;
}

} // namespace

std::optional<View> match(const Problem& p, base::Verdict* why_not) {
    const auto no = [&](const char* why) {
        if (why_not) *why_not = base::Verdict::no("{}", why);
        return std::nullopt;
    };
    const auto products = problem::contractions(p);
    if (products.size() != 1) return no(products.empty() ? "no product of two operands" : "more than one product");
    View v;
    v.product = products[0];
    if (v.product.n.empty()) { // a matrix times a vector: the matrix has the columns
        std::swap(v.product.a, v.product.b);
        std::swap(v.product.m, v.product.n);
    }
    const Stage& product = p.stage(v.product.stage);
    if (v.product.m.size() > 1 || v.product.n.size() > 1 || v.product.k.size() > 1)
        return no("rows, columns or the reduced dimension lie in several axes that do not merge");
    for (const Stage& s : p.stages)
        if (&s != &product && !on_own_domain(p, s, product)) return no("a stage is not an epilogue of the product");
    v.batch = v.product.batch;
    if (!v.product.m.empty()) v.m_axis = v.product.m[0], v.m = p.axis(*v.m_axis).extent;
    if (!v.product.n.empty()) v.n_axis = v.product.n[0], v.n = p.axis(*v.n_axis).extent;
    v.k = p.axis(v.product.k[0]).extent;
    v.accumulator = product.combiner->state[0];
    auto a = side(p, product.reads[v.product.a], v.m_axis, v.product.k[0], v.batch),
         b = side(p, product.reads[v.product.b], v.n_axis, v.product.k[0], v.batch);
    if (!a || !b) return no("an operand is not a strided array");
    if (!v.n_axis) return no("it has no columns");
    for (const Stage& s : p.stages)
        if (base::Verdict lanes = can_lie_across_lanes(p, s, *v.n_axis); !lanes) {
            if (why_not) *why_not = base::Verdict::no("its columns can't lie across lanes: {}", lanes.reason());
            return std::nullopt;
        }
    for (const AxisId a : v.batch)
        if (is_sequential(p, a)) return no("a write to places from data wants its batch in order");
    v.a = std::move(*a);
    v.b = std::move(*b);
    return v;
}

} // namespace codetta::kernels::gemm
