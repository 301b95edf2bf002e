#include "codetta/codegen/x86/nest.h"

#include "codetta/base/error.h"

#include <algorithm>
#include <bit>

namespace codetta::codegen::x86 {

namespace {

int64_t pieces_along(int64_t extent, int64_t lanes) { return extent / lanes + std::popcount(static_cast<uint64_t>(extent % lanes)); }

class Runner {
public:
    Runner(Kernel& kernel, const Plan& plan, const Visit& visit) : k_(kernel), plan_(plan), visit_(visit) {
        for (bool loops : {true, false}) // loops outside
            for (int d = 0; d < static_cast<int>(plan.space.dims.size()); ++d)
                if (d != plan.vector_dim && plan.rolled[static_cast<size_t>(d)] == loops) order_.push_back(d);
    }

    void from(size_t level, std::vector<Offset> at) {
        if (level == order_.size()) return along_vector(std::move(at));
        const auto& dim = plan_.space.dims[static_cast<size_t>(order_[level])];
        if (plan_.rolled[static_cast<size_t>(order_[level])])
            return loop(0, dim.extent, 1, [&](const sym::Expr& i) { from(level + 1, moved(at, dim, i)); });
        for (int64_t i = 0; i < dim.extent; ++i) from(level + 1, moved(at, dim, i));
    }

private:
    void along_vector(std::vector<Offset> at) {
        if (plan_.vector_dim < 0) return visit_(at, 1);
        const auto& dim = plan_.space.dims[static_cast<size_t>(plan_.vector_dim)];
        const int64_t lanes = plan_.lanes, whole = dim.extent / lanes;
        int64_t done = 0;
        if (plan_.rolled[static_cast<size_t>(plan_.vector_dim)]) {
            const int64_t round = std::max<int64_t>(1, plan_.vectors_per_round), rounds = whole / round;
            loop(0, rounds * round * lanes, round * lanes, [&](const sym::Expr& i) {
                const auto here = moved(at, dim, i);
                for (int64_t u = 0; u < round; ++u) visit_(moved(here, dim, u * lanes), static_cast<int>(lanes));
            });
            done = rounds * round;
        }
        for (; done < whole; ++done) visit_(moved(at, dim, done * lanes), static_cast<int>(lanes));
        int64_t start = whole * lanes;
        for (int64_t part = lanes / 2; part >= 1; part /= 2)
            if ((dim.extent - start) & part) {
                visit_(moved(at, dim, start), static_cast<int>(part));
                start += part;
            }
    }

    void loop(int64_t lo, int64_t hi, int64_t step, const std::function<void(const sym::Expr&)>& body) {
        if (hi <= lo) return;
        k_.ir.loop(k_.ir.i64(lo), k_.ir.i64(hi), k_.ir.i64(step), true, [&](llvm::Value* index) {
            k_.integers.scope([&] {
                const std::string name = k_.integers.fresh_name();
                k_.integers.define(name, index, {lo, hi - step}, step);
                body(sym::Expr::symbol(name));
            });
        });
    }

    static std::vector<Offset> moved(std::vector<Offset> at, const Dim& dim, int64_t steps) {
        if (steps != 0)
            for (size_t v = 0; v < dim.strides.size(); ++v) at[v].add(dim.strides[v], steps);
        return at;
    }
    static std::vector<Offset> moved(std::vector<Offset> at, const Dim& dim, const sym::Expr& steps) {
        for (size_t v = 0; v < dim.strides.size(); ++v) at[v].add(dim.strides[v] * steps);
        return at;
    }

    Kernel& k_;
    const Plan& plan_;
    const Visit& visit_;
    std::vector<int> order_;
};

} // namespace

int64_t Plan::pieces() const {
    int64_t count = 1;
    for (int d = 0; d < static_cast<int>(space.dims.size()); ++d)
        count *=
            d == vector_dim ? pieces_along(space.dims[static_cast<size_t>(d)].extent, lanes) : space.dims[static_cast<size_t>(d)].extent;
    return count;
}

void roll(Plan& plan, int64_t most) {
    plan.rolled.assign(plan.space.dims.size(), false);
    int64_t straight = 1;
    if (plan.vector_dim >= 0) {
        const size_t v = static_cast<size_t>(plan.vector_dim);
        const int64_t vectors = pieces_along(plan.space.dims[v].extent, plan.lanes);
        if (vectors > most && plan.space.dims[v].extent / plan.lanes > 1) {
            plan.rolled[v] = true;
            plan.vectors_per_round = std::max<int64_t>(1, std::min<int64_t>(most, plan.space.dims[v].extent / plan.lanes));
            straight = plan.vectors_per_round;
        } else
            straight = vectors;
    }
    bool full = false;
    for (size_t d = 0; d < plan.space.dims.size(); ++d) {
        if (static_cast<int>(d) == plan.vector_dim) continue;
        const int64_t extent = plan.space.dims[d].extent;
        if (full || straight * extent > most) {
            plan.rolled[d] = true;
            full = true;
        } else
            straight *= extent;
    }
}

void run(Kernel& kernel, const Plan& plan, const Visit& visit) {
    const size_t views = plan.space.dims.empty() ? 0 : plan.space.dims[0].strides.size();
    CODETTA_CHECK(plan.rolled.size() == plan.space.dims.size(), "a plan without rolling decisions");
    Runner(kernel, plan, visit).from(0, std::vector<Offset>(std::max<size_t>(views, 16)));
}

} // namespace codetta::codegen::x86
