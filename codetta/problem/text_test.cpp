// The text of Problems: goldens print as they stand, errors name their place.
#include "codetta/base/atomic_file.h"
#include "codetta/base/error.h"
#include "codetta/problem/interpret.h"
#include "codetta/problem/problem.h"
#include "codetta/problem/test_data.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <sstream>

namespace codetta::problem {
namespace {

std::string message_of(auto&& f) {
    try {
        f();
    } catch (const base::Error& e) {
        return e.what();
    }
    return "no error";
}

class Golden {
public:
    explicit Golden(const std::filesystem::path& file) {
        std::string all = base::read_file(file);
        size_t line = all.find('\n') + 1, rule = all.find("---\n");
        text = all.substr(line, rule - line);
        std::istringstream lines(all.substr(rule + 4));
        for (std::string s; std::getline(lines, s);) script.push_back(s);
    }

    void run() const {
        Problem p = parse_problem(text);
        verify(p);
        EXPECT_EQ(to_string(p), text);
        sym::Bindings sizes;
        std::vector<scalar::HostArray> arrays;
        std::optional<std::string> outcome;
        for (const std::string& line : script) {
            std::istringstream words(line);
            std::string word, name;
            words >> word;
            if (word == "sizes") {
                sizes.clear();
                for (std::string equals; words >> name >> equals >> word;) sizes[name] = std::stoll(word);
                arrays = test_data(p, sizes);
                outcome.reset();
                continue;
            }
            if (word != "expect") {
                fill(p, arrays, word, words);
                continue;
            }
            if (!outcome) outcome = message_of([&] { interpret(p, arrays, sizes); });
            words >> name;
            std::string rest;
            std::getline(words, rest);
            if (name == "error") {
                EXPECT_EQ(*outcome, rest.substr(1));
                continue;
            }
            ASSERT_EQ(*outcome, "no error");
            std::istringstream values(rest);
            compare(p, arrays, name, values);
        }
    }

private:
    static size_t index_of(const Problem& p, const std::string& name) {
        for (size_t i = 0; i < p.operands.size(); ++i)
            if (p.operands[i].name == name) return i;
        ADD_FAILURE() << "no operand " << name;
        return 0;
    }
    static void fill(const Problem& p, std::vector<scalar::HostArray>& arrays, const std::string& name, std::istream& values) {
        std::string equals, value;
        values >> equals;
        const scalar::HostArray& a = arrays[index_of(p, name)];
        scalar::for_each_coordinate(a.extents(), [&](auto c) {
            ASSERT_TRUE(values >> value) << name;
            a.store(c, {scalar::DType::f64, std::stod(value), 0});
        });
        EXPECT_FALSE(values >> value) << name;
    }
    static void compare(const Problem& p, const std::vector<scalar::HostArray>& arrays, const std::string& name, std::istream& values) {
        std::string equals, value;
        values >> equals;
        const scalar::HostArray& a = arrays[index_of(p, name)];
        scalar::for_each_coordinate(a.extents(), [&](auto c) {
            ASSERT_TRUE(values >> value) << name;
            double got = scalar::as_double(a.load(c)), want = std::stod(value);
            EXPECT_TRUE((std::isnan(got) && std::isnan(want)) || got == want) << name << ": " << got << " instead of " << want;
        });
        EXPECT_FALSE(values >> value) << name;
    }

    std::string text;
    std::vector<std::string> script;
};

TEST(ProblemGoldens, print_as_they_stand_and_compute) {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(CODETTA_SOURCE_DIR "/tests/goldens/problem")) {
        SCOPED_TRACE(entry.path().filename().string());
        Golden(entry.path()).run();
        ++count;
    }
    EXPECT_GE(count, 8);
}

const char* const kHeader = "problem p(m = s0, n = 4)\n  x: f32[m, n] in\n  i: i64[m] in\n  out: f32[m, n] out\n";

Problem parse(std::string_view stage) { return parse_problem(std::string(kHeader) + "  " + std::string(stage)); }

TEST(ProblemText, forms_read_back) {
    for (const char* stage : {
             "y: f32[m, n] = x[m, n] -> out[m, n]",
             "y: f32[m, n] = x[m, n] if m < 3 and n != 2 else -inf -> out[m, n]",
             "y: f32[m, n] = (x[m, n] if 0 <= m + n < 3 else -1.5) + x[m, -n + 3] -> out[m, n]",
             "y: f32[m, n] = x[checked(i[m], 0, s0), n] + x[m, n] -> out[m, n] if n < 3",
             "y: f32[m, n] = x[m, n] where 0 <= m + n < 7 -> out[m, n]",
             "y: f32[m, n] = (x[checked(i[m], 0, s0, \"op 'take' at a.py:7\"), n] where 0 <= m + n < 7 \"op 'b'\") -> out[m, n]",
             "y: f32[m, n] = x[m, n] where 0 <= m + n < 7 if m < 2 -> out[m, n], += out[checked(i[m], 0, s0), n] if n < 3",
             "y: f32[m, n] = f32(index(m + 4*n)) -> out[m, n]",
             "y: f32[m, n] = x[(i[m] if m < 2) % s0, n] -> out[m, n]",
             "y: f32[m, n] = let x[m, n]; i[m]; x[m, n] do %3 = add %2, %0; return %3 -> out[$1, n]",
             "y: f32[m, n] = let x[m, n]; i[m]; x[$1, n] where 0 <= $1 < s0 if $1 < 3 else 2.0 do %3 = add %2, %0; %4 = add %2, %0; return "
             "%3 -> out[$1, n] where 0 <= $1 < 4",
         }) {
        Problem p = parse(stage);
        std::string text = to_string(p);
        EXPECT_NE(text.find(stage), std::string::npos) << text;
        EXPECT_EQ(parse_problem(text), p);
        EXPECT_EQ(to_string(parse_problem(text)), text);
    }
}

TEST(ProblemText, strides_roles_and_names_read_back) {
    const char* text = "problem \"gelu at model.py:12\"(m = s0) where s0 >= 2, s0 % 2 == 0\n"
                       "  x: bf16[m, 3] strides [1, s0] in frozen\n"
                       "  g: f32[m] strides [0] inout\n"
                       "  h: f32[m] out aliases g\n"
                       "  y: f32[m] = f32(x[m, 1]) + g[m] -> += g[m], h[m]\n";
    EXPECT_EQ(to_string(parse_problem(text)), text);
}

TEST(ProblemText, errors_name_their_place) {
    for (auto [stage, message] : std::initializer_list<std::pair<const char*, const char*>>{
             {"y: f32[m, n] = z[m, n] -> out[m, n]", "line 5, column 18: unknown value 'z'; did you mean 'x'?, found 'z'"},
             {"y: f32[m, n] = xx[m, n] -> out[m, n]", "line 5, column 18: unknown value 'xx'; did you mean 'x'?, found 'xx'"},
             {"y: f32[m, n] = x[m] -> out[m, n]", "line 5, column 20: 1 coordinates where 2 are needed, found 'm'"},
             {"y: f32[m, n] = x[m, n] + i[m] -> out[m, n]", "line 5, column 26: scalar primitive add does not take (f32, i64), found '+'"},
             {"y: bf16[m, n] = x[m, n] -> out[m, n]", "line 5, column 6: the stage's value is f32, found 'bf16'"},
             {"y: f32[m, q] = x[m, n] -> out[m, n]", "line 5, column 13: expected an axis, found 'q'"},
             {"y: f32[m, n] = m -> out[m, n]", "line 5, column 18: an axis is no value; write index(m), found 'm'"},
             {"y: f32[m, n] = x[x[m, n], n] -> out[m, n]", "line 5, column 20: a coordinate must be an integer, found 'x'"},
             {"y: f32[m, n] = x[m, n] -> ot[m, n]", "line 5, column 29: unknown operand 'ot'; did you mean 'out'?, found 'ot'"},
             {"y: f32[m] = x[m, n] -> out[m, 0]",
              "line 1, column 9: problem 'p', stage 'y', read 0: speaks of axis 'n', which the stage does not run over, found 'p'"},
             {"y: f32[m, n] = x[m, n]", "line 1, column 9: problem 'p': out 'out' is written by no stage, found 'p'"},
             {"y: f32[m, n] = x[m // 0, n] -> out[m, n]", "line 5, column 22: a division by zero, found '//'"},
             {"y: f32[m] = sum(n) x[m, n] -> out[m, n]",
              "line 1, column 9: problem 'p', stage 'y', write to 'out': speaks of axis 'n', which the stage does not run over, found 'p'"},
         }) {
        std::string got = message_of([&] { parse(stage); });
        EXPECT_TRUE(got.starts_with("line")) << got;
        EXPECT_NE(got.find(message), std::string::npos) << got << "\n" << message;
    }
    EXPECT_EQ(message_of([] { parse_problem("problm p()"); }), "line 1, column 1: expected 'problem', found 'problm'");
    EXPECT_EQ(message_of([] { parse_problem("problem p(m = )"); }).substr(0, 16), "line 1, column 1");
    EXPECT_EQ(message_of([] { parse_problem("problem p(m = 3)\n  x: f33[m] in"); }),
              "line 2, column 6: unknown dtype 'f33'; did you mean 'f32'?, found 'f33'");
}

TEST(ProblemKey, names_do_not_count_and_the_rest_does) {
    Problem a = parse("y: f32[m, n] = x[m, n] -> out[m, n]"), b = a, c = a, d = a;
    b.name = "other", b.operands[0].name = "input", b.stages[0].name = "z";
    b.axes[0].name = "rows";
    b.stages[0].reads[0].access = substitute(b.stages[0].reads[0].access, {{"m", sym::Expr::symbol("rows")}});
    b.stages[0].writes[0].access = substitute(b.stages[0].writes[0].access, {{"m", sym::Expr::symbol("rows")}});
    verify(b);
    EXPECT_EQ(canonical_key(a), canonical_key(b));
    c.facts.set_multiple("s0", 2);
    d.operands[0].frozen = true;
    EXPECT_NE(canonical_key(a), canonical_key(c));
    EXPECT_NE(canonical_key(a), canonical_key(d));
}

} // namespace
} // namespace codetta::problem
