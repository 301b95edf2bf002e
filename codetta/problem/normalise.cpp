#include "codetta/problem/normalise.h"

#include <algorithm>

#include "codetta/base/error.h"
#include "codetta/problem/rewrite.h"

namespace codetta::problem {

using sym::Expr;

namespace {

// floor_div and mod nodes that speak of an index.
size_t divisions(const Expr& e, const std::set<std::string>& axes) {
    if (e.constant() || e.kind() == sym::Kind::symbol) return 0;
    size_t n = 0;
    if (e.kind() == sym::Kind::floor_div || e.kind() == sym::Kind::mod)
        n = std::ranges::any_of(sym::symbols(e), [&](const std::string& s) { return axes.contains(s); });
    for (const Expr& operand : e.operands()) n += divisions(operand, axes);
    return n;
}

size_t divisions(const Access& a, const std::set<std::string>& axes) {
    size_t n = 0;
    for (const Expr& e : a.coordinates) n += divisions(e, axes);
    for (const sym::Condition& c : a.guard) n += divisions(c.lhs, axes) + divisions(c.rhs, axes);
    for (const Check& c : a.checks) n += divisions(c.index, axes);
    return n;
}

size_t divisions(const Problem& p) {
    std::set<std::string> axes;
    for (const Axis& a : p.axes) axes.insert(a.name);
    size_t n = 0;
    for (const Stage& s : p.stages) {
        for (const Read& r : s.reads) n += divisions(r.access, axes) + (r.from == Read::From::index ? divisions(r.expression, axes) : 0);
        for (const Write& w : s.writes) n += divisions(w.access, axes);
    }
    return n;
}

std::optional<size_t> position(const std::vector<AxisId>& list, AxisId a) {
    auto at = std::ranges::find(list, a);
    return at == list.end() ? std::nullopt : std::optional(static_cast<size_t>(at - list.begin()));
}

std::set<std::string> names_of(const Problem& p) {
    std::set<std::string> names;
    for (const Axis& a : p.axes) names.insert(a.name);
    for (const std::string& s : p.size_symbols()) names.insert(s);
    return names;
}

// Whether dimensions d and d + 1 of the operand lie in memory like one.
bool lies_together(const Problem& p, const Operand& o, size_t d) {
    return p.facts.simplify(o.strides[d] - o.strides[d + 1] * o.shape[d + 1]).is(0);
}

void merge_dimensions(Problem& p, uint32_t number, size_t d) {
    Operand& o = p.operands[number];
    const Expr inner = o.shape[d + 1];
    auto merge = [&](Access& a) {
        a.coordinates[d] = a.coordinates[d] * inner + a.coordinates[d + 1];
        a.coordinates.erase(a.coordinates.begin() + static_cast<std::ptrdiff_t>(d) + 1);
    };
    for (Stage& s : p.stages) {
        for (Read& r : s.reads)
            if (r.from == Read::From::operand && r.source == number) merge(r.access);
        for (Write& w : s.writes)
            if (w.operand.value == number) merge(w.access);
    }
    o.shape[d] = o.shape[d] * inner;
    o.shape.erase(o.shape.begin() + static_cast<std::ptrdiff_t>(d) + 1);
    o.strides.erase(o.strides.begin() + static_cast<std::ptrdiff_t>(d));
}

// Some access has a coordinate pair that is one index split in two, at dimensions d and d + 1.
bool is_split_at(const Problem& p, uint32_t number, size_t d, const std::string& axis) {
    auto split = [&](const Access& a) {
        const Expr &x = a.coordinates[d], &y = a.coordinates[d + 1];
        return sym::depends_on(x, axis) && sym::depends_on(y, axis);
    };
    for (const Stage& s : p.stages) {
        for (const Read& r : s.reads)
            if (r.from == Read::From::operand && r.source == number && split(r.access)) return true;
        for (const Write& w : s.writes)
            if (w.operand.value == number && split(w.access)) return true;
    }
    return false;
}

// a outside b, next to each other in every stage that has one of them.
bool are_neighbours(const Problem& p, AxisId a, AxisId b) {
    bool any = false;
    for (const Stage& s : p.stages) {
        if (s.scan == a || s.scan == b) return false;
        for (const auto* list : {&s.axes, &s.reduce}) {
            auto i = position(*list, a), j = position(*list, b);
            if (i.has_value() != j.has_value()) return false;
            if (!i) continue;
            if (*j != *i + 1) return false;
            any = true;
        }
    }
    return any;
}

// The problem with (a, b) as one axis.
Problem with_merged(const Problem& p, AxisId a, AxisId b) {
    Problem q = p;
    std::string name = fresh_name(p.axis(a).name, names_of(p));
    Expr inner = p.axis(b).extent, m = Expr::symbol(name);
    AxisId merged(q.axes.size());
    q.axes.push_back({name, p.axis(a).extent * inner});
    sym::Substitution forward = {{p.axis(a).name, sym::floor_div(m, inner)}, {p.axis(b).name, sym::mod(m, inner)}};
    for (uint32_t s = 0; s < q.stages.size(); ++s) {
        const Stage& stage = q.stages[s];
        if (!position(stage.axes, a) && !position(stage.reduce, a)) continue;
        Reindexing to;
        to.forward = forward;
        to.scan = stage.scan;
        for (AxisId x : stage.reduce) {
            if (x == b) continue;
            to.reduce.push_back(x == a ? merged : x);
        }
        for (AxisId x : stage.axes) {
            if (x == b) continue;
            to.axes.push_back(x == a ? merged : x);
            to.backward.push_back(x == a ? axis_symbol(p, a) * inner + axis_symbol(p, b) : axis_symbol(p, x));
        }
        reindex_stage(q, StageId(s), to);
    }
    for (uint32_t o = 0; o < q.operands.size(); ++o)
        for (size_t d = 0; d + 1 < q.operands[o].shape.size();) {
            if (lies_together(q, q.operands[o], d) && is_split_at(q, o, d, name))
                merge_dimensions(q, o, d);
            else
                ++d;
        }
    for (Stage& s : q.stages) simplify_stage(q, s);
    drop_dead(q);
    shorten_names(q);
    return q;
}

// A divisor S by which an access splits the axis into // S and % S.
std::optional<Expr> splitting_divisor(const Expr& e, const std::string& axis) {
    if (e.constant() || e.kind() == sym::Kind::symbol) return std::nullopt;
    if ((e.kind() == sym::Kind::floor_div || e.kind() == sym::Kind::mod) && e.operands()[0] == Expr::symbol(axis))
        return Expr(e.operands()[1]);
    for (const Expr& operand : e.operands())
        if (auto d = splitting_divisor(operand, axis)) return d;
    return std::nullopt;
}

std::optional<Expr> splitting_divisor(const Problem& p, const std::string& axis) {
    auto of_access = [&](const Access& a) -> std::optional<Expr> {
        for (const Expr& e : a.coordinates)
            if (auto d = splitting_divisor(e, axis)) return d;
        return std::nullopt;
    };
    for (const Stage& s : p.stages) {
        for (const Read& r : s.reads) {
            if (auto d = of_access(r.access)) return d;
            if (r.from == Read::From::index)
                if (auto d = splitting_divisor(r.expression, axis)) return d;
        }
        for (const Write& w : s.writes)
            if (auto d = of_access(w.access)) return d;
    }
    return std::nullopt;
}

Problem with_split(const Problem& p, AxisId a, const Expr& outer, const Expr& inner) {
    Problem q = p;
    std::set<std::string> taken = names_of(p);
    const std::string& name = p.axis(a).name;
    std::string high = fresh_name(name + "0", taken);
    taken.insert(high);
    std::string low = fresh_name(name + "1", taken);
    AxisId x(q.axes.size()), y(q.axes.size() + 1);
    q.axes.push_back({high, outer});
    q.axes.push_back({low, inner});
    sym::Substitution forward = {{name, Expr::symbol(high) * inner + Expr::symbol(low)}};
    for (uint32_t s = 0; s < q.stages.size(); ++s) {
        const Stage& stage = q.stages[s];
        if (!position(stage.axes, a) && !position(stage.reduce, a)) continue;
        Reindexing to;
        to.forward = forward;
        to.scan = stage.scan;
        for (AxisId z : stage.reduce) {
            if (z == a)
                to.reduce.insert(to.reduce.end(), {x, y});
            else
                to.reduce.push_back(z);
        }
        for (AxisId z : stage.axes) {
            if (z == a) {
                to.axes.insert(to.axes.end(), {x, y});
                to.backward.insert(to.backward.end(), {sym::floor_div(axis_symbol(p, a), inner), sym::mod(axis_symbol(p, a), inner)});
            } else {
                to.axes.push_back(z);
                to.backward.push_back(axis_symbol(p, z));
            }
        }
        reindex_stage(q, StageId(s), to);
    }
    for (Stage& s : q.stages) simplify_stage(q, s);
    drop_dead(q);
    shorten_names(q);
    return q;
}

} // namespace

Problem merge_axes(Problem p) {
    for (bool changed = true; changed;) {
        changed = false;
        size_t before = divisions(p);
        for (size_t a = 0; a < p.axes.size() && !changed; ++a)
            for (size_t b = 0; b < p.axes.size() && !changed; ++b) {
                if (a == b || p.axes[b].extent.is(0) || !are_neighbours(p, AxisId(a), AxisId(b))) continue;
                Problem merged = with_merged(p, AxisId(a), AxisId(b));
                if (divisions(merged) > before) continue;
                p = std::move(merged);
                changed = true;
            }
    }
    return p;
}

Problem split_axes(Problem p) {
    for (bool changed = true; changed;) {
        changed = false;
        size_t before = divisions(p);
        for (size_t a = 0; a < p.axes.size() && !changed; ++a) {
            bool scanned = std::ranges::any_of(p.stages, [&](const Stage& s) { return s.scan == AxisId(a); });
            auto inner = scanned ? std::nullopt : splitting_divisor(p, p.axes[a].name);
            if (!inner) continue;
            auto outer = sym::exact_div(p.axes[a].extent, *inner);
            if (!outer) continue;
            Problem split = with_split(p, AxisId(a), *outer, *inner);
            if (divisions(split) >= before) continue;
            p = std::move(split);
            changed = true;
        }
    }
    return p;
}

Problem drop_unit_axes(Problem p) {
    for (uint32_t s = 0; s < p.stages.size(); ++s) {
        const Stage& stage = p.stages[s];
        Reindexing to;
        to.scan = stage.scan;
        bool any = false;
        auto goes = [&](AxisId a) { return p.axis(a).extent.is(1) && stage.scan != a; };
        for (AxisId a : stage.axes) {
            if (goes(a)) {
                to.forward.emplace(p.axis(a).name, 0);
                any = true;
                continue;
            }
            to.axes.push_back(a);
            to.backward.push_back(axis_symbol(p, a));
        }
        for (AxisId a : stage.reduce) {
            if (goes(a) && (to.reduce.size() > 0 || a != stage.reduce.back())) { // one reduced axis stays: the combiner's finish still runs
                to.forward.emplace(p.axis(a).name, 0);
                any = true;
            } else {
                to.reduce.push_back(a);
            }
        }
        if (any) reindex_stage(p, StageId(s), to);
    }
    drop_dead(p);
    return p;
}

Problem drop_narrowing(Problem p) {
    using scalar::Prim;
    for (uint32_t s = 0; s < p.stages.size(); ++s) {
        Stage& stage = p.stages[s];
        stage.body = scalar::drop_narrowing(stage.body);
        const scalar::Op& result = stage.body.ops[stage.body.results[0]];
        if (stage.combiner || !stage.writes.empty() || result.prim != Prim::narrow) continue;
        scalar::DType narrow = result.dtype;
        stage.body.results[0] = result.inputs[0];
        stage.body = scalar::canonicalise(stage.body);
        for (size_t t = s + 1; t < p.stages.size(); ++t) {
            Stage& reader = p.stages[t];
            scalar::Builder b;
            std::vector<scalar::Value> parameters;
            bool any = false;
            auto is_here = [&](const Read& r) { return r.from == Read::From::stage && r.source == s; };
            for (const Read& r : reader.reads) {
                parameters.push_back(b.parameter(read_dtype(p, r)));
                any = any || is_here(r);
            }
            if (!any) continue;
            for (size_t i = 0; i < reader.reads.size(); ++i)
                if (is_here(reader.reads[i])) parameters[i] = b.narrow(narrow, parameters[i]);
            reader.body = b.finish(b.inline_call(reader.body, parameters));
        }
    }
    return p;
}

} // namespace codetta::problem
