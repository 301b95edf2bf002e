#include "codetta/kernels/gemm/x86.h"

#include <algorithm>

#include <fmt/format.h>

#include "codetta/base/error.h"
#include "codetta/kernels/gemm/dots.h"
#include "codetta/kernels/gemm/epilogue.h"
#include "codetta/kernels/gemm/swapped.h"
#include "codetta/kernels/lanes.h"
#include "codetta/kernels/nest/emit.h"
#include "codetta/kernels/stage_emitter.h"

namespace codetta::kernels::gemm {

using problem::Problem;
using scalar::DType;
using sym::Expr;
using tile::Builder;

namespace {

constexpr int64_t kLineBytes = 64;

PanelFormat format_of(const View& v, const X86Config& c) { return {c.nr, c.group, c.dtype, v.k}; }

std::string name_of(const char* what, const View& v, const X86Config& c) {
    return fmt::format("{}_x86_{}_{}_{}_{}x{}", what, scalar::to_string(v.a.dtype), scalar::to_string(v.b.dtype),
                       scalar::to_string(v.accumulator), c.mr, c.nr);
}

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
        const Expr blocks = c_.block_rows > 0 ? sym::ceil_div(v_.m, c_.block_rows) : Expr(1);
        if (!blocks.is(1)) {
            names.push_back("block");
            extents.push_back(blocks);
        }
        names.push_back("panel");
        extents.push_back(sym::ceil_div(v_.n, c_.nr));
        const std::vector<Expr> index = b_.tasks(names, extents);
        for (size_t i = 0; i < v_.batch.size(); ++i) at_.set(v_.batch[i], index[i]);
        Expr begin = 0, end = v_.m;
        if (!blocks.is(1)) { // blocks of the same size as near as tiles allow
            const Expr rows = b_.let("block_rows", sym::ceil_div(sym::ceil_div(v_.m, blocks), c_.mr) * c_.mr);
            begin = b_.let("block_begin", index[v_.batch.size()] * rows);
            end = b_.let("block_end", sym::min(begin + rows, v_.m));
        }
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
        if (c_.few_rows)
            one_tile();
        else if (c_.part == 0 || converted_a_)
            tiles_one_by_one(begin, end);
        else
            part_by_part(begin, end);
        return bind_.make(std::move(b_).finish());
    }

private:
    void one_tile() {
        std::vector<Expr> rows;
        for (int64_t r = 0; r < c_.mr; ++r)
            rows.push_back(converted_a_ ? r * converted_row(v_.k) : b_.let("row", sym::min(r, v_.m - 1) * v_.a.row_stride));
        const tile::View result = scratch_tiles(c_.mr);
        if (converted_a_) convert_rows(0);
        register_tile(b_, c_, converted_a_.value_or(a_), rows, converted_a_ ? Expr(1) : v_.a.k_stride, panel_, format_.padded_k(), result);
        epilogue(0, 0, result);
    }

    void tiles_one_by_one(const Expr& begin, const Expr& end) {
        const tile::View result = scratch_tiles(c_.mr);
        std::vector<Expr> rows;
        for (int64_t r = 0; r < c_.mr; ++r) rows.push_back(r * (converted_a_ ? converted_row(v_.k) : v_.a.row_stride));
        b_.loop("mt", begin, end, c_.mr, [&](const Expr& mt) {
            const Expr first = first_row(mt);
            tile::View a = a_;
            if (converted_a_) {
                convert_rows(first);
                a = *converted_a_;
            } else
                a.offset = a.offset + first * v_.a.row_stride;
            register_tile(b_, c_, a, rows, converted_a_ ? Expr(1) : v_.a.k_stride, panel_, format_.padded_k(), result,
                          ahead(mt - begin, 0, format_.padded_k()));
            epilogue(first, mt, result);
        });
    }

    // A panel of a long k and the rows would not fit the second cache together: a part of them does.
    void part_by_part(const Expr& begin, const Expr& end) {
        const tile::View all = scratch_tiles(sym::ceil_div(c_.block_rows > 0 ? Expr(c_.block_rows) : v_.m, c_.mr) * c_.mr);
        const auto result = [&](const Expr& mt) {
            tile::View v = all;
            v.offset = v.offset + (mt - begin) * c_.nr;
            return v;
        };
        std::vector<Expr> rows;
        for (int64_t r = 0; r < c_.mr; ++r) rows.push_back(r * v_.a.row_stride);
        b_.loop("mt", begin, end, c_.mr, [&](const Expr& mt) { b_.fill(result(mt), 0); });
        b_.loop("part", 0, format_.padded_k(), c_.part, [&](const Expr& from) {
            const Expr to = b_.let("part_end", sym::min(from + c_.part, format_.padded_k()));
            b_.loop("mt", begin, end, c_.mr, [&](const Expr& mt) {
                tile::View a = a_;
                a.offset = a.offset + first_row(mt) * v_.a.row_stride;
                add_to_tile(b_, c_, a, rows, v_.a.k_stride, panel_, from, to, result(mt), ahead(mt - begin, from, to));
            });
        });
        b_.loop("mt", begin, end, c_.mr, [&](const Expr& mt) { epilogue(first_row(mt), mt, result(mt)); });
    }

    // A tile is mr rows; the last one steps back so that it is whole, and its epilogue starts at row mt.
    Expr first_row(const Expr& mt) { return b_.let("m0", sym::min(mt, v_.m - c_.mr)); }

    // The first tile of scratch memory for the sums of so many rows.
    tile::View scratch_tiles(const Expr& rows) {
        const tile::View memory = b_.scratch("tile", v_.accumulator, tile::make_layout({rows * c_.nr}, {1}));
        return {memory.buffer, memory.offset, tile::row_major(std::vector<int64_t>{c_.mr, c_.nr}), {}};
    }

    // Each tile of rows fetches its share of what follows k = from .. to-1 of the panel into the second cache, spread evenly over its k
    // loop.
    Ahead ahead(const Expr& row, const Expr& from, const Expr& to) {
        const int64_t tiles = (c_.likely_rows + c_.mr - 1) / c_.mr;
        if (!c_.prepacked || tiles == 1) return {};
        const int64_t step = kUnroll * c_.group, line = kLineBytes / scalar::bytes(c_.dtype);
        const int64_t lines = (step * c_.nr / line + tiles - 1) / tiles; // at each step
        const Expr share = sym::floor_div(to - from, step) * (lines * line);
        const Expr done = sym::min(sym::floor_div(row, c_.mr) * share, (to - from) * c_.nr);
        const Expr start = b_.let("ahead", panel_.offset + to * c_.nr + done);
        return [this, start, from, lines, line, step](const Expr& k0) {
            for (int64_t i = 0; i < lines; ++i)
                b_.prefetch({panel_.buffer, start + (k0 - from) * (lines * line / step) + i * line, tile::make_layout({1}, {1}), {}}, 2);
        };
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

    void epilogue(const Expr& first, const Expr& mt, const tile::View& values) {
        const auto all_rows = [&](std::optional<Expr> limit) {
            const Expr end = c_.few_rows ? sym::min(v_.m, c_.mr) : Expr(c_.mr);
            b_.loop("r", mt - first, end, [&](const Expr& r) {
                epilogue_row(p_, v_, b_, at_, first + r, n0_, c_.nr, limit, strided(values, values.offset + r * c_.nr, c_.nr, 1));
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
    tile::View a_, panel_;
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
    // Where there are tiles too, the dot instruction starts every other cycle only: f32's multiply-add does more (measured on Granite Rapids).
    if (wide && t.has("avx512_bf16") && !t.has("amx_bf16") && a == DType::bf16 && b == DType::bf16 && accumulator == DType::f32) {
        c.dtype = DType::bf16;
        c.group = 2;
        c.atom = "avx512.dp_bf16";
    }
    return base::Verdict::yes();
}

Kernel emit_product(const Problem& p, const View& v, const X86Config& c) { return Product(p, v, c).run(); }

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
            if (rows.lo < c_.mr) add(guard_below(c_.mr), few_rows());
            const bool all = rows.hi < c_.mr || (rows.hi >= c_.mr && rows.lo <= kMostSwappedRows && can_swap() && add_swapped());
            if (!all) add({}, packed(false, c_.mr));
        }
        return std::move(candidate_);
    }

private:
    std::vector<sym::Condition> guard_below(int64_t rows) const {
        return p_.facts.range(v_.m).hi < rows ? std::vector<sym::Condition>{} : std::vector{sym::lt(v_.m, rows)};
    }

    // With roles swapped a is packed, which costs little, but in panels that may be wide for it. True when that serves every number of
    // rows.
    bool add_swapped() {
        Swapped s =
            emit_swapped(p_, v_, c_, context_.target->vector_bits / 8 / scalar::bytes(v_.accumulator), likely(v_.m, kMostSwappedRows));
        std::vector<sym::Condition> guard = guard_below(kMostSwappedRows + 1);
        if (const sym::Condition pays = sym::le(s.padded_rows, v_.m + kPackingRows); !p_.facts.proves(pays)) {
            if (p_.facts.proves(sym::negate(pays))) return false;
            guard.push_back(pays);
        }
        const bool all = guard.empty();
        add(std::move(guard), {{}, {std::move(s.pack), std::move(s.product)}, {{"packed_rows", s.packed_bytes, false}}});
        return all;
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
        own.mr = few_rows ? mr : rows_of_tile(likely(v_.m, 128));
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

    int64_t likely(const Expr& extent, int64_t otherwise) const {
        if (const auto constant = extent.constant()) return *constant;
        const auto hint = extent.kind() == sym::Kind::symbol ? context_.hints.find(extent.name()) : context_.hints.end();
        return hint == context_.hints.end() ? otherwise : std::max<int64_t>(hint->second, 1);
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
        const int64_t rows = likely(v_.m, 128), panels = (likely(v_.n, 1024) + c.nr - 1) / c.nr;
        int64_t block = c.prepacked ? kBlockBytes / (std::max<int64_t>(likely(v_.k, 1024), 1) * scalar::bytes(v_.a.dtype)) : rows;
        if (v_.batch.empty()) block = std::min(block, rows * panels / (kTasksPerThread * context_.threads));
        block = (std::max(block, kFewestBlockRows) + c.mr - 1) / c.mr * c.mr;
        if (p_.facts.range(v_.m).hi > block && (c.prepacked || block < rows)) c.block_rows = block;
        c.likely_rows = std::max<int64_t>(c.block_rows > 0 ? std::min(rows, block) : rows, 1);
    }

    Variant few_rows() const {
        const int64_t most = std::min(p_.facts.range(v_.m).hi, c_.mr - 1);
        if (can_dot(v_)) return {{}, {emit_dots(p_, v_, context_.target->vector_bits / 8 / scalar::bytes(v_.accumulator), most)}, {}};
        return {{}, {nest::emit(p_, nest::schedule(p_, context_.target->vector_bits), "gemv_" + context_.target->name)}, {}};
    }

    bool can_swap() const {
        // The last block of columns is computed twice over: an epilogue that updates its own operand would do so twice.
        for (const problem::Operand& o : p_.operands)
            if (o.aliases || o.role == problem::Role::inout) return false;
        return v_.b.k_stride.is(1) && v_.b.dtype == c_.dtype && v_.a.dtype == c_.dtype && !v_.a.batched && !v_.b.batched &&
               p_.facts.divisor(v_.k) % c_.group == 0 && p_.facts.range(v_.n).lo >= kSwappedColumns;
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
