#include "codetta/kernels/gemm/gemm_sm90.h"

#include "codetta/base/error.h"
#include "codetta/kernels/gemm/raster.h"
#include "codetta/layout/int_tuple.h"
#include "codetta/targets/sm90/atoms.h"

namespace codetta::kernels::gemm {

using layout::IntTuple;
using scalar::DType;
using sym::Expr;
using tile::Builder;
using tile::Group;
using tile::Ring;
using tile::Space;
using tile::View;

namespace {

constexpr int kDepth = 64;                   // columns of k per stage: one 128-byte swizzle row
constexpr int64_t kSharedBytes = 227 * 1024; // of an SM for one CTA, less what alignment may take
constexpr int kOrderBarrier = 8;             // named barriers: 1 + consumer for the staging buffers, 8 + consumer for the ping-pong order

class Emitter {
public:
    Emitter(const std::string& name, const GemmSm90Config& c, DType dtype, const Epilogue& epilogue)
        : c_(c), dtype_(dtype), epilogue_(epilogue), b_(name) {}

    tile::Program run() {
        const int tile_m = c_.tile_m();
        map_a_ = b_.tensormap("a", dtype_, {tile_m, kDepth}, 128);
        map_b_ = b_.tensormap("b", dtype_, {c_.tile_n, kDepth}, 128);
        map_out_ = b_.tensormap("out", dtype_, {64, 64}, 128, true);
        m_ = b_.integer("m", {1, 1 << 22});
        n_ = b_.integer("n", {8, 1 << 22}, 8);
        k_ = b_.integer("k", {8, 1 << 30}, 8);
        operands_ = declare(b_, epilogue_, m_, n_);
        for (const char* feature : {"tma", "wgmma", "mbarrier", "stmatrix"}) b_.require(feature);
        b_.grid(min(Expr::symbol("sms"), ceil_div(m_, tile_m) * ceil_div(n_, c_.tile_n)), c_.threads());

        tiles_m_ = b_.let("tiles_m", ceil_div(m_, tile_m));
        tiles_n_ = b_.let("tiles_n", ceil_div(n_, c_.tile_n));
        tiles_ = b_.let("tiles", tiles_m_ * tiles_n_);
        steps_ = b_.let("steps", ceil_div(k_, kDepth));
        auto stage_buffers = [&](const char* buffer, int64_t rows) {
            return b_.alloc(buffer, Space::smem, dtype_, {IntTuple{rows, kDepth, c_.stages}, IntTuple{kDepth, 1, rows * kDepth}}, 1024,
                            tile::kSwizzle128);
        };
        smem_a_ = stage_buffers("smem_a", tile_m);
        smem_b_ = stage_buffers("smem_b", c_.tile_n);
        smem_out_ =
            b_.alloc("smem_out", Space::smem, dtype_,
                     {IntTuple{64, 64, c_.staging, c_.consumers}, IntTuple{64, 1, 4096, 4096 * c_.staging}}, 1024, tile::kSwizzle128);
        full_ = b_.barriers("full", c_.stages);
        empty_ = b_.barriers("empty", c_.stages);
        b_.when({eq(Expr::symbol("thread"), 0)}, [&] {
            for (int s = 0; s < c_.stages; ++s) {
                b_.emit({tile::BarrierInit{at(full_, 0, s), 1}});
                b_.emit({tile::BarrierInit{at(empty_, 0, s), 4 * (c_.pingpong ? 1 : c_.consumers)}}); // one arrival per consumer warp
            }
            b_.emit({tile::Fence{tile::FenceKind::barrier_init}});
            for (const View& map : {map_a_, map_b_, map_out_}) b_.prefetch(map);
        });
        b_.emit({tile::Sync{}});
        b_.role("producer", 0, 4, c_.producer_registers, [&] { produce(); });
        b_.role("consumer", 4, 4 * (1 + c_.consumers), c_.consumer_registers, [&] { consume(); });
        return std::move(b_).finish();
    }

private:
    void produce() {
        b_.when({eq(Expr::symbol("warp"), 0)}, [&] {
            b_.elect([&] {
                Ring ring(b_, "load", c_.stages);
                b_.loop("t", Expr::symbol("cta"), tiles_, Expr::symbol("ctas"), [&](const Expr& t) {
                    TilePlace place = grouped_raster(b_, t, tiles_m_, tiles_n_, c_.group);
                    b_.loop("p", 0, steps_, [&](const Expr& p) {
                        View full = at(full_, 0, ring.stage());
                        b_.emit({tile::BarrierWait{at(empty_, 0, ring.stage()), ring.other_phase()}});
                        b_.emit({tile::BarrierExpect{full, int64_t{c_.tile_m() + c_.tile_n} * kDepth * scalar::bytes(dtype_)}});
                        b_.tma_load(map_a_, {place.m * c_.tile_m(), p * kDepth}, at(smem_a_, 2, ring.stage()), full);
                        b_.tma_load(map_b_, {place.n * c_.tile_n, p * kDepth}, at(smem_b_, 2, ring.stage()), full);
                        ring.advance();
                    });
                });
            });
        });
    }

    void consume() {
        Expr consumer = b_.let("consumer", Expr::symbol("warpgroup") - 1);
        View acc = b_.rmem("acc", DType::f32, {c_.rows * c_.tile_n / 2});
        Expr first = Expr::symbol("cta"), stride = Expr::symbol("ctas");
        // The second consumer of ping-pong starts behind the k blocks of the first one's tile.
        Expr start = c_.pingpong ? b_.let("start", consumer * steps_) : Expr(0);
        Ring ring(b_, "use", c_.stages, mod(start, c_.stages), mod(floor_div(start, c_.stages), 2));
        if (c_.pingpong) {
            first = b_.let("first", first + consumer * stride);
            stride = b_.let("stride", 2 * stride);
            b_.when({eq(consumer, 1)}, [&] { b_.emit({tile::Sync{kOrderBarrier, 256, true}}); });
        }
        b_.loop("t", first, tiles_, stride, [&](const Expr& t) {
            TilePlace place = grouped_raster(b_, t, tiles_m_, tiles_n_, c_.group);
            if (c_.pingpong) b_.emit({tile::Sync{consumer + kOrderBarrier, 256, false}});
            b_.loop("p", 0, steps_, [&](const Expr& p) {
                b_.emit({tile::BarrierWait{at(full_, 0, ring.stage()), ring.phase()}});
                multiply(acc, consumer, ring.stage(), p);
                b_.emit({tile::Commit{Group::mma}});
                b_.emit({tile::WaitGroup{Group::mma, 1, false, {}}});
                release(ring.previous_stage(), {lt(0, p)});
                ring.advance();
            });
            if (c_.pingpong) b_.emit({tile::Sync{kOrderBarrier + 1 - consumer, 256, true}});
            b_.emit({tile::WaitGroup{Group::mma, 0, false, {acc}}});
            release(ring.previous_stage(), {});
            store(acc, consumer, place);
            if (c_.pingpong) ring.advance(steps_);
        });
        b_.when({eq(mod(Expr::symbol("thread"), 128), 0)}, [&] { b_.emit({tile::WaitGroup{Group::bulk, 0, false, {}}}); });
    }

    void multiply(const View& acc, const Expr& consumer, const Expr& stage, const Expr& p) {
        View a = at(smem_a_, 2, stage), b = at(smem_b_, 2, stage);
        Expr first_row = c_.pingpong ? Expr(0) : consumer * (64 * c_.rows);
        for (int kk = 0; kk < kDepth / 16; ++kk)
            for (int block = 0; block < c_.rows; ++block) {
                tile::Mma mma;
                mma.atom = targets::sm90::wgmma_name(c_.tile_n, dtype_);
                mma.d = slice(acc, 0, block * c_.tile_n / 2, c_.tile_n / 2);
                mma.a = slice(slice(a, 0, first_row + 64 * block, 64), 1, 16 * kk, 16);
                mma.b = slice(b, 1, 16 * kk, 16);
                mma.asynchronous = true;
                if (kk == 0) mma.accumulate_if = lt(0, p);
                b_.mma(std::move(mma));
            }
    }

    void release(const Expr& stage, tile::Conditions condition) {
        condition.push_back(eq(Expr::symbol("lane"), 0));
        b_.emit({tile::BarrierArrive{at(empty_, 0, stage), std::move(condition), std::nullopt}});
    }

    void store(const View& acc, const Expr& consumer, const TilePlace& place) {
        Expr warp = mod(Expr::symbol("warp"), 4);
        tile::Conditions lead{eq(mod(Expr::symbol("thread"), 128), 0)};
        Expr first_row = b_.let("row", place.m * c_.tile_m() + (c_.pingpong ? Expr(0) : consumer * (64 * c_.rows)));
        Expr first_column = b_.let("column", place.n * c_.tile_n);
        View own = at(smem_out_, 3, consumer);
        for (int block = 0, chunk = 0; block < c_.rows; ++block)
            for (int part = 0; part < c_.tile_n / 64; ++part, ++chunk) {
                View result = b_.rmem("result", dtype_, {32});
                ChunkPlace at_chunk{first_row + 64 * block, first_column + 64 * part, m_, n_};
                emit_epilogue(b_, epilogue_, operands_, at_chunk, slice(acc, 0, block * c_.tile_n / 2 + 32 * part, 32), result);
                // The staging buffer is free when all but the last staging - 1 stores have read theirs.
                View buffer = at(own, 2, chunk % c_.staging);
                b_.when(lead, [&] { b_.emit({tile::WaitGroup{Group::bulk, c_.staging - 1, true, {}}}); });
                b_.emit({tile::Sync{consumer + 1, 128, false}});
                for (int pair = 0; pair < 4; ++pair)
                    b_.copy(slice(result, 0, 8 * pair, 8), slice(slice(buffer, 0, 16 * warp, 16), 1, 16 * pair, 16),
                            {.atom = targets::sm90::kStmatrix});
                b_.emit({tile::Fence{tile::FenceKind::async_proxy}});
                b_.emit({tile::Sync{consumer + 1, 128, false}});
                b_.when(lead, [&] {
                    b_.tma_store(buffer, map_out_, {at_chunk.row, at_chunk.column});
                    b_.emit({tile::Commit{Group::bulk}});
                });
            }
    }

    const GemmSm90Config& c_;
    DType dtype_;
    const Epilogue& epilogue_;
    Builder b_;
    View map_a_, map_b_, map_out_, smem_a_, smem_b_, smem_out_, full_, empty_;
    EpilogueViews operands_;
    Expr m_, n_, k_, tiles_m_ = 0, tiles_n_ = 0, tiles_ = 0, steps_ = 0;
};

} // namespace

std::string to_string(const GemmSm90Config& c) {
    return fmt::format("{}{}x{}x{}_s{}", c.pingpong ? "pp_" : "", c.tile_m(), c.tile_n, kDepth, c.stages);
}

std::vector<GemmSm90Config> gemm_sm90_configs() {
    GemmSm90Config cooperative, narrow, pingpong, small;
    narrow.tile_n = 192;
    narrow.stages = 4;
    narrow.staging = 3;
    pingpong.pingpong = true;
    pingpong.rows = 2;
    pingpong.tile_n = 128;
    pingpong.stages = 6;
    small = pingpong;
    small.rows = 1;
    small.stages = 8;
    return {cooperative, narrow, pingpong, small};
}

base::Verdict can_build(const GemmSm90Config& c) {
    using base::Verdict;
    if (c.tile_n % 64 != 0 || c.tile_n < 64 || c.tile_n > 256)
        return Verdict::no("a tile of {} columns is no multiple of 64 up to 256", c.tile_n);
    if (c.tile_m() > 256) return Verdict::no("a box of {} rows is more than 256", c.tile_m());
    if (c.rows * c.tile_n / 64 % c.staging != 0)
        return Verdict::no("{} chunks of a tile are no multiple of {} staging buffers", c.rows * c.tile_n / 64, c.staging);
    if (c.pingpong && c.consumers != 2) return Verdict::no("ping-pong has two consumers, not {}", c.consumers);
    if (c.rows * c.tile_n / 2 + 40 > c.consumer_registers)
        return Verdict::no("{} accumulators a thread do not fit {} registers", c.rows * c.tile_n / 2, c.consumer_registers);
    int64_t bytes =
        int64_t{c.stages} * (c.tile_m() + c.tile_n) * kDepth * 2 + int64_t{c.staging} * c.consumers * 8192 + c.stages * 16 + 1024;
    if (bytes > kSharedBytes) return Verdict::no("{} bytes of shared memory are more than {}", bytes, kSharedBytes);
    return Verdict::yes();
}

tile::Program build_gemm_sm90(const std::string& name, const GemmSm90Config& c, DType dtype, const Epilogue& epilogue) {
    CODETTA_CHECK(can_build(c), "{}: {}", name, can_build(c).reason());
    return Emitter(name, c, dtype, epilogue).run();
}

} // namespace codetta::kernels::gemm
