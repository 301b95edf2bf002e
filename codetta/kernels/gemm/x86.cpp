#include "codetta/kernels/gemm/x86.h"

#include <algorithm>

#include <fmt/format.h>

#include "codetta/base/error.h"
#include "codetta/kernels/gemm/epilogue.h"
#include "codetta/kernels/gemm/swapped.h"
#include "codetta/kernels/nest/emit.h"
#include "codetta/kernels/stage_emitter.h"
#include "codetta/layout/int_tuple.h"
#include "codetta/targets/list.h"

namespace codetta::kernels::gemm {

using layout::IntTuple;
using problem::Problem;
using scalar::DType;
using sym::Expr;
using tile::Builder;

namespace {

constexpr int64_t kUnroll = 4;
constexpr int64_t kConvert = 64; // elements of a row of `a` that are converted at a time

PanelFormat format_of(const View& v, const X86Config& c) { return {c.nr, c.group, c.dtype, v.k}; }

std::string name_of(const char* what, const View& v, const X86Config& c) {
    return fmt::format("{}_x86_{}_{}_{}_{}x{}", what, scalar::to_string(v.a.dtype), scalar::to_string(v.b.dtype),
                       scalar::to_string(v.accumulator), c.mr, c.nr);
}

} // namespace

void register_tile(Builder& b, const X86Config& c, const tile::View& a, const std::vector<Expr>& rows, const Expr& k_stride,
                   const tile::View& panel, const Expr& padded_k, const tile::View& result) {
    const tile::AtomSet atoms = targets::atoms();
    for (const std::string& feature : atoms.get(c.atom).required) b.require(feature);
    const auto mr = static_cast<int64_t>(rows.size());
    const DType accumulator = b.dtype(result);
    const bool evenly = mr > 1 && [&] {
        for (size_t r = 0; r < rows.size(); ++r)
            if (rows[r] != rows[0] + static_cast<int64_t>(r) * (rows[1] - rows[0])) return false;
        return true;
    }();
    const auto steps = [&](const tile::View& acc, const Expr& p0, int64_t count) {
        for (int64_t u = 0; u < count; ++u) {
            const Expr k0 = p0 + u * c.group;
            const tile::View bv = b.rmem("bv", c.dtype, {c.nr, c.group});
            b.copy({panel.buffer, panel.offset + k0 * c.nr, bv.layout, {}}, bv);
            const auto a_view = [&](size_t first, int64_t n, const Expr& row_stride) {
                return tile::View{a.buffer,
                                  a.offset + rows[first] + k0 * k_stride,
                                  tile::make_layout({IntTuple(n), IntTuple(c.group)}, {IntTuple(row_stride), IntTuple(k_stride)}),
                                  {}};
            };
            if (evenly)
                b.mma(c.atom, acc, a_view(0, mr, rows[1] - rows[0]), bv);
            else
                for (int64_t r = 0; r < mr; ++r) b.mma(c.atom, tile::slice(acc, 0, r, 1), a_view(static_cast<size_t>(r), 1, 0), bv);
        }
    };
    // The sum over from..to-1 in registers; `first`: it is the result, else it is added to what is there.
    const auto sum = [&](const Expr& from, const Expr& to, bool first) {
        const tile::View acc = b.rmem("acc", accumulator, {mr, c.nr});
        b.fill(acc, 0);
        const Expr step = kUnroll * c.group, whole = from + sym::floor_div(to - from, step) * step;
        b.loop("p", from, whole, step, [&](const Expr& p0) { steps(acc, p0, kUnroll); });
        if (b.facts().divisor(to - from) % (kUnroll * c.group) != 0)
            b.loop("p", whole, to, c.group, [&](const Expr& p0) { steps(acc, p0, 1); });
        if (!first) {
            const tile::View before = b.rmem("before", accumulator, {mr, c.nr});
            b.copy(result, before);
            b.map(acc, {before, acc}, [](scalar::Builder& f, std::span<const scalar::Value> v) { return f.apply(scalar::Prim::add, {v[0], v[1]}); });
        }
        b.copy(acc, result);
    };
    const int64_t chunk = kSumChunk * c.group;
    if (b.facts().range(padded_k).hi <= chunk + chunk / 2) {
        sum(0, padded_k, true);
        return;
    }
    sum(0, sym::min(padded_k, chunk), true);
    const Expr chunks = sym::max(sym::floor_div(padded_k, chunk), 1) * chunk;
    b.loop("kc", chunk, chunks, chunk, [&](const Expr& kc) { sum(kc, kc + chunk, false); });
    if (b.facts().divisor(padded_k) % chunk != 0) b.when({sym::lt(chunks, padded_k)}, [&] { sum(chunks, padded_k, false); });
}

void convert_row(Builder& b, const tile::View& from, const Expr& k_stride, const Expr& k, const tile::View& to) {
    const DType have = b.dtype(from), want = b.dtype(to);
    b.loop("ck", 0, k, kConvert, [&](const Expr& k0) {
        const tile::View raw = b.rmem("a_raw", have, {kConvert});
        const tile::View piece = strided(from, from.offset + k0 * k_stride, kConvert, k_stride);
        b.copy(piece, raw, {.limits = {tile::limit_of_mode(piece.layout, 0, k - k0)}});
        tile::View cast = raw;
        if (have != want) {
            cast = b.rmem("a_cast", want, {kConvert});
            b.map(cast, {raw}, [](scalar::Builder&, std::span<const scalar::Value> in) { return in[0]; });
        }
        b.copy(cast, strided(to, to.offset + k0, kConvert, 1));
    });
}

Expr converted_row(const Expr& k) { return sym::ceil_div(k, kConvert) * kConvert; }

namespace {

class Product {
public:
    Product(const Problem& p, const View& v, const X86Config& c)
        : p_(p), v_(v), c_(c), b_(name_of("gemm", v, c)), bind_(p, b_), at_(p, b_, bind_), format_(format_of(v, c)) {}

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
        for (size_t i = 0; i < v_.batch.size(); ++i) at_.set(v_.batch[i], index[i]);
        const Expr a_offset = at_.here(v_.a.offset), b_offset = at_.here(v_.b.offset);
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
        if (v_.a.dtype != c_.dtype || (c_.group > 1 && (!v_.a.k_stride.is(1) || b_.facts().divisor(v_.k) % c_.group != 0)))
            converted_a_ = b_.scratch("a_tile", c_.dtype, tile::make_layout({c_.mr * converted_row(v_.k)}, {1}));
        row_tile_ = b_.scratch("tile", v_.accumulator, tile::make_layout({c_.mr * c_.nr}, {1}));
        if (c_.few_rows)
            tile_of_rows(0);
        else
            b_.loop("mt", 0, v_.m, c_.mr, [&](const Expr& mt) { tile_of_rows(mt); });
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
            row_stride = converted_row(v_.k);
            k_stride = 1;
        } else
            a.offset = a.offset + first * row_stride;
        std::vector<Expr> rows;
        for (int64_t r = 0; r < c_.mr; ++r)
            rows.push_back(c_.few_rows && !converted_a_ ? b_.let("row", sym::min(r, v_.m - 1) * row_stride) : r * row_stride);
        register_tile(b_, c_, a, rows, k_stride, panel_, format_.padded_k(),
                      {row_tile_.buffer, row_tile_.offset, tile::row_major(std::vector<int64_t>{c_.mr, c_.nr}), {}});
        epilogue(first, mt);
    }

    // Rows of a in the register tile's dtype, zero past k.
    void convert_rows(const Expr& first) {
        b_.loop("cr", 0, c_.mr, [&](const Expr& r) {
            tile::View from = a_, to = *converted_a_;
            from.offset = from.offset + (c_.few_rows ? sym::min(r, v_.m - 1) : first + r) * v_.a.row_stride;
            to.offset = to.offset + r * converted_row(v_.k);
            convert_row(b_, from, v_.a.k_stride, v_.k, to);
        });
    }

    void epilogue(const Expr& first, const Expr& mt) {
        const auto all_rows = [&](std::optional<Expr> limit) {
            const Expr end = c_.few_rows ? sym::min(v_.m, c_.mr) : Expr(c_.mr);
            b_.loop("r", mt - first, end, [&](const Expr& r) {
                epilogue_row(p_, v_, b_, at_, first + r, n0_, c_.nr, limit, strided(row_tile_, row_tile_.offset + r * c_.nr, c_.nr, 1));
            });
        };
        if (b_.facts().divisor(v_.n) % c_.nr == 0)
            all_rows(std::nullopt);
        else
            b_.when({sym::le(n0_ + c_.nr, v_.n)}, [&] { all_rows(std::nullopt); }, [&] { all_rows(v_.n - n0_); });
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

base::Verdict configure(const base::Target& t, DType a, DType b, DType accumulator, X86Config& c) {
    if (t.vector_bits == 0) return base::Verdict::no("the target {} is no x86 CPU", t.name);
    if (accumulator != DType::f32 && accumulator != DType::f64)
        return base::Verdict::no("it accumulates in {}", scalar::to_string(accumulator));
    const bool wide = t.vector_bits == 512;
    c.dtype = accumulator;
    c.nr = t.vector_bits / 8 / scalar::bytes(c.dtype) * (wide ? 4 : 2);
    c.mr = 6;
    c.group = 1;
    c.atom = fmt::format("{}.fma_{}", wide ? "avx512" : "avx2", scalar::to_string(c.dtype));
    if (wide && t.has("avx512_bf16") && a == DType::bf16 && b == DType::bf16 && accumulator == DType::f32) {
        c.dtype = DType::bf16;
        c.group = 2;
        c.atom = "avx512.dp_bf16";
    }
    return base::Verdict::yes();
}

Kernel emit_product(const Problem& p, const View& v, const X86Config& c) { return Product(p, v, c).run(); }

namespace {

constexpr int64_t kMostSwappedRows = 128; // with more rows, packing b panel by panel costs less than it saves

base::Verdict match_template(const Problem& p, const BuildContext& context) {
    base::Verdict why = base::Verdict::yes();
    const auto v = match(p, &why);
    if (!v) return why;
    if (v->m.is(1) && !(v->b.frozen && !v->b.batched))
        return base::Verdict::no("one row reads every column once: a nest of dot products does that");
    X86Config c;
    return configure(*context.target, v->a.dtype, v->b.dtype, v->accumulator, c);
}

class Variants {
public:
    Variants(const Problem& p, const View& v, const X86Config& c, const BuildContext& context) : p_(p), v_(v), c_(c), context_(context) {}

    Candidate build() {
        const sym::Range rows = p_.facts.range(v_.m);
        if (c_.prepacked) {
            if (rows.lo < c_.mr) add(guard_below(c_.mr), packed(true, std::min(c_.mr, std::max<int64_t>(rows.hi, 1))));
            if (rows.hi >= c_.mr) add({}, packed(false, c_.mr));
        } else {
            if (rows.lo < c_.mr) add(guard_below(c_.mr), row_by_row());
            if (rows.hi >= c_.mr && rows.lo <= kMostSwappedRows && can_swap()) add(guard_below(kMostSwappedRows + 1), swapped());
            const bool done = rows.hi < c_.mr || (rows.hi <= kMostSwappedRows && can_swap());
            if (!done) add({}, packed(false, c_.mr));
        }
        return std::move(candidate_);
    }

private:
    std::vector<sym::Condition> guard_below(int64_t rows) const {
        return p_.facts.range(v_.m).hi < rows ? std::vector<sym::Condition>{} : std::vector{sym::lt(v_.m, rows)};
    }

    void add(std::vector<sym::Condition> guard, Variant variant) {
        variant.guard = std::move(guard);
        for (Kernel& k : variant.kernels)
            if (!k.once && !p_.facts.positive(v_.m)) k.tasks = k.tasks * sym::min(v_.m, 1); // without rows there is nothing to read
        candidate_.variants.push_back(std::move(variant));
    }

    Variant packed(bool few_rows, int64_t mr) const {
        X86Config own = c_;
        own.few_rows = few_rows;
        own.mr = mr;
        Variant result;
        if (own.prepacked) { // one packing for all variants
            const PanelFormat format{c_.nr, c_.group, c_.dtype, v_.k};
            result.temporaries.push_back({"packed", sym::ceil_div(v_.n, c_.nr) * format.elements() * scalar::bytes(c_.dtype), true});
            result.kernels.push_back(emit_pack(p_, v_, c_));
        }
        result.kernels.push_back(emit_product(p_, v_, own));
        return result;
    }

    Variant row_by_row() const {
        return {{}, {nest::emit(p_, nest::schedule(p_, context_.target->vector_bits), "gemv_" + context_.target->name)}, {}};
    }

    bool can_swap() const {
        // The last block of columns is computed twice over: an epilogue that updates its own operand would do so twice.
        for (const problem::Operand& o : p_.operands)
            if (o.aliases || o.role == problem::Role::inout) return false;
        return v_.b.k_stride.is(1) && v_.b.dtype == c_.dtype && v_.a.dtype == c_.dtype && !v_.a.batched && !v_.b.batched &&
               p_.facts.divisor(v_.k) % c_.group == 0 && p_.facts.range(v_.n).lo >= kSwappedColumns;
    }

    Variant swapped() const {
        const auto hint = context_.hints.find(v_.m.kind() == sym::Kind::symbol ? v_.m.name() : "");
        const int64_t likely = v_.m.constant().value_or(hint == context_.hints.end() ? kMostSwappedRows : hint->second);
        Swapped s = emit_swapped(p_, v_, c_, context_.target->vector_bits / 8 / scalar::bytes(v_.accumulator), likely);
        return {{}, {std::move(s.pack), std::move(s.product)}, {{"packed_rows", s.packed_bytes, false}}};
    }

    const Problem& p_;
    const View& v_;
    const X86Config& c_;
    const BuildContext& context_;
    Candidate candidate_;
};

Candidate build(const Problem& p, const BuildContext& context) {
    const View v = *match(p, nullptr);
    X86Config c;
    CODETTA_CHECK(configure(*context.target, v.a.dtype, v.b.dtype, v.accumulator, c), "build without match");
    c.prepacked = v.b.frozen && !v.b.batched;
    Candidate candidate = Variants(p, v, c, context).build();
    candidate.template_name = "gemm";
    return candidate;
}

} // namespace

Template x86() { return {"gemm", "a blocked product with its epilogue, for x86 CPUs", match_template, build}; }

} // namespace codetta::kernels::gemm
