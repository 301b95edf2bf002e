#include "codetta/kernels/attention/template.h"

#include <algorithm>
#include <map>

#include "codetta/base/error.h"
#include "codetta/kernels/gemm/amx_tiles.h"
#include "codetta/kernels/gemm/panel.h"
#include "codetta/kernels/gemm/x86.h"
#include "codetta/kernels/lanes.h"
#include "codetta/kernels/nest/emit.h"
#include "codetta/kernels/nest/loop.h"
#include "codetta/layout/int_tuple.h"
#include "codetta/problem/rows.h"
#include "codetta/scalar/dtype.h"

namespace codetta::kernels::attention {

using problem::AxisId;
using problem::Contraction;
using problem::Problem;
using problem::Read;
using problem::Stage;
using problem::StageId;
using scalar::DType;
using sym::Expr;

namespace {

constexpr int64_t kBlockRows = 48;  // rows whose values lie in scratch together
constexpr int64_t kTileRows = 32;   // the same where products run on tiles: two of them
constexpr int64_t kChunkRows = 192; // rows of one task: what packing b's panels is shared by
constexpr int64_t kPad = 64;        // inner extents in scratch are multiples of this

template <class Id>
bool contains(const std::vector<Id>& ids, Id id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
}

// A product stage: rows of a (an operand or an earlier stage) times columns of b (an operand).
struct Product {
    Contraction view;
    std::optional<gemm::Side> a; // nullopt: the stage `a_stage`
    uint32_t a_stage = 0;
    gemm::Side b;
    gemm::X86Config config;
    bool tiles = false; // bf16 by bf16 on AMX
    AxisId n, k;
};

struct Plan {
    AxisId row; // the rows of every product
    std::vector<AxisId> batch;
    std::map<uint32_t, Product> products; // by stage
};

bool reads_whole_rows(const Problem& p, const Read& r) {
    const Stage& source = p.stages[r.source];
    for (size_t i = 0; i < source.axes.size(); ++i)
        if (r.access.coordinates[i] != Expr::symbol(p.axis(source.axes[i]).name)) return false;
    return r.access.guard.empty();
}

int64_t vector_lanes(const base::Target& target, const gemm::X86Config& c) {
    return target.vector_bits / 8 / (c.dtype == DType::f64 ? 8 : 4); // of the accumulator
}

base::Verdict plan_of(const Problem& p, const base::Target& target, Plan& plan) {
    const auto products = problem::contractions(p);
    if (products.size() < 2) return base::Verdict::no("fewer than two products");
    const auto rows = problem::as_rows(p);
    if (!rows || rows->rows.empty()) return base::Verdict::no("no common rows");
    // Heads that share keys are rows too; the innermost rows are the tile's, the others are walked like a batch.
    if (products[0].m.empty()) return base::Verdict::no("the first product has no rows");
    plan.row = products[0].m.back();
    if (!contains(rows->rows, plan.row)) return base::Verdict::no("the products have different rows");
    for (const AxisId a : rows->rows)
        if (a != plan.row) plan.batch.push_back(a);
    for (const AxisId a : rows->rows)
        if (is_sequential(p, a)) return base::Verdict::no("a write to places from data wants its rows in order");
    for (const Contraction& c : products) {
        const bool own_rows = !c.m.empty() && c.m.back() == plan.row &&
                              std::all_of(c.m.begin(), c.m.end() - 1, [&](AxisId a) { return contains(plan.batch, a); });
        if (!own_rows || c.n.size() != 1 || c.k.size() != 1) return base::Verdict::no("a product's axes do not merge");
        const Stage& st = p.stage(c.stage);
        if (base::Verdict lanes = can_lie_across_lanes(p, st, c.n[0]); !lanes)
            return base::Verdict::no("a product's columns can't lie across lanes: {}", lanes.reason());
        Product made;
        made.view = c;
        made.n = c.n[0];
        made.k = c.k[0];
        const Read &ra = st.reads[c.a], &rb = st.reads[c.b];
        const auto b = gemm::side(p, rb, made.n, made.k, plan.batch);
        if (!b) return base::Verdict::no("the columns of a product are not a strided array");
        made.b = *b;
        DType a_dtype = DType::f32;
        if (ra.from == Read::From::stage) {
            if (!reads_whole_rows(p, ra) || p.stages[ra.source].axes.back() != made.k)
                return base::Verdict::no("a product reads another stage across its rows");
            made.a_stage = ra.source;
            a_dtype = b->dtype; // rounded to the columns' dtype, as a 16-bit eager product does
        } else {
            made.a = gemm::side(p, ra, plan.row, made.k, plan.batch);
            if (!made.a) return base::Verdict::no("the rows of a product are not a strided array");
            a_dtype = made.a->dtype;
        }
        if (const base::Verdict fits = gemm::configure(target, a_dtype, b->dtype, c.accumulator, made.config); !fits) return fits;
        made.tiles = target.has("amx_tile") && target.has("amx_bf16") && a_dtype == DType::bf16 && b->dtype == DType::bf16 &&
                     c.accumulator == DType::f32 && st.dtype() == DType::f32 && (!made.a || made.a->k_stride.is(1));
        // Columns of less than half a panel: narrower panels, or the rest is computed for nothing.
        while (made.config.nr > 2 * vector_lanes(target, made.config) && p.facts.range(p.axis(made.n).extent).hi <= made.config.nr / 2)
            made.config.nr /= 2;
        plan.products.emplace(c.stage.value, std::move(made));
    }
    return base::Verdict::yes();
}

class Emitter {
public:
    Emitter(const Problem& p, const Plan& plan, const base::Target& target)
        : p_(p), plan_(plan), schedule_(schedule(p, plan, target)), b_("attention_" + target.name), bind_(p, b_), at_(p, b_, bind_),
          loops_(p, schedule_, b_, at_) {
        for (const auto& [stage, product] : plan.products) {
            block_pad_ = std::max(block_pad_, product.config.mr);
            if (product.tiles) block_rows_ = kTileRows;
        }
    }

    Kernel run() {
        const std::vector<Expr> index = at_.tasks(plan_.batch, {"chunk"}, {sym::ceil_div(rows(), kChunkRows)});
        for (const auto& [stage, product] : plan_.products) pack(stage, product);
        for (uint32_t s = 0; s < p_.stages.size(); ++s)
            if (schedule_.stored[s]) memory_.emplace(s, scratch_of(s));
        const Expr begin = b_.let("begin", index.back() * kChunkRows), end = b_.let("end", sym::min(begin + kChunkRows, rows()));
        b_.loop("block", begin, end, block_rows_,
                [&](const Expr& first) { block(first, b_.let("last", sym::min(first + block_rows_, end))); });
        return bind_.make(std::move(b_).finish());
    }

private:
    // Everything but the products runs row by row; what a later loop or product reads is stored.
    static nest::Schedule schedule(const Problem& p, const Plan& plan, const base::Target& target) {
        std::vector<StageId> alone;
        for (const auto& [stage, product] : plan.products) alone.push_back(StageId{stage});
        nest::Schedule s = nest::schedule_rows(p, target.vector_bits, alone);
        for (const auto& [stage, product] : plan.products) s.stored[stage] = true;
        return s;
    }

    Expr rows() const { return p_.axis(plan_.row).extent; }
    static Expr padded(const Expr& extent) { return sym::ceil_div(extent, kPad) * kPad; }

    // The columns of a product as panels, once for all rows of the task.
    void pack(uint32_t stage, const Product& product) {
        gemm::View v;
        v.b = product.b;
        v.n = p_.axis(product.n).extent;
        v.k = p_.axis(product.k).extent;
        const gemm::PanelFormat format{product.config.nr, product.config.group, product.config.dtype, v.k};
        tile::View from = bind_.operand(product.b.operand);
        from.offset = from.offset + at_.here(product.b.offset);
        if (product.tiles) {
            const Expr count = sym::ceil_div(v.n, 2 * gemm::amx::kRows), elements = gemm::amx::block_elements(v.k, 2);
            const tile::View to = b_.scratch("panels", DType::bf16, tile::make_layout({count * elements}, {1}));
            gemm::amx::pack_columns(b_, v.b, v.n, v.k, from, 0, 2, count, to);
            panels_.emplace(stage, to);
            converted_.emplace(stage, b_.scratch("rows", DType::bf16, tile::make_layout({elements}, {1})));
            return;
        }
        const tile::View panels =
            b_.scratch("panels", product.config.dtype, tile::make_layout({sym::ceil_div(v.n, format.width) * format.elements()}, {1}));
        b_.loop("panel", 0, sym::ceil_div(v.n, format.width), [&](const Expr& i) {
            tile::View panel = panels;
            panel.offset = panel.offset + i * format.elements();
            gemm::pack_panel(b_, v, format, from, i * format.width, panel);
        });
        panels_.emplace(stage, panels);
        const DType have = product.a ? product.a->dtype : p_.stages[product.a_stage].dtype();
        if (have != product.config.dtype || b_.facts().divisor(v.k) % product.config.group != 0)
            converted_.emplace(
                stage, b_.scratch("rows", product.config.dtype, tile::make_layout({product.config.mr * gemm::converted_row(v.k)}, {1})));
    }

    // A block of rows of a stage's value; a few rows more in front, since a last tile of rows may step back.
    tile::View scratch_of(uint32_t s) {
        Expr elements = 1;
        for (const AxisId a : p_.stages[s].axes)
            if (a != plan_.row && !contains(plan_.batch, a)) elements = elements * padded(p_.axis(a).extent);
        return b_.scratch(p_.stages[s].name, p_.stages[s].dtype(), tile::make_layout({elements * (block_rows_ + block_pad_)}, {1}));
    }

    void block(const Expr& first, const Expr& last) {
        for (const auto& [s, memory] : memory_) {
            StageValue& v = at_.value(s);
            v = {memory, false, true, std::vector<Expr>(p_.stages[s].axes.size(), 0), plan_.batch};
            Expr elements = 1;
            for (size_t i = p_.stages[s].axes.size(); i-- > 0;) {
                const AxisId a = p_.stages[s].axes[i];
                if (a == plan_.row || contains(plan_.batch, a)) continue;
                v.strides[i] = elements;
                elements = elements * padded(p_.axis(a).extent);
            }
            for (size_t i = 0; i < v.strides.size(); ++i)
                if (p_.stages[s].axes[i] == plan_.row) v.strides[i] = elements;
            v.view.offset = v.view.offset + (block_pad_ - first) * elements;
        }
        for (size_t l = 0; l < schedule_.loops.size();) {
            const uint32_t stage = schedule_.loops[l].stages[0].value;
            if (const auto product = plan_.products.find(stage); product != plan_.products.end()) {
                multiply(stage, product->second, first, last);
                ++l;
                continue;
            }
            size_t end = l;
            while (end < schedule_.loops.size() && !plan_.products.contains(schedule_.loops[end].stages[0].value)) ++end;
            b_.loop("row", first, last, [&](const Expr& r) {
                at_.set(plan_.row, r);
                for (size_t i = l; i < end; ++i) loops_.run(schedule_.loops[i]);
            });
            l = end;
        }
    }

    void multiply(uint32_t stage, const Product& product, const Expr& first, const Expr& last) {
        const gemm::X86Config& c = product.config;
        const Expr k = p_.axis(product.k).extent, n = p_.axis(product.n).extent;
        const gemm::PanelFormat format{c.nr, c.group, c.dtype, k};
        const StageValue& out = at_.value(stage);
        const Stage& st = p_.stages[stage];
        Expr out_row = 0;
        for (size_t i = 0; i < st.axes.size(); ++i)
            if (st.axes[i] == plan_.row) out_row = out.strides[i];
        if (product.tiles)
            multiply_tiles(stage, product, first, last, out_row);
        else
            b_.loop("mt", first, last, c.mr, [&](const Expr& mt) {
                const Expr top = b_.let("m0", sym::min(mt, rows() - c.mr));
                tile::View a;
                Expr row_stride, k_stride;
                if (product.a) {
                    a = bind_.operand(product.a->operand);
                    row_stride = product.a->row_stride;
                    k_stride = product.a->k_stride;
                    a.offset = a.offset + at_.here(product.a->offset) + top * row_stride;
                } else {
                    const StageValue& weights = at_.value(product.a_stage);
                    a = weights.view;
                    const Stage& source = p_.stages[product.a_stage];
                    for (size_t i = 0; i < source.axes.size(); ++i)
                        if (source.axes[i] == plan_.row) row_stride = weights.strides[i];
                    k_stride = 1;
                    a.offset = a.offset + top * row_stride;
                }
                if (const auto to = converted_.find(stage); to != converted_.end()) {
                    const Expr stride = gemm::converted_row(k);
                    b_.loop("cr", 0, c.mr, [&](const Expr& r) {
                        tile::View from = a, row = to->second;
                        from.offset = from.offset + r * row_stride;
                        row.offset = row.offset + r * stride;
                        gemm::convert_row(b_, from, k_stride, k, row);
                    });
                    a = to->second;
                    row_stride = stride;
                    k_stride = 1;
                }
                std::vector<Expr> offsets;
                for (int64_t r = 0; r < c.mr; ++r) offsets.push_back(r * row_stride);
                b_.loop("panel", 0, sym::ceil_div(n, c.nr), [&](const Expr& j) {
                    tile::View panel = panels_.at(stage);
                    panel.offset = panel.offset + j * format.elements();
                    gemm::register_tile(b_, c, a, offsets, k_stride, panel, format.padded_k(),
                                        {out.view.buffer,
                                         out.view.offset + top * out_row + j * c.nr,
                                         tile::make_layout({layout::IntTuple(c.mr), layout::IntTuple(c.nr)},
                                                           {layout::IntTuple(out_row), layout::IntTuple(1)}),
                                         {}});
                });
            });
        if (st.writes.empty()) return;
        b_.loop("row", first, last, [&](const Expr& r) {
            at_.set(plan_.row, r);
            loops_.lane_loop(product.n, kPad, 0, n, [&] {
                const tile::View value = b_.rmem(st.name, st.dtype(), {kPad});
                b_.copy(strided(out.view, out.view.offset + r * out_row + at_.index(product.n), kPad, 1), value);
                at_.write(st, value);
            });
        });
    }

    // The block of rows first .. last-1 on tiles, rounded to bf16.
    void multiply_tiles(uint32_t stage, const Product& product, const Expr& first, const Expr& last, const Expr& out_row) {
        const Expr k = p_.axis(product.k).extent;
        const tile::View& rows = converted_.at(stage);
        if (product.a) {
            tile::View a = bind_.operand(product.a->operand);
            a.offset = a.offset + at_.here(product.a->offset);
            gemm::amx::pack_rows(b_, *product.a, last, k, a, first, 2, rows, {});
        } else {
            const StageValue& values = at_.value(product.a_stage);
            const Stage& source = p_.stages[product.a_stage];
            Expr pitch = 0;
            for (size_t i = 0; i < source.axes.size(); ++i)
                if (source.axes[i] == plan_.row) pitch = values.strides[i];
            gemm::amx::pack_values(b_, k, values.view, pitch, first, last, rows);
        }
        tile::View out = at_.value(stage).view;
        out.offset = out.offset + first * out_row;
        gemm::amx::multiply_rows(b_, k, rows, panels_.at(stage), sym::ceil_div(p_.axis(product.n).extent, 2 * gemm::amx::kRows), out,
                                 out_row);
    }

    const Problem& p_;
    const Plan& plan_;
    nest::Schedule schedule_;
    tile::Builder b_;
    Binding bind_;
    StageEmitter at_;
    nest::LoopEmitter loops_;
    int64_t block_rows_ = kBlockRows, block_pad_ = 0;
    std::map<uint32_t, tile::View> panels_, converted_, memory_;
};

base::Verdict match(const Problem& p, const BuildContext& context) {
    Plan plan;
    return plan_of(p, *context.target, plan);
}

Candidate build(const Problem& p, const BuildContext& context) {
    Plan plan;
    CODETTA_CHECK(plan_of(p, *context.target, plan), "build without match");
    int64_t mr = 1;
    for (const auto& [stage, product] : plan.products) mr = std::max(mr, product.config.mr);
    const Expr rows = p.axis(plan.row).extent;
    const sym::Range range = p.facts.range(rows);
    Candidate c;
    c.template_name = "attention";
    // Few rows (a decode step): row by row, nothing packed.
    if (range.lo < mr) {
        std::vector<sym::Condition> guard;
        if (range.hi >= mr) guard.push_back(sym::lt(rows, mr));
        c.variants.push_back({std::move(guard),
                              {nest::emit(p, nest::schedule(p, context.target->vector_bits), "attention_rows_" + context.target->name)},
                              {}});
    }
    if (range.hi >= mr) c.variants.push_back({{}, {Emitter(p, plan, *context.target).run()}, {}});
    return c;
}

} // namespace

Template x86() { return {"attention", "products over common rows with row-wise stages between them, for x86 CPUs", match, build}; }

} // namespace codetta::kernels::attention
