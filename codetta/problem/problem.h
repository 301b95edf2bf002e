// The waist of the compiler: what one region computes, as a loop nest with stages. It knows no graph and no machine.
//
//   problem linear_gelu(m = s0, n = 3072, k = 768) where s0 >= 1
//     x: bf16[m, k] in
//     w: bf16[n, k] in frozen
//     b: bf16[n] in
//     out: bf16[m, n] out
//     acc: f32[m, n] = sum(k) f32(x[m, k]) * f32(w[n, k])
//     y: bf16[m, n] = bf16(acc[m, n] * normal_cdf(acc[m, n])) -> out[m, n]
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "codetta/base/id.h"
#include "codetta/scalar/combiner.h"
#include "codetta/scalar/function.h"
#include "codetta/sym/facts.h"

namespace codetta::problem {

using AxisId = base::Id<struct AxisTag>;
using OperandId = base::Id<struct OperandTag>;
using StageId = base::Id<struct StageTag>;

// A loop: its index runs over 0 <= name < extent. Extents speak of size symbols only. Axis names are unique and never name a size symbol.
struct Axis {
    std::string name;
    sym::Expr extent;
    friend bool operator==(const Axis&, const Axis&) = default;
};

enum class Role : uint8_t { in, out, inout };

// A strided array in memory: element [c0, c1, ...] lies at data + sum ci * strides[i] elements.
struct Operand {
    std::string name;
    scalar::DType dtype = scalar::DType::f32;
    std::vector<sym::Expr> shape, strides; // of size symbols; strides in elements, 0 = broadcast
    Role role = Role::in;
    bool frozen = false; // same contents at every call: may be packed once
    std::optional<OperandId>
        aliases; // an `out` that is the same memory as this (in-place); reads of the alias see old values until written
    friend bool operator==(const Operand&, const Operand&) = default;
};

// A value that comes from data must lie in [lo, hi) or the kernel reports an index error (torch: IndexError) and touches nothing. `t[i]`
// with torch's negative indices is coordinate `$0 % n` with the check `-n <= $0 < n`.
struct Check {
    sym::Expr index, lo, hi; // over what coordinates speak of
    std::string origin = {}; // who asks, for the error: "op 'embedding' at model.py:12"; no `"` in it, and no part of equality
    friend bool operator==(const Check& a, const Check& b) { return a.index == b.index && a.lo == b.lo && a.hi == b.hi; }
};

// Where an element lies: one expression per dimension of the operand (or per axis of the stage read), over axis names, size symbols, and
// `$i` = the integer value of reads[i] of the same stage (i smaller than this read: gathers). Outside the guard (a conjunction) nothing is
// touched: a read gives `fill`, a write does nothing.
struct Access {
    std::vector<sym::Expr> coordinates;
    std::vector<sym::Condition> guard;
    double fill = 0;
    std::vector<Check> checks; // looked at inside the guard only
    friend bool operator==(const Access& a, const Access& b) {
        return a.coordinates == b.coordinates && a.guard == b.guard && scalar::same_bits(a.fill, b.fill) && a.checks == b.checks;
    }
};

struct Read {
    enum class From : uint8_t { operand, stage, index }; // index: the value of `expression` itself as i64 (iota, masks, extents)
    From from = From::operand;
    uint32_t source = 0;  // operand or (earlier) stage; 0 for index
    Access access;        // a stage is read at coordinates of its own axes, in its order; empty for index
    sym::Expr expression; // index only; over what coordinates speak of
    friend bool operator==(const Read&, const Read&) = default;
};

struct Write {
    OperandId operand;
    Access access;           // over the stage's axes and `$i`
    bool accumulate = false; // add to what is there, duplicates in index order
    friend bool operator==(const Write&, const Write&) = default;
};

// value[axes] = body(reads)                                 no combiner
// value[axes] = finish(combine over reduce of lift(body))   combiner and reduce: a reduction; axes exclude reduce
// value[axes] = finish(combine of lift(body) up to index)   combiner and scan: an inclusive scan along `scan`, which is one of axes
struct Stage {
    std::string name;
    std::vector<AxisId> axes;   // the domain, outermost first
    std::vector<AxisId> reduce; // row-major order fixes the position that lift sees
    std::optional<AxisId> scan;
    std::vector<Read> reads; // parameter i of body is reads[i], in the operand's or stage's dtype (index: i64)
    scalar::Function body;
    std::optional<scalar::Combiner> combiner;
    std::vector<Write> writes;
    scalar::DType dtype() const { return combiner ? combiner->finish.result_type() : body.result_type(); }
    friend bool operator==(const Stage&, const Stage&) = default;
};

// A value; stages are in SSA order. Everything a later step needs to compile it is in here.
struct Problem {
    std::string name;
    sym::Facts facts; // of the size symbols
    std::vector<Axis> axes;
    std::vector<Operand> operands;
    std::vector<Stage> stages;

    const Axis& axis(AxisId a) const { return axes[a.value]; }
    const Operand& operand(OperandId o) const { return operands[o.value]; }
    const Stage& stage(StageId s) const { return stages[s.value]; }
    std::vector<std::string> size_symbols() const; // sorted, those that occur
    friend bool operator==(const Problem&, const Problem&) = default;
};

// The text, one statement a line. In a stage's expression (scalar/expression.h) an atom is a read:
//   x[h*2 + r - 1, c] if 0 <= h*2 + r - 1 < 56 else 0.0      a guard with its fill; without `else`: 0
//   t[checked(i[m], -5, 5) % 5, n]                            a coordinate that is read, with its check
//   x[c] where 0 <= c + 1 < 7                                 a check on anything else (before `if`)
//   t[checked(i[m], 0, 5, "op 'take' at model.py:7")]         ... and who asks for it; after `where 0 <= c < 7` too
//   index(m*4 + k)                                            the value of an expression
// `sum(k) ...` reduces, `scan(n) sum ...` scans; `-> out[m, n], += g[checked(p[j], 0, 9), n] if m < 4` are writes (+= accumulates). A body
// that is no plain expression is a list: `let x[m]; t[$0, m] do %2 = mul %0, %1; return %2`. An operand's extents are named by the axes
// that run over them; strides are written unless contiguous.
// @post parse_problem(to_string(p)) == p
std::string to_string(const Problem& p);
Problem parse_problem(std::string_view text); // UserError "line L, column C: ..."; the result is verified
// Every id in range, SSA order, names unique, dtypes of reads and body agree, coordinates have the right count and known symbols, combiners
// are those of their name, each `out` is written. InternalError naming stage and operand.
void verify(const Problem& p);
// Whether an axis, operand, stage or size may be called so: an identifier that is no word of the text form.
bool is_name(std::string_view s);
// A key equal for problems that differ only in names of axes, operands, stages and the problem (size symbols keep their names and facts).
std::string canonical_key(const Problem& p);

// Row-major strides of a shape: the products of the later extents.
std::vector<sym::Expr> contiguous_strides(const std::vector<sym::Expr>& shape);
// The symbol of reads[i]: `$i`; and its number, when a symbol is one.
sym::Expr read_symbol(size_t i);
std::optional<size_t> read_index(std::string_view symbol);
scalar::DType read_dtype(const Problem& p, const Read& r); // of the operand or stage; i64 for index
sym::Expr axis_symbol(const Problem& p, AxisId a);
// The facts of the problem and of the indices of all its axes (0 <= axis < extent).
sym::Facts index_facts(const Problem& p);
// Whether the access speaks of data (`$i`).
bool depends_on_data(const Access& a);
void collect_symbols(const Access& a, std::set<std::string>& out);
void collect_symbols(const Read& r, std::set<std::string>& out);
Access substitute(const Access& a, const sym::Substitution& by);
Read substitute(const Read& r, const sym::Substitution& by);

} // namespace codetta::problem
