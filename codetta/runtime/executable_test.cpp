#include "codetta/base/error.h"
#include "codetta/runtime/executable.h"
#include "codetta/runtime/object_for_test.h"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

namespace codetta::runtime {
namespace {

using scalar::DType;

/// Kernels as codegen makes them: one task = one row (or as said), any chunking.
base::CodeImage test_image() {
    using base::PointerRole;
    const std::string source = R"(
/* y[i, :] = x[i, :] * factor */
void scale(const args_t* a, int64_t begin, int64_t end, void* scratch) {
    const float* x = a->pointers[0]; const float* f = a->pointers[1]; float* y = a->pointers[2];
    int64_t n = a->integers[0];
    for (int64_t i = begin; i < end; i++) for (int64_t j = 0; j < n; j++) y[i * n + j] = x[i * n + j] * f[0];
}
/* y = a + b, one task an element */
void add(const args_t* a, int64_t begin, int64_t end, void* scratch) {
    const float* x = a->pointers[0]; const float* z = a->pointers[1]; float* y = a->pointers[2];
    for (int64_t i = begin; i < end; i++) y[i] = x[i] + z[i];
}
/* y[i] = table[index[i]], checked */
void gather(const args_t* a, int64_t begin, int64_t end, void* scratch) {
    const float* t = a->pointers[0]; const int64_t* index = a->pointers[1]; float* y = a->pointers[2];
    for (int64_t i = begin; i < end; i++) {
        if (index[i] < 0 || index[i] >= a->integers[0]) { *a->status = 1; continue; }
        y[i] = t[index[i]];
    }
}
/* y[i] = sum of row i by way of scratch, which must be private to the thread */
void row_sum(const args_t* a, int64_t begin, int64_t end, void* scratch) {
    const float* x = a->pointers[0]; float* y = a->pointers[1]; int64_t n = a->integers[0];
    volatile float* mine = scratch;
    for (int64_t i = begin; i < end; i++) {
        for (int64_t j = 0; j < n; j++) mine[j] = x[i * n + j];
        float sum = 0;
        for (int64_t j = 0; j < n; j++) sum += mine[j];
        y[i] = sum;
    }
}
/* packs w (n by k) transposed, and counts its runs in the last element */
void pack(const args_t* a, int64_t begin, int64_t end, void* scratch) {
    const float* w = a->pointers[0]; float* p = a->pointers[1]; int64_t n = a->integers[0], k = a->integers[1];
    for (int64_t i = begin; i < end; i++) for (int64_t j = 0; j < k; j++) p[j * n + i] = w[i * k + j];
}
)";
    return image_for_test(
        source, {{"scale", {{{"x", "f32"}, {"f", "f32"}, {"y", "f32", PointerRole::output}}, {"n"}, {}}},
                 {"add", {{{"a", "f32"}, {"b", "f32"}, {"y", "f32", PointerRole::output}}, {}, {}}},
                 {"gather", {{{"t", "f32"}, {"i", "i64"}, {"y", "f32", PointerRole::output}}, {"n"}, {"index out of range in gather"}}},
                 {"row_sum", {{{"x", "f32"}, {"y", "f32", PointerRole::output}}, {"n"}, {}}},
                 {"pack", {{{"w", "f32"}, {"p", "f32", PointerRole::output}}, {"n", "k"}, {}}}});
}

const base::CodeImage& image() {
    static const base::CodeImage made = test_image();
    return made;
}

Executable make(const std::string& text, std::shared_ptr<Context> context = std::make_shared<Context>()) {
    return Executable(parse_host_program(text), {image()}, std::move(context));
}

/// An owned array that can be passed.
template <class T>
struct Array {
    std::vector<T> values;
    std::vector<int64_t> shape, strides;
    DType dtype;

    Array(DType type, std::vector<int64_t> extents, std::vector<T> content)
        : values(std::move(content)), shape(std::move(extents)), dtype(type) {
        strides.assign(shape.size(), 1);
        for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
        int64_t size = 1;
        for (int64_t extent : shape) size *= extent;
        values.resize(static_cast<size_t>(size));
    }
    Argument argument() {
        Argument made;
        made.data = values.data();
        made.shape = shape.data();
        made.strides = strides.data();
        made.rank = static_cast<uint32_t>(shape.size());
        made.dtype = dtype;
        return made;
    }
};
using F32 = Array<float>;
using I64 = Array<int64_t>;
F32 f32(std::vector<int64_t> shape, std::vector<float> values = {}) { return F32(DType::f32, std::move(shape), std::move(values)); }
I64 i64(std::vector<int64_t> shape, std::vector<int64_t> values = {}) { return I64(DType::i64, std::move(shape), std::move(values)); }

/// Owns what it allocates; contiguous storages only.
class OwnedOutputs : public OutputAllocator {
public:
    void* allocate(size_t storage, DType, std::span<const int64_t> shape, std::span<const int64_t>) override {
        int64_t size = 1;
        for (int64_t extent : shape) size *= extent;
        if (storages.size() <= storage) storages.resize(storage + 1);
        storages[storage].assign(static_cast<size_t>(size), -1.0f);
        return storages[storage].data();
    }
    std::vector<std::vector<float>> storages;
};

std::vector<float> run_one(const Executable& executable, std::vector<Argument> arguments, int threads = 2) {
    OwnedOutputs outputs;
    Results results;
    executable.run(arguments, outputs, results, {.threads = threads});
    return outputs.storages.at(0);
}

std::string message_of(auto action) {
    try {
        action();
    } catch (const base::Error& error) {
        return error.what();
    }
    return "no error";
}

const char* const scaled_sum = R"(program scaled_sum
  input x: f32[s0, s1] strides [s1, 1]
  size s0 = shape(x, 0)
  size s1 = shape(x, 1)
  require 1 <= s1
  constant half: f32[1] = 0000003f
  buffer t: 4*s0*s1 live 0..1
  storage y: f32[s0] strides [1]
setup
call
  launch scale(x, half, t; s1) tasks s0 grain 1
  launch row_sum(t, y; s1) tasks s0 grain 1 scratch 4*s1 work 2*s0 flops 8*s0 bytes f32 label "sum model.py:3"
outputs
  view of y: f32[s0] strides [1] offset 0
  view of y: f32[s0, 1] strides [1, 1] offset 0
  input x
  size s0*s1
  nothing
end
)";

TEST(Executable, RunsLaunchesInOrderOnTemporaries) {
    const Executable executable = make(scaled_sum);
    F32 x = f32({3, 2}, {1, 2, 3, 4, 5, 6});
    OwnedOutputs outputs;
    Results results;
    const std::vector<Argument> arguments = {x.argument()};
    executable.run(arguments, outputs, results);
    EXPECT_EQ(outputs.storages[0], (std::vector<float>{1.5, 3.5, 5.5}));
    ASSERT_EQ(results.outputs.size(), 5u);
    EXPECT_TRUE(results.outputs[0].whole_storage);
    EXPECT_EQ(results.outputs[0].shape[0], 3);
    EXPECT_FALSE(results.outputs[1].whole_storage);
    EXPECT_EQ(results.outputs[1].shape.size(), 2u);
    EXPECT_EQ(results.outputs[2].kind, OutputKind::input);
    EXPECT_EQ(results.outputs[3].offset, 6);
    EXPECT_EQ(results.outputs[4].kind, OutputKind::nothing);
    EXPECT_EQ(executable.arena_bytes(arguments), 64);
}

TEST(Executable, AnyThreadCountGivesTheSameBits) {
    const Executable executable = make(scaled_sum);
    F32 x = f32({1000, 37});
    for (size_t i = 0; i < x.values.size(); i++) x.values[i] = 0.1f * static_cast<float>(i % 101);
    const std::vector<float> expected = run_one(executable, {x.argument()}, 1);
    for (int threads : {2, 3, 8})
        for (int round = 0; round < 20; round++) ASSERT_EQ(run_one(executable, {x.argument()}, threads), expected);
}

TEST(Executable, SizesAreWorkedOutOncePerTuple) {
    const Executable executable = make(scaled_sum);
    EXPECT_EQ(executable.remembered_sizes(), 0u);
    for (int64_t rows = 0; rows < 20; rows++)
        for (int again = 0; again < 2; again++) {
            F32 x = f32({rows, 3}, std::vector<float>(static_cast<size_t>(3 * rows), 2.0f));
            EXPECT_EQ(run_one(executable, {x.argument()}), std::vector<float>(static_cast<size_t>(rows), 3.0f));
            EXPECT_EQ(executable.remembered_sizes(), static_cast<size_t>(rows + 1));
        }
    for (int64_t rows = 0; rows < static_cast<int64_t>(2 * Executable::most_remembered_sizes); rows++) {
        F32 x = f32({rows, 1}, std::vector<float>(static_cast<size_t>(rows), 2.0f));
        ASSERT_EQ(run_one(executable, {x.argument()}), std::vector<float>(static_cast<size_t>(rows), 1.0f));
    }
    EXPECT_EQ(executable.remembered_sizes(), Executable::most_remembered_sizes);
}

TEST(Executable, WrongArgumentsAreNamedAndHarmless) {
    const Executable executable = make(scaled_sum);
    F32 x = f32({3, 2}, {1, 2, 3, 4, 5, 6});
    const auto message = [&](auto change) {
        Argument argument = x.argument();
        change(argument);
        return message_of([&] { run_one(executable, {argument}); });
    };
    EXPECT_EQ(message([](Argument& a) { a.dtype = DType::f64; }),
              "argument 0 ('x'): has dtype f64 where f32 is expected; convert it, or compile again for this dtype");
    EXPECT_EQ(message([](Argument& a) { a.device = Device::cuda; }),
              "argument 0 ('x'): lies on cuda where cpu is expected; move it to the cpu");
    EXPECT_EQ(message([](Argument& a) { a.rank = 1; }), "argument 0 ('x'): has 1 dimensions where [s0, s1] is expected");
    EXPECT_EQ(message([](Argument& a) { a.data = nullptr; }), "argument 0 ('x'): has no data; pass a real array");
    const std::vector<int64_t> transposed = {1, 3}, empty = {3, 0};
    EXPECT_EQ(message([&](Argument& a) { a.strides = transposed.data(); }),
              "argument 0 ('x'): has strides [1, 3] where [s1, 1] = [2, 1] are expected; copy it into an array with these strides");
    EXPECT_EQ(message([&](Argument& a) { a.shape = empty.data(); }), "'scaled_sum' needs 1 <= s1, but s1 = 0 (dimension 1 of 'x')");
    EXPECT_EQ(message_of([&] { run_one(executable, {}); }), "'scaled_sum' takes 1 arguments, got 0");
    EXPECT_EQ(executable.remembered_sizes(), 0u) << "bad calls leave nothing behind";
    EXPECT_EQ(run_one(executable, {x.argument()}), (std::vector<float>{1.5, 3.5, 5.5})) << "and the executable works";
}

TEST(Executable, FixedShapesAndTiedSizes) {
    const Executable executable = make(R"(program tied
  input a: f32[s0, 4] strides [4, 1]
  input b: f32[4, s0] strides [s0, 1]
  size s0 = shape(a, 0)
  storage y: f32[4*s0] strides [1]
setup
call
  launch add(a, b, y) tasks 4*s0 grain 16
outputs
  view of y: f32[4*s0] strides [1] offset 0
end
)");
    F32 a = f32({1, 4}, {1, 2, 3, 4}), b = f32({4, 1}, {10, 20, 30, 40}), c = f32({4, 2}), d = f32({1, 5});
    EXPECT_EQ(run_one(executable, {a.argument(), b.argument()}), (std::vector<float>{11, 22, 33, 44}));
    EXPECT_EQ(message_of([&] { run_one(executable, {a.argument(), c.argument()}); }),
              "argument 1 ('b'): has shape [4, 2] where [4, s0] = [4, 1] is expected");
    EXPECT_EQ(message_of([&] { run_one(executable, {d.argument(), b.argument()}); }),
              "argument 0 ('a'): has shape [1, 5] where [s0, 4] = [1, 4] is expected");
    // Strides of dimensions of size 1 are free.
    b.strides = {1, 77};
    EXPECT_EQ(run_one(executable, {a.argument(), b.argument()}), (std::vector<float>{11, 22, 33, 44}));
}

TEST(Executable, IndexOutOfRangeIsAnErrorAndEverythingGoesOn) {
    const Executable executable = make(R"(program look
  input t: f32[s0] strides [1]
  input i: i64[s1] strides [1]
  size s0 = shape(t, 0)
  size s1 = shape(i, 0)
  storage y: f32[s1] strides [1]
setup
call
  launch gather(t, i, y; s0) tasks s1 grain 2 label "embedding model.py:7"
  launch add(y, y, t) tasks 1 grain 1
outputs
  view of y: f32[s1] strides [1] offset 0
end
)");
    F32 t = f32({3}, {10, 20, 30});
    I64 good = i64({4}, {2, 0, 1, 2}), bad = i64({4}, {2, 0, 3, 2});
    for (int round = 0; round < 3; round++) {
        t.values[0] = 10;
        EXPECT_EQ(run_one(executable, {t.argument(), good.argument()}), (std::vector<float>{30, 10, 20, 30}));
        EXPECT_EQ(t.values[0], 60.0f) << "the second launch ran";
        try {
            run_one(executable, {t.argument(), bad.argument()});
            FAIL();
        } catch (const base::IndexError& error) {
            EXPECT_STREQ(error.what(), "embedding model.py:7: index out of range in gather");
        }
        EXPECT_EQ(t.values[0], 60.0f) << "the second launch did not run";
    }
}

TEST(Executable, TheFirstAlternativeThatHoldsRuns) {
    const Executable executable = make(R"(program alternatives
  input x: f32[s0] strides [1]
  input n: int
  size s0 = shape(x, 0)
  size s1 = value(n)
  size a0 = alignment(x)
  constant two: f32[1] = 00000040
  constant three: f32[1] = 00004040
  constant four: f32[1] = 00008040
  storage y: f32[s0] strides [1]
setup
call
  choice
    when s1 % 2 == 0, a0 % 64 == 0
      launch scale(x, two, y; s0) tasks 1 grain 1
    when s1 % 2 == 0
      launch scale(x, three, y; s0) tasks 1 grain 1
    otherwise
      launch scale(x, four, y; s0) tasks 1 grain 1
outputs
  view of y: f32[s0] strides [1] offset 0
end
)");
    alignas(64) float memory[32];
    std::fill_n(memory, 32, 1.0f);
    const int64_t shape[] = {1}, strides[] = {1};
    const auto result = [&](int offset, int64_t n) {
        Argument x;
        x.data = memory + offset;
        x.shape = shape;
        x.strides = strides;
        x.rank = 1;
        return run_one(executable, {x, Argument::of_integer(n)})[0];
    };
    EXPECT_EQ(result(0, 4), 2);
    EXPECT_EQ(result(1, 4), 3);
    EXPECT_EQ(result(0, 5), 4);
    EXPECT_EQ(result(0, 4), 2);
    EXPECT_EQ(result(16, 4), 2) << "64 bytes on";
    EXPECT_EQ(result(8, 4), 3) << "32 bytes on";
}

TEST(Executable, WritesIntoInputsAndViewsOfThem) {
    const Executable executable = make(R"(program in_place
  input cache: f32[8] strides [1]
  input x: f32[2] strides [1]
  input n: int
  size s0 = value(n)
setup
call
  launch add(x, x, cache + 4*s0) tasks 2 grain 1
outputs
  input cache
  view of cache: f32[2] strides [1] offset s0
end
)");
    F32 cache = f32({8}), x = f32({2}, {1, 2});
    OwnedOutputs outputs;
    Results results;
    executable.run(std::vector<Argument>{cache.argument(), x.argument(), Argument::of_integer(5)}, outputs, results);
    EXPECT_EQ(cache.values, (std::vector<float>{0, 0, 0, 0, 0, 2, 4, 0}));
    EXPECT_EQ(results.outputs[0].kind, OutputKind::input);
    EXPECT_EQ(results.outputs[1].place, Place::input);
    EXPECT_EQ(results.outputs[1].offset, 5);
}

const char* const packed = R"(program packed
  input w: f32[3, 2] strides [2, 1] frozen
  input x: f32[6] strides [1]
  prepared p: 24
  storage y: f32[6] strides [1]
setup
  launch pack(w, p; 3, 2) tasks 3 grain 1
call
  launch add(p, x, y) tasks 6 grain 6
outputs
  view of y: f32[6] strides [1] offset 0
end
)";

TEST(Executable, PreparedWeightsFollowTheIdentityOfTheirInputs) {
    auto context = std::make_shared<Context>();
    Executable executable = make(packed, context);
    F32 w = f32({3, 2}, {1, 2, 3, 4, 5, 6}), x = f32({6});
    Argument weight = w.argument();
    weight.token = 7;
    weight.version = 1;
    const std::vector<float> before = {1, 3, 5, 2, 4, 6}, after = {100, 3, 5, 2, 4, 6};
    EXPECT_EQ(run_one(executable, {weight, x.argument()}), before);
    w.values[0] = 100; // unseen: the identity is as before
    EXPECT_EQ(run_one(executable, {weight, x.argument()}), before);
    weight.version = 2;
    EXPECT_EQ(run_one(executable, {weight, x.argument()}), after);
    w.values[0] = 1;
    weight.token = 8; // another object at the same address with the same version
    EXPECT_EQ(run_one(executable, {weight, x.argument()}), before);
    w.values[0] = 100;
    executable.refresh();
    EXPECT_EQ(run_one(executable, {weight, x.argument()}), after);
}

TEST(Executable, PreparedWeightsAreSharedBetweenExecutables) {
    auto context = std::make_shared<Context>();
    Executable first = make(packed, context), second = make(packed, context);
    F32 w = f32({3, 2}, {1, 2, 3, 4, 5, 6}), x = f32({6});
    Argument weight = w.argument();
    weight.token = 7;
    const std::vector<float> before = {1, 3, 5, 2, 4, 6}, after = {100, 3, 5, 2, 4, 6};
    EXPECT_EQ(run_one(first, {weight, x.argument()}), before);
    w.values[0] = 100; // the second takes what the first has packed: it would see the change if it packed itself
    EXPECT_EQ(run_one(second, {weight, x.argument()}), before);
    first.refresh();
    EXPECT_EQ(run_one(second, {weight, x.argument()}), after) << "refresh is for all executables of the context";
    // Without a live identity nothing is shared.
    weight.token = 0;
    Executable third = make(packed, context), fourth = make(packed, context);
    EXPECT_EQ(run_one(third, {weight, x.argument()}), after);
    w.values[0] = 1;
    EXPECT_EQ(run_one(fourth, {weight, x.argument()}), before);
    EXPECT_EQ(run_one(third, {weight, x.argument()}), after);
}

TEST(Executable, PreparedWeightsGoWithTheirOwner) {
    auto context = std::make_shared<Context>();
    Executable first = make(packed, context), second = make(packed, context);
    F32 w = f32({3, 2}, {1, 2, 3, 4, 5, 6}), x = f32({6});
    Argument weight = w.argument();
    weight.token = 7;
    EXPECT_EQ(context->prepared_bytes(), 0u);
    run_one(first, {weight, x.argument()});
    run_one(second, {weight, x.argument()});
    EXPECT_EQ(context->prepared_bytes(), 24u) << "one copy for both";
    first.forget(6);
    second.forget(7);
    EXPECT_EQ(context->prepared_bytes(), 24u);
    first.forget(7);
    EXPECT_EQ(context->prepared_bytes(), 0u);
    weight.token = 8;
    EXPECT_EQ(run_one(first, {weight, x.argument()}), (std::vector<float>{1, 3, 5, 2, 4, 6}));
}

TEST(Executable, ManyThreadsCallAtOnce) {
    auto context = std::make_shared<Context>();
    const Executable executable = make(scaled_sum, context);
    std::atomic<int> wrong = 0;
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 8; caller++)
        callers.emplace_back([&, caller] {
            for (int round = 0; round < 100; round++) {
                const int64_t rows = 1 + (caller * 7 + round) % 50;
                F32 x = f32({rows, 16}, std::vector<float>(static_cast<size_t>(16 * rows), static_cast<float>(caller)));
                if (run_one(executable, {x.argument()}) != std::vector<float>(static_cast<size_t>(rows), 8.0f * static_cast<float>(caller)))
                    wrong++;
            }
        });
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(wrong, 0);
}

TEST(Executable, WorksInAForkedChild) {
    auto context = std::make_shared<Context>();
    const Executable executable = make(packed, context);
    F32 w = f32({3, 2}, {1, 2, 3, 4, 5, 6}), x = f32({6});
    const std::vector<float> expected = {1, 3, 5, 2, 4, 6};
    EXPECT_EQ(run_one(executable, {w.argument(), x.argument()}), expected);
    std::jthread busy([&](std::stop_token stop) { // holds the executable's locks again and again
        while (!stop.stop_requested()) run_one(executable, {w.argument(), x.argument()});
    });
    for (int round = 0; round < 10; round++) {
        const pid_t child = ::fork();
        if (child == 0) {
            ::alarm(20);
            ::_exit(run_one(executable, {w.argument(), x.argument()}) == expected ? 0 : 1);
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    }
    busy.request_stop();
    busy.join();
}

TEST(Executable, ProfileHasARowPerLaunch) {
    const Executable executable = make(scaled_sum);
    F32 x = f32({3, 2}, {1, 2, 3, 4, 5, 6});
    std::vector<LaunchTime> profile;
    OwnedOutputs outputs;
    Results results;
    executable.run(std::vector<Argument>{x.argument()}, outputs, results, {.threads = 1, .profile = &profile});
    ASSERT_EQ(profile.size(), 2u);
    EXPECT_EQ(profile[1].kernel, "row_sum");
    EXPECT_EQ(profile[1].label, "sum model.py:3");
    EXPECT_EQ(profile[1].tasks, 3);
    EXPECT_GT(profile[0].time_us, 0);
    EXPECT_EQ(profile[0].flops, 0);
    EXPECT_EQ(profile[1].flops, 6); // 3 rows
    EXPECT_EQ(profile[1].bytes, 24);
}

TEST(Executable, PreallocatedOutputsAndNoMemory) {
    const Executable executable = make(scaled_sum);
    F32 x = f32({3, 2}, {1, 2, 3, 4, 5, 6}), y = f32({3});
    Results results;
    void* storages[] = {y.values.data()};
    PreallocatedOutputs outputs(storages);
    executable.run(std::vector<Argument>{x.argument()}, outputs, results);
    EXPECT_EQ(y.values, (std::vector<float>{1.5, 3.5, 5.5}));
    storages[0] = nullptr;
    EXPECT_EQ(message_of([&] { executable.run(std::vector<Argument>{x.argument()}, outputs, results); }),
              "no memory for output storage 'y'");
    PreallocatedOutputs none({});
    EXPECT_EQ(message_of([&] { executable.run(std::vector<Argument>{x.argument()}, none, results); }),
              "0 output arrays were given, but storage 0 is asked for");
    // Temporaries of 2^40 rows: refused before anything runs.
    Argument huge = x.argument();
    const int64_t shape[] = {int64_t(1) << 50, 2};
    huge.shape = shape;
    EXPECT_EQ(message_of([&] { run_one(executable, {huge}); }),
              "no memory: cannot get 9007199254740992 bytes for the temporaries of a call");
}

TEST(Executable, MissingKernelsAndWrongSignaturesAreOurBugs) {
    const auto bug = [](const std::string& from, const std::string& to) {
        std::string text = scaled_sum;
        text.replace(text.find(from), from.size(), to);
        return message_of([&] { (void)make(text); });
    };
    EXPECT_NE(bug("launch scale", "launch stretch").find("launches kernel 'stretch', which is in none of its code images"),
              std::string::npos);
    EXPECT_NE(bug("half, t; s1", "half, t")
                  .find("launches scale with 3 pointers and 0 integers; its signature is (in x: f32, in f: f32, out y: f32; n)"),
              std::string::npos);
    base::CodeImage needy = image();
    needy.required_features = {"quantum"};
    EXPECT_NE(message_of([&] { Executable(parse_host_program(scaled_sum), {needy}); }).find("lacks quantum"), std::string::npos);
    base::CodeImage hollow = image();
    hollow.entries.push_back({"absent", {}});
    EXPECT_NE(message_of([&] { Executable(parse_host_program(scaled_sum), {hollow}); }).find("a code image lacks its kernel 'absent'"),
              std::string::npos);
}

TEST(Executable, AWarmCallAllocatesNothingFromTheArenaPool) {
    auto context = std::make_shared<Context>();
    const Executable executable = make(scaled_sum, context);
    F32 x = f32({3, 2}, {1, 2, 3, 4, 5, 6}), y = f32({3});
    void* storages[] = {y.values.data()};
    PreallocatedOutputs outputs(storages);
    Results results;
    const std::vector<Argument> arguments = {x.argument()};
    executable.run(arguments, outputs, results);
    EXPECT_EQ(context->arenas().kept(), 1u);
    for (int i = 0; i < 10; i++) executable.run(arguments, outputs, results);
    EXPECT_EQ(context->arenas().kept(), 1u) << "the same block comes and goes";
}

} // namespace
} // namespace codetta::runtime
