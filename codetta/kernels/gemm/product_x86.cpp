#include <fmt/format.h>

#include "codetta/kernels/gemm/epilogue.h"
#include "codetta/kernels/gemm/x86.h"
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
        const Expr blocks = c_.block_rows > 0 ? sym::ceil_div(v_.m, c_.block_rows) : Expr(1);
        if (!blocks.is(1)) {
            names.push_back("block");
            extents.push_back(blocks);
        }
        names.push_back("panel");
        extents.push_back(sym::ceil_div(v_.n, c_.nr));
        const std::vector<Expr> index = at_.tasks(v_.batch, std::move(names), std::move(extents));
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
                b_.prefetch(strided(panel_, start + (k0 - from) * (lines * line / step) + i * line, 1, 1), 2);
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
        const auto all_rows = [&](const std::optional<Expr>& limit) {
            const Expr end = c_.few_rows ? sym::min(v_.m, c_.mr) : Expr(c_.mr);
            b_.loop("r", mt - first, end, [&](const Expr& r) {
                epilogue_row(p_, v_, b_, at_, first + r, n0_, c_.nr, limit, strided(values, values.offset + r * c_.nr, c_.nr, 1));
            });
        };
        columns_that_exist(b_, n0_, c_.nr, v_.n, all_rows);
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

Kernel emit_product(const Problem& p, const View& v, const X86Config& c) { return Product(p, v, c).run(); }

} // namespace codetta::kernels::gemm
