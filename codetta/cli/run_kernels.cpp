// Runs kernels through the tile interpreter, and host programs with their kernels compiled again.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <random>

#include "codetta/base/atomic_file.h"
#include "codetta/base/error.h"
#include "codetta/base/hash.h"
#include "codetta/cli/call.h"
#include "codetta/cli/run_command.h"
#include "codetta/compile/build.h"
#include "codetta/runtime/detect_machine.h"
#include "codetta/scalar/evaluate.h"
#include "codetta/targets/list.h"
#include "codetta/tile/interpret.h"
#include "codetta/tile/program.h"
#include "codetta/tile/verify.h"

namespace codetta::cli {

namespace {

using scalar::HostArray;

HostArray random_array(scalar::DType dtype, std::vector<int64_t> extents, std::mt19937_64& random) {
    HostArray a(dtype, std::move(extents));
    scalar::for_each_coordinate(a.extents(), [&](std::span<const int64_t> at) {
        const double x = 2 * static_cast<double>(random() >> 11) * 0x1p-53 - 1;
        a.store(at, scalar::is_float(dtype) ? scalar::make_float(dtype, x) : scalar::make_integer(dtype, x > 0 ? 1 : 0));
    });
    return a;
}

uint64_t hash_of(const HostArray& a) { return base::hash_bytes(a.data(), static_cast<size_t>(a.size() * scalar::bytes(a.dtype()))); }

tile::Arguments arguments_for(const tile::Program& p, const RunWishes& wishes) {
    tile::Arguments arguments;
    std::mt19937_64 random(wishes.seed);
    for (const tile::Buffer& b : p.buffers) {
        if (!b.parameter) continue;
        if (b.space == tile::Space::tensormap)
            throw base::UserError(fmt::format("parameter '{}' is a tensor map, which describes a tensor that only a program knows", b.name),
                                  p.name, "run it from a test (codetta/kernels/gemm/gemm_sm90_test.cpp)");
        const std::optional<int64_t> known = b.elements.constant();
        arguments.pointers.push_back(random_array(b.dtype, {known.value_or(0) > 0 ? *known : wishes.elements}, random));
    }
    for (const std::string& name : p.integers) {
        const auto given = wishes.sizes.find(name);
        if (given == wishes.sizes.end())
            throw base::UserError(fmt::format("the kernel's integer '{}' has no value", name), p.name,
                                  fmt::format("give it one: --size {}=8", name));
        arguments.integers.push_back(given->second);
    }
    return arguments;
}

} // namespace

bool run_kernels(const Session& session, const RunWishes& wishes, const StageFile& file) {
    const tile::AtomSet atoms = targets::atoms();
    bool good = true;
    for (const std::string& part : file.parts) {
        const tile::Program p = parse_part(file, part, tile::parse_program);
        tile::verify(p, atoms);
        const tile::Arguments early = arguments_for(p, wishes), late = arguments_for(p, wishes);
        const int32_t status = tile::interpret(p, atoms, early, {}, tile::Completion::early);
        tile::interpret(p, atoms, late, {}, tile::Completion::late);
        session.say("{}: {}\n", p.name,
                    status == 0 ? "done" : fmt::format("check {} failed: {}", status, p.checks[static_cast<size_t>(status - 1)]));
        for (size_t i = 0, next = 0; i < p.buffers.size(); ++i) {
            if (!p.buffers[i].parameter) continue;
            const HostArray &a = early.pointers[next], &b = late.pointers[next];
            ++next;
            if (!p.buffers[i].written) continue;
            const bool same = hash_of(a) == hash_of(b);
            session.say("  {}: {:016x}{}\n", p.buffers[i].name, hash_of(a), same ? "" : ": A RACE: late completion gives other bytes");
            good &= same;
        }
        good &= status == 0;
    }
    return good;
}

bool run_program(const Session& session, const RunWishes& wishes, const StageFile& file) {
    const base::Options options = session.options();
    runtime::HostProgram program = parse_part(file, file.parts[0], runtime::parse_host_program);
    std::string kernels_path = wishes.kernels;
    if (kernels_path.empty()) {
        const size_t stage = file.path.rfind(".4_plan.txt");
        if (stage == std::string::npos)
            throw base::UserError("a host program needs its kernels", file.path, "name their file: --kernels FILE");
        kernels_path = file.path.substr(0, stage) + ".5_build.txt";
    }
    std::vector<tile::Program> kernels;
    if (!program.call.empty() || !program.setup.empty()) {
        const StageFile kernel_file = read_stage_file(kernels_path);
        CODETTA_USER_CHECK(kernel_file.stage == Stage::kernels, "{} holds no kernels", kernels_path);
        for (const std::string& part : kernel_file.parts) kernels.push_back(parse_part(kernel_file, part, tile::parse_program));
    }
    std::vector<const tile::Program*> pointers;
    for (const tile::Program& k : kernels) pointers.push_back(&k);
    auto images = compile::build_images(pointers, runtime::host_target(options.target));

    std::set<std::string> symbols;
    sym::Facts facts;
    for (const runtime::Size& s : program.sizes) symbols.insert(s.symbol);
    for (const sym::Condition& c : program.requirements) facts.assume(c);
    const sym::Bindings sizes = choose_sizes(symbols, facts, wishes.sizes);
    std::vector<HostArray> inputs;
    std::vector<int64_t> integers;
    std::mt19937_64 random(wishes.seed);
    for (size_t i = 0; i < program.inputs.size(); ++i) {
        const runtime::Input& input = program.inputs[i];
        if (input.integer) {
            for (const runtime::Size& s : program.sizes)
                if (s.source == runtime::SizeSource::value && s.input.value == i) integers.push_back(sizes.find(s.symbol)->second);
            continue;
        }
        std::vector<int64_t> extents, strides;
        for (const sym::Expr& e : input.shape) extents.push_back(sym::evaluate(e, sizes));
        for (const sym::Expr& e : input.strides) strides.push_back(sym::evaluate(e, sizes));
        int64_t reach = 1;
        for (size_t d = 0; d < extents.size(); ++d) reach = extents[d] == 0 || reach == 0 ? 0 : reach + (extents[d] - 1) * strides[d];
        inputs.push_back(random_array(input.dtype, {reach}, random).view(extents, strides, 0));
    }
    const runtime::Executable executable(std::move(program), std::move(images));
    const CallResult made = call(executable, inputs, integers, options.threads);
    session.say("{}\n  call: {:.1f} us\n", executable.program().name, made.time_us);
    for (size_t i = 0; i < made.outputs.size(); ++i)
        session.say("  output {}: {}[{}], hash {:016x}\n", i, scalar::to_string(made.outputs[i].dtype()),
                    fmt::join(made.outputs[i].extents(), ", "), hash_of(made.outputs[i].clone()));
    return true;
}

} // namespace codetta::cli
