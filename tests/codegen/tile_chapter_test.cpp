// docs/chapters/tile.md: every ```tile block parses, prints the same, verifies and compiles; two of them are run.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <vector>

#include "codetta/codegen/compile.h"
#include "codetta/targets/list.h"
#include "codetta/tile/interpret.h"
#include "codetta/tile/verify.h"

namespace codetta {
namespace {

using scalar::DType;
using scalar::HostArray;

std::vector<std::string> programs() {
    std::ifstream page(CODETTA_SOURCE_DIR "/docs/chapters/tile.md");
    EXPECT_TRUE(page) << "docs/chapters/tile.md is missing";
    std::vector<std::string> out;
    bool inside = false;
    for (std::string line; std::getline(page, line);) {
        if (line == "```tile") {
            inside = true;
            out.emplace_back();
        } else if (line == "```") {
            inside = false;
        } else if (inside) {
            out.back() += line + "\n";
        }
    }
    return out;
}

TEST(TileChapter, EveryProgramHolds) {
    const tile::AtomSet atoms = targets::atoms();
    const auto all = programs();
    EXPECT_EQ(all.size(), 4u);
    for (const std::string& text : all) {
        const tile::Program p = tile::parse_program(text);
        SCOPED_TRACE(p.name);
        EXPECT_EQ(tile::to_string(p), text);
        tile::verify(p, atoms);
        const bool grid = std::holds_alternative<tile::Grid>(p.frame);
        EXPECT_FALSE(codegen::compile(p, atoms, base::make_target(grid ? "sm90" : "x86_avx512")).bytes.empty());
    }
}

TEST(TileChapter, RowSum) {
    const tile::Program p = tile::parse_program(programs().at(2));
    HostArray x(DType::f32, {3 * 128}), y(DType::f32, {3});
    for (int64_t i = 0; i < x.size(); ++i) x.as<float>()[i] = static_cast<float>(i % 7);
    EXPECT_EQ(tile::interpret(p, targets::atoms(), {{x, y}, {3}}), 0);
    for (int64_t r = 0; r < 3; ++r) {
        float want = 0;
        for (int64_t i = 0; i < 128; ++i) want += static_cast<float>((128 * r + i) % 7);
        EXPECT_EQ(y.as<float>()[r], want) << r;
    }
}

TEST(TileChapter, Square) {
    const tile::Program p = tile::parse_program(programs().at(3));
    HostArray t(DType::bf16, {64, 64}), y(DType::f32, {64 * 64});
    const auto element = [](int64_t r, int64_t c) { return static_cast<double>((r * 3 + c * 5) % 9 - 4); };
    for (int64_t r = 0; r < 64; ++r)
        for (int64_t c = 0; c < 64; ++c) {
            const int64_t at[2] = {r, c};
            t.store(at, scalar::make_float(DType::f64, element(r, c)));
        }
    for (const auto completion : {tile::Completion::early, tile::Completion::late}) {
        const std::vector<tile::TensorMap> maps{{t}};
        EXPECT_EQ(tile::interpret(p, targets::atoms(), {{y}, {}}, maps, completion), 0);
        for (int64_t r = 0; r < 64; ++r)
            for (int64_t c = 0; c < 64; ++c) {
                double want = 0;
                for (int64_t k = 0; k < 64; ++k) want += element(r, k) * element(c, k);
                ASSERT_EQ(y.as<float>()[64 * r + c], want) << r << " " << c;
            }
    }
}

} // namespace
} // namespace codetta
