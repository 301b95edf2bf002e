#include "codetta/base/error.h"
#include "codetta/runtime/host_program.h"

#include <gtest/gtest.h>

#include <random>

namespace codetta::runtime {
namespace {

const char* const example = R"(program linear_gelu
  input x: bf16[s0, 768] strides [768, 1]
  input w: bf16[3072, 768] strides [768, 1] frozen
  input n: int
  size s0 = shape(x, 0)
  size t0 = stride(x, 1)
  size a0 = alignment(x)
  size s1 = value(n)
  require 2 <= s0
  require s0 % 8 == 0
  constant c: f32[2] = 0000803f00000040
  constant none: i64[0, 3] =
  prepared w16: 4718592
  buffer t: 3072*s0 live 0..1
  storage y: bf16[s0, 3072] strides [3072, 1]
setup
  launch pack16(w, w16) tasks 96 grain 8
call
  launch copy(x, t + 64; s0, min(s0, s1)) tasks 12*s0 grain 1 scratch 64*s1 work s0*s1 flops s1 bytes f32 label "from \"model.py\":12\nand # more"
  choice
    when s0 % 32 == 0, a0 % 64 == 0
      launch gemm_a(t, w16, c, y; s0) tasks 96*((s0 + 255) // 256) grain 1
      launch post(y) tasks s0 grain 4 work 7*s0 flops 3072*s0 + 4 bytes bf16
    when s0 <= 4
    otherwise
      launch gemm_b(t, w16, c, y; s0) tasks 96 grain 1
outputs
  view of y: bf16[s0, 3072] strides [3072, 1] offset 0
  view of y: bf16[3072, s0] strides [1, 3072] offset 0
  view of x: bf16[768] strides [1] offset 768*s0 - 768
  input x
  size 2*s0
  nothing
end
)";

TEST(HostProgram, ParsesWhatItPrints) {
    const HostProgram program = parse_host_program(example);
    EXPECT_EQ(parse_host_program(to_string(program)), program);
    EXPECT_EQ(to_string(parse_host_program(to_string(program))), to_string(program));
    EXPECT_EQ(program.inputs.size(), 3u);
    EXPECT_TRUE(program.inputs[1].frozen);
    EXPECT_TRUE(program.inputs[2].integer);
    EXPECT_EQ(program.sizes[1], (Size{"t0", SizeSource::stride, InputId(0), 1}));
    EXPECT_EQ(program.constants[0].bytes.size(), 8u);
    EXPECT_EQ(program.constants[0].bytes[3], std::byte(0x3f));
    EXPECT_EQ(program.constants[1].shape, (std::vector<int64_t>{0, 3}));
    ASSERT_EQ(program.call.size(), 2u);
    const Launch& copy = program.call[0].alternatives[0].launches[0];
    EXPECT_EQ(copy.label, "from \"model.py\":12\nand # more");
    EXPECT_EQ(copy.work, (Work{sym::Expr::symbol("s0") * sym::Expr::symbol("s1"), sym::Expr::symbol("s1"), scalar::DType::f32}));
    EXPECT_EQ(program.call[1].alternatives[0].launches[1].work.dtype, scalar::DType::bf16);
    EXPECT_EQ(copy.pointers[1], pointer_to(BufferId(0), 64));
    EXPECT_EQ(copy.integers[1], sym::min(sym::Expr::symbol("s0"), sym::Expr::symbol("s1")));
    ASSERT_EQ(program.call[1].alternatives.size(), 3u);
    EXPECT_EQ(program.call[1].alternatives[0].when.size(), 2u);
    EXPECT_EQ(program.call[1].alternatives[0].launches.size(), 2u);
    EXPECT_TRUE(program.call[1].alternatives[1].launches.empty());
    EXPECT_EQ(program.outputs[0], whole(program, StorageId(0)));
    EXPECT_EQ(program.outputs[3], same_input(InputId(0)));
    EXPECT_EQ(program.outputs[4], size_output(2 * sym::Expr::symbol("s0")));
    EXPECT_EQ(program.outputs[5].kind, OutputKind::nothing);
}

TEST(HostProgram, TheTextIsStable) {
    // Expressions print in sym's canonical spelling; everything else prints as it is written in the example.
    const std::string printed = to_string(parse_host_program(example));
    EXPECT_NE(printed.find("  launch pack16(w, w16) tasks 96 grain 8\n"), std::string::npos) << printed;
    EXPECT_NE(printed.find("  constant none: i64[0, 3] =\n"), std::string::npos) << printed;
    EXPECT_NE(printed.find("label \"from \\\"model.py\\\":12\\nand # more\"\n"), std::string::npos) << printed;
}

TEST(HostProgram, CommentsAndEmptyLinesAreSkipped) {
    const HostProgram program = parse_host_program("# what it is\n\nprogram p   # name\nsetup\ncall\noutputs\nend\n\n# done\n");
    EXPECT_EQ(program.name, "p");
}

std::string message_of(std::string text, const std::string& from, const std::string& to) {
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    try {
        (void)parse_host_program(text);
    } catch (const base::UserError& error) {
        return error.what();
    }
    return "no error";
}

TEST(HostProgram, MalformedTextNamesLineAndColumn) {
    EXPECT_EQ(message_of(example, "program linear_gelu", "programme x"), "line 1, column 1: expected 'program'");
    EXPECT_EQ(message_of(example, "bf16[s0, 768] strides", "bf17[s0, 768] strides"), "line 2, column 12: unknown dtype 'bf17'");
    const std::string unclosed = message_of(example, "[s0, 768] strides", "[s0, 768 strides");
    EXPECT_TRUE(unclosed.starts_with("line 2, column 21: in '768 strides [768': ")) << unclosed;
    EXPECT_EQ(message_of(example, "= shape(x, 0)", "= shape(q, 0)"), "line 5, column 19: unknown name 'q'");
    EXPECT_EQ(message_of(example, "= shape(x, 0)", "= extent(x, 0)"),
              "line 5, column 13: expected 'shape', 'stride', 'value' or 'alignment'");
    EXPECT_EQ(message_of(example, "input w:", "input x:"), "line 3, column 9: 'x' is declared twice");
    EXPECT_EQ(message_of(example, "00000040", "0000004"), "line 11, column 39: expected two hexadecimal digits");
    EXPECT_EQ(message_of(example, "tasks 96 grain 8", "grain 8"), "line 17, column 25: expected 'tasks'");
    EXPECT_EQ(message_of(example, "live 0..1", "live 0-1"), "line 14, column 27: expected '..'");
    EXPECT_EQ(message_of(example, "# more\"", "# more"), "line 19, column 146: the text has no end");
    EXPECT_EQ(message_of(example, "    otherwise\n", ""), "line 26, column 1: expected 'otherwise'");
    EXPECT_EQ(message_of(example, "  nothing\nend\n", ""), "line 33, column 1: the text ends where 'end' is expected");
    EXPECT_EQ(message_of(example, "end\n", "end\nmore\n"), "line 35, column 1: expected nothing behind 'end'");
    EXPECT_EQ(message_of("", "", ""), "line 1, column 1: the text ends where 'program' is expected");
}

TEST(HostProgram, WhatCannotBeIsFoundByTheVerifier) {
    EXPECT_EQ(message_of(example, "  size s1 = value(n)\n", ""), "host program 'linear_gelu': 'copy' uses the unknown size 's1'");
    EXPECT_EQ(message_of(example, "  size s1", "  size s0"), "host program 'linear_gelu': two sizes named 's0'");
    EXPECT_EQ(message_of(example, "stride(x, 1)", "stride(x, 2)"),
              "host program 'linear_gelu': size 't0' of dimension 2 of input 'x', which has 2");
    EXPECT_EQ(message_of(example, "value(n)", "value(x)"),
              "host program 'linear_gelu': size 's1' asks input 'x' for what it does not have");
    EXPECT_EQ(message_of(example, "live 0..1", "live 0..0"),
              "host program 'linear_gelu': gemm_a in step 1 uses buffer 't' outside its life 0..0");
    EXPECT_EQ(message_of(example, "live 0..1", "live 0..2"), "host program 'linear_gelu': buffer 't' lives in steps 0..2 of 2");
    EXPECT_EQ(message_of(example, " frozen", ""), "host program 'linear_gelu': pack16 in setup reads input 'w', which is not frozen");
    EXPECT_EQ(message_of(example, "pack16(w, w16)", "pack16(w, y)"),
              "host program 'linear_gelu': pack16 in setup touches memory of a call");
    EXPECT_EQ(message_of(example, "c: f32[2]", "c: f32[3]"),
              "host program 'linear_gelu': constant 'c' has 8 bytes where its shape needs 12");
    EXPECT_EQ(message_of(example, "[s0, 768] strides [768, 1]", "[s0, 768] strides [1]"),
              "host program 'linear_gelu': 'x' has 2 dimensions but 1 strides");
    HostProgram program = parse_host_program(example);
    program.call[1].alternatives.pop_back();
    EXPECT_THROW(verify(program), base::InternalError);
    program = parse_host_program(example);
    program.outputs[0].index = 7;
    EXPECT_THROW(verify(program), base::InternalError);
}

TEST(HostProgram, AnyDamageOfTheTextIsAUserErrorAndNeverACrash) {
    const std::string good = example;
    std::mt19937 random(5);
    const std::string alphabet = "x0 9[](){}:;,+-*/%<=>.\"#\n\\";
    int accepted = 0;
    for (int i = 0; i < 20000; i++) {
        std::string bad = good;
        for (unsigned changes = 1 + random() % 3; changes > 0; changes--) {
            const size_t at = random() % bad.size();
            switch (random() % 4) {
            case 0: bad[at] = alphabet[random() % alphabet.size()]; break;
            case 1: bad.erase(at, 1 + random() % 8); break;
            case 2: bad.insert(at, 1, alphabet[random() % alphabet.size()]); break;
            case 3: bad.insert(at, bad.substr(random() % bad.size(), random() % 12)); break;
            }
        }
        try {
            const HostProgram program = parse_host_program(bad);
            ASSERT_EQ(parse_host_program(to_string(program)), program) << bad;
            accepted++;
        } catch (const base::UserError&) {}
    }
    EXPECT_GT(accepted, 100) << "some changes are harmless (comments, labels, numbers)";
}

} // namespace
} // namespace codetta::runtime
