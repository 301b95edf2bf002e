#include "codetta/runtime/executable.h"

#include "codetta/base/error.h"
#include "codetta/base/hash.h"
#include "codetta/runtime/argument_check.h"
#include "codetta/runtime/code_loader.h"
#include "codetta/runtime/detect_machine.h"
#include "codetta/runtime/launch.h"
#include "codetta/runtime/prepared.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <unordered_map>

namespace codetta::runtime {

void* PreallocatedOutputs::allocate(size_t storage, scalar::DType, std::span<const int64_t>, std::span<const int64_t>) {
    if (storage >= storages_.size())
        throw base::UserError(fmt::format("{} output arrays were given, but storage {} is asked for", storages_.size(), storage));
    return storages_[storage];
}

namespace {

/// An arena that goes back to its pool.
class Lease {
public:
    Lease(ArenaPool& pool, size_t bytes) : pool_(pool), memory_(pool.take(bytes)) {}
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() { pool_.give_back(std::move(memory_)); }

    std::byte* data() const { return memory_.data(); }

private:
    ArenaPool& pool_;
    Memory memory_;
};

uint64_t hash_symbols(std::span<const int64_t> symbols) {
    uint64_t hash = symbols.size();
    for (int64_t symbol : symbols) hash = (hash ^ static_cast<uint64_t>(symbol)) * 0x9e3779b97f4a7c15u + (hash >> 29);
    return hash;
}

sym::Bindings bindings_of(const HostProgram& program, const SizedProgram& sized) {
    sym::Bindings bindings;
    for (size_t i = 0; i < program.sizes.size(); i++) bindings.emplace(program.sizes[i].symbol, sized.symbols[i]);
    return bindings;
}

constexpr size_t symbols_on_stack = 64;

/// Empty arrays may have no address; then neither have their parts.
void* offset(std::byte* base, int64_t bytes) { return base == nullptr ? nullptr : base + bytes; }

} // namespace

struct Executable::State {
    State(HostProgram program, std::vector<base::CodeImage> images, std::shared_ptr<Context> context);

    void load(const base::CodeImage& image);
    void keep_constants();
    const Kernel* find_kernel(std::string_view symbol) const;

    /// The program for these arguments, checked against them, with the prepared memory that is current (or out of date).
    struct Found {
        std::shared_ptr<const SizedProgram> sized;
        std::shared_ptr<const PreparedSet> prepared;
    };
    Found find(std::span<const Argument> arguments);
    void remember(uint64_t hash, std::shared_ptr<const SizedProgram> sized);

    HostProgram program;
    std::shared_ptr<Context> context;
    std::vector<LoadedCode> code;
    std::map<std::string, Kernel, std::less<>> kernels;
    Memory constant_memory;
    std::vector<const std::byte*> constants; // where each lies
    std::unique_ptr<const SizeCalculator> calculator;
    std::vector<uint32_t> frozen_inputs; // that setup reads

    ForkSafeMutex mutex; // guards what follows
    std::shared_ptr<const SizedProgram> latest;
    std::shared_ptr<const PreparedSet> prepared;
    std::unordered_map<uint64_t, std::shared_ptr<const SizedProgram>> remembered; // by hash_symbols
    std::deque<uint64_t> remembered_order;                                        // oldest first
};

Executable::State::State(HostProgram given_program, std::vector<base::CodeImage> images, std::shared_ptr<Context> given_context)
    : program(std::move(given_program)), context(std::move(given_context)) {
    verify(program);
    for (const base::CodeImage& image : images) load(image);
    keep_constants();
    const auto finder = [this](std::string_view symbol) { return find_kernel(symbol); };
    calculator = std::make_unique<SizeCalculator>(program, finder);
    verify_setup(program, finder);
    frozen_inputs = setup_inputs(program);
}

void Executable::State::load(const base::CodeImage& image) {
    CODETTA_CHECK(image.kind == base::CodeKind::x86_elf, "program '{}' has code for a GPU, which this runtime does not run", program.name);
    ensure_features(image.required_features);
    code.emplace_back(image.bytes, LoadOptions{.perf_map = context->perf_map()});
    const uint64_t hash = base::hash_bytes(image.bytes.data(), image.bytes.size());
    for (const base::CodeEntry& entry : image.entries) {
        void* address = code.back().find(entry.symbol);
        CODETTA_CHECK(address != nullptr, "a code image lacks its kernel '{}'", entry.symbol);
        kernels.try_emplace(entry.symbol, Kernel{reinterpret_cast<codetta_kernel>(address), entry.signature, hash});
    }
}

void Executable::State::keep_constants() {
    size_t bytes = 0;
    std::vector<size_t> offsets;
    for (const Constant& constant : program.constants) {
        offsets.push_back(bytes);
        bytes += (constant.bytes.size() + memory_alignment_bytes - 1) / memory_alignment_bytes * memory_alignment_bytes;
    }
    constant_memory = Memory(bytes, "the constants of a program");
    for (size_t i = 0; i < offsets.size(); i++) {
        const std::vector<std::byte>& content = program.constants[i].bytes;
        if (!content.empty()) std::memcpy(constant_memory.data() + offsets[i], content.data(), content.size());
        constants.push_back(constant_memory.data() + offsets[i]);
    }
}

const Kernel* Executable::State::find_kernel(std::string_view symbol) const {
    const auto found = kernels.find(symbol);
    return found == kernels.end() ? nullptr : &found->second;
}

Executable::State::Found Executable::State::find(std::span<const Argument> arguments) {
    std::array<int64_t, symbols_on_stack> few;
    std::vector<int64_t> many(program.sizes.size() > few.size() ? program.sizes.size() : 0);
    const std::span<int64_t> symbols(many.empty() ? few.data() : many.data(), program.sizes.size());
    gather_symbols(program, arguments, symbols);

    const auto matches = [&](const std::shared_ptr<const SizedProgram>& sized) {
        return sized && std::ranges::equal(sized->symbols, symbols);
    };
    Found found;
    uint64_t hash = 0;
    {
        std::lock_guard lock(mutex);
        found.prepared = prepared;
        if (matches(latest)) {
            found.sized = latest;
        } else {
            hash = hash_symbols(symbols);
            const auto entry = remembered.find(hash);
            if (entry != remembered.end() && matches(entry->second)) found.sized = latest = entry->second;
        }
    }
    const bool is_new = found.sized == nullptr;
    if (is_new) found.sized = std::make_shared<const SizedProgram>(calculator->calculate(symbols));
    check_arguments(program, *found.sized, arguments);
    if (is_new) remember(hash, found.sized); // after the check: bad calls push nothing out
    return found;
}

void Executable::State::remember(uint64_t hash, std::shared_ptr<const SizedProgram> sized) {
    std::vector<std::shared_ptr<const SizedProgram>> dropped; // freed outside the lock
    std::lock_guard lock(mutex);
    dropped.push_back(std::exchange(latest, sized));
    std::shared_ptr<const SizedProgram>& entry = remembered[hash];
    if (entry == nullptr) remembered_order.push_back(hash);
    dropped.push_back(std::exchange(entry, std::move(sized)));
    while (remembered.size() > most_remembered_sizes) {
        const auto oldest = remembered.find(remembered_order.front());
        dropped.push_back(std::move(oldest->second));
        remembered.erase(oldest);
        remembered_order.pop_front();
    }
}

Executable::Executable(HostProgram program, std::vector<base::CodeImage> images, std::shared_ptr<Context> context)
    : state_(std::make_unique<State>(std::move(program), std::move(images), std::move(context))) {}
Executable::~Executable() = default;
Executable::Executable(Executable&&) noexcept = default;
Executable& Executable::operator=(Executable&&) noexcept = default;

void Executable::run(std::span<const Argument> arguments, OutputAllocator& allocator, Results& results, const CallOptions& options) const {
    State& state = *state_;
    Context& context = *state.context;
    const int threads = std::min(options.threads > 0 ? options.threads : context.threads(), ThreadPool::most_threads);
    State::Found found = state.find(arguments);
    const SizedProgram& sized = *found.sized;
    if (!state.program.prepared.empty() &&
        !is_current(found.prepared.get(), state.frozen_inputs, sized, arguments, context.prepared_generation())) [[unlikely]] {
        found.prepared = prepare(state.program, sized, state.frozen_inputs, arguments, state.constants, context, threads);
        std::shared_ptr<const PreparedSet> dropped = found.prepared; // the old one is freed outside the lock
        std::lock_guard lock(state.mutex);
        state.prepared.swap(dropped);
    }

    // One block per call: buffers, bases, the pointers of all launches, scratch of all threads.
    const size_t stride = scratch_stride(sized.scratch_bytes);
    const size_t base_count = state.calculator->base_count();
    const size_t tables_at = static_cast<size_t>(sized.arena_bytes);
    const size_t tables_bytes = (base_count + sized.most_pointers) * sizeof(void*);
    const size_t scratch_at = tables_at + scratch_stride(static_cast<int64_t>(tables_bytes));
    const Lease lease(context.arenas(), scratch_at + stride * static_cast<size_t>(threads));
    auto** bases = reinterpret_cast<std::byte**>(lease.data() + tables_at);
    auto** pointers = reinterpret_cast<void**>(bases + base_count);
    const Scratch scratch{lease.data() + scratch_at, stride};

    std::byte** base = bases;
    for (const Argument& argument : arguments) *base++ = static_cast<std::byte*>(argument.data);
    for (const std::byte* constant : state.constants) *base++ = const_cast<std::byte*>(constant); // kernels only read it
    if (found.prepared)
        for (const auto& memory : found.prepared->memories) *base++ = memory->data();
    for (size_t i = 0; i < sized.storages.size(); i++) {
        const SizedArray& storage = sized.storages[i];
        void* data = allocator.allocate(i, state.program.storages[i].dtype, storage.shape, storage.strides);
        CODETTA_USER_CHECK(data != nullptr || storage.empty, "no memory for output storage '{}'", state.program.storages[i].name);
        *base++ = static_cast<std::byte*>(data);
    }
    *base = lease.data();

    for (const SizedLaunch& launch : sized.call) {
        for (size_t i = 0; i < launch.pointers.size(); i++)
            pointers[i] = offset(bases[launch.pointers[i].base], launch.pointers[i].offset_bytes);
        if (options.profile == nullptr) {
            run_launch(launch, pointers, scratch, context.pool(), threads);
            continue;
        }
        const auto start = std::chrono::steady_clock::now();
        run_launch(launch, pointers, scratch, context.pool(), threads);
        const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
        const Work& work = launch.source->work;
        options.profile->push_back({launch.source->kernel, launch.source->label, launch.tasks, time.count(),
                                    static_cast<double>(sym::evaluate(work.flops, bindings_of(state.program, sized))),
                                    static_cast<double>(sym::evaluate(work.bytes, bindings_of(state.program, sized))), work.dtype});
    }
    results.outputs = sized.outputs;
    results.keeper = std::move(found.sized);
}

void Executable::refresh() { state_->context->refresh_prepared(); }

void Executable::forget(uint64_t token) {
    std::shared_ptr<const PreparedSet> dropped; // freed outside the lock
    std::lock_guard lock(state_->mutex);
    const auto is_dead = [token](const Identity& identity) { return identity.token == token; };
    if (state_->prepared && std::ranges::any_of(state_->prepared->identities, is_dead)) dropped.swap(state_->prepared);
}

const HostProgram& Executable::program() const { return state_->program; }

const base::KernelSignature& Executable::signature(std::string_view kernel) const {
    const Kernel* found = state_->find_kernel(kernel);
    CODETTA_CHECK(found != nullptr, "program '{}' has no kernel '{}'", state_->program.name, kernel);
    return found->signature;
}

int64_t Executable::arena_bytes(std::span<const Argument> arguments) const { return state_->find(arguments).sized->arena_bytes; }

size_t Executable::remembered_sizes() const {
    std::lock_guard lock(state_->mutex);
    return state_->remembered.size();
}

} // namespace codetta::runtime
