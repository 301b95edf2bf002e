// Makes one random graph. The steps lie in three files: generate_node.cpp (what is computed), generate_operand.cpp (what it reads),
// generator.cpp (sizes, in-place writes, outputs, aliases).
#pragma once

#include <cmath>
#include <random>
#include <set>

#include "codetta/base/error.h"
#include "tests/fuzz/differential/random_graph.h"
#include "tests/fuzz/differential/vocabulary.h"

namespace codetta::test {

using Exprs = std::vector<sym::Expr>;

class Generator {
public:
    Generator(const graph::OpSet& ops, const Templates& templates, uint64_t seed);
    RandomGraph make();

private:
    using ValueId = graph::ValueId;
    using Inputs = std::vector<std::optional<ValueId>>;

    // What is known of a value.
    struct Meta {
        bool crisp = false; // the same bits in every interpretation
        double lo = -HUGE_VAL, hi = HUGE_VAL;
        double unit = 0;
        int growth = 0; // ops since the value was last bounded
    };

    // What an operand must be.
    struct Want {
        graph::TensorType type;
        double lo = -2, hi = 2;
        bool crisp = false; // of values that nothing has rounded
        bool plain = false; // no NaN and no infinities
    };

    // --- the whole
    void set_sizes();
    void write_in_place();
    void choose_outputs();
    void alias_inputs();

    // --- nodes
    void op_step(const Templates::Pair& pair);
    void imitate(const Choice& choice, int level); // level: how much of it changes
    void check(const graph::Node& node, const std::vector<graph::TensorType>& types, const graph::Attributes& attributes);
    sym::Expr mapped(int64_t size, std::map<int64_t, sym::Expr>& sizes);
    void view_step();
    std::vector<ValueId> add(const std::string& op, Inputs inputs, graph::Attributes attributes = {});
    ValueId add1(const std::string& op, Inputs inputs, graph::Attributes attributes = {}) {
        return add(op, std::move(inputs), std::move(attributes))[0];
    }
    void forget(size_t values, size_t nodes);

    // --- operands
    ValueId operand(const Want& want);
    ValueId fresh(const Want& want);
    ValueId fresh_constant(const graph::TensorType& t, double lo, double hi);
    Exprs layout(const Exprs& shape, bool& overlaps);
    bool fits(ValueId v, double lo, double hi) { return meta(v).lo >= lo && meta(v).hi <= hi; }
    ValueId bounded(ValueId v, double lo, double hi);               // v with values in the range
    std::optional<ValueId> reshaped(ValueId v, const Exprs& shape); // by a view, or cut and repeated

    size_t pick(size_t n) { return n == 0 ? 0 : random_() % n; }
    template <class T>
    const T& any_of(const std::vector<T>& list) {
        return list[pick(list.size())];
    }
    Meta& meta(ValueId v) {
        if (metas_.size() <= v.value) metas_.resize(v.value + 1);
        return metas_[v.value];
    }
    // The largest number of elements in any run. UserError where a size falls below 0: no caller may call so.
    int64_t most(const Exprs& shape) const;
    bool is_symbolic(const graph::TensorType& t) const;

    const graph::OpSet& ops_;
    const Templates& templates_;
    uint64_t seed_;
    std::mt19937_64 random_;
    graph::GraphBuilder b_;
    RandomGraph result_;
    std::vector<ValueId> values_;
    std::vector<Meta> metas_;
    std::set<uint32_t> overlapping_, written_;
    Exprs pool_;
    int64_t most_elements_ = 3000;
    bool special_ = false, symbolic_ = false;
};

} // namespace codetta::test
