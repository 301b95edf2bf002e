// mbarriers, named barriers, fences, roles (PTX ISA 9.7.13; setmaxnreg 9.7.19.5; griddepcontrol 9.7.13.13).
#include "codetta/base/error.h"
#include "codetta/codegen/nvptx/statements.h"

namespace codetta::codegen::nvptx {

using sym::Expr;

void NvptxStatements::emit(const tile::BarrierInit& s) {
    command("mbarrier.init.shared::cta.b64 [$0], $1;", "r,n", {shared_address(s.barrier), ir.i32(s.arrivals)});
}

void NvptxStatements::emit(const tile::BarrierExpect& s) {
    command("mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,n", {shared_address(s.barrier), ir.i32(s.bytes)});
}

// No `.release.cluster`: on a barrier of another CTA it costs a fence of the whole GPU per arrival.
void NvptxStatements::emit(const tile::BarrierArrive& s) {
    llvm::Value* condition = all_hold(s.condition);
    llvm::Value* word = ir.b.CreateZExt(condition, ir.b.getInt32Ty());
    if (s.cluster_rank) {
        llvm::Value* rank = kernel.integers.emit_i32(*s.cluster_rank);
        command("{\n\t.reg .pred p;\n\t.reg .b32 ra;\n\tsetp.ne.b32 p, $2, 0;\n\t@p mapa.shared::cluster.u32 ra, $0, $1;\n\t@p "
                "mbarrier.arrive.shared::cluster.b64 _, [ra];\n\t}",
                "r,r,r", {shared_address(s.barrier), rank, word});
        return;
    }
    if (condition == ir.b.getTrue()) {
        command("mbarrier.arrive.shared::cta.b64 _, [$0];", "r", {shared_address(s.barrier)});
        return;
    }
    command("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, $1, 0;\n\t@p mbarrier.arrive.shared::cta.b64 _, [$0];\n\t}", "r,r",
            {shared_address(s.barrier), word});
}

void NvptxStatements::emit(const tile::BarrierWait& s) {
    llvm::Value* phase = kernel.integers.emit_i32(s.phase);
    command("{\n\t.reg .pred p;\n\tLW: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1;\n\t@p bra LD;\n\tbra LW;\n\tLD:\n\t}", "r,r",
            {shared_address(s.barrier), phase});
}

void NvptxStatements::emit(const tile::Fence& s) {
    switch (s.kind) {
    case tile::FenceKind::async_proxy: command("fence.proxy.async.shared::cta;"); break;
    case tile::FenceKind::mma: command("wgmma.fence.sync.aligned;"); break;
    case tile::FenceKind::barrier_init: command("fence.mbarrier_init.release.cluster;"); break;
    }
}

void NvptxStatements::emit(const tile::Sync& s) {
    llvm::Value* barrier = kernel.integers.emit_i32(s.barrier);
    if (s.threads == 0)
        command("bar.sync $0;", llvm::isa<llvm::ConstantInt>(barrier) ? "n" : "r", {barrier});
    else
        command(s.arrive_only ? "bar.arrive $0, $1;" : "bar.sync $0, $1;", llvm::isa<llvm::ConstantInt>(barrier) ? "n,n" : "r,n",
                {barrier, ir.i32(s.threads)});
}

void NvptxStatements::emit(const tile::GridDependency& s) {
    command(s.launch ? "griddepcontrol.launch_dependents;" : "griddepcontrol.wait;");
}

void NvptxStatements::emit(const tile::Role& s, const std::function<void()>& body) {
    const bool groups = s.warp_lo % 4 == 0 && s.warp_hi % 4 == 0;
    const Expr unit = Expr::symbol(groups ? "warpgroup" : "warp");
    const int lo = groups ? s.warp_lo / 4 : s.warp_lo, hi = groups ? s.warp_hi / 4 : s.warp_hi;
    std::vector<sym::Condition> mine;
    if (lo > 0) mine.push_back(sym::le(lo, unit));
    if (s.warp_hi < warp_count()) mine.push_back(sym::lt(unit, hi));
    auto *inside = ir.block("role"), *outside = llvm::BasicBlock::Create(ir.context, "others");
    ir.b.CreateCondBr(all_hold(mine), inside, outside);
    ir.b.SetInsertPoint(inside);
    if (s.registers > 0) {
        // What a thread has at launch: an equal share of 65536, in eights.
        const int share = 65536 / (warp_count() * 32) / 8 * 8;
        command(fmt::format("setmaxnreg.{}.sync.aligned.u32 {};", s.registers < share ? "dec" : "inc", s.registers));
    }
    body();
    if (roles_are_last)
        ir.b.CreateRetVoid();
    else
        ir.b.CreateBr(outside);
    outside->insertInto(ir.function);
    ir.b.SetInsertPoint(outside);
}

void NvptxStatements::emit(const tile::Elect&, const std::function<void()>& body) {
    ir.branch(kernel.integers.emit(sym::eq(Expr::symbol("lane"), 0)), body);
}

} // namespace codetta::codegen::nvptx
