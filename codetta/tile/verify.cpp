#include "codetta/tile/verify.h"

#include <algorithm>
#include <set>

#include "codetta/base/error.h"
#include "codetta/tile/view.h"
#include "codetta/tile/words.h"

namespace codetta::tile {

using sym::Expr;

namespace {

bool is_memory(Space s) { return s == Space::gmem || s == Space::scratch || s == Space::smem || s == Space::rmem || s == Space::tmm; }

class Verifier {
public:
    Verifier(const Program& p, const AtomSet& atoms) : p_(p), atoms_(atoms), facts_(p.facts) {}

    void run() {
        bool parameters_over = false;
        std::set<std::string> names;
        for (const Buffer& b : p_.buffers) {
            CODETTA_CHECK(names.insert(b.name).second, "kernel {}: two buffers are called `{}`", p_.name, b.name);
            CODETTA_CHECK(!b.parameter || !parameters_over, "kernel {}: parameter `{}` stands behind an own buffer", p_.name, b.name);
            CODETTA_CHECK(!b.parameter || b.space == Space::gmem || b.space == Space::tensormap,
                          "kernel {}: parameter `{}` lies in no parameter space", p_.name, b.name);
            CODETTA_CHECK((b.space == Space::tensormap) == !b.box.empty(), "kernel {}: `{}`: boxes and tensor maps belong together",
                          p_.name, b.name);
            parameters_over = parameters_over || !b.parameter;
        }
        for (const std::string& name : p_.integers) define(name);
        if (const Grid* grid = std::get_if<Grid>(&p_.frame)) {
            gpu_ = true;
            for (const char* name : {"cta", "ctas", "thread", "warp", "lane", "warpgroup", "cluster_rank"}) define(name);
            CODETTA_CHECK(grid->threads > 0 && grid->threads % 32 == 0 && grid->threads <= 1024, "kernel {}: {} threads", p_.name,
                          grid->threads);
            warps_ = grid->threads / 32;
            std::set<std::string> used = sym::symbols(grid->ctas);
            used.erase("sms");
            for (const std::string& name : used) known(name);
        } else {
            for (const TaskIndex& t : std::get<0>(p_.frame)) {
                use(t.extent);
                define(t.name);
            }
        }
        block(p_.body);
    }

private:
    [[noreturn]] void fail(const std::string& why) const {
        throw base::InternalError(fmt::format("kernel {}{}: {}", p_.name, now_ ? ", statement `" + to_string(p_, *now_) + "`" : "", why));
    }
    template <class... A>
    void demand(bool condition, fmt::format_string<A...> format, A&&... arguments) const {
        if (!condition) fail(fmt::format(format, std::forward<A>(arguments)...));
    }

    void define(const std::string& name) {
        demand(all_names_.insert(name).second, "`{}` is defined twice", name);
        scope_.insert(name);
    }
    void known(const std::string& name) const { demand(scope_.contains(name), "`{}` is not defined here", name); }
    void use(const Expr& e) const {
        for (const std::string& name : sym::symbols(e)) known(name);
    }
    void use(const sym::Condition& c) const {
        use(c.lhs);
        use(c.rhs);
    }

    const Buffer& buffer(const View& v) const {
        demand(v.buffer.valid() && v.buffer.value < p_.buffers.size(), "a view of no buffer");
        return p_.buffer(v.buffer);
    }

    int64_t elements(const layout::Layout& l) const {
        constexpr int64_t most = 1 << 20;
        int64_t count = 1;
        for (const Leaf& leaf : leaves(l)) {
            const auto extent = leaf.extent.constant();
            demand(extent && *extent > 0, "the extent {} is not static", sym::to_string(leaf.extent));
            demand(*extent <= most && count * *extent <= most, "a view of more than {} elements", most);
            count *= *extent;
        }
        return count;
    }
    void read(const View& v) const {
        const Buffer& b = buffer(v);
        demand(b.parameter || live_.contains(v.buffer.value), "`{}` is not allocated here", b.name);
        use(v.offset);
        if (b.space == Space::tensormap) return;
        elements(v.layout);
        Expr last = 0;
        for (const Leaf& leaf : leaves(v.layout)) {
            use(leaf.stride);
            last = last + (leaf.extent - 1) * leaf.stride;
        }
        demand(v.swizzle.bits == 0 || b.space == Space::smem, "only shared memory is swizzled");
        auto elements = b.elements.constant();
        if (b.space == Space::gmem || !elements) return;
        if (auto end = (v.offset + last).constant())
            demand(0 <= *end && *end < *elements, "element {} of `{}`, which has {}", *end, b.name, *elements);
        demand(!facts_.refutes(sym::lt(v.offset + last, *elements)), "the view leaves `{}`, which has {} elements", b.name, *elements);
        demand(!facts_.refutes(sym::le(0, v.offset)), "the view begins before `{}`", b.name);
    }
    void read_data(const View& v) const {
        demand(is_memory(buffer(v).space), "`{}` holds no elements", buffer(v).name);
        read(v);
    }
    void write(const View& v) const {
        read_data(v);
        demand(!buffer(v).parameter || buffer(v).written, "`{}` is not marked written", buffer(v).name);
    }
    void barrier(const View& v) const {
        demand(buffer(v).space == Space::barrier && elements(v.layout) == 1, "one barrier is wanted");
        read(v);
    }
    scalar::DType dtype(const View& v) const { return buffer(v).dtype; }
    int64_t size(const View& v) const { return elements(v.layout); }

    void block(const Block& body) {
        auto names = scope_;
        auto live = live_;
        for (const Statement& s : body) {
            const Statement* outer = now_;
            now_ = &s;
            std::visit([&](const auto& node) { check(node); }, s.node);
            now_ = outer;
        }
        scope_ = std::move(names);
        live_ = std::move(live);
    }

    void check(const For& f) {
        use(f.lo);
        use(f.hi);
        use(f.step);
        if (f.unroll) demand(f.lo.constant() && f.hi.constant() && f.step.constant(), "an unrolled loop has static bounds");
        define(f.index);
        sym::Range lo = facts_.range(f.lo), hi = facts_.range(f.hi - 1);
        if (lo.lo <= hi.hi) facts_.set_range(f.index, {lo.lo, hi.hi});
        block(f.body);
        scope_.erase(f.index);
    }
    void check(const If& f) {
        demand(!f.condition.empty(), "a condition is wanted");
        for (const auto& c : f.condition) use(c);
        block(f.then);
        block(f.otherwise);
    }
    void check(const Let& l) {
        use(l.value);
        define(l.name);
    }
    void check(const Var& v) {
        use(v.init);
        use(v.lo);
        use(v.hi);
        define(v.name);
        vars_.insert(v.name);
        sym::Range lo = facts_.range(v.lo), hi = facts_.range(v.hi - 1);
        if (lo.lo <= hi.hi) facts_.set_range(v.name, {lo.lo, hi.hi});
    }
    void check(const Set& s) {
        use(s.value);
        known(s.name);
        demand(vars_.contains(s.name), "`{}` is no var", s.name);
    }
    void check(const LoadIndex& l) {
        read_data(l.source);
        demand(size(l.source) == 1 && scalar::is_integer(dtype(l.source)), "an index is one integer element");
        define(l.name);
    }
    void check(const CheckIndex& c) const {
        use(c.value);
        use(c.lo);
        use(c.hi);
        demand(1 <= c.code && c.code <= static_cast<int32_t>(p_.checks.size()), "check {} has no sentence", c.code);
    }
    void check(const Alloc& a) {
        demand(a.buffer.valid() && a.buffer.value < p_.buffers.size(), "no such buffer");
        const Buffer& b = p_.buffer(a.buffer);
        demand(!b.parameter, "parameter `{}` is allocated", b.name);
        demand(allocated_.insert(a.buffer.value).second, "`{}` is allocated twice", b.name);
        demand(b.space == Space::scratch || b.elements.constant().has_value(), "the size of `{}` is not static", b.name);
        demand(gpu_ ? b.space != Space::tmm && b.space != Space::scratch : b.space != Space::smem && b.space != Space::barrier,
               "this frame knows no {}", words::spell(words::kSpaces, b.space));
        if (b.space == Space::scratch)
            for (const std::string& name : sym::symbols(b.elements))
                demand(std::find(p_.integers.begin(), p_.integers.end(), name) != p_.integers.end(),
                       "the size of scratch `{}` depends on `{}`", b.name, name);
        live_.insert(a.buffer.value);
    }
    void check(const Fill& f) const { write(f.destination); }

    const Atom& atom(const std::string& name, AtomKind kind) const {
        const Atom* a = atoms_.find(name);
        demand(a != nullptr, "no atom is called `{}`", name);
        demand(a->kind == kind, "`{}` is {} atom", name, kind == AtomKind::copy ? "no copy" : "no mma");
        for (const std::string& feature : a->required)
            demand(std::find(p_.required.begin(), p_.required.end(), feature) != p_.required.end(), "`{}` needs `requires {}`", name,
                   feature);
        return *a;
    }
    void side(const Fragment& f, const View& v, std::string_view which, const std::string& name) const {
        demand(f.dtype == dtype(v), "{} of {} is {}, the view's is {}", which, name, scalar::to_string(f.dtype),
               scalar::to_string(dtype(v)));
        bool memory = f.space == Space::gmem || f.space == Space::scratch;
        Space s = buffer(v).space;
        bool in_memory = s == Space::gmem || s == Space::scratch;
        bool loaded = f.space == Space::rmem && f.threads() == 1 && which != "d"; // a vector operand may come from memory
        demand(f.space == s || (in_memory && (memory || loaded)), "{} of {} lies in {}, the view in {}", which, name,
               words::spell(words::kSpaces, f.space), words::spell(words::kSpaces, s));
    }

    void check(const Copy& c) const {
        bool from_map = buffer(c.source).space == Space::tensormap, to_map = buffer(c.destination).space == Space::tensormap;
        demand(dtype(c.source) == dtype(c.destination), "the dtypes of a copy differ");
        for (const Expr& e : c.coordinates) use(e);
        if (from_map || to_map) {
            const View &map = from_map ? c.source : c.destination, &smem = from_map ? c.destination : c.source;
            atom(c.atom, AtomKind::copy);
            demand(from_map != to_map && buffer(smem).space == Space::smem, "a tensor map copies from or to shared memory");
            demand(from_map == c.signal.has_value(), "a tensor map load signals a barrier, a store does not");
            demand(c.coordinates.size() == buffer(map).box.size(), "{} coordinates for a box of rank {}", c.coordinates.size(),
                   buffer(map).box.size());
            demand(to_map ? buffer(map).written : true, "`{}` is not marked written", buffer(map).name);
            read(smem);
            if (c.signal) barrier(*c.signal);
            return;
        }
        demand(c.coordinates.empty() && !c.signal, "coordinates and signals belong to tensor maps");
        read_data(c.source);
        write(c.destination);
        int64_t source = size(c.source), destination = size(c.destination);
        if (!c.atom.empty()) {
            const Atom& a = atom(c.atom, AtomKind::copy);
            source *= a.a.threads();
            destination *= a.d.threads();
        }
        demand(source == destination, "{} elements are copied to {}", source, destination);
        for (const Limit& l : c.limits) {
            use(l.limit);
            demand(elements(l.coordinate) == size(c.source), "a limit speaks of {} elements, the copy of {}", elements(l.coordinate),
                   size(c.source));
        }
    }
    void check(const Map& m) const {
        demand(!m.destinations.empty() && m.body.results.size() == m.destinations.size(), "a map has as many destinations as results");
        auto types = m.body.parameters();
        demand(types.size() == m.arguments.size(), "the body has {} parameters, the map {} arguments", types.size(), m.arguments.size());
        int64_t count = size(m.destinations[0]);
        for (size_t i = 0; i < m.destinations.size(); ++i) {
            write(m.destinations[i]);
            demand(size(m.destinations[i]) == count, "the views of a map have {} and {} elements", count, size(m.destinations[i]));
            demand(m.body.result_type(i) == dtype(m.destinations[i]), "result {} is {}, its destination {}", i,
                   scalar::to_string(m.body.result_type(i)), scalar::to_string(dtype(m.destinations[i])));
        }
        size_t rank = m.destinations[0].layout.rank();
        for (size_t i = 0; i < types.size(); ++i) {
            if (const View* v = std::get_if<View>(&m.arguments[i])) {
                read_data(*v);
                demand(size(*v) == count, "the views of a map have {} and {} elements", count, size(*v));
                demand(types[i] == dtype(*v), "parameter {} is {}, its view {}", i, scalar::to_string(types[i]),
                       scalar::to_string(dtype(*v)));
                continue;
            }
            demand(types[i] == scalar::DType::i64, "parameter {} is an index and {}", i, scalar::to_string(types[i]));
            for (const std::string& name : sym::symbols(std::get<Expr>(m.arguments[i]))) {
                bool coordinate = false;
                for (size_t c = 0; c < rank; ++c) coordinate = coordinate || name == "c" + std::to_string(c);
                if (!coordinate) known(name);
            }
        }
    }
    void check(const Reduce& r) const {
        size_t states = r.destinations.size();
        demand(r.sources.size() == states && r.combine.results.size() == states && r.combine.parameters().size() == 2 * states,
               "a reduction has as many sources as destinations and results");
        for (size_t i = 0; i < states; ++i) {
            read_data(r.sources[i]);
            write(r.destinations[i]);
            demand(size(r.sources[i]) == size(r.destinations[0]) && size(r.destinations[i]) == size(r.destinations[0]),
                   "destination and source of a reduction have different shapes");
            demand(r.combine.result_type(i) == dtype(r.destinations[i]) && dtype(r.sources[i]) == dtype(r.destinations[i]),
                   "the dtypes of a reduction differ");
        }
    }
    void check(const Shuffle& s) const {
        read_data(s.source);
        write(s.destination);
        demand(gpu_ && s.xor_mask > 0 && s.xor_mask < 32 && size(s.source) == size(s.destination) &&
                   dtype(s.source) == dtype(s.destination),
               "a shuffle is between equal fragments of a warp");
    }
    void check(const Prefetch& f) const {
        if (buffer(f.target).space != Space::tensormap) read_data(f.target);
        demand(1 <= f.level && f.level <= 3, "cache level {}", f.level);
    }
    void check(const Atomic& a) const {
        read_data(a.source);
        write(a.destination);
        demand(buffer(a.destination).space == Space::gmem && size(a.source) == size(a.destination) &&
                   dtype(a.source) == dtype(a.destination),
               "an atomic adds a fragment to global memory");
    }
    void check(const Mma& m) const {
        const Atom& a = atom(m.atom, AtomKind::mma);
        write(m.d);
        read_data(m.a);
        read_data(m.b);
        side(a.d, m.d, "d", m.atom);
        side(a.a, m.a, "a", m.atom);
        side(a.b, m.b, "b", m.atom);
        demand(!m.asynchronous || a.asynchronous, "{} is not asynchronous", m.atom);
        if (m.accumulate_if) use(*m.accumulate_if);
        if (a.d.threads() > 1) {
            auto fits = [&](const Fragment& f, const View& v) {
                return size(v) * (buffer(v).space == Space::rmem ? f.threads() : 1) == f.shape[0] * f.shape[1];
            };
            demand(fits(a.d, m.d) && fits(a.a, m.a) && fits(a.b, m.b), "the views are not the fragments of {}", m.atom);
            return;
        }
        demand(m.d.layout.rank() == 2 && m.a.layout.rank() == 2 && m.b.layout.rank() == 2, "d (m, n), a (m, k) and b (n, k) are wanted");
        auto extent = [&](const View& v, size_t mode) { return elements(v.layout.mode(mode)); };
        demand(extent(m.a, 0) == extent(m.d, 0) && extent(m.b, 0) == extent(m.d, 1) && extent(m.a, 1) == extent(m.b, 1),
               "the shapes of d, a and b do not fit");
        demand(extent(m.d, 0) % a.d.shape[0] == 0 && extent(m.d, 1) % a.d.shape[1] == 0 && extent(m.a, 1) % a.a.shape[1] == 0,
               "the shapes are no multiples of {}'s {} by {} by {}", m.atom, a.d.shape[0], a.d.shape[1], a.a.shape[1]);
    }
    void check(const Commit&) const {}
    void check(const WaitGroup& w) const {
        demand(w.pending >= 0, "{} pending", w.pending);
        for (const View& v : w.results) read_data(v);
    }
    void check(const BarrierInit& b) const {
        barrier(b.barrier);
        demand(b.arrivals > 0, "{} arrivals", b.arrivals);
    }
    void check(const BarrierExpect& b) const { barrier(b.barrier); }
    void check(const BarrierArrive& b) const {
        barrier(b.barrier);
        for (const auto& c : b.condition) use(c);
        if (b.cluster_rank) use(*b.cluster_rank);
    }
    void check(const BarrierWait& b) const {
        barrier(b.barrier);
        use(b.phase);
    }
    void check(const Fence&) const { demand(gpu_, "a fence belongs to a grid"); }
    void check(const Sync& s) const {
        use(s.barrier);
        demand(gpu_ && s.threads >= 0 && s.threads % 32 == 0 && s.threads <= warps_ * 32, "whole warps meet at a named barrier");
        demand(!s.arrive_only || s.threads > 0, "arriving needs a number of threads");
    }
    void check(const GridDependency&) const { demand(gpu_, "a grid dependency belongs to a grid"); }
    void check(const Role& r) {
        demand(gpu_ && 0 <= r.warp_lo && r.warp_lo < r.warp_hi && r.warp_hi <= warps_, "the CTA has warps 0 .. {}", warps_);
        demand(r.registers == 0 ||
                   (r.warp_lo % 4 == 0 && r.warp_hi % 4 == 0 && r.registers % 8 == 0 && r.registers >= 24 && r.registers <= 256),
               "registers are given to whole warpgroups, 24 to 256 in steps of 8");
        demand(!in_role_, "a role inside a role");
        for (int warp = r.warp_lo; warp < r.warp_hi; ++warp) demand(role_warps_.insert(warp).second, "warp {} has two roles", warp);
        in_role_ = true;
        block(r.body);
        in_role_ = false;
    }
    void check(const Elect& e) {
        demand(gpu_, "elect belongs to a grid");
        block(e.body);
    }

    const Program& p_;
    const AtomSet& atoms_;
    sym::Facts facts_;
    std::set<std::string> scope_, all_names_, vars_;
    std::set<uint32_t> live_, allocated_;
    std::set<int> role_warps_;
    const Statement* now_ = nullptr;
    bool gpu_ = false, in_role_ = false;
    int warps_ = 0;
};

} // namespace

void verify(const Program& p, const AtomSet& atoms) { Verifier(p, atoms).run(); }

} // namespace codetta::tile
