#include "codetta/base/code_image.h"
#include "codetta/base/error.h"
#include "codetta/base/hash.h"
#include "codetta/base/id.h"
#include "codetta/base/log.h"
#include "codetta/base/nearest_name.h"
#include "codetta/base/verdict.h"

#include <gtest/gtest.h>

#include <array>
#include <unordered_set>

namespace codetta::base {
namespace {

TEST(Error, SaysPlaceMessageAndRemedy) {
    EXPECT_STREQ(Error("bad", "here", "do that").what(), "here: bad; do that");
    EXPECT_STREQ(Error("bad").what(), "bad");
    EXPECT_STREQ(Error("bad", "", "do that").what(), "bad; do that");
    EXPECT_STREQ(Error("bad", "here").what(), "here: bad");
}

TEST(Error, ChecksThrowTheirKind) {
    try {
        CODETTA_CHECK(1 + 1 == 3, "sum of {}", 1);
        FAIL();
    } catch (const InternalError& error) {
        EXPECT_EQ(error.message(), "sum of 1 [check failed: 1 + 1 == 3]");
        EXPECT_TRUE(error.place().starts_with("codetta/base/base_test.cpp:")) << error.place();
        EXPECT_EQ(error.remedy(), "this is a bug in Codetta, please report it");
    }
    try {
        CODETTA_USER_CHECK(false, "rank {} is too large", 9);
        FAIL();
    } catch (const UserError& error) {
        EXPECT_STREQ(error.what(), "rank 9 is too large");
    }
    EXPECT_NO_THROW(CODETTA_CHECK(true, "never"));
    EXPECT_THROW(throw IndexError("x"), UserError);
    EXPECT_THROW(throw DeviceError("x"), Error);
}

TEST(Verdict, YesOrAReason) {
    EXPECT_TRUE(Verdict::yes());
    EXPECT_EQ(Verdict::yes().reason(), "");
    const Verdict verdict = Verdict::no("k = {} is odd", 3);
    EXPECT_FALSE(verdict);
    EXPECT_EQ(verdict.reason(), "k = 3 is odd");
    EXPECT_FALSE(Verdict::no("{}", ""));
}

TEST(Id, IsTypedOrderedAndHashable) {
    using NodeId = Id<struct NodeTag>;
    EXPECT_FALSE(NodeId().valid());
    EXPECT_TRUE(NodeId(0).valid());
    EXPECT_LT(NodeId(1), NodeId(2));
    EXPECT_EQ((std::unordered_set<NodeId>{NodeId(1), NodeId(1), NodeId(2)}).size(), 2u);
    static_assert(!std::is_convertible_v<NodeId, Id<struct EdgeTag>>);
}

TEST(Hash, IsStableAndSensitiveToOrder) {
    EXPECT_EQ(hash_string(""), 0x2d06800538d394c2u); // xxh3's published value for the empty input
    EXPECT_EQ(hash_string("abc"), hash_bytes("abc", 3));
    EXPECT_NE(hash_string("abc"), hash_string("abd"));
    EXPECT_NE(hash_combine(1, 2), hash_combine(2, 1));
    EXPECT_EQ(hash_digits(0x123456789abcdef0u), "bcdef0");
    EXPECT_EQ(hash_digits(1, 16), "0000000000000001");
    EXPECT_THROW(hash_digits(1, 17), InternalError);
}

TEST(NearestName, CountsEditsAndKnowsWhenNothingIsNear) {
    EXPECT_EQ(edit_distance("", "abc"), 3);
    EXPECT_EQ(edit_distance("abc", "abc"), 0);
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
    EXPECT_EQ(edit_distance("freeze", "freeez"), 1);
    constexpr std::array<std::string_view, 3> names = {"freeze", "fallback", "target"};
    EXPECT_EQ(nearest_name("freese", names), "freeze");
    EXPECT_EQ(nearest_name("fallbakc", names), "fallback");
    EXPECT_EQ(nearest_name("zzzzzz", names), "");
    EXPECT_EQ(did_you_mean("targt", names), "; did you mean 'target'?");
    EXPECT_EQ(did_you_mean("zzzzzz", names), "; known are 'freeze', 'fallback', 'target'");
}

TEST(Log, LevelsAndOnce) {
    const LogLevel before = log_level();
    set_log_level(LogLevel::error);
    EXPECT_EQ(log_level(), LogLevel::error);
    EXPECT_TRUE(warn_once("base_test.once", "said {}", "once"));
    EXPECT_FALSE(warn_once("base_test.once", "said {}", "twice"));
    set_log_level(before);
    EXPECT_EQ(parse_log_level("warning"), LogLevel::warning);
    try {
        (void)parse_log_level("warnin");
        FAIL();
    } catch (const UserError& error) {
        EXPECT_STREQ(error.what(), "unknown log level 'warnin'; did you mean 'warning'?");
    }
}

TEST(Log, WritesToStderrWithItsName) {
    testing::internal::CaptureStderr();
    log_warning("disk {} is slow", 3);
    log_debug("not shown");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "[codetta] warning: disk 3 is slow\n");
}

TEST(KernelSignature, PrintsInOneLine) {
    const KernelSignature signature = {
        .pointers = {{"x", "f32", PointerRole::input}, {"y", "bf16", PointerRole::output}, {"c", "f32", PointerRole::input_output}},
        .integers = {"m", "n"},
        .checks = {"index out of range"}};
    EXPECT_EQ(to_string(signature), "(in x: f32, out y: bf16, inout c: f32; m, n; checks \"index out of range\")");
    EXPECT_EQ(to_string(KernelSignature{}), "()");
}

TEST(KernelSignature, StructureIsWhatGeneratedCodeIndexes) {
    EXPECT_EQ(offsetof(codetta_kernel_args, pointers), 0u);
    EXPECT_EQ(offsetof(codetta_kernel_args, integers), 8u);
    EXPECT_EQ(offsetof(codetta_kernel_args, status), 16u);
}

} // namespace
} // namespace codetta::base
