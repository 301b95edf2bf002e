#include "codetta/base/error.h"
#include "codetta/runtime/arena_layout.h"
#include "codetta/runtime/context.h"
#include "codetta/runtime/memory.h"

#include <gtest/gtest.h>

#include <random>

namespace codetta::runtime {
namespace {

bool overlap(const BufferLife& a, int64_t a_at, const BufferLife& b, int64_t b_at) {
    const bool in_time = a.first <= b.last && b.first <= a.last;
    const bool in_space = a_at < b_at + b.bytes && b_at < a_at + a.bytes;
    return in_time && in_space;
}

TEST(ArenaLayout, SharesMemoryOfBuffersThatDoNotMeet) {
    // A chain of equal buffers, each read by the next step: two places are enough.
    std::vector<BufferLife> chain;
    for (uint32_t i = 0; i < 10; i++) chain.push_back({1000, i, i + 1});
    const ArenaLayout layout = lay_out_arena(chain);
    EXPECT_EQ(layout.bytes, 2 * 1024);
    for (uint32_t i = 0; i + 1 < 10; i++) EXPECT_NE(layout.offsets[i], layout.offsets[i + 1]);
}

TEST(ArenaLayout, FillsGaps) {
    // The small one fits below the large one of the last step.
    const std::vector<BufferLife> lives = {{640, 0, 0}, {6400, 1, 2}, {640, 0, 2}, {128, 1, 1}};
    const ArenaLayout layout = lay_out_arena(lives);
    EXPECT_EQ(layout.bytes, 6400 + 640 + 128);
}

TEST(ArenaLayout, EmptyOnes) {
    EXPECT_EQ(lay_out_arena({}).bytes, 0);
    const std::vector<BufferLife> lives = {{0, 0, 5}, {0, 0, 5}};
    EXPECT_EQ(lay_out_arena(lives).bytes, 0);
}

TEST(ArenaLayout, LawsHoldForRandomLives) {
    std::mt19937 random(3);
    for (int round = 0; round < 300; round++) {
        std::vector<BufferLife> lives(random() % 40);
        int64_t sum = 0, largest = 0;
        for (BufferLife& life : lives) {
            life.bytes = static_cast<int64_t>(random() % 5000);
            life.first = random() % 20;
            life.last = life.first + random() % 6;
            sum += (life.bytes + 63) / 64 * 64;
            largest = std::max(largest, life.bytes);
        }
        const ArenaLayout layout = lay_out_arena(lives);
        EXPECT_GE(layout.bytes, largest);
        EXPECT_LE(layout.bytes, sum);
        for (size_t i = 0; i < lives.size(); i++) {
            ASSERT_EQ(layout.offsets[i] % 64, 0);
            ASSERT_LE(layout.offsets[i] + lives[i].bytes, layout.bytes);
            for (size_t j = 0; j < i; j++) ASSERT_FALSE(overlap(lives[i], layout.offsets[i], lives[j], layout.offsets[j])) << i << " " << j;
        }
        EXPECT_EQ(lay_out_arena(lives).offsets, layout.offsets);
    }
}

TEST(ArenaLayout, ImpossibleSizes) {
    const std::vector<BufferLife> negative = {{-1, 0, 0}}, huge = {{INT64_MAX, 0, 0}};
    EXPECT_THROW(lay_out_arena(negative), base::InternalError);
    EXPECT_THROW(lay_out_arena(huge), base::UserError);
}

TEST(Memory, IsAlignedAndMoves) {
    for (size_t bytes : {1u, 64u, 100u, 70000u, 1u << 20}) {
        Memory memory(bytes, "a test");
        EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.data()) % 64, 0u);
        EXPECT_EQ(memory.bytes(), bytes);
        memory.data()[bytes - 1] = std::byte(1);
        std::byte* const data = memory.data();
        const Memory moved = std::move(memory);
        EXPECT_EQ(moved.data(), data);
    }
    EXPECT_EQ(Memory(0, "nothing").data(), nullptr);
}

TEST(Memory, NoMemoryIsAUserError) {
    for (size_t bytes : {size_t(1) << 60, SIZE_MAX}) {
        try {
            const Memory memory(bytes, "the temporaries of a call");
            FAIL();
        } catch (const base::UserError& error) {
            EXPECT_EQ(error.what(), "no memory: cannot get " + std::to_string(bytes) +
                                        " bytes for the temporaries of a call; use smaller inputs or a machine with more memory");
        }
    }
}

TEST(ArenaPool, ReusesTheSmallestThatFits) {
    ArenaPool pool;
    Memory small = pool.take(10000), large = pool.take(50000);
    std::byte *const small_data = small.data(), *const large_data = large.data();
    pool.give_back(std::move(large));
    pool.give_back(std::move(small));
    EXPECT_EQ(pool.kept(), 2u);
    Memory first = pool.take(9000), second = pool.take(9000);
    EXPECT_EQ(first.data(), small_data);
    EXPECT_EQ(second.data(), large_data);
    EXPECT_EQ(pool.kept(), 0u);
}

TEST(ArenaPool, GrowingSizesNeedFewBlocks) {
    ArenaPool pool;
    size_t changes = 0;
    std::byte* before = nullptr;
    for (size_t bytes = 100; bytes < 1'000'000; bytes += 1000) {
        Memory memory = pool.take(bytes);
        ASSERT_GE(memory.bytes(), bytes);
        ASSERT_LE(memory.bytes(), std::max<size_t>(4096, bytes + bytes / 4));
        changes += memory.data() != before;
        before = memory.data();
        pool.give_back(std::move(memory));
    }
    EXPECT_LT(changes, 40u) << "of 1000 calls";
}

TEST(ArenaPool, KeepsAFewAndTheLargestOfThem) {
    ArenaPool pool;
    std::vector<Memory> lent;
    for (size_t i = 1; i <= ArenaPool::most_kept + 4; i++) lent.push_back(pool.take(i * 65536));
    const size_t fifth = lent[4].bytes();
    for (Memory& memory : lent) pool.give_back(std::move(memory));
    EXPECT_EQ(pool.kept(), ArenaPool::most_kept);
    EXPECT_EQ(pool.take(1).bytes(), fifth) << "the four smallest went";
}

TEST(Context, SharesPreparedMemoryWhileSomebodyHoldsIt) {
    Context context;
    EXPECT_EQ(context.find_prepared("w"), nullptr);
    auto mine = std::make_shared<Memory>(64, "a test"), theirs = std::make_shared<Memory>(64, "a test");
    EXPECT_EQ(context.share_prepared("w", mine), mine);
    EXPECT_EQ(context.share_prepared("w", theirs), mine) << "who came first";
    EXPECT_EQ(context.find_prepared("w"), mine);
    mine.reset();
    EXPECT_EQ(context.find_prepared("w"), nullptr) << "held weakly";
    EXPECT_EQ(context.share_prepared("w", theirs), theirs);
}

TEST(Context, ThreadsAreThoseOfTheMachineUnlessSaid) {
    Context context;
    EXPECT_EQ(context.threads(), usable_cores());
    context.set_threads(7);
    EXPECT_EQ(context.threads(), 7);
    context.set_threads(0);
    EXPECT_EQ(context.threads(), usable_cores());
    EXPECT_EQ(Context::shared(), Context::shared());
}

} // namespace
} // namespace codetta::runtime
