#include "codetta/base/error.h"
#include "codetta/base/options.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace codetta::base {
namespace {

std::string message_of(auto action) {
    try {
        action();
    } catch (const UserError& error) {
        return error.what();
    }
    return "no error";
}

std::string set_message(std::string_view name, std::string_view value) {
    Options options;
    return message_of([&] { set_option(options, name, value); });
}

TEST(Options, EachRowSetsAndPrintsWhatItGot) {
    const std::vector<std::pair<std::string, std::string>> pairs = {
        {"mode", "max-autotune"}, {"freeze", "true"},   {"numerics", "eager"},  {"fallback", "error"},
        {"target", "x86_avx2"},   {"threads", "3"},     {"dump", "d"},          {"log_level", "debug"},
        {"verify", "true"},       {"perf_map", "true"}, {"interpreter", "true"}};
    const Options options = apply_options({}, pairs);
    ASSERT_EQ(pairs.size(), option_table().size());
    for (size_t i = 0; i < pairs.size(); i++) {
        EXPECT_EQ(option_table()[i].name, pairs[i].first);
        EXPECT_EQ(option_table()[i].get(options), pairs[i].second);
        EXPECT_NE(option_table()[i].get(Options{}), pairs[i].second) << "each row was moved off its default";
    }
    EXPECT_EQ(options.mode, Mode::max_autotune);
    EXPECT_TRUE(options.freeze);
    EXPECT_EQ(options.threads, 3);
}

TEST(Options, PrintedDefaultsSetThemselves) {
    Options options;
    for (const OptionRow& row : option_table()) row.set(options, row.get(Options{}));
    EXPECT_EQ(options, Options{});
}

TEST(Options, NoModeImpliesFreeze) {
    for (const char* mode : {"default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"}) {
        Options options;
        set_option(options, "mode", mode);
        EXPECT_FALSE(options.freeze);
    }
}

TEST(Options, UnknownNamesAndValuesSayTheNearest) {
    EXPECT_EQ(set_message("freez", "true"), "unknown option 'freez'; did you mean 'freeze'?");
    EXPECT_EQ(set_message("qqqqqqqq", "1"), "unknown option 'qqqqqqqq'; known are 'mode', 'freeze', 'numerics', 'fallback', 'target', "
                                            "'threads', 'dump', 'log_level', 'verify', 'perf_map', 'interpreter'");
    EXPECT_EQ(set_message("mode", "max-autotun"), "option 'mode': unknown value 'max-autotun'; did you mean 'max-autotune'?");
    EXPECT_EQ(set_message("freeze", "ture"), "option 'freeze': unknown value 'ture'; did you mean 'true'?");
    EXPECT_EQ(set_message("threads", "-1"), "option 'threads': unknown value '-1'; give a number from 0 to 4096");
    EXPECT_EQ(set_message("threads", "2x"), "option 'threads': unknown value '2x'; give a number from 0 to 4096");
    EXPECT_EQ(set_message("target", "x86_avx521"), "option 'target': unknown value 'x86_avx521'; did you mean 'x86_avx512'?");
    EXPECT_EQ(set_message("log_level", "infos"), "option 'log_level': unknown log level 'infos'; did you mean 'info'?");
}

TEST(Options, PythonSpellingsOfBooleans) {
    for (const char* yes : {"true", "True", "1", "on", "yes"}) {
        Options options;
        set_option(options, "freeze", yes);
        EXPECT_TRUE(options.freeze) << yes;
    }
    for (const char* no : {"false", "False", "0", "off", "no"}) {
        Options options;
        options.freeze = true;
        set_option(options, "freeze", no);
        EXPECT_FALSE(options.freeze) << no;
    }
}

TEST(Options, EnvironmentSetsAndNamesItsVariable) {
    ::setenv("CODETTA_THREADS", "5", 1);
    ::setenv("CODETTA_LOG_LEVEL", "", 1); // empty = not set
    EXPECT_EQ(apply_environment().threads, 5);
    ::setenv("CODETTA_THREADS", "many", 1);
    EXPECT_EQ(message_of([] { (void)apply_environment(); }),
              "environment variable CODETTA_THREADS: unknown value 'many'; give a number from 0 to 4096");
    ::unsetenv("CODETTA_THREADS");
    ::unsetenv("CODETTA_LOG_LEVEL");
}

TEST(Options, SpellingsFollowFromTheName) {
    EXPECT_EQ(option_flag("log_level"), "--log-level");
    EXPECT_EQ(option_variable("log_level"), "CODETTA_LOG_LEVEL");
    EXPECT_NE(print_options_table().find("| `log_level` | `--log-level` | `CODETTA_LOG_LEVEL` | trace\\|debug\\|"), std::string::npos);
    EXPECT_TRUE(to_string(Options{}).starts_with("mode = default\nfreeze = false\n")) << to_string(Options{});
}

} // namespace
} // namespace codetta::base
