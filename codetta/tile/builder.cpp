#include "codetta/tile/builder.h"

#include <algorithm>

#include "codetta/base/error.h"

namespace codetta::tile {

using layout::IntTuple;
using layout::Layout;
using sym::Expr;

Builder::Builder(std::string name) {
    program_.name = std::move(name);
    open_.push_back(&program_.body);
    for (const char* reserved : {"cta", "ctas", "thread", "warp", "lane", "warpgroup", "cluster_rank", "sms"}) names_[reserved] = 1;
}

std::string Builder::fresh(const std::string& name) {
    int& used = names_[name];
    if (used++ == 0) return name;
    for (;; ++used) {
        std::string numbered = name + "_" + std::to_string(used - 1);
        if (names_.emplace(numbered, 1).second) return numbered;
    }
}

Expr Builder::integer(const std::string& name, sym::Range range, int64_t multiple_of) {
    CODETTA_CHECK(names_[name]++ == 0, "integer parameter {} is already there", name);
    program_.integers.push_back(name);
    program_.facts.set_range(name, range);
    if (multiple_of > 1) program_.facts.set_multiple(name, multiple_of);
    return Expr::symbol(name);
}

View Builder::parameter(Buffer buffer, Layout layout) {
    buffer.parameter = true;
    buffer.name = fresh(buffer.name);
    program_.buffers.push_back(std::move(buffer));
    return {BufferId(program_.buffers.size() - 1), 0, std::move(layout), {}};
}

View Builder::input(const std::string& name, scalar::DType dtype, std::vector<IntTuple> extents, std::vector<IntTuple> strides,
                    int64_t align_bytes) {
    Buffer buffer;
    buffer.name = name;
    buffer.dtype = dtype;
    buffer.align_bytes = align_bytes;
    return parameter(std::move(buffer), make_layout(std::move(extents), std::move(strides)));
}

View Builder::output(const std::string& name, scalar::DType dtype, std::vector<IntTuple> extents, std::vector<IntTuple> strides,
                     int64_t align_bytes) {
    View out = input(name, dtype, std::move(extents), std::move(strides), align_bytes);
    program_.buffers[out.buffer.value].written = true;
    return out;
}

View Builder::tensormap(const std::string& name, scalar::DType dtype, std::vector<int64_t> box, int swizzle_bytes, bool written) {
    Buffer buffer;
    buffer.name = name;
    buffer.space = Space::tensormap;
    buffer.dtype = dtype;
    buffer.written = written;
    Layout layout = row_major(box);
    buffer.box = std::move(box);
    buffer.swizzle_bytes = swizzle_bytes;
    return parameter(std::move(buffer), std::move(layout));
}

void Builder::require(std::string_view feature) {
    auto& all = program_.required;
    if (std::find(all.begin(), all.end(), feature) == all.end()) all.emplace_back(feature);
}

int32_t Builder::check_code(std::string sentence) {
    auto& all = program_.checks;
    auto found = std::find(all.begin(), all.end(), sentence);
    if (found == all.end()) found = all.insert(all.end(), std::move(sentence));
    return static_cast<int32_t>(found - all.begin()) + 1;
}

std::vector<Expr> Builder::tasks(const std::vector<std::string>& names, const std::vector<Expr>& extents) {
    CODETTA_CHECK(!framed_ && names.size() == extents.size(), "one frame, as many names as extents");
    framed_ = true;
    std::vector<TaskIndex> frame;
    std::vector<Expr> indices;
    for (size_t i = 0; i < names.size(); ++i) {
        frame.push_back({fresh(names[i]), extents[i]});
        indices.push_back(Expr::symbol(frame.back().name));
    }
    program_.frame = std::move(frame);
    return indices;
}

void Builder::grid(const Expr& ctas, int threads, int cluster) {
    CODETTA_CHECK(!framed_ && threads % 32 == 0, "one frame, whole warps");
    framed_ = true;
    program_.frame = Grid{ctas, threads, cluster};
}

Expr Builder::let(const std::string& name, const Expr& value) {
    if (value.constant() || value.kind() == sym::Kind::symbol) return value;
    std::string own = fresh(name);
    emit({Let{own, value}});
    return Expr::symbol(own);
}

Expr Builder::var(const std::string& name, const Expr& init, const Expr& lo, const Expr& hi) {
    std::string own = fresh(name);
    emit({Var{own, init, lo, hi}});
    return Expr::symbol(own);
}

void Builder::set(const Expr& var, const Expr& value) { emit({Set{var.name(), value}}); }

Expr Builder::load_index(const std::string& name, const View& element) {
    std::string own = fresh(name);
    emit({LoadIndex{own, element}});
    return Expr::symbol(own);
}

void Builder::check(const Expr& value, const Expr& lo, const Expr& hi, const std::string& sentence) {
    emit({CheckIndex{value, lo, hi, check_code(sentence)}});
}

View Builder::alloc(const std::string& name, Space space, scalar::DType dtype, Layout layout, int64_t align_bytes, SwizzleBits swizzle) {
    Expr elements = 1;
    for (const Leaf& leaf : leaves(layout)) elements = elements + (leaf.extent - 1) * leaf.stride;
    Buffer buffer;
    buffer.name = fresh(name);
    buffer.space = space;
    buffer.dtype = dtype;
    buffer.elements = elements;
    buffer.align_bytes = align_bytes;
    program_.buffers.push_back(std::move(buffer));
    BufferId id(program_.buffers.size() - 1);
    emit({Alloc{id}});
    return {id, 0, std::move(layout), swizzle};
}

View Builder::rmem(const std::string& name, scalar::DType dtype, const std::vector<int64_t>& extents) {
    return alloc(name, Space::rmem, dtype, row_major(extents));
}

View Builder::scratch(const std::string& name, scalar::DType dtype, Layout layout) {
    return alloc(name, Space::scratch, dtype, std::move(layout), 64);
}

View Builder::tmm(const std::string& name, scalar::DType dtype, Layout layout) { return alloc(name, Space::tmm, dtype, std::move(layout)); }

View Builder::barriers(const std::string& name, int64_t count) { return alloc(name, Space::barrier, scalar::DType::i64, {count, 1}, 8); }

Block Builder::collect(const Body& body) {
    Block inside;
    open_.push_back(&inside);
    body();
    open_.pop_back();
    return inside;
}

void Builder::loop(const std::string& index, const Expr& lo, const Expr& hi, const Expr& step, const IndexBody& body) {
    For loop{fresh(index), lo, hi, step, false, {}};
    loop.body = collect([&] { body(Expr::symbol(loop.index)); });
    emit({std::move(loop)});
}

void Builder::unrolled(const std::string& index, int64_t lo, int64_t hi, const IndexBody& body) {
    For loop{fresh(index), lo, hi, 1, true, {}};
    loop.body = collect([&] { body(Expr::symbol(loop.index)); });
    emit({std::move(loop)});
}

void Builder::when(Conditions condition, const Body& then, const Body& otherwise) {
    If branch{std::move(condition), collect(then), {}};
    if (otherwise) branch.otherwise = collect(otherwise);
    emit({std::move(branch)});
}

void Builder::role(const std::string& name, int warp_lo, int warp_hi, int registers, const Body& body) {
    emit({Role{name, warp_lo, warp_hi, registers, collect(body)}});
}

void Builder::elect(const Body& body) { emit({Elect{collect(body)}}); }

void Builder::fill(const View& destination, double value) { emit({Fill{destination, value}}); }

void Builder::copy(const View& source, const View& destination, CopyOptions options) {
    Copy c;
    c.atom = std::move(options.atom);
    c.source = source;
    c.destination = destination;
    c.limits = std::move(options.limits);
    c.fill = options.fill;
    c.streaming = options.streaming;
    emit({std::move(c)});
}

void Builder::tma_load(const View& map, std::vector<Expr> coordinates, const View& smem, const View& barrier) {
    Copy c;
    c.atom = "sm90.tma_load";
    c.source = map;
    c.destination = smem;
    c.coordinates = std::move(coordinates);
    c.signal = barrier;
    emit({std::move(c)});
}

void Builder::tma_store(const View& smem, const View& map, std::vector<Expr> coordinates) {
    Copy c;
    c.atom = "sm90.tma_store";
    c.source = smem;
    c.destination = map;
    c.coordinates = std::move(coordinates);
    emit({std::move(c)});
}

void Builder::map(const View& destination, std::vector<Argument> arguments, const ScalarBody& body) {
    scalar::Builder s;
    std::vector<scalar::Value> parameters;
    for (const Argument& a : arguments) {
        const View* view = std::get_if<View>(&a);
        parameters.push_back(s.parameter(view ? dtype(*view) : scalar::DType::i64));
    }
    scalar::Value result = s.cast(dtype(destination), body(s, parameters));
    map({destination}, std::move(arguments), s.finish({result}));
}

void Builder::map(std::vector<View> destinations, std::vector<Argument> arguments, scalar::Function body) {
    emit({Map{std::move(body), std::move(arguments), std::move(destinations)}});
}

void Builder::reduce(std::vector<View> sources, std::vector<View> destinations, scalar::Function combine) {
    emit({Reduce{std::move(combine), std::move(sources), std::move(destinations)}});
}

void Builder::shuffle(const View& source, const View& destination, int xor_mask) { emit({Shuffle{source, destination, xor_mask}}); }
void Builder::prefetch(const View& target, int level, bool for_write) { emit({Prefetch{target, level, for_write}}); }
void Builder::atomic_add(const View& source, const View& destination) { emit({Atomic{source, destination}}); }

void Builder::mma(const std::string& atom, const View& d, const View& a, const View& b) {
    Mma m;
    m.atom = atom;
    m.d = d;
    m.a = a;
    m.b = b;
    emit({std::move(m)});
}

void Builder::mma(Mma statement) { emit({std::move(statement)}); }

void Builder::emit(Statement statement) { block().push_back(std::move(statement)); }

Program Builder::finish() && {
    CODETTA_CHECK(framed_ && open_.size() == 1, "kernel {} has no frame or an open block", program_.name);
    return std::move(program_);
}

Ring::Ring(Builder& b, const std::string& name, int64_t stages, const Expr& stage, const Expr& phase) : b_(b), stages_(stages) {
    stage_ = b.var(name + "_stage", stage, 0, stages);
    phase_ = b.var(name + "_phase", phase, 0, 2);
}

void Ring::advance(const Expr& steps) {
    // The phase first: it counts how often the stage wraps around.
    b_.set(phase_, mod(phase_ + floor_div(stage_ + steps, stages_), 2));
    b_.set(stage_, mod(stage_ + steps, stages_));
}

} // namespace codetta::tile
