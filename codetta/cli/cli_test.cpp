// The program, word for word: what it prints, what it refuses, its exit codes; and the pages that are made from its tables.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>

#include "codetta/cli/cli.h"
#include "codetta/cli/tables.h"
#include "tests/support/documents.h"

namespace codetta::cli {
namespace {

struct Result {
    int code = 0;
    std::string out, err;
};

Result codetta(const std::vector<std::string>& arguments) {
    Result r;
    r.code = run(arguments, {[&](std::string_view text) { r.out += text; }, [&](std::string_view text) { r.err += text; }});
    return r;
}

class Cli : public testing::Test {
protected:
    void SetUp() override {
        std::string pattern = (std::filesystem::temp_directory_path() / "codetta-cli-XXXXXX").string();
        folder = mkdtemp(pattern.data());
    }
    void TearDown() override { std::filesystem::remove_all(folder); }

    std::string file(const std::string& name, const std::string& text) const {
        std::ofstream(folder / name) << text;
        return (folder / name).string();
    }
    // Paths, times and addresses of this run become fixed words.
    std::string masked(std::string text) const {
        for (size_t at; (at = text.find(folder.string() + "/")) != std::string::npos;) text.erase(at, folder.string().size() + 1);
        text = std::regex_replace(text, std::regex(" +[0-9]+(\\.[0-9]+)? (ms|us)"), " ... $2");
        return std::regex_replace(text, std::regex("_[0-9a-f]{10}"), "_HASH");
    }

    std::filesystem::path folder;
};

const char* const kModel = "graph small(%x: f32[n, 8], %w: f32[4, 8] parameter) where n >= 1 {\n"
                           "  %0: f32[n, 4] = linear(%x, %w)\n"
                           "  %1: f32[n, 4] = relu(%0)\n"
                           "  return %1\n}\n";

TEST_F(Cli, CompilesAndTellsInShort) {
    const Result r = codetta({"compile", file("m.graph", kModel), "--target", "x86_avx2"});
    EXPECT_EQ(r.code, fine) << r.err;
    EXPECT_EQ(masked(r.out), "small: 2 ops, 1 region, 1 kernel, 0 on the reference kernel; ... ms for x86_avx2\n");
}

TEST_F(Cli, ExplainsAndWritesJson) {
    const Result r = codetta({"compile", file("m.graph", kModel), "--explain"});
    EXPECT_NE(r.out.find("region r0: generated "), std::string::npos) << r.out;
    EXPECT_NE(r.out.find("stage build"), std::string::npos) << r.out;
    const Result json = codetta({"compile", file("m.graph", kModel), "--json"});
    EXPECT_EQ(json.code, fine) << json.err;
    EXPECT_NE(json.out.find("\"ops\": 2"), std::string::npos) << json.out;
}

TEST_F(Cli, EveryDumpedStageCanBeFedBack) {
    const std::string dump = (folder / "dump").string(), model = file("m.graph", kModel);
    ASSERT_EQ(codetta({"compile", model, "--dump", dump}).code, fine);
    for (const char* stage : {"0_graph", "1_passes", "2_fuse"}) {
        const Result r = codetta({"run", dump + "/small." + stage + ".txt", "--compare", "--size", "n=3"});
        EXPECT_EQ(r.code, fine) << stage << r.err << r.out;
        EXPECT_NE(r.out.find("f32[3, 4], largest error "), std::string::npos) << r.out;
    }
    const Result recipes = codetta({"run", dump + "/small.3_choose.txt"});
    EXPECT_EQ(recipes.code, wrong);
    EXPECT_EQ(masked(recipes.err),
              "codetta: dump/small.3_choose.txt: recipes are the compiler's choice for this machine and can't be fed back; "
              "feed back the regions (..._fuse.txt) or the kernels (..._build.txt)\n");
    const Result program = codetta({"run", dump + "/small.4_plan.txt", "--size", "n=3"});
    EXPECT_EQ(program.code, fine) << program.err;
    EXPECT_NE(program.out.find("output 0: f32[3, 4], hash "), std::string::npos) << program.out;
    EXPECT_EQ(codetta({"compile", dump + "/small.5_build.txt"}).code, fine);
    const Result assembly = codetta({"compile", dump + "/small.5_build.txt", "--asm"});
    EXPECT_NE(assembly.out.find("ret"), std::string::npos);
    const Result kernels = codetta({"run", dump + "/small.5_build.txt", "--size", "n=7"});
    EXPECT_EQ(kernels.code, fine) << kernels.err << kernels.out;
    EXPECT_NE(kernels.out.find(": done\n"), std::string::npos) << kernels.out;
}

TEST_F(Cli, PrintsOneStage) {
    const Result r = codetta({"compile", file("m.graph", kModel), "--stage", "fuse"});
    EXPECT_EQ(r.out.substr(0, 11), "problem r0(") << r.out;
    EXPECT_EQ(codetta({"compile", file("m.graph", kModel), "--stage", "fus"}).err,
              "codetta: --stage: there is no stage 'fus'; did you mean 'fuse'?\n");
}

TEST_F(Cli, RunsWithTheDataOfASeed) {
    const std::string model = file("m.graph", kModel);
    const Result a = codetta({"run", model, "--print", "--size", "n=2"}),
                 b = codetta({"run", model, "--print", "--size", "n=2", "--interpret"}),
                 c = codetta({"run", model, "--print", "--size", "n=2", "--seed", "9"});
    const auto values = [](const Result& r) { return r.out.substr(r.out.find("f32[2, 4]")); };
    EXPECT_EQ(a.code + b.code + c.code, 0);
    EXPECT_NE(values(a), values(c));
    EXPECT_NE(b.out.find("f32[2, 4]"), std::string::npos);
}

TEST_F(Cli, MalformedTextNamesFileLineAndColumn) {
    const auto error = [&](const std::string& text) {
        const Result r = codetta({"compile", file("bad.txt", text)});
        EXPECT_EQ(r.code, wrong);
        EXPECT_EQ(r.out, "");
        return masked(r.err);
    };
    EXPECT_EQ(error(""), "codetta: bad.txt: line 1, column 1: a text starts with 'graph', 'problem', 'kernel' or 'program'\n");
    EXPECT_EQ(error("graph g(%x: f33[2]) {\n  return %x\n}\n").substr(0, 34), "codetta: bad.txt: line 1, column 1");
    EXPECT_EQ(error("graph g(%x: f32[2]) {\n  %0: f32[2] = rellu(%x)\n  return %0\n}\n"),
              "codetta: bad.txt: '%0' = rellu(...) at bad.txt:2: there is no op 'rellu'; did you mean 'relu'?\n");
    EXPECT_EQ(error("graph g(%x: f32[2]) {\n  %0: f32[2] = relu(%y)\n  return %0\n}\n"),
              "codetta: bad.txt: line 2, column 23: '%y' is not defined\n");
    EXPECT_EQ(error("problem p(i = 4)\n  x: f32[i] in\n  y: f32[i] out\n  t: f32[i] = x[i, i] -> y[i]\n").substr(0, 26),
              "codetta: bad.txt: line 4, ");
    EXPECT_EQ(error("\nkernel k(x: f32 gmem)\n  taks i in 4\n").substr(0, 26), "codetta: bad.txt: line 3, ");
}

TEST_F(Cli, SaysWhatIsWrongWithTheCommandLine) {
    const std::string model = file("m.graph", kModel);
    const auto misuse = [&](const std::vector<std::string>& arguments) {
        const Result r = codetta(arguments);
        EXPECT_EQ(r.code, misused);
        return masked(r.err);
    };
    EXPECT_EQ(misuse({"compile"}), "codetta: file is required\nRun with --help for more information.\n");
    EXPECT_EQ(misuse({"compil", model}), "codetta: there is no command 'compil'; did you mean 'compile'?\n");
    EXPECT_EQ(misuse({"compile", model, "--target", "x86_avx"}),
              "codetta: option 'target': unknown value 'x86_avx'; did you mean 'x86_avx2'?\n");
    EXPECT_EQ(misuse({"run", model, "--size", "n"}), "codetta: --size n: write name=number, as s0=5\n");
    EXPECT_EQ(misuse({"run", model, "--range", "x=1"}), "codetta: --range x=1: write name=lo..hi, as ids=0..100\n");
    const Result size = codetta({"run", model, "--size", "m=3"});
    EXPECT_EQ(size.code, wrong);
    EXPECT_EQ(size.err, "codetta: there is no size 'm'; did you mean 'n'?\n");
    const Result missing = codetta({"run", "/no/such.graph"});
    EXPECT_EQ(missing.code, wrong);
    EXPECT_NE(missing.err.find("/no/such.graph"), std::string::npos);
}

TEST_F(Cli, OptionsComeFromTheTable) {
    const Result r = codetta({"compile", file("m.graph", kModel), "--freeze", "--stage", "plan"});
    EXPECT_EQ(r.code, fine) << r.err;
    EXPECT_NE(r.out.find("frozen"), std::string::npos) << r.out;
    EXPECT_NE(codetta({"compile", "--help"}).out.find("CODETTA_LOG_LEVEL"), std::string::npos);
    EXPECT_EQ(codetta({"options"}).code, fine);
}

TEST_F(Cli, TellsOfOpsAndOfTheMachine) {
    EXPECT_NE(codetta({"ops"}).out.find("linear"), std::string::npos);
    const Result one = codetta({"ops", "gelu"});
    EXPECT_EQ(one.out.substr(0, 42), "gelu(x) approximate: text = \"none\"\n  torch");
    EXPECT_EQ(codetta({"ops", "gelou"}).code, wrong);
    const Result doctor = codetta({"doctor"});
    EXPECT_EQ(doctor.code, fine) << doctor.out << doctor.err;
    for (const char* line : {"codetta", "LLVM", "cores", "caches", "features", "x86_avx2", "sm90", "self-test"})
        EXPECT_NE(doctor.out.find(line), std::string::npos) << line;
    EXPECT_EQ(codetta({"--version"}).out, std::string(version) + "\n");
    EXPECT_EQ(codetta({}).code, fine);
}

TEST_F(Cli, KernelsForAMachineThatIsNotHere) {
    const std::string kernel = file("k.txt", "kernel k(x: f32 gmem, y: f32 gmem written)\n  tasks i in 4\n    alloc v: f32 rmem (16)\n    "
                                             "copy x[16*i | 16:1] -> v[16:1]\n    copy v[16:1] -> y[16*i | 16:1]\n");
    EXPECT_EQ(masked(codetta({"run", kernel, "--elements", "64"}).out).substr(0, 8), "k: done\n");
    const Result r = codetta({"compile", kernel, "--target", "x86_amx"});
    EXPECT_EQ(r.code, fine) << r.err;
    EXPECT_NE(r.out.find("bytes of machine code for x86_amx"), std::string::npos) << r.out;
    const Result out_of_bounds = codetta({"run", kernel, "--elements", "60"});
    EXPECT_EQ(out_of_bounds.code, wrong);
}

TEST(CliPages, AreWhatTheTablesSay) {
    test::check_page("docs/options.md", options_page());
    const std::string cmake = test::read_text(test::source_folder() / "CMakeLists.txt");
    EXPECT_NE(cmake.find("project(codetta VERSION " + std::string(version) + " "), std::string::npos);
}

TEST_F(Cli, ThePageOfExplainShowsARealOne) {
    const std::string model = "graph tail(%x: f32[n, 64], %w: f32[64, 64] parameter frozen, %b: f32[64] parameter) where n >= 1 {\n"
                              "  %0: f32[n, 64] = linear(%x, %w, %b)\n"
                              "  %1: f32[n, 64] = gelu(%0)\n"
                              "  %2: f32[n, 64] = cumsum(%1, dim=1)\n"
                              "  return %2\n}\n";
    const std::string path = file("model.graph", model);
    const test::Makers makers = {{"explain_model", [&] { return model; }},
                                 {"explain", [&] { return masked(codetta({"compile", path, "--explain", "--target", "x86_avx2"}).out); }}};
    EXPECT_EQ(test::check_blocks("docs/howto/read_explain.md", makers), 2u);
}

} // namespace
} // namespace codetta::cli
