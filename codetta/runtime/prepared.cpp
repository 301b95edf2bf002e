#include "codetta/runtime/prepared.h"

#include "codetta/base/error.h"
#include "codetta/base/hash.h"
#include "codetta/runtime/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace codetta::runtime {

namespace {

Identity identity_of(const Argument& argument) { return {argument.token, argument.version, argument.data}; }

/// 128 bits: keys name the content of memory, so two different ones must never meet.
std::string digest(const std::string& text) {
    return base::hash_digits(base::hash_string(text, 1), 16) + base::hash_digits(base::hash_string(text, 2), 16);
}

/// What decides the content of each prepared memory: the launches that touch it, their code, sizes and sources. Empty = not to be shared.
std::vector<std::string> content_keys(const HostProgram& program, const SizedProgram& sized, std::span<const Argument> arguments,
                                      uint64_t generation) {
    std::vector<std::string> keys(program.prepared.size());
    std::vector<bool> shareable(program.prepared.size(), true);
    for (size_t i = 0; i < keys.size(); i++) keys[i] = fmt::format("{} bytes, generation {}", sized.prepared_bytes[i], generation);
    for (const SizedLaunch& launch : sized.setup) {
        std::string text = fmt::format("{} {:x}", launch.source->kernel, launch.kernel->image_hash);
        bool has_identity = true;
        for (size_t i = 0; i < launch.pointers.size(); i++) {
            const PointerArgument& pointer = launch.source->pointers[i];
            text += fmt::format(" +{} ", launch.pointers[i].offset_bytes);
            if (pointer.place == Place::input) {
                const Argument& argument = arguments[pointer.index];
                text += fmt::format("input {} {} {}", argument.token, argument.version, fmt::ptr(argument.data));
                has_identity &= argument.token != 0;
            } else if (pointer.place == Place::constant) {
                const std::vector<std::byte>& bytes = program.constants[pointer.index].bytes;
                text += fmt::format("constant {:x} {:x}", base::hash_bytes(bytes.data(), bytes.size(), 1),
                                    base::hash_bytes(bytes.data(), bytes.size(), 2));
            } else {
                text += keys[pointer.index];
                has_identity &= shareable[pointer.index];
            }
        }
        for (int64_t integer : launch.integers) text += fmt::format(" {}", integer);
        text += fmt::format(" tasks {}", launch.tasks);
        for (size_t i = 0; i < launch.pointers.size(); i++) {
            const PointerArgument& pointer = launch.source->pointers[i];
            if (pointer.place != Place::prepared || launch.kernel->signature.pointers[i].role == base::PointerRole::input) continue;
            keys[pointer.index] = digest(fmt::format("{} as argument {} of {}", keys[pointer.index], i, text));
            shareable[pointer.index] = shareable[pointer.index] && has_identity;
        }
    }
    for (size_t i = 0; i < keys.size(); i++)
        if (!shareable[i]) keys[i].clear();
    return keys;
}

} // namespace

std::vector<uint32_t> setup_inputs(const HostProgram& program) {
    std::set<uint32_t> inputs;
    for (const Launch& launch : program.setup)
        for (const PointerArgument& pointer : launch.pointers)
            if (pointer.place == Place::input) inputs.insert(pointer.index);
    return {inputs.begin(), inputs.end()};
}

bool is_current(const PreparedSet* set, std::span<const uint32_t> inputs, const SizedProgram& sized, std::span<const Argument> arguments,
                uint64_t generation) {
    if (set == nullptr || set->generation != generation || set->setup_numbers != sized.setup_numbers) return false;
    for (size_t i = 0; i < inputs.size(); i++)
        if (set->identities[i] != identity_of(arguments[inputs[i]])) return false;
    return true;
}

std::shared_ptr<const PreparedSet> prepare(const HostProgram& program, const SizedProgram& sized, std::span<const uint32_t> inputs,
                                           std::span<const Argument> arguments, std::span<const std::byte* const> constants,
                                           Context& context, int threads) {
    auto set = std::make_shared<PreparedSet>();
    set->generation = context.prepared_generation();
    set->setup_numbers = sized.setup_numbers;
    for (uint32_t input : inputs) set->identities.push_back(identity_of(arguments[input]));

    const std::vector<std::string> keys = content_keys(program, sized, arguments, set->generation);
    std::vector<bool> is_new(keys.size());
    for (size_t i = 0; i < keys.size(); i++) {
        std::shared_ptr<Memory> memory = keys[i].empty() ? nullptr : context.find_prepared(keys[i]);
        is_new[i] = memory == nullptr;
        if (is_new[i]) memory = std::make_shared<Memory>(static_cast<size_t>(sized.prepared_bytes[i]), "prepared weights");
        set->memories.push_back(std::move(memory));
    }

    Memory scratch_memory;
    for (const SizedLaunch& launch : sized.setup) {
        std::vector<void*> pointers;
        bool writes_new = false;
        for (size_t i = 0; i < launch.pointers.size(); i++) {
            const PointerArgument& pointer = launch.source->pointers[i];
            std::byte* start = nullptr;
            if (pointer.place == Place::input)
                start = static_cast<std::byte*>(arguments[pointer.index].data);
            else if (pointer.place == Place::constant)
                start = const_cast<std::byte*>(constants[pointer.index]); // read only, by its signature
            else {
                start = set->memories[pointer.index]->data();
                writes_new |= is_new[pointer.index] && launch.kernel->signature.pointers[i].role != base::PointerRole::input;
            }
            pointers.push_back(start == nullptr ? nullptr : start + launch.pointers[i].offset_bytes); // empty arrays may have no address
        }
        if (!writes_new) continue;
        const size_t stride = scratch_stride(launch.scratch_bytes);
        if (stride * static_cast<size_t>(threads) > scratch_memory.bytes())
            scratch_memory = Memory(stride * static_cast<size_t>(threads), "the scratch of a kernel");
        run_launch(launch, pointers.data(), {scratch_memory.data(), stride}, context.pool(), threads);
    }
    for (size_t i = 0; i < keys.size(); i++)
        if (is_new[i] && !keys[i].empty()) set->memories[i] = context.share_prepared(keys[i], set->memories[i]);
    return set;
}

void verify_setup(const HostProgram& program, const SizeCalculator::FindKernel& find_kernel) {
    std::set<uint32_t> read;
    for (const Launch& launch : program.setup) {
        const base::KernelSignature& signature = find_kernel(launch.kernel)->signature;
        for (size_t i = 0; i < launch.pointers.size(); i++) {
            if (launch.pointers[i].place == Place::prepared && signature.pointers[i].role != base::PointerRole::input) {
                CODETTA_CHECK(!read.contains(launch.pointers[i].index), "program '{}': {} writes '{}', which an earlier launch has read",
                              program.name, launch.kernel, program.prepared[launch.pointers[i].index].name);
                continue;
            }
            CODETTA_CHECK(launch.pointers[i].place == Place::prepared || signature.pointers[i].role == base::PointerRole::input,
                          "program '{}': {} in setup writes an input or a constant", program.name, launch.kernel);
            if (launch.pointers[i].place == Place::prepared) read.insert(launch.pointers[i].index);
        }
    }
}

} // namespace codetta::runtime
