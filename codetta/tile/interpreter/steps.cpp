#include "codetta/tile/interpreter/steps.h"

#include "codetta/base/error.h"
#include "codetta/tile/view.h"
#include "codetta/tile/words.h"

namespace codetta::tile::interpreter {

using sym::Expr;

namespace {

class Preparer {
public:
    Preparer(const Program& p, const AtomSet& atoms) : p_(p), atoms_(atoms) {
        for (const char* name : {"cta", "ctas", "thread", "warp", "lane", "warpgroup", "cluster_rank", "sms"}) out_.slots.slot(name);
    }

    Steps run() {
        out_.program = &p_;
        for (const std::string& name : p_.integers) out_.slots.slot(name);
        if (const Grid* grid = std::get_if<Grid>(&p_.frame)) {
            out_.frame.push_back(code(grid->ctas));
        } else {
            for (const TaskIndex& t : std::get<0>(p_.frame)) {
                out_.slots.slot(t.name);
                out_.frame.push_back(code(t.extent));
            }
        }
        block(p_.body);
        return std::move(out_);
    }

private:
    Code code(const Expr& e) { return Code(e, &out_.slots); }
    Test test(const sym::Condition& c) { return {c.relation, code(c.lhs), code(c.rhs)}; }
    void tests(Step& s, const std::vector<sym::Condition>& all) {
        for (const sym::Condition& c : all) s.tests.push_back(test(c));
    }

    CompiledView view(const View& v) {
        CompiledView out;
        out.buffer = v.buffer;
        out.offset = code(v.offset);
        out.swizzle = v.swizzle;
        if (v.buffer.valid() && p_.buffer(v.buffer).space == Space::tensormap) return out;
        bool fixed = true;
        for (const Leaf& leaf : leaves(v.layout)) {
            CODETTA_CHECK(leaf.extent.constant(), "extent {} of a view is not static", sym::to_string(leaf.extent));
            out.extents.push_back(*leaf.extent.constant());
            out.size *= out.extents.back();
            out.strides.push_back(code(leaf.stride));
            fixed = fixed && leaf.stride.constant();
        }
        for (size_t i = 0; i < v.layout.rank(); ++i) out.mode_extents.push_back(static_size(v.layout.mode(i)));
        if (fixed) {
            std::vector<int64_t> room;
            out.offsets(nullptr, room);
            out.static_offsets = std::move(room);
        }
        return out;
    }

    Step& add(const Statement& s, StepKind kind = StepKind::statement) {
        out_.steps.emplace_back();
        out_.steps.back().kind = kind;
        out_.steps.back().statement = &s;
        return out_.steps.back();
    }
    size_t here() const { return out_.steps.size(); }

    void assign(const Statement& s, const std::string& name, const Expr& value) {
        Code c = code(value);
        uint32_t slot = out_.slots.slot(name);
        Step& step = add(s, StepKind::assign);
        step.slot = slot;
        step.codes.push_back(std::move(c));
    }

    void block(const Block& body) {
        for (const Statement& s : body) std::visit([&](const auto& node) { prepare(s, node); }, s.node);
    }

    void prepare(const Statement& s, const For& f) {
        Step begin;
        begin.kind = StepKind::loop_begin;
        begin.statement = &s;
        begin.codes = {code(f.lo), code(f.hi), code(f.step)};
        begin.slot = out_.slots.slot(f.index);
        begin.slot_hi = out_.slots.hidden();
        begin.slot_step = out_.slots.hidden();
        out_.steps.push_back(begin);
        size_t at_test = here();
        Step test = begin;
        test.kind = StepKind::loop_test;
        test.codes.clear();
        out_.steps.push_back(test);
        block(f.body);
        Step next = test;
        next.kind = StepKind::loop_next;
        next.target = at_test;
        out_.steps.push_back(next);
        out_.steps[at_test].target = here();
    }

    void prepare(const Statement& s, const If& f) {
        size_t at_begin = here();
        tests(add(s, StepKind::if_begin), f.condition);
        block(f.then);
        size_t at_else = here();
        add(s, StepKind::if_else);
        out_.steps[at_begin].target = at_else; // runs if_else with no active lane: it takes the others
        block(f.otherwise);
        out_.steps[at_else].target = here();
        add(s, StepKind::if_end);
    }

    void prepare(const Statement& s, const Role& r) {
        size_t at = here();
        add(s, StepKind::role);
        block(r.body);
        out_.steps[at].target = here();
    }

    void prepare(const Statement& s, const Elect& e) {
        add(s, StepKind::elect_begin);
        block(e.body);
        add(s, StepKind::elect_end);
    }

    void prepare(const Statement& s, const Let& l) { assign(s, l.name, l.value); }
    void prepare(const Statement& s, const Var& v) {
        ranges_[v.name] = {v.lo, v.hi};
        assign(s, v.name, v.init);
        bound(v.lo, v.hi);
    }
    void prepare(const Statement& s, const Set& l) {
        assign(s, l.name, l.value);
        if (auto range = ranges_.find(l.name); range != ranges_.end()) bound(range->second.first, range->second.second);
    }
    void bound(const Expr& lo, const Expr& hi) {
        Step& step = out_.steps.back();
        step.codes.push_back(code(lo));
        step.codes.push_back(code(hi));
        step.checked = true;
    }

    void prepare(const Statement& s, const LoadIndex& l) {
        CompiledView source = view(l.source);
        uint32_t slot = out_.slots.slot(l.name);
        Step& step = add(s);
        step.slot = slot;
        step.views.push_back(std::move(source));
    }
    void prepare(const Statement& s, const CheckIndex& c) { with_codes(s, {c.value, c.lo, c.hi}); }
    void prepare(const Statement& s, const Alloc&) { add(s); }
    void prepare(const Statement& s, const Fill& f) { with_views(s, {f.destination}); }
    void prepare(const Statement& s, const Copy& c) {
        Step step;
        step.statement = &s;
        step.views = {view(c.source), view(c.destination)};
        for (const Expr& e : c.coordinates) step.codes.push_back(code(e));
        if (c.signal) step.views.push_back(view(*c.signal));
        for (const Limit& l : c.limits) {
            View coordinate;
            coordinate.layout = l.coordinate;
            step.limits.emplace_back(view(coordinate), code(l.limit));
        }
        if (!c.atom.empty()) step.atom = &atoms_.get(c.atom);
        out_.steps.push_back(std::move(step));
    }
    void prepare(const Statement& s, const Map& m) {
        Step step;
        step.statement = &s;
        for (const View& v : m.destinations) step.views.push_back(view(v));
        for (const auto& a : m.arguments) {
            if (const View* v = std::get_if<View>(&a))
                step.views.push_back(view(*v));
            else
                step.codes.push_back(code(std::get<Expr>(a)));
        }
        step.evaluator = std::make_shared<scalar::Evaluator>(m.body);
        step.parameter_types = m.body.parameters();
        out_.steps.push_back(std::move(step));
    }
    void prepare(const Statement& s, const Reduce& r) {
        Step step;
        step.statement = &s;
        for (const View& v : r.destinations) step.views.push_back(view(v));
        for (const View& v : r.sources) step.views.push_back(view(v));
        step.evaluator = std::make_shared<scalar::Evaluator>(r.combine);
        out_.steps.push_back(std::move(step));
    }
    void prepare(const Statement& s, const Shuffle& x) { with_views(s, {x.source, x.destination}); }
    void prepare(const Statement&, const Prefetch&) {}
    void prepare(const Statement& s, const Atomic& a) { with_views(s, {a.source, a.destination}); }
    void prepare(const Statement& s, const Mma& m) {
        with_views(s, {m.d, m.a, m.b});
        out_.steps.back().atom = &atoms_.get(m.atom);
        if (m.accumulate_if) {
            Test t = test(*m.accumulate_if);
            out_.steps.back().tests.push_back(std::move(t));
        }
    }
    void prepare(const Statement& s, const Commit&) { add(s); }
    void prepare(const Statement& s, const WaitGroup&) { add(s); }
    void prepare(const Statement& s, const BarrierInit& b) { with_views(s, {b.barrier}); }
    void prepare(const Statement& s, const BarrierExpect& b) { with_views(s, {b.barrier}); }
    void prepare(const Statement& s, const BarrierArrive& b) {
        with_views(s, {b.barrier});
        std::vector<Test> all;
        for (const sym::Condition& c : b.condition) all.push_back(test(c));
        out_.steps.back().tests = std::move(all);
    }
    void prepare(const Statement& s, const BarrierWait& b) {
        with_views(s, {b.barrier});
        Code phase = code(b.phase);
        out_.steps.back().codes.push_back(std::move(phase));
    }
    void prepare(const Statement& s, const Fence&) { add(s); }
    void prepare(const Statement& s, const Sync& x) { with_codes(s, {x.barrier}); }
    void prepare(const Statement&, const GridDependency&) {}

    void with_views(const Statement& s, std::initializer_list<View> views) {
        Step step;
        step.statement = &s;
        for (const View& v : views) step.views.push_back(view(v));
        out_.steps.push_back(std::move(step));
    }
    void with_codes(const Statement& s, std::initializer_list<Expr> exprs) {
        Step step;
        step.statement = &s;
        for (const Expr& e : exprs) step.codes.push_back(code(e));
        out_.steps.push_back(std::move(step));
    }

    const Program& p_;
    const AtomSet& atoms_;
    Steps out_;
    std::map<std::string, std::pair<Expr, Expr>> ranges_;
};

} // namespace

const std::vector<int64_t>& CompiledView::offsets(const int64_t* slots, std::vector<int64_t>& room) const {
    if (!static_offsets.empty()) return static_offsets;
    room.assign(1, 0);
    for (size_t leaf = 0; leaf < extents.size(); ++leaf) {
        int64_t stride = strides[leaf].run(slots);
        size_t before = room.size();
        for (int64_t i = 1; i < extents[leaf]; ++i)
            for (size_t j = 0; j < before; ++j) room.push_back(room[j] + i * stride);
    }
    return room;
}

Steps prepare(const Program& p, const AtomSet& atoms) { return Preparer(p, atoms).run(); }

} // namespace codetta::tile::interpreter
