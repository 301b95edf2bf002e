// The function around a program's body: arguments, the loop over tasks, tile configuration.
#include "codetta/base/error.h"
#include "codetta/codegen/x86/statements.h"

#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>

namespace codetta::codegen::x86 {

using tile::Space;

namespace {

// Byte offsets in codetta_kernel_args (base/kernel_signature.h).
constexpr int64_t kPointersAt = 0, kIntegersAt = 8, kStatusAt = 16;

llvm::Value* load_argument(Ir& ir, llvm::Type* type, llvm::Value* base, int64_t byte_offset) {
    auto* load =
        ir.b.CreateAlignedLoad(type, byte_offset == 0 ? base : ir.b.CreateInBoundsPtrAdd(base, ir.i64(byte_offset)), llvm::Align(8));
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(ir.context, {}));
    return load;
}

void make_scopes(Kernel& k) {
    llvm::MDBuilder build(k.ir.context);
    llvm::MDNode* domain = build.createAnonymousAliasScopeDomain("buffers");
    llvm::MDNode* scratch = nullptr;
    for (size_t i = 0; i < k.program.buffers.size(); ++i) {
        const auto& b = k.program.buffers[i];
        if (b.space == Space::scratch) {
            if (!scratch) scratch = build.createAnonymousAliasScope(domain, "scratch");
            k.scope[i] = build.createAnonymousAliasScope(domain, b.name); // scratch buffers do not overlap each other
        } else if (b.parameter && b.no_alias)
            k.scope[i] = build.createAnonymousAliasScope(domain, b.name);
    }
}

bool has_tiles(const tile::Program& p) {
    for (const auto& b : p.buffers)
        if (b.space == Space::tmm) return true;
    return false;
}

// Palette 1, every tile 16 rows of 64 bytes (Intel SDM vol. 1, 18.3).
llvm::GlobalVariable* tile_configuration(llvm::Module& module) {
    uint8_t bytes[64] = {1};
    for (int t = 0; t < 8; ++t) {
        bytes[16 + 2 * t] = 64;
        bytes[48 + t] = 16;
    }
    auto* data = llvm::ConstantDataArray::get(module.getContext(), llvm::ArrayRef<uint8_t>(bytes, 64));
    auto* global = new llvm::GlobalVariable(module, data->getType(), true, llvm::GlobalValue::InternalLinkage, data, "tile_configuration");
    global->setAlignment(llvm::Align(64));
    return global;
}

// Runs `body` for tasks begin .. end-1 with the task indices defined; a failed check leaves to the end of its task.
void emit_tasks(X86Statements& s, const std::vector<tile::TaskIndex>& tasks, llvm::Value* begin, llvm::Value* end) {
    Kernel& k = s.kernel;
    Ir& ir = k.ir;
    auto& b = ir.b;
    auto* i64 = b.getInt64Ty();
    ir.branch(b.CreateICmpSLT(begin, end), [&] {
        std::vector<llvm::Value*> extents, first(tasks.size());
        for (const auto& t : tasks) extents.push_back(k.integers.emit(t.extent));
        llvm::Value* rest = begin;
        for (size_t i = tasks.size(); i-- > 0;) {
            if (i == 0)
                first[i] = rest;
            else {
                first[i] = b.CreateURem(rest, extents[i]);
                rest = b.CreateUDiv(rest, extents[i]);
            }
        }
        auto* before = b.GetInsertBlock();
        auto *task = ir.block("task"), *next_task = llvm::BasicBlock::Create(ir.context, "next_task"),
             *done = llvm::BasicBlock::Create(ir.context, "all_done");
        b.CreateBr(task);
        b.SetInsertPoint(task);
        auto* number = b.CreatePHI(i64, 2, "task");
        number->addIncoming(begin, before);
        std::vector<llvm::PHINode*> index;
        for (size_t i = 0; i < tasks.size(); ++i) {
            index.push_back(b.CreatePHI(i64, 2, tasks[i].name));
            index.back()->addIncoming(first[i], before);
        }
        k.leave = next_task;
        k.integers.scope([&] {
            for (size_t i = 0; i < tasks.size(); ++i) {
                const auto range = k.integers.range(tasks[i].extent);
                k.integers.define(tasks[i].name, index[i], {0, std::max<int64_t>(0, range.hi - 1)});
                k.integers.assume(sym::lt(sym::Expr::symbol(tasks[i].name), tasks[i].extent));
            }
            walk(s, k.program.body);
        });
        b.CreateBr(next_task);
        next_task->insertInto(ir.function);
        b.SetInsertPoint(next_task);
        auto* following = b.CreateNSWAdd(number, ir.i64(1));
        number->addIncoming(following, next_task);
        llvm::Value* carry = ir.i64(1);
        for (size_t i = tasks.size(); i-- > 0;) {
            llvm::Value* up = b.CreateNSWAdd(index[i], carry);
            if (i == 0) {
                index[i]->addIncoming(up, next_task);
                break;
            }
            llvm::Value* wraps = b.CreateICmpEQ(up, extents[i]);
            index[i]->addIncoming(b.CreateSelect(wraps, ir.i64(0), up), next_task);
            carry = b.CreateZExt(wraps, i64);
        }
        b.CreateCondBr(b.CreateICmpSLT(following, end), task, done);
        done->insertInto(ir.function);
        b.SetInsertPoint(done);
    });
}

} // namespace

llvm::Function* emit_kernel(llvm::Module& module, const tile::Program& program, const tile::AtomSet& atoms, const base::Target& target) {
    const auto* tasks = std::get_if<std::vector<tile::TaskIndex>>(&program.frame);
    CODETTA_CHECK(tasks != nullptr, "the program '{}' has a GPU frame", program.name);
    Ir ir(module);
    Integers integers(ir, program.facts);
    Kernel kernel{program,
                  atoms,
                  target,
                  ir,
                  integers,
                  std::vector<llvm::Value*>(program.buffers.size()),
                  std::vector<llvm::MDNode*>(program.buffers.size())};
    auto& b = ir.b;
    llvm::Type *ptr = b.getPtrTy(), *i64 = b.getInt64Ty();
    ir.function = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), {ptr, i64, i64, ptr}, false),
                                         llvm::Function::ExternalLinkage, program.name, module);
    for (unsigned i : {0u, 3u}) ir.function->addParamAttr(i, llvm::Attribute::NoAlias);
    b.SetInsertPoint(ir.block("entry"));
    llvm::Value *args = ir.function->getArg(0), *begin = ir.function->getArg(1), *end = ir.function->getArg(2);

    llvm::Value *pointers = load_argument(ir, ptr, args, kPointersAt), *values = load_argument(ir, ptr, args, kIntegersAt);
    kernel.status = load_argument(ir, ptr, args, kStatusAt);
    int64_t position = 0;
    for (size_t i = 0; i < program.buffers.size(); ++i)
        if (program.buffers[i].parameter) {
            CODETTA_CHECK(program.buffers[i].space == Space::gmem, "the parameter '{}' is not plain memory", program.buffers[i].name);
            kernel.base[i] = load_argument(ir, ptr, pointers, 8 * position++);
            kernel.base[i]->setName(program.buffers[i].name);
        }
    for (size_t i = 0; i < program.integers.size(); ++i) {
        const auto symbol = sym::Expr::symbol(program.integers[i]);
        auto* value = load_argument(ir, i64, values, 8 * static_cast<int64_t>(i));
        value->setName(program.integers[i]);
        integers.define(program.integers[i], value, program.facts.range(symbol), std::max<int64_t>(1, program.facts.divisor(symbol)));
    }
    make_scopes(kernel);
    X86Statements statements(kernel);
    statements.scratch = ir.function->getArg(3);
    if (has_tiles(program)) ir.call(llvm::Intrinsic::x86_ldtilecfg, {}, {tile_configuration(module)});
    emit_tasks(statements, *tasks, begin, end);
    if (has_tiles(program)) ir.call(llvm::Intrinsic::x86_tilerelease, {}, {});
    if (statements.streams) ir.call(llvm::Intrinsic::x86_sse_sfence, {}, {});
    b.CreateRetVoid();
    return ir.function;
}

} // namespace codetta::codegen::x86
