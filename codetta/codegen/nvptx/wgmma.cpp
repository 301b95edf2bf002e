// wgmma: all instructions up to a commit are one piece of assembly, so that nothing comes between them; accumulators are tied in and out
// (PTX ISA 9.7.14).
#include "codetta/base/error.h"
#include "codetta/codegen/nvptx/statements.h"
#include "codetta/tile/view.h"

#include <algorithm>

namespace codetta::codegen::nvptx {

using sym::Expr;
using tile::Group;
using tile::View;

// The matrix descriptor of a K-major operand in the 128-byte swizzle: address / 16, leading offset 1 (unused), stride 1024 bytes between
// groups of 8 rows, mode 1 (PTX ISA 9.7.14.5.1).
llvm::Value* NvptxStatements::descriptor(const View& v, int64_t rows) {
    const tile::Buffer& b = kernel.buffer(v);
    const auto row = v.layout.mode(0), column = v.layout.mode(1);
    const bool fits = v.layout.rank() == 2 && tile::static_size(row) == rows && row.stride.is_leaf() &&
                      row.stride.leaf().is(128 / scalar::bytes(b.dtype)) && column.stride.is_leaf() && column.stride.leaf().is(1) &&
                      v.swizzle == tile::kSwizzle128;
    CODETTA_CHECK(fits, "'{}' is no K-major operand of rows of 128 swizzled bytes", b.name);
    Offset bytes = bytes_in_shared(v);
    CODETTA_CHECK(bytes.constant % 16 == 0 && kernel.integers.facts().divisor(bytes.symbolic) % 16 == 0,
                  "an operand in '{}' does not begin at a multiple of 16 bytes", b.name);
    const int64_t steps = bytes.constant / 16;
    bytes.constant = 0;
    llvm::Value* low = ir.b.CreateLShr(shared_address(bytes), 4);
    low = ir.b.CreateOr(low, ir.i32(1 << 16));
    llvm::Value* whole = ir.b.CreateOr(ir.b.CreateZExt(low, ir.b.getInt64Ty()), ir.i64((int64_t{1} << 62) | (int64_t{64} << 32)));
    return steps == 0 ? whole : ir.b.CreateAdd(whole, ir.i64(steps));
}

void NvptxStatements::emit(const tile::Mma& s) {
    const tile::Atom& atom = kernel.atoms.get(s.atom);
    CODETTA_CHECK(atom.d.threads() == 128 && s.asynchronous, "the atom {} is not known to this back end", atom.name);
    PendingMma m;
    m.instruction = atom.spelling.text;
    for (int64_t place : registers_.places(s.d)) m.accumulators.push_back(registers_.variable(s.d.buffer, place));
    m.a = descriptor(s.a, atom.a.shape[0]);
    m.b = descriptor(s.b, atom.b.shape[0]);
    m.accumulates = s.accumulate;
    if (s.accumulate && s.accumulate_if) {
        llvm::Value* holds = kernel.integers.emit(*s.accumulate_if);
        if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(holds))
            m.accumulates = !known->isZero();
        else
            m.accumulate = ir.b.CreateZExt(holds, ir.b.getInt32Ty());
    }
    pending_.push_back(std::move(m));
}

void NvptxStatements::emit(const tile::Commit& s) {
    if (s.group == Group::bulk) {
        command("cp.async.bulk.commit_group;");
        return;
    }
    CODETTA_CHECK(s.group == Group::mma, "plain asynchronous copies are not known to this back end");
    if (pending_.empty()) {
        command("wgmma.commit_group.sync.aligned;");
        return;
    }
    std::vector<llvm::AllocaInst*> accumulators;
    std::vector<llvm::Value*> descriptors, predicates;
    const auto number = [](auto& list, auto* item) {
        auto found = std::find(list.begin(), list.end(), item);
        if (found == list.end()) found = list.insert(list.end(), item);
        return static_cast<size_t>(found - list.begin());
    };
    for (const PendingMma& m : pending_) {
        for (auto* a : m.accumulators) number(accumulators, a);
        number(descriptors, m.a);
        number(descriptors, m.b);
        if (m.accumulate) number(predicates, m.accumulate);
    }
    const size_t count = accumulators.size();
    std::string text = "{\n\t", constraints;
    std::vector<llvm::Value*> arguments;
    for (size_t i = 0; i < count; ++i) constraints += i ? ",=f" : "=f";
    for (size_t i = 0; i < count; ++i) {
        constraints += fmt::format(",{}", i);
        arguments.push_back(ir.b.CreateLoad(ir.b.getFloatTy(), accumulators[i]));
    }
    for (auto* d : descriptors) {
        constraints += ",l";
        arguments.push_back(d);
    }
    for (size_t i = 0; i < predicates.size(); ++i) {
        text += fmt::format(".reg .pred p{};\n\tsetp.ne.b32 p{}, ${}, 0;\n\t", i, i, 2 * count + descriptors.size() + i);
        constraints += ",r";
        arguments.push_back(predicates[i]);
    }
    text += "wgmma.fence.sync.aligned;\n\t";
    for (const PendingMma& m : pending_) {
        text += m.instruction + " {";
        for (size_t i = 0; i < m.accumulators.size(); ++i)
            text += fmt::format("{}${}", i ? "," : "", number(accumulators, m.accumulators[i]));
        const std::string scale = m.accumulate ? fmt::format("p{}", number(predicates, m.accumulate)) : m.accumulates ? "1" : "0";
        text += fmt::format("}}, ${}, ${}, {}, 1, 1, 0, 0;\n\t", 2 * count + number(descriptors, m.a), 2 * count + number(descriptors, m.b),
                            scale);
    }
    text += "wgmma.commit_group.sync.aligned;\n\t}";
    llvm::SmallVector<llvm::Type*, 128> types(count, ir.b.getFloatTy());
    auto* result = assembly(llvm::StructType::get(ir.context, types), text, constraints + ",~{memory}", arguments);
    for (size_t i = 0; i < count; ++i) ir.b.CreateStore(ir.b.CreateExtractValue(result, static_cast<unsigned>(i)), accumulators[i]);
    pending_.clear();
}

void NvptxStatements::emit(const tile::WaitGroup& s) {
    if (s.group == Group::bulk) {
        command(fmt::format("cp.async.bulk.wait_group{} {};", s.read_only ? ".read" : "", s.pending));
        return;
    }
    CODETTA_CHECK(s.group == Group::mma, "plain asynchronous copies are not known to this back end");
    CODETTA_CHECK(pending_.empty(), "an mma is waited for before its commit");
    // The results go through the wait, so that no use of them can come before it.
    std::string constraints;
    std::vector<llvm::AllocaInst*> results;
    for (const View& v : s.results)
        for (int64_t place : registers_.places(v)) results.push_back(registers_.variable(v.buffer, place));
    const std::string text = fmt::format("wgmma.wait_group.sync.aligned {};", s.pending);
    if (results.empty()) {
        command(text);
        return;
    }
    std::vector<llvm::Value*> arguments;
    for (size_t i = 0; i < results.size(); ++i) constraints += i ? ",=f" : "=f";
    for (size_t i = 0; i < results.size(); ++i) {
        constraints += fmt::format(",{}", i);
        arguments.push_back(ir.b.CreateLoad(ir.b.getFloatTy(), results[i]));
    }
    llvm::SmallVector<llvm::Type*, 128> types(results.size(), ir.b.getFloatTy());
    auto* result = assembly(llvm::StructType::get(ir.context, types), text, constraints + ",~{memory}", arguments);
    for (size_t i = 0; i < results.size(); ++i) ir.b.CreateStore(ir.b.CreateExtractValue(result, static_cast<unsigned>(i)), results[i]);
}

} // namespace codetta::codegen::nvptx
