#include "codetta/problem/rows.h"

#include <algorithm>

namespace codetta::problem {

namespace {

bool contains(const std::vector<AxisId>& axes, AxisId a) { return std::find(axes.begin(), axes.end(), a) != axes.end(); }

// Whether stage s is read by this read at the reader's own index of axis a.
bool reads_same_index(const Problem& p, const Read& r, AxisId a) {
    const Stage& source = p.stages[r.source];
    for (size_t i = 0; i < source.axes.size(); ++i)
        if (source.axes[i] == a) return r.access.coordinates[i] == sym::Expr::symbol(p.axis(a).name);
    return false;
}

} // namespace

std::optional<Rows> as_rows(const Problem& p) {
    if (p.stages.empty()) return std::nullopt;
    const Stage* widest = &p.stages[0];
    for (const Stage& s : p.stages)
        if (s.axes.size() > widest->axes.size()) widest = &s;
    Rows view;
    for (const AxisId a : widest->axes) {
        bool row = true;
        for (const Stage& s : p.stages) {
            row = row && contains(s.axes, a) && s.scan != a;
            if (!row) break;
            for (const Read& r : s.reads) row = row && (r.from != Read::From::stage || reads_same_index(p, r, a));
        }
        if (row) view.rows.push_back(a);
    }
    return view;
}

} // namespace codetta::problem
