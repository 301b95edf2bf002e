#include "codetta/kernels/gemm/product_sm90.h"

#include <algorithm>

#include "codetta/kernels/gemm/view.h"
#include "codetta/kernels/stage_emitter.h"

namespace codetta::kernels::gemm {

using problem::AxisId;
using problem::OperandId;
using problem::Problem;
using problem::Read;
using problem::Stage;
using scalar::DType;
using sym::Expr;

namespace {

// address == row * m + column * n + offset
struct Plane {
    Expr row, column, offset;
};

std::optional<Plane> as_plane(const Problem& p, const problem::Access& access, const std::vector<Expr>& strides, AxisId m, AxisId n) {
    if (!access.guard.empty() || !access.checks.empty() || problem::depends_on_data(access)) return std::nullopt;
    const auto along_m = sym::as_affine(address(access, strides), p.axis(m).name);
    if (!along_m) return std::nullopt;
    const auto along_n = sym::as_affine(along_m->rest, p.axis(n).name);
    if (!along_n || sym::depends_on(along_m->coefficient, p.axis(n).name)) return std::nullopt;
    return Plane{along_m->coefficient, along_n->coefficient, along_n->rest};
}

std::optional<EpilogueOperand::Kind> kind_of(const Plane& plane) {
    using Kind = EpilogueOperand::Kind;
    if (!plane.offset.is(0)) return std::nullopt;
    if (plane.row.is(0))
        return plane.column.is(0) ? std::optional(Kind::scalar) : plane.column.is(1) ? std::optional(Kind::per_n) : std::nullopt;
    if (plane.column.is(1)) return Kind::full;
    return plane.column.is(0) && plane.row.is(1) ? std::optional(Kind::per_m) : std::nullopt;
}

class Matcher {
public:
    Matcher(const Problem& p, base::Verdict* why_not) : p_(p), why_not_(why_not) {}

    std::optional<ProductSm90> run() {
        base::Verdict why = base::Verdict::yes();
        auto view = match(p_, &why);
        if (!view) return no(why.reason());
        if (!view->batch.empty() || !view->m_axis) return no("it is no product of two matrices");
        out_.dtype = view->a.dtype;
        if ((out_.dtype != DType::bf16 && out_.dtype != DType::f16) || view->b.dtype != out_.dtype || view->accumulator != DType::f32)
            return no("it does not multiply two bf16 or two f16 matrices into f32");
        product_ = view->product.stage.value;
        if (!find_write()) return std::nullopt;
        AxisId m = *view->m_axis, n = *view->n_axis;
        auto plane = as_plane(p_, write_->access, p_.operand(write_->operand).strides, m, n);
        if (plane && plane->row.is(1) && !plane->column.is(1)) { // the rows of out are b's: the product is transposed
            std::swap(view->a, view->b);
            std::swap(view->m, view->n);
            std::swap(m, n);
            plane = as_plane(p_, write_->access, p_.operand(write_->operand).strides, m, n);
        }
        if (!plane || !plane->column.is(1)) return no("the output has no rows of adjacent elements");
        if (!view->a.k_stride.is(1) || !view->b.k_stride.is(1)) return no("an operand is not contiguous along the reduced dimension");
        out_.a = {view->a.operand, view->m, view->k, view->a.row_stride, view->a.offset};
        out_.b = {view->b.operand, view->n, view->k, view->b.row_stride, view->b.offset};
        out_.out = {write_->operand, view->m, view->n, plane->row, plane->offset};
        out_.integers = {view->m, view->n, view->k};
        if (!make_epilogue(m, n)) return std::nullopt;
        make_guard();
        return std::move(out_);
    }

private:
    std::nullopt_t no(const std::string& why) {
        if (why_not_) *why_not_ = base::Verdict::no("{}", why);
        return std::nullopt;
    }

    bool find_write() {
        size_t writes = 0;
        for (size_t i = 0; i < p_.stages.size(); ++i)
            for (const auto& w : p_.stages[i].writes) {
                ++writes;
                write_ = &w;
                last_ = i;
            }
        if (writes != 1 || write_->accumulate) return no("it has not one plain output"), false;
        if (p_.stages[last_].dtype() != out_.dtype || p_.operand(write_->operand).dtype != out_.dtype)
            return no("the output is not of the operands' dtype"), false;
        if (last_ == product_) return no("the accumulator is stored without a cast"), false;
        return true;
    }

    // The epilogue's parameters: the accumulator, then every operand read of the stages, once.
    bool make_epilogue(AxisId m, AxisId n) {
        scalar::Builder s;
        std::vector<const Read*> reads;
        std::vector<scalar::Value> parameters{s.parameter(DType::f32)};
        for (size_t i = product_ + 1; i <= last_; ++i)
            for (const Read& r : p_.stages[i].reads) {
                if (r.from == Read::From::index) return no("the epilogue reads indices"), false;
                if (r.from == Read::From::stage || number(reads, r) < reads.size()) continue;
                const problem::Operand& o = p_.operands[r.source];
                const auto plane = as_plane(p_, r.access, o.strides, m, n);
                const auto kind = plane ? kind_of(*plane) : std::nullopt;
                if (!kind) return no("the epilogue reads '" + o.name + "' in another order than by rows and columns"), false;
                if (o.role != problem::Role::in) return no("the epilogue reads what the kernel writes"), false;
                reads.push_back(&r);
                out_.epilogue.operands.push_back({*kind, o.name, o.dtype});
                out_.operands.push_back(OperandId{r.source});
                if (*kind == EpilogueOperand::Kind::full) out_.integers.push_back(plane->row);
                parameters.push_back(s.parameter(o.dtype));
            }
        std::vector<scalar::Value> values(p_.stages.size());
        values[product_] = parameters[0];
        for (size_t i = product_ + 1; i <= last_; ++i) {
            std::vector<scalar::Value> arguments;
            for (const Read& r : p_.stages[i].reads) {
                if (r.from == Read::From::stage && r.source < product_) return no("a stage before the product is read behind it"), false;
                arguments.push_back(r.from == Read::From::stage ? values[r.source] : parameters[1 + number(reads, r)]);
            }
            values[i] = s.inline_call(p_.stages[i].body, arguments)[0];
        }
        out_.epilogue.body = s.finish({values[last_]});
        return true;
    }

    static size_t number(const std::vector<const Read*>& reads, const Read& r) {
        return static_cast<size_t>(std::find_if(reads.begin(), reads.end(), [&](const Read* other) { return *other == r; }) -
                                   reads.begin());
    }

    // TMA: first elements and rows at multiples of 16 bytes (8 elements); build_gemm_sm90's facts of m, n and k.
    void make_guard() {
        const auto demand = [&](const sym::Condition& c) {
            const bool there = std::find(out_.guard.begin(), out_.guard.end(), c) != out_.guard.end();
            if (!there && !p_.facts.proves(c)) out_.guard.push_back(c);
        };
        for (const MatrixMap* map : {&out_.a, &out_.b, &out_.out}) {
            demand(sym::eq(sym::mod(map->row_stride, 8), 0));
            demand(sym::eq(sym::mod(map->offset, 8), 0));
        }
        for (size_t i = 3; i < out_.integers.size(); ++i) demand(sym::eq(sym::mod(out_.integers[i], 8), 0));
        for (size_t i = 0; i < 3; ++i) {
            demand(sym::le(1, out_.integers[i]));
            demand(sym::le(out_.integers[i], i == 2 ? 1 << 30 : 1 << 22));
            if (i > 0) demand(sym::eq(sym::mod(out_.integers[i], 8), 0));
        }
    }

    const Problem& p_;
    base::Verdict* why_not_;
    ProductSm90 out_;
    const problem::Write* write_ = nullptr;
    size_t product_ = 0, last_ = 0;
};

} // namespace

std::optional<ProductSm90> match_sm90(const Problem& p, base::Verdict* why_not) { return Matcher(p, why_not).run(); }

} // namespace codetta::kernels::gemm
