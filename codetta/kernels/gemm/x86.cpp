#include "codetta/kernels/gemm/x86.h"

#include <algorithm>

#include <fmt/format.h>

#include "codetta/base/error.h"
#include "codetta/kernels/stage_emitter.h"

namespace codetta::kernels::gemm {

using layout::IntTuple;
using problem::Problem;
using scalar::DType;
using sym::Expr;
using tile::Builder;

namespace {

constexpr int64_t kUnroll = 4;
constexpr int64_t kConvert = 64;  // elements of a row of `a` that are converted at a time

PanelFormat format_of(const View& v, const X86Config& c) { return {c.nr, c.group, c.dtype, v.k}; }

std::string name_of(const char* what, const View& v, const X86Config& c) {
    return fmt::format("{}_x86_{}_{}_{}_{}x{}", what, scalar::to_string(v.a.dtype), scalar::to_string(v.b.dtype), scalar::to_string(v.accumulator), c.mr, c.nr);
}

class Product {
public:
    Product(const Problem& p, const View& v, const X86Config& c) : p_(p), v_(v), c_(c), b_(name_of("gemm", v, c)), bind_(p, b_), at_(p, b_, bind_), format_(format_of(v, c)) {}

    Kernel run() {
        std::vector<std::string> names;
        std::vector<Expr> extents;
        for (const problem::AxisId a : v_.batch) {
            names.push_back(p_.axis(a).name);
            extents.push_back(p_.axis(a).extent);
        }
        names.push_back("panel");
        extents.push_back(sym::ceil_div(v_.n, c_.nr));
        const std::vector<Expr> index = b_.tasks(names, extents);
        Expr a_offset = v_.a.offset, b_offset = v_.b.offset;
        for (size_t i = 0; i < v_.batch.size(); ++i) {
            at_.set(v_.batch[i], index[i]);
            a_offset = a_offset + index[i] * v_.a.batch_strides[i];
            b_offset = b_offset + index[i] * v_.b.batch_strides[i];
        }
        n0_ = b_.let("n0", index.back() * c_.nr);
        a_ = bind_.operand(v_.a.operand);
        a_.offset = a_.offset + a_offset;
        if (c_.prepacked) {
            panel_ = bind_.temporary(0, "packed", c_.dtype, false);
            panel_.offset = panel_.offset + index.back() * format_.elements();
        } else {
            panel_ = b_.scratch("panel", c_.dtype, tile::make_layout({format_.elements()}, {1}));
            tile::View b = bind_.operand(v_.b.operand);
            b.offset = b.offset + b_offset;
            pack_panel(b_, v_, format_, b, n0_, panel_);
        }
        if (v_.a.dtype != c_.dtype || (c_.group > 1 && (!v_.a.k_stride.is(1) || b_.facts().divisor(v_.k) % c_.group != 0))) converted_a_ = b_.scratch("a_tile", c_.dtype, tile::make_layout({c_.mr * converted_row()}, {1}));
        row_tile_ = b_.scratch("tile", v_.accumulator, tile::make_layout({c_.mr * c_.nr}, {1}));
        if (c_.few_rows) tile_of_rows(0);
        else b_.loop("mt", 0, v_.m, c_.mr, [&](const Expr& mt) { tile_of_rows(mt); });
        return bind_.make(std::move(b_).finish());
    }

private:
    // Rows first .. first+mr-1; the last tile steps back so that it is whole, and its epilogue starts at row mt.
    void tile_of_rows(const Expr& mt) {
        const Expr first = c_.few_rows ? Expr(0) : b_.let("m0", sym::min(mt, v_.m - c_.mr));
        tile::View a = a_;
        Expr row_stride = v_.a.row_stride, k_stride = v_.a.k_stride;
        if (converted_a_) {
            convert_rows(first);
            a = *converted_a_;
            row_stride = converted_row();
            k_stride = 1;
        } else a.offset = a.offset + first * row_stride;
        const tile::View acc = b_.rmem("acc", v_.accumulator, {c_.mr, c_.nr});
        b_.fill(acc, 0);
        std::vector<Expr> rows;
        if (c_.few_rows && !converted_a_)
            for (int64_t r = 0; r < c_.mr; ++r) rows.push_back(b_.let("row", sym::min(r, v_.m - 1) * row_stride));
        const auto steps = [&](const Expr& p0, int64_t count) {
            for (int64_t u = 0; u < count; ++u) {
                const Expr k0 = p0 + u * c_.group;
                const tile::View bv = b_.rmem("bv", c_.dtype, {c_.nr, c_.group});
                const Expr from = panel_.offset + k0 * c_.nr;
                b_.copy({panel_.buffer, from, bv.layout, {}}, bv);
                const auto a_view = [&](const Expr& row, int64_t n) {
                    return tile::View{a.buffer, a.offset + row + k0 * k_stride, tile::make_layout({IntTuple(n), IntTuple(c_.group)}, {IntTuple(row_stride), IntTuple(k_stride)}), {}};
                };
                if (rows.empty()) b_.mma(c_.atom, acc, a_view(0, c_.mr), bv);
                else
                    for (int64_t r = 0; r < c_.mr; ++r) b_.mma(c_.atom, tile::slice(acc, 0, r, 1), a_view(rows[static_cast<size_t>(r)], 1), bv);
            }
        };
        const Expr padded = format_.padded_k(), step = kUnroll * c_.group, whole = sym::floor_div(padded, step) * step;
        b_.loop("p", 0, whole, step, [&](const Expr& p0) { steps(p0, kUnroll); });
        if (!b_.facts().proves(sym::eq(whole, padded))) b_.loop("p", whole, padded, c_.group, [&](const Expr& p0) { steps(p0, 1); });
        b_.copy(acc, {row_tile_.buffer, row_tile_.offset, acc.layout, {}});
        epilogue(first, mt);
    }

    Expr converted_row() const { return sym::ceil_div(v_.k, kConvert) * kConvert; }

    // Rows of a in the register tile's dtype, zero past k.
    void convert_rows(const Expr& first) {
        b_.loop("cr", 0, c_.mr, [&](const Expr& r) {
            const Expr row = (c_.few_rows ? sym::min(r, v_.m - 1) : first + r) * v_.a.row_stride;
            b_.loop("ck", 0, v_.k, kConvert, [&](const Expr& k0) {
                const tile::View raw = b_.rmem("a_raw", v_.a.dtype, {kConvert});
                const tile::View from = strided(a_, a_.offset + row + k0 * v_.a.k_stride, kConvert, v_.a.k_stride);
                b_.copy(from, raw, {.limits = {tile::limit_of_mode(from.layout, 0, v_.k - k0)}});
                tile::View cast = raw;
                if (v_.a.dtype != c_.dtype) {
                    cast = b_.rmem("a_cast", c_.dtype, {kConvert});
                    b_.map(cast, {raw}, [](scalar::Builder&, std::span<const scalar::Value> in) { return in[0]; });
                }
                b_.copy(cast, strided(*converted_a_, converted_a_->offset + r * converted_row() + k0, kConvert, 1));
            });
        });
    }

    void epilogue(const Expr& first, const Expr& mt) {
        const auto all_rows = [&](std::optional<Expr> limit) {
            const Expr end = c_.few_rows ? sym::min(v_.m, c_.mr) : Expr(c_.mr);
            b_.loop("r", mt - first, end, [&](const Expr& r) {
                if (v_.m_axis) at_.set(*v_.m_axis, first + r);
                at_.set(*v_.n_axis, n0_);
                at_.open_lanes(*v_.n_axis, c_.nr, limit);
                for (uint32_t s = 0; s < p_.stages.size(); ++s) {
                    const problem::Stage& st = p_.stages[s];
                    tile::View value;
                    if (s == v_.product.stage.value) {
                        value = b_.rmem("row", v_.accumulator, {c_.nr});
                        b_.copy(strided(row_tile_, row_tile_.offset + r * c_.nr, c_.nr, 1), value);
                    } else value = at_.body(st, at_.reads(st));
                    at_.value(s) = {value, true, false, {}, {}};
                    at_.write(st, value);
                }
                at_.close_lanes();
            });
        };
        if (b_.facts().divisor(v_.n) % c_.nr == 0) all_rows(std::nullopt);
        else b_.when({sym::le(n0_ + c_.nr, v_.n)}, [&] { all_rows(std::nullopt); }, [&] { all_rows(v_.n - n0_); });
    }

    const Problem& p_;
    const View& v_;
    const X86Config& c_;
    Builder b_;
    Binding bind_;
    StageEmitter at_;
    PanelFormat format_;
    Expr n0_;
    tile::View a_, panel_, row_tile_;
    std::optional<tile::View> converted_a_;
};

} // namespace

Kernel emit_pack(const Problem& p, const View& v, const X86Config& c) {
    Builder b(name_of("pack", v, c));
    Binding bind(p, b, {v.b.operand});
    const PanelFormat format = format_of(v, c);
    const Expr panel = b.tasks({"panel"}, {sym::ceil_div(v.n, c.nr)})[0];
    tile::View from = bind.operand(v.b.operand);
    from.offset = from.offset + v.b.offset;
    tile::View to = bind.temporary(0, "packed", c.dtype, true);
    to.offset = to.offset + panel * format.elements();
    pack_panel(b, v, format, from, panel * c.nr, to);
    Kernel k = bind.make(std::move(b).finish());
    k.once = true;
    return k;
}

Kernel emit_product(const Problem& p, const View& v, const X86Config& c) { return Product(p, v, c).run(); }

namespace {

// The register tile for a target: as many accumulators as registers allow, the rest for one row of b and a broadcast.
base::Verdict configure(const View& v, const BuildContext& context, X86Config& c) {
    const base::Target& t = *context.target;
    if (t.vector_bits == 0) return base::Verdict::no("the target {} is no x86 CPU", t.name);
    if (v.accumulator != DType::f32 && v.accumulator != DType::f64) return base::Verdict::no("it accumulates in {}", scalar::to_string(v.accumulator));
    const bool wide = t.vector_bits == 512;
    c.dtype = v.accumulator;
    const int64_t lanes = t.vector_bits / 8 / scalar::bytes(c.dtype);
    c.nr = lanes * (wide ? 4 : 2);
    c.mr = 6;
    c.group = 1;
    c.atom = fmt::format("{}.fma_{}", wide ? "avx512" : "avx2", scalar::to_string(c.dtype));
    if (wide && t.has("avx512_bf16") && v.a.dtype == DType::bf16 && v.b.dtype == DType::bf16 && c.dtype == DType::f32) {
        c.dtype = DType::bf16;
        c.group = 2;
        c.atom = "avx512.dot_bf16";
    }
    return base::Verdict::yes();
}

base::Verdict match_template(const Problem& p, const BuildContext& context) {
    base::Verdict why = base::Verdict::yes();
    const auto v = match(p, &why);
    if (!v) return why;
    X86Config c;
    return configure(*v, context, c);
}

Candidate build(const Problem& p, const BuildContext& context) {
    const View v = *match(p, nullptr);
    X86Config c;
    CODETTA_CHECK(configure(v, context, c), "build without match");
    c.prepacked = v.b.frozen && !v.b.batched();
    Candidate candidate;
    candidate.template_name = "gemm";
    const auto variant = [&](std::vector<sym::Condition> guard, bool few_rows, int64_t mr) {
        X86Config own = c;
        own.few_rows = few_rows;
        own.mr = mr;
        Variant result;
        result.guard = std::move(guard);
        if (own.prepacked) {
            X86Config pack = c;  // one packing for all variants
            const PanelFormat format{pack.nr, pack.group, pack.dtype, v.k};
            result.temporaries.push_back({"packed", sym::ceil_div(v.n, pack.nr) * format.elements() * scalar::bytes(pack.dtype), true});
            result.kernels.push_back(emit_pack(p, v, pack));
        }
        result.kernels.push_back(emit_product(p, v, own));
        candidate.variants.push_back(std::move(result));
    };
    const sym::Range rows = p.facts.range(v.m);
    if (rows.hi < c.mr) {
        variant({}, true, std::max<int64_t>(rows.hi, 1));
        return candidate;
    }
    if (rows.lo < c.mr) variant({sym::lt(v.m, c.mr)}, true, c.mr);
    variant({}, false, c.mr);
    return candidate;
}

} // namespace

Template x86() { return {"gemm", "a blocked product with its epilogue, for x86 CPUs", match_template, build}; }

} // namespace codetta::kernels::gemm
