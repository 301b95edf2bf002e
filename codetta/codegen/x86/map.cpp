// Map: a scalar body over fragments, one vector at a time. Light bodies are unrolled; heavy ones run in a loop whose register operands are
// parked in memory (the first-level cache) for the time of the loop, so that code stays small and nothing spills.
#include "codetta/base/error.h"
#include "codetta/codegen/scalar_body.h"
#include "codetta/codegen/x86/statements.h"
#include "codetta/tile/view.h"

#include <algorithm>

namespace codetta::codegen::x86 {

using scalar::DType;
using sym::Expr;

namespace {

constexpr int64_t kMostUnrolled = 320; // instructions of a body, all vectors together, up to which it is unrolled
constexpr int64_t kMostPerRound = 140; // and of one round of a loop

// A view, or an integer expression in coordinates.
struct Operand {
    Access access;
    DType dtype = DType::f32;
    size_t view = 0; // of the iteration
    bool in_registers = false;
    bool is_expression = false;
    Expr expression = 0;
};

struct Coordinate {
    std::string name;
    size_t view;
};

class MapEmitter {
public:
    MapEmitter(Kernel& kernel, Memory& memory, const tile::Map& s)
        : k_(kernel), ir_(kernel.ir), memory_(memory), s_(s), body_(kernel.ir, kernel.target) {}

    void emit() {
        collect();
        choose_vector_dim();
        choose_loops();
        if (std::ranges::find(plan_.rolled, true) == plan_.rolled.end()) return run_body();
        for (auto& o : arguments_)
            if (park(o)) copy(parked_from_, o);
        std::vector<std::pair<Operand, Operand>> back;
        for (auto& o : results_)
            if (park(o)) back.emplace_back(o, parked_from_);
        run_body();
        for (const auto& [slot, registers] : back) copy(slot, registers);
    }

private:
    Operand view_operand(const tile::View& v) {
        layouts_.push_back(v.layout);
        return {memory_.access(v), k_.buffer(v).dtype, layouts_.size() - 1, k_.is_register(v), false, 0};
    }

    void collect() {
        CODETTA_CHECK(!s_.destinations.empty(), "a map without destination");
        for (const auto& v : s_.destinations) results_.push_back(view_operand(v));
        const auto parameters = s_.body.parameters();
        CODETTA_CHECK(parameters.size() == s_.arguments.size(), "a map with {} arguments for {} parameters", s_.arguments.size(),
                      parameters.size());
        for (size_t i = 0; i < s_.arguments.size(); ++i) {
            if (const auto* v = std::get_if<tile::View>(&s_.arguments[i])) {
                arguments_.push_back(view_operand(*v));
                continue;
            }
            Operand& o = arguments_.emplace_back();
            o.dtype = parameters[i];
            o.is_expression = true;
            o.expression = k_.integers.resolve(std::get<Expr>(s_.arguments[i]));
        }
        const layout::Layout first = layouts_[0];
        for (size_t mode = 0; mode < first.rank(); ++mode) { // the coordinates that expressions ask for are views too
            const std::string name = "c" + std::to_string(mode);
            if (std::ranges::none_of(arguments_, [&](const Operand& o) { return o.is_expression && sym::depends_on(o.expression, name); }))
                continue;
            layouts_.push_back(tile::limit_of_mode(first, mode, 0).coordinate);
            coordinates_.push_back({name, layouts_.size() - 1});
        }
        plan_.space = iterate(layouts_);
    }

    int64_t widest_bytes() const {
        int64_t bytes = 1;
        for (const auto& o : results_) bytes = std::max(bytes, scalar::bytes(o.dtype));
        for (const auto& o : arguments_)
            if (!o.is_expression) bytes = std::max(bytes, scalar::bytes(o.dtype));
        for (const auto& op : s_.body.ops)
            if (scalar::is_float(op.dtype) && op.prim != scalar::Prim::constant)
                bytes = std::max(bytes, scalar::bytes(scalar::compute_type(op.dtype)));
        return bytes;
    }

    // Contiguous in the destination, and contiguous or constant in as many arguments as may be.
    void choose_vector_dim() {
        int64_t best = 0;
        for (size_t d = 0; d < plan_.space.dims.size(); ++d) {
            const Dim& dim = plan_.space.dims[d];
            int64_t score = dim.strides[0].is(1) ? 100 : 1;
            for (const auto& o : arguments_)
                if (!o.is_expression && (dim.strides[o.view].is(1) || dim.strides[o.view].is(0))) ++score;
            for (const auto& o : results_) score = dim.strides[o.view].is(0) ? -1 : score;
            score = score * (int64_t{1} << 20) + dim.extent;
            if (score > best) best = score, plan_.vector_dim = static_cast<int>(d);
        }
        plan_.lanes = plan_.vector_dim < 0 ? 1 : k_.lanes_for(widest_bytes());
        for (auto* list : {&results_, &arguments_})
            for (auto& o : *list)
                if (!o.is_expression) o.access.stride = lane_stride(o.view);
    }

    Expr lane_stride(size_t view) const {
        return plan_.vector_dim < 0 ? Expr(0) : plan_.space.dims[static_cast<size_t>(plan_.vector_dim)].strides[view];
    }

    void choose_loops() {
        const int64_t cost = std::max<int64_t>(1, ScalarBody::cost(s_.body)), pieces = plan_.pieces();
        const bool any_registers =
            std::ranges::any_of(arguments_, &Operand::in_registers) || std::ranges::any_of(results_, &Operand::in_registers);
        const bool heavy = cost > 4 || pieces > 160 || !any_registers;
        roll(plan_, heavy && pieces > 1 && pieces * cost > kMostUnrolled ? std::max<int64_t>(1, kMostPerRound / cost) : INT64_MAX);
    }

    // Gives a register operand that a loop indexes a place in memory: dense, lanes together, without the dims that it does not have.
    bool park(Operand& o) {
        if (o.is_expression || !o.in_registers) return false;
        auto& dims = plan_.space.dims;
        bool indexed = false;
        for (size_t d = 0; d < dims.size(); ++d) indexed = indexed || (plan_.rolled[d] && !dims[d].strides[o.view].is(0));
        if (!indexed) return false;
        int64_t size = 1;
        std::vector<int64_t> strides(dims.size(), 0);
        const auto place = [&](size_t d) {
            if (dims[d].strides[o.view].is(0)) return;
            strides[d] = size;
            size *= dims[d].extent;
        };
        if (plan_.vector_dim >= 0) place(static_cast<size_t>(plan_.vector_dim));
        for (size_t d = 0; d < dims.size(); ++d)
            if (static_cast<int>(d) != plan_.vector_dim) place(d);
        for (size_t d = 0; d < dims.size(); ++d) dims[d].strides.push_back(strides[d]);
        parked_from_ = o;
        o.view = dims[0].strides.size() - 1;
        o.access = {ir_.slot(ir_.type(o.dtype), size, 64), {}, o.dtype, {}, lane_stride(o.view), 1};
        o.in_registers = false;
        return true;
    }

    void copy(const Operand& from, const Operand& to) {
        Plan straight = plan_;
        for (auto& dim : straight.space.dims)
            if (dim.strides[to.view].is(0)) dim.extent = 1;
        if (straight.vector_dim >= 0 && straight.space.dims[static_cast<size_t>(straight.vector_dim)].extent == 1) straight.vector_dim = -1;
        roll(straight, INT64_MAX);
        run(k_, straight, [&](const std::vector<Offset>& at, int lanes) {
            memory_.store(memory_.load(moved(from.access, at[from.view]), lanes), moved(to.access, at[to.view]));
        });
    }

    void run_body() {
        run(k_, plan_, [&](const std::vector<Offset>& at, int lanes) {
            std::vector<llvm::Value*> in;
            for (const auto& o : arguments_)
                in.push_back(o.is_expression ? expression_value(o, at, lanes)
                                             : body_.from_memory(memory_.load(moved(o.access, at[o.view]), lanes), o.dtype));
            const auto out = body_.emit(s_.body, in, lanes);
            for (size_t i = 0; i < results_.size(); ++i)
                memory_.store(body_.to_memory(out[i], results_[i].dtype), moved(results_[i].access, at[results_[i].view]));
        });
    }

    // Affine in the coordinates that move along the lanes: a start and a step; else one lane after the other.
    llvm::Value* expression_value(const Operand& o, const std::vector<Offset>& at, int lanes) {
        const auto value_at = [&](int64_t lane) {
            sym::Substitution here;
            for (const auto& c : coordinates_)
                here.insert_or_assign(c.name, at[c.view].symbolic + at[c.view].constant + lane_stride(c.view) * lane);
            return sym::substitute(o.expression, here);
        };
        Expr step = 0;
        bool affine = true;
        for (const auto& c : coordinates_) {
            const Expr stride = lane_stride(c.view);
            if (stride.is(0) || !sym::depends_on(o.expression, c.name)) continue;
            const auto form = sym::as_affine(o.expression, c.name);
            affine = affine && form.has_value();
            if (!affine) break;
            for (const auto& other : coordinates_) affine = affine && !sym::depends_on(form->coefficient, other.name);
            step = step + form->coefficient * stride;
        }
        auto* i64 = ir_.b.getInt64Ty();
        llvm::Value* value = nullptr;
        if (lanes == 1)
            value = k_.integers.emit(value_at(0));
        else if (affine) {
            value = ir_.splat(k_.integers.emit(value_at(0)), lanes);
            if (!step.is(0))
                value = ir_.b.CreateAdd(value, ir_.b.CreateMul(ir_.splat(k_.integers.emit(step), lanes), ir_.iota(i64, lanes)));
        } else {
            value = llvm::PoisonValue::get(ir_.lanes_of(i64, lanes));
            for (int lane = 0; lane < lanes; ++lane)
                value = ir_.b.CreateInsertElement(value, k_.integers.emit(value_at(lane)), static_cast<uint64_t>(lane));
        }
        CODETTA_CHECK(scalar::is_integer(o.dtype), "an integer argument for a parameter of type {}", scalar::to_string(o.dtype));
        return ir_.b.CreateTrunc(value, ir_.lanes_of(ir_.type(o.dtype), lanes));
    }

    Kernel& k_;
    Ir& ir_;
    Memory& memory_;
    const tile::Map& s_;
    ScalarBody body_;
    std::vector<layout::Layout> layouts_;
    std::vector<Operand> arguments_, results_;
    std::vector<Coordinate> coordinates_;
    Plan plan_;
    Operand parked_from_;
};

} // namespace

void X86Statements::emit(const tile::Map& s) { MapEmitter(kernel, memory, s).emit(); }

} // namespace codetta::codegen::x86
