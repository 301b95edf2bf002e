#include "codetta/kernels/gemm/x86.h"

#include <algorithm>

#include <fmt/format.h>

#include "codetta/base/error.h"
#include "codetta/kernels/gemm/dots.h"
#include "codetta/kernels/gemm/swapped.h"
#include "codetta/kernels/gemm/variants.h"
#include "codetta/kernels/lanes.h"

namespace codetta::kernels::gemm {

using problem::Problem;
using scalar::DType;
using sym::Expr;

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
    // Where there are tiles too, the dot instruction starts every other cycle only: f32's multiply-add does more (measured on Granite
    // Rapids).
    if (wide && t.has("avx512_bf16") && !t.has("amx_bf16") && a == DType::bf16 && b == DType::bf16 && accumulator == DType::f32) {
        c.dtype = DType::bf16;
        c.group = 2;
        c.atom = "avx512.dp_bf16";
    }
    return base::Verdict::yes();
}

namespace {

constexpr int64_t kMostSwappedRows = 128;
constexpr int64_t kPackingRows = 10;               // packing b for one task costs as much as so many rows
constexpr int64_t kBlockBytes = 768 << 10;         // of a that a task reads: with a panel of b it fits a second cache of 1 MiB or more
constexpr int64_t kTasksPerThread = 3;             // so that threads finish together
constexpr int64_t kMostAtOnce = 1024, kPart = 768; // a longer k is taken in parts, in steps of the atom
constexpr int64_t kFewestPackedFor = 192;          // rows that are worth packing a panel for them alone
constexpr int64_t kFewestBlockRows = 48;           // fewer would read each panel of b too often

base::Verdict match_template(const Problem& p, const BuildContext& context) {
    base::Verdict why = base::Verdict::yes();
    const auto v = match(p, &why);
    if (!v) return why;
    if (v->m.is(1) && !(v->b.frozen && !v->b.batched) && !can_dot(*v))
        return base::Verdict::no("one row over columns that do not lie along k: a nest reads them as they lie");
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
            if (rows.lo < c_.mr) add(guard_below(c_.mr), few_rows(p_, v_, *context_.target, std::min(rows.hi, c_.mr - 1)));
            const bool all = rows.hi < c_.mr || (rows.hi >= c_.mr && rows.lo <= kMostSwappedRows && can_swap() && add_swapped());
            if (!all) add({}, packed(false, c_.mr));
        }
        return std::move(candidate_);
    }

private:
    std::vector<sym::Condition> guard_below(int64_t rows) const {
        return p_.facts.range(v_.m).hi < rows ? std::vector<sym::Condition>{} : std::vector{sym::lt(v_.m, rows)};
    }

    void add(std::vector<sym::Condition> guard, Variant variant) { add_variant(candidate_, p_, v_, std::move(guard), std::move(variant)); }

    // With roles swapped a is packed, which costs little, but in panels that may be wide for it. True when that serves every number of
    // rows.
    bool add_swapped() {
        Swapped s = emit_swapped(p_, v_, c_, context_.target->vector_bits / 8 / scalar::bytes(v_.accumulator),
                                 likely(v_.m, context_, kMostSwappedRows));
        std::vector<sym::Condition> guard = guard_below(kMostSwappedRows + 1);
        if (const sym::Condition pays = sym::le(s.padded_rows, v_.m + kPackingRows); !p_.facts.proves(pays)) {
            if (p_.facts.proves(sym::negate(pays))) return false;
            guard.push_back(pays);
        }
        const bool all = guard.empty();
        add(std::move(guard), {{}, {std::move(s.pack), std::move(s.product)}, {{"packed_rows", s.packed_bytes, false}}});
        return all;
    }

    Variant packed(bool few_rows, int64_t mr) const {
        X86Config own = c_;
        own.few_rows = few_rows;
        own.mr = few_rows ? mr : rows_of_tile(likely(v_.m, context_, 128));
        if (!few_rows) choose_blocks(own);
        Variant result;
        if (own.prepacked) { // one packing for all variants
            const PanelFormat format{c_.nr, c_.group, c_.dtype, v_.k};
            result.temporaries.push_back({"packed", sym::ceil_div(v_.n, c_.nr) * format.elements() * scalar::bytes(c_.dtype), true});
            result.kernels.push_back(emit_pack(p_, v_, c_));
        }
        result.kernels.push_back(emit_product(p_, v_, own));
        return result;
    }

    // Fewer rows than registers hold, where that leaves less of the last tile computed twice; each tile costs about a row more, for reading
    // b.
    int64_t rows_of_tile(int64_t rows) const {
        int64_t best = c_.mr;
        const auto cost = [&](int64_t mr) { return (rows + mr - 1) / mr * (4 * mr + 3); };
        for (int64_t mr = c_.mr - 1; mr >= 4; --mr)
            if (mr <= rows && cost(mr) < cost(best)) best = mr;
        return best;
    }

    void choose_blocks(X86Config& c) const {
        if (v_.m_axis && is_sequential(p_, *v_.m_axis)) return; // writes in order of the rows: one task for all of them
        const int64_t rows = likely(v_.m, context_, 128), panels = (likely(v_.n, context_, 1024) + c.nr - 1) / c.nr;
        if (c.prepacked && p_.facts.range(v_.k).hi > kMostAtOnce * c.group) c.part = kPart * c.group;
        const int64_t k = std::clamp<int64_t>(likely(v_.k, context_, 1024), 1, c.part > 0 ? c.part : sym::kUnbounded);
        int64_t block = c.prepacked ? kBlockBytes / (k * scalar::bytes(v_.a.dtype)) : rows;
        if (v_.batch.empty()) block = std::min(block, rows * panels / (kTasksPerThread * context_.threads));
        block = (std::max(block, c.prepacked ? kFewestBlockRows : kFewestPackedFor) + c.mr - 1) / c.mr * c.mr;
        if (p_.facts.range(v_.m).hi > block && (c.prepacked || block < rows)) c.block_rows = block;
        c.likely_rows = std::max<int64_t>(c.block_rows > 0 ? std::min(rows, block) : rows, 1);
    }

    bool can_swap() const {
        return may_compute_twice(p_) /* the last block of columns */ && v_.b.k_stride.is(1) && v_.b.dtype == c_.dtype &&
               v_.a.dtype == c_.dtype && !v_.a.batched && !v_.b.batched && p_.facts.divisor(v_.k) % c_.group == 0 &&
               p_.facts.range(v_.n).lo >= kSwappedColumns;
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
