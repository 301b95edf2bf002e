// Builds a tile::Program with few words. Statements go to the innermost open block; a lambda opens one.
//
//     Builder b("scale");
//     View x = b.input("x", DType::f32, {n}, {1}), y = b.output("y", DType::f32, {n}, {1});
//     ...
//     b.tasks({"i"}, {ceil_div(n, 64)});
//     View v = b.rmem("v", DType::f32, {64});
//     b.copy(tile(x, 0, 64, i), v, {.limits = {limit_of_mode(v.layout, 0, n - 64 * i)}});
//     b.map({v}, {v}, [](scalar::Builder& s, auto in) { return s.apply(Prim::mul, {in[0], s.constant(DType::f32, 2)}); });
#pragma once

#include <functional>
#include <map>
#include <span>

#include "codetta/tile/view.h"

namespace codetta::tile {

using Argument = std::variant<View, sym::Expr>; // of map: a fragment, or an integer in c0, c1, ... (the coordinates in the top-level
                                                // modes), of type i64 in the body
using Conditions = std::vector<sym::Condition>;

class Builder {
public:
    explicit Builder(std::string name);

    // --- parameters: pointers in this order, integers in theirs
    // ------------------------------------------------------------------------------
    sym::Expr integer(const std::string& name, sym::Range range = {0, sym::kUnbounded}, int64_t multiple_of = 1);
    View input(const std::string& name, scalar::DType dtype, std::vector<layout::IntTuple> extents, std::vector<layout::IntTuple> strides,
               int64_t align_bytes = 0);
    View output(const std::string& name, scalar::DType dtype, std::vector<layout::IntTuple> extents, std::vector<layout::IntTuple> strides,
                int64_t align_bytes = 0);
    View parameter(Buffer buffer, layout::Layout layout);
    View tensormap(const std::string& name, scalar::DType dtype, std::vector<int64_t> box, int swizzle_bytes, bool written = false);
    void require(std::string_view feature);
    int32_t check_code(std::string sentence); // for check(); equal sentences share a code

    // --- frame
    // --------------------------------------------------------------------------------------------------------------------------------
    std::vector<sym::Expr> tasks(const std::vector<std::string>& names, const std::vector<sym::Expr>& extents);
    void grid(const sym::Expr& ctas, int threads, int cluster = 1);

    // --- scalars; a name that is taken gets a number
    // --------------------------------------------------------------------------------------------
    sym::Expr let(const std::string& name, const sym::Expr& value); // a literal or a symbol stays itself, without a statement
    sym::Expr var(const std::string& name, const sym::Expr& init, const sym::Expr& lo, const sym::Expr& hi);
    void set(const sym::Expr& var, const sym::Expr& value);
    sym::Expr load_index(const std::string& name, const View& element);
    void check(const sym::Expr& value, const sym::Expr& lo, const sym::Expr& hi, const std::string& sentence);

    // --- memory; extents without strides are row major and contiguous
    // ---------------------------------------------------------------------------
    View alloc(const std::string& name, Space space, scalar::DType dtype, layout::Layout layout, int64_t align_bytes = 0,
               SwizzleBits swizzle = {});
    View rmem(const std::string& name, scalar::DType dtype, const std::vector<int64_t>& extents);
    View scratch(const std::string& name, scalar::DType dtype, layout::Layout layout);
    View tmm(const std::string& name, scalar::DType dtype, layout::Layout layout);
    View barriers(const std::string& name, int64_t count); // one mode

    // --- control
    // --------------------------------------------------------------------------------------------------------------------------------
    using Body = std::function<void()>;
    using IndexBody = std::function<void(const sym::Expr& index)>;
    void loop(const std::string& index, const sym::Expr& lo, const sym::Expr& hi, const IndexBody& body) { loop(index, lo, hi, 1, body); }
    void loop(const std::string& index, const sym::Expr& lo, const sym::Expr& hi, const sym::Expr& step, const IndexBody& body);
    void unrolled(const std::string& index, int64_t lo, int64_t hi, const IndexBody& body);
    void when(Conditions condition, const Body& then, const Body& otherwise = {});
    void role(const std::string& name, int warp_lo, int warp_hi, int registers, const Body& body);
    void elect(const Body& body);

    // --- data
    // -----------------------------------------------------------------------------------------------------------------------------------
    struct CopyOptions {
        std::string atom = {};
        std::vector<Limit> limits = {};
        double fill = 0;
        bool streaming = false;
    };
    void fill(const View& destination, double value);
    void copy(const View& source, const View& destination) { copy(source, destination, CopyOptions{}); }
    void copy(const View& source, const View& destination, CopyOptions options);
    void tma_load(const View& map, std::vector<sym::Expr> coordinates, const View& smem, const View& barrier);
    void tma_store(const View& smem, const View& map, std::vector<sym::Expr> coordinates);
    // body: the scalar builder and the arguments' values -> one value (or, second form, one per destination); results are cast to the
    // destinations' dtypes.
    using ScalarBody = std::function<scalar::Value(scalar::Builder&, std::span<const scalar::Value>)>;
    void map(const View& destination, std::vector<Argument> arguments, const ScalarBody& body);
    void map(std::vector<View> destinations, std::vector<Argument> arguments, scalar::Function body);
    void reduce(std::vector<View> sources, std::vector<View> destinations, scalar::Function combine);
    void shuffle(const View& source, const View& destination, int xor_mask);
    void prefetch(const View& target, int level = 1, bool for_write = false);
    void atomic_add(const View& source, const View& destination);

    // --- matrix, asynchronous
    // -------------------------------------------------------------------------------------------------------------------
    void mma(const std::string& atom, const View& d, const View& a, const View& b);
    void mma(Mma statement);
    void emit(Statement statement); // any other statement: Commit, WaitGroup, Barrier..., Fence, Sync, GridDependency

    sym::Facts& facts() { return program_.facts; }
    scalar::DType dtype(const View& v) const { return program_.buffer(v.buffer).dtype; }
    Program finish() &&; // InternalError when there is no frame

private:
    std::string fresh(const std::string& name);
    Block& block() { return *open_.back(); }
    Block collect(const Body& body);

    Program program_;
    std::map<std::string, int> names_;
    std::vector<Block*> open_;
    bool framed_ = false;
};

// A ring of `stages` buffers: stage and phase as two vars. Producers wait on `empty` with phase ^ 1, consumers on `full` with phase.
class Ring {
public:
    Ring(Builder& b, const std::string& name, int64_t stages, const sym::Expr& stage = 0, const sym::Expr& phase = 0);
    const sym::Expr& stage() const { return stage_; }
    const sym::Expr& phase() const { return phase_; }
    sym::Expr other_phase() const { return 1 - phase_; }
    sym::Expr previous_stage() const { return mod(stage_ + (stages_ - 1), stages_); }
    void advance() { advance(1); }
    void advance(const sym::Expr& steps);

private:
    Builder& b_;
    int64_t stages_;
    sym::Expr stage_ = 0, phase_ = 0;
};

} // namespace codetta::tile
