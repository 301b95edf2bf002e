#include "codetta/kernels/gemm/amx.h"

#include <algorithm>

#include "codetta/base/error.h"
#include "codetta/kernels/gemm/amx_tiles.h"
#include "codetta/kernels/gemm/variants.h"
#include "codetta/kernels/lanes.h"
#include "codetta/scalar/dtype.h"
#include "codetta/sym/condition.h"

namespace codetta::kernels::gemm {

using problem::Problem;
using scalar::DType;
using sym::Expr;

namespace amx {

bool can_swap(const Problem& p, const View& v) {
    return may_compute_twice(p) /* the last columns */ && v.b.k_stride.is(1) && !v.a.batched && !v.b.batched &&
           p.facts.range(v.n).lo >= 2 * kRows;
}

namespace {

constexpr int64_t kMostSwappedRows = 96;   // with more rows, packing the columns costs less than reading them as they lie again and again
constexpr int64_t kDepthInFirstCache = 16; // steps of k of a panel of columns that stay in the first cache: 32 KiB
constexpr int64_t kLeastDepth = 16;        // a shorter sum leaves most of a tile empty

base::Verdict match_template(const Problem& p, const BuildContext& context) {
    for (const char* feature : {"amx_tile", "amx_bf16"})
        if (!context.target->has(feature)) return base::Verdict::no("the target {} has no {}", context.target->name, feature);
    base::Verdict why = base::Verdict::yes();
    const auto v = match(p, &why);
    if (!v) return why;
    if (v->a.dtype != DType::bf16 || v->b.dtype != DType::bf16 || v->accumulator != DType::f32)
        return base::Verdict::no("tiles multiply bf16 by bf16 and accumulate f32");
    if (v->m.is(1) && !(v->b.frozen && !v->b.batched)) return base::Verdict::no("one row reads every column once: dot products do that");
    if (p.facts.range(v->k).hi < kLeastDepth) return base::Verdict::no("sums shorter than {} leave tiles empty", kLeastDepth);
    return base::Verdict::yes();
}

class Variants {
public:
    Variants(const Problem& p, const View& v, const BuildContext& context) : p_(p), v_(v), context_(context) {}

    Candidate build() {
        const sym::Range rows = p_.facts.range(v_.m);
        const bool swaps = !frozen() && can_swap(p_, v_), reads_rows = rows.lo <= 1 && !frozen();
        if (reads_rows) add(1, few_rows(p_, v_, *context_.target, 1));
        if (rows.lo <= kRows && rows.hi > (reads_rows ? 1 : -1)) add(kRows, swaps ? swapped(1) : straight(1));
        if (swaps && rows.lo <= kMostSwappedRows && rows.hi > kRows) add(kMostSwappedRows, swapped(2));
        if (rows.hi > (swaps ? kMostSwappedRows : kRows)) add(sym::kUnbounded, straight(2));
        candidate_.template_name = "gemm_amx";
        return std::move(candidate_);
    }

private:
    bool frozen() const { return v_.b.frozen && !v_.b.batched; }

    // The variant for at most `most` rows.
    void add(int64_t most, Variant variant) {
        std::vector<sym::Condition> guard;
        if (p_.facts.range(v_.m).hi > most) guard.push_back(sym::le(v_.m, most));
        add_variant(candidate_, p_, v_, std::move(guard), std::move(variant));
    }

    // How the work is shared out: tasks enough for the threads, but not so small that filling and draining the pipeline counts.
    void share_out(Config& c) const {
        if (v_.m_axis && is_sequential(p_, *v_.m_axis)) c.all_rows = true; // writes in the order of the rows
        const int64_t width = (c.swapped ? c.column_tiles : c.row_tiles) * kRows;
        int64_t m = likely(v_.m, context_, 256), batches = 1;
        if (width == kRows) m = std::min(m, kRows);
        for (const problem::AxisId a : v_.batch) batches *= likely(p_.axis(a).extent, context_, 1);
        const int64_t steps = likely(steps_of(v_.k), context_, 16), columns = likely(sym::ceil_div(v_.n, 2 * kRows), context_, 16);
        const int64_t blocks = c.all_rows ? 1 : (m + kBlock - 1) / kBlock, in_block = (std::min(m, kBlock) + width - 1) / width;
        const int64_t wanted = 4 * std::max(context_.threads, 1);
        c.group = 8;
        while (c.group > 1 &&
               (blocks * batches * ((columns + c.group - 1) / c.group) < wanted ||
                (!c.columns_packed && c.group * steps * (4 * kTileElements) > context_.target->l2_bytes / (v_.b.k_stride.is(1) ? 4 : 2))))
            c.group /= 2;
        c.prefetch = std::clamp<int64_t>((2 * kRows + in_block - 1) / in_block, 1, 2 * kRows);
        if (c.swapped && in_block <= 2) c.prefetch = 0; // the next rows come by themselves: memory is all that is waited for
        c.rows_once = !c.swapped;                       // in place they lie too far apart for the second cache's own fetching ahead
        if (!c.swapped && in_block > 2 && p_.facts.range(steps_of(v_.k)).hi > kDepthInFirstCache) c.depth = kDepthInFirstCache;
        const int64_t depth = c.depth ? std::min(c.depth, steps) : steps;
        c.unit = c.swapped ? 4 : std::clamp<int64_t>((width + depth - 1) / depth, 1, 4);
    }

    Variant straight(int64_t row_tiles) const {
        Config c;
        c.row_tiles = row_tiles;
        c.columns_packed = frozen();
        c.all_rows = !c.columns_packed; // a task packs its columns for all rows
        share_out(c);
        Variant result;
        if (c.columns_packed) { // one packing for all variants
            result.temporaries.push_back({"packed_columns", bytes(sym::ceil_div(v_.n, 2 * kRows) * block_elements(v_.k, 2)), true});
            result.kernels.push_back(emit_pack_columns(p_, v_, v_.b, v_.n, 2));
            result.kernels.back().once = true;
        }
        Expr blocks = sym::ceil_div(v_.m, row_tiles * kRows);
        if (v_.a.batched)
            for (const problem::AxisId a : v_.batch) blocks = blocks * p_.axis(a).extent;
        result.temporaries.push_back({"packed_rows", bytes(blocks * block_elements(v_.k, row_tiles)), false});
        result.kernels.push_back(emit_pack_rows(p_, v_, row_tiles, c.columns_packed ? 1 : 0));
        result.kernels.push_back(emit_product(p_, v_, c));
        return result;
    }

    Variant swapped(int64_t column_tiles) const {
        Config c;
        c.swapped = true;
        c.column_tiles = column_tiles;
        share_out(c);
        Variant result;
        result.temporaries.push_back(
            {"packed_rows", bytes(sym::ceil_div(v_.m, column_tiles * kRows) * block_elements(v_.k, column_tiles)), false});
        result.kernels.push_back(emit_pack_columns(p_, v_, v_.a, v_.m, column_tiles));
        result.kernels.push_back(emit_product(p_, v_, c));
        return result;
    }

    static Expr bytes(const Expr& elements) { return elements * scalar::bytes(DType::bf16); }

    const Problem& p_;
    const View& v_;
    const BuildContext& context_;
    Candidate candidate_;
};

} // namespace

} // namespace amx

Template x86_amx() {
    return {"gemm_amx", "a bf16 product with its epilogue on tile registers, for x86 CPUs with AMX", amx::match_template,
            [](const Problem& p, const BuildContext& context) {
                const auto v = match(p, nullptr);
                CODETTA_CHECK(v, "build without match");
                return amx::Variants(p, *v, context).build();
            }};
}

} // namespace codetta::kernels::gemm
