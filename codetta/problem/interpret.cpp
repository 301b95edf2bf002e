#include "codetta/problem/interpret.h"

#include "codetta/base/error.h"
#include "codetta/problem/access_program.h"

#include <algorithm>

namespace codetta::problem {

namespace {

using scalar::HostArray;
using scalar::Scalar;

// The value of a stage at every point of its domain.
struct StageValue {
    std::vector<int64_t> extents, strides;
    scalar::DType dtype;
    std::vector<double> floats;
    std::vector<int64_t> integers;

    Scalar load(int64_t at) const {
        return scalar::is_float(dtype) ? Scalar{dtype, floats[static_cast<size_t>(at)], 0}
                                       : Scalar{dtype, 0, integers[static_cast<size_t>(at)]};
    }
    void store(int64_t at, const Scalar& v) {
        if (scalar::is_float(dtype))
            floats[static_cast<size_t>(at)] = v.f;
        else
            integers[static_cast<size_t>(at)] = v.i;
    }
};

class Interpreter {
public:
    Interpreter(const Problem& p, std::span<const HostArray> arrays, const sym::Bindings& sizes, bool exact)
        : p_(p), arrays_(arrays), sizes_(sizes), exact_(exact), values_(p.stages.size()) {
        CODETTA_CHECK(arrays.size() == p.operands.size(), "problem '{}': {} arrays for {} operands", p.name, arrays.size(),
                      p.operands.size());
        for (const Axis& a : p.axes) extents_.push_back(sym::evaluate(a.extent, sizes));
        for (size_t i = 0; i < arrays.size(); ++i) {
            const Operand& o = p.operands[i];
            bool type_fits =
                arrays[i].dtype() == o.dtype || (exact && scalar::is_float(o.dtype) && arrays[i].dtype() == scalar::DType::f64);
            CODETTA_CHECK(type_fits, "problem '{}': operand '{}' is {}, its array {}", p.name, o.name, scalar::to_string(o.dtype),
                          scalar::to_string(arrays[i].dtype()));
            CODETTA_CHECK(arrays[i].extents().size() == o.shape.size(), "problem '{}': operand '{}' has rank {}, its array {}", p.name,
                          o.name, o.shape.size(), arrays[i].extents().size());
            for (size_t d = 0; d < o.shape.size(); ++d) {
                int64_t size = sym::evaluate(o.shape[d], sizes);
                CODETTA_CHECK(arrays[i].extents()[d] == size, "problem '{}': size {} of operand '{}' is {}, its array's {}", p.name, d,
                              o.name, size, arrays[i].extents()[d]);
            }
        }
    }

    void run() {
        for (size_t s = 0; s < p_.stages.size(); ++s) {
            compute(s);
            for (const Write& w : p_.stages[s].writes) write(s, w);
        }
    }

private:
    int64_t extent(AxisId a) const { return extents_[a.value]; }

    // Visits every point of the axes in row-major order, setting the frame.
    void loop(const std::vector<AxisId>& axes, IndexFrame& frame, auto&& visit) const {
        for (AxisId a : axes) {
            if (extent(a) <= 0) return;
            frame.values[a.value] = 0;
        }
        while (true) {
            visit();
            size_t d = axes.size();
            while (d > 0 && ++frame.values[axes[d - 1].value] == extent(axes[d - 1])) frame.values[axes[--d].value] = 0;
            if (d == 0) return;
        }
    }

    // The reads of a stage, ready to run.
    class Reads {
    public:
        Reads(const Interpreter& in, const Stage& s, IndexFrame& frame) : frame_(frame) {
            for (const Read& r : s.reads) {
                Loaded l;
                l.from = r.from;
                l.dtype = read_dtype(in.p_, r);
                l.is_float = scalar::is_float(l.dtype);
                if (r.from == Read::From::index) {
                    l.index.emplace(r.expression, frame, in.sizes_);
                } else if (r.from == Read::From::operand) {
                    l.array = &in.arrays_[r.source];
                    l.access.emplace(r.access, frame, in.sizes_, in.extents_, l.array->extents(), l.array->strides(),
                                     fmt::format("operand '{}' of stage '{}'", in.p_.operands[r.source].name, s.name));
                } else {
                    l.stage = &in.values_[r.source];
                    l.access.emplace(r.access, frame, in.sizes_, in.extents_, l.stage->extents, l.stage->strides,
                                     fmt::format("stage '{}' read by stage '{}'", in.p_.stages[r.source].name, s.name));
                }
                l.fill = l.is_float ? (in.exact_ ? Scalar{l.dtype, r.access.fill, 0} : scalar::make_float(l.dtype, r.access.fill))
                                    : scalar::convert({scalar::DType::f64, r.access.fill, 0}, l.dtype);
                loaded_.push_back(std::move(l));
            }
            values.resize(loaded_.size());
        }
        void run(size_t count) {
            for (size_t i = 0; i < count; ++i) {
                Loaded& l = loaded_[i];
                if (l.index) {
                    values[i] = {scalar::DType::i64, 0, l.index->evaluate(frame_.values)};
                } else if (auto at = l.access->offset(frame_.values)) {
                    if (l.stage) {
                        values[i] = l.stage->load(*at);
                    } else {
                        values[i] = scalar::load_element(l.array->dtype(), l.array->data() + *at * scalar::bytes(l.array->dtype()));
                        values[i].dtype = l.dtype;
                    }
                } else {
                    values[i] = l.fill;
                }
                if (!l.is_float) frame_.values[frame_.read_slot(i)] = values[i].i;
            }
        }
        void run() { run(loaded_.size()); }
        std::vector<Scalar> values;

    private:
        struct Loaded {
            Read::From from;
            scalar::DType dtype;
            bool is_float;
            const HostArray* array = nullptr;
            const StageValue* stage = nullptr;
            std::optional<IndexProgram> index;
            std::optional<AccessProgram> access;
            Scalar fill;
        };
        std::vector<Loaded> loaded_;
        IndexFrame& frame_;
    };

    // The state of a combiner. Floats are kept in double between steps and rounded by the last one alone: an order of summation is nobody's
    // contract.
    class Accumulator {
    public:
        Accumulator(const scalar::Combiner& c, bool exact)
            : lift_(c.lift, true), combine_(c.combine, true), finish_(c.finish, exact), count_(c.state.size()), both_(2 * c.state.size()) {
            for (const scalar::Op& op : c.identity) identity_.push_back(scalar::constant_value(op));
            bool lifts_itself = c.lift.results == std::vector<scalar::Value>{0} && c.combine.ops.size() == 3 && count_ == 1;
            if (lifts_itself) simple_ = c.combine.ops[2];
        }
        void reset() {
            std::copy(identity_.begin(), identity_.end(), both_.begin());
            position_ = 0;
        }
        void add(const Scalar& element) {
            if (simple_) {
                both_[1] = element;
                both_[0] = scalar::apply(*simple_, both_, true);
                return;
            }
            Scalar arguments[] = {element, {scalar::DType::i64, 0, position_++}};
            auto lifted = lift_.run(arguments);
            std::copy(lifted.begin(), lifted.end(), both_.begin() + static_cast<std::ptrdiff_t>(count_));
            auto combined = combine_.run(both_);
            std::copy(combined.begin(), combined.end(), both_.begin());
        }
        Scalar finish(bool exact) {
            std::vector<Scalar> state(both_.begin(), both_.begin() + static_cast<std::ptrdiff_t>(count_));
            Scalar result = finish_.run(state)[0];
            return exact || !scalar::is_float(result.dtype) ? result : scalar::make_float(result.dtype, result.f);
        }

    private:
        scalar::Evaluator lift_, combine_, finish_;
        size_t count_;
        std::vector<Scalar> identity_, both_;
        std::optional<scalar::Op> simple_;
        int64_t position_ = 0;
    };

    void compute(size_t number) {
        const Stage& s = p_.stages[number];
        StageValue& value = values_[number];
        for (AxisId a : s.axes) value.extents.push_back(std::max<int64_t>(extent(a), 0));
        value.strides = scalar::contiguous_strides(value.extents);
        value.dtype = s.dtype();
        int64_t size = 1;
        for (int64_t e : value.extents) size *= e;
        if (scalar::is_float(value.dtype))
            value.floats.resize(static_cast<size_t>(size));
        else
            value.integers.resize(static_cast<size_t>(size));

        // Where nothing is visited, nothing may be looked at either: a division by an empty extent has no meaning.
        if (size == 0) return;
        if (std::ranges::any_of(s.reduce, [&](AxisId a) { return extent(a) <= 0; })) {
            Accumulator nothing(*s.combiner, exact_);
            nothing.reset();
            for (int64_t at = 0; at < size; ++at) value.store(at, nothing.finish(exact_));
            return;
        }
        IndexFrame frame(p_, s.reads.size());
        Reads reads(*this, s, frame);
        scalar::Evaluator body(s.body, exact_);
        auto element = [&] {
            reads.run();
            return body.run(reads.values)[0];
        };
        if (!s.combiner) {
            int64_t at = 0;
            loop(s.axes, frame, [&] { value.store(at++, element()); });
            return;
        }
        Accumulator state(*s.combiner, exact_);
        if (!s.scan) {
            int64_t at = 0;
            loop(s.axes, frame, [&] {
                state.reset();
                loop(s.reduce, frame, [&] { state.add(element()); });
                value.store(at++, state.finish(exact_));
            });
            return;
        }
        std::vector<AxisId> rows;
        int64_t step = 0;
        std::vector<std::pair<AxisId, int64_t>> strides;
        for (size_t d = 0; d < s.axes.size(); ++d) {
            if (s.axes[d] == *s.scan) {
                step = value.strides[d];
            } else {
                rows.push_back(s.axes[d]);
                strides.emplace_back(s.axes[d], value.strides[d]);
            }
        }
        loop(rows, frame, [&] {
            int64_t at = 0;
            for (const auto& [a, stride] : strides) at += frame.values[a.value] * stride;
            state.reset();
            loop({*s.scan}, frame, [&] {
                state.add(element());
                value.store(at, state.finish(exact_));
                at += step;
            });
        });
    }

    // Every value of the stage is there before the first write.
    void write(size_t number, const Write& w) {
        const Stage& s = p_.stages[number];
        if (std::ranges::any_of(s.axes, [&](AxisId a) { return extent(a) <= 0; })) return;
        IndexFrame frame(p_, s.reads.size());
        Reads reads(*this, s, frame);
        size_t needed = 0;
        std::set<std::string> names;
        collect_symbols(w.access, names);
        for (const std::string& name : names)
            if (auto i = read_index(name)) needed = std::max(needed, *i + 1);
        const HostArray& array = arrays_[w.operand.value];
        AccessProgram access(w.access, frame, sizes_, extents_, array.extents(), array.strides(),
                             fmt::format("operand '{}' written by stage '{}'", p_.operand(w.operand).name, s.name));
        scalar::Op add;
        add.prim = s.dtype() == scalar::DType::boolean ? scalar::Prim::bit_or : scalar::Prim::add;
        add.dtype = s.dtype();
        int64_t at = 0;
        loop(s.axes, frame, [&] {
            Scalar v = values_[number].load(at++);
            reads.run(needed);
            auto offset = access.offset(frame.values);
            if (!offset) return;
            std::byte* address = array.data() + *offset * scalar::bytes(array.dtype());
            if (w.accumulate) {
                Scalar both[] = {scalar::load_element(array.dtype(), address), v};
                both[0].dtype = v.dtype;
                v = scalar::apply(add, both, exact_);
            }
            scalar::store_element(array.dtype(), address, v);
        });
    }

    const Problem& p_;
    std::span<const HostArray> arrays_;
    const sym::Bindings& sizes_;
    bool exact_;
    std::vector<int64_t> extents_;
    std::vector<StageValue> values_;
};

} // namespace

void interpret(const Problem& p, std::span<const HostArray> arrays, const sym::Bindings& sizes, bool exact) {
    Interpreter(p, arrays, sizes, exact).run();
}

} // namespace codetta::problem
