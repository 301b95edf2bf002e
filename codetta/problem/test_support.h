// Running two Problems on the same data and comparing, for tests of this room.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "codetta/problem/interpret.h"
#include "codetta/problem/region.h"
#include "codetta/problem/test_data.h"

namespace codetta::problem::test {

inline void expect_equal(const scalar::HostArray& got, const scalar::HostArray& want, const std::string& what) {
    ASSERT_EQ(got.size(), want.size()) << what;
    std::vector<double> values;
    scalar::for_each_coordinate(got.extents(), [&](auto c) { values.push_back(scalar::as_double(got.load(c))); });
    size_t at = 0;
    scalar::for_each_coordinate(want.extents(), [&](auto c) {
        double a = values[at], b = scalar::as_double(want.load(c));
        bool same = a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= 2e-6 * std::max(1.0, std::abs(b));
        EXPECT_TRUE(same) << what << " element " << at << ": " << a << " instead of " << b;
        ++at;
    });
}

inline size_t operand_named(const Problem& p, const std::string& name) {
    for (size_t i = 0; i < p.operands.size(); ++i)
        if (p.operands[i].name == name) return i;
    ADD_FAILURE() << "no operand " << name << " in\n" << to_string(p);
    return 0;
}

// The memory of `array` with the extents and strides that operand o of p has.
inline scalar::HostArray as_operand(const scalar::HostArray& array, const Problem& p, size_t o, const sym::Bindings& sizes) {
    std::vector<int64_t> extents, strides;
    for (const sym::Expr& e : p.operands[o].shape) extents.push_back(sym::evaluate(e, sizes));
    for (const sym::Expr& e : p.operands[o].strides) strides.push_back(sym::evaluate(e, sizes));
    return array.view(extents, strides, 0);
}

// Both problems compute the same in every operand that `after` writes (matched by name).
inline void expect_same(const Problem& before, const Problem& after, const std::vector<sym::Bindings>& all_sizes, bool special = false) {
    verify(after);
    EXPECT_EQ(parse_problem(to_string(after)), after);
    for (const sym::Bindings& sizes : all_sizes) {
        auto want = test_data(before, sizes, {.seed = 3, .special = special}),
             fresh = test_data(before, sizes, {.seed = 3, .special = special});
        std::vector<scalar::HostArray> got;
        for (size_t o = 0; o < after.operands.size(); ++o)
            got.push_back(as_operand(fresh[operand_named(before, after.operands[o].name)], after, o, sizes));
        interpret(before, want, sizes);
        interpret(after, got, sizes);
        for (size_t o = 0; o < after.operands.size(); ++o)
            if (after.operands[o].role != Role::in)
                expect_equal(got[o], want[operand_named(before, after.operands[o].name)],
                             after.operands[o].name + " of\n" + to_string(after));
    }
}

struct Composed {
    Problem problem;
    Composition composition;
};

// Composes by names (consumer operand -> producer operand), keeps the producer's outputs in `keep`, and compares with running one after the
// other.
inline Problem compose_and_compare(const Problem& producer, const Problem& consumer, const std::map<std::string, std::string>& bound,
                                   const std::set<std::string>& kept, const std::vector<sym::Bindings>& all_sizes) {
    std::vector<std::optional<OperandId>> bindings(consumer.operands.size());
    std::vector<bool> keep;
    for (size_t j = 0; j < bindings.size(); ++j)
        if (auto b = bound.find(consumer.operands[j].name); b != bound.end()) bindings[j] = OperandId(operand_named(producer, b->second));
    for (const Operand& o : producer.operands) keep.push_back(o.role == Role::in || kept.contains(o.name));
    auto legal = can_compose(producer, consumer, bindings, keep);
    EXPECT_TRUE(legal) << legal.reason();
    if (!legal) return producer;
    Composition made = compose(producer, consumer, bindings, keep);
    verify(made.problem);
    EXPECT_EQ(parse_problem(to_string(made.problem)), made.problem) << to_string(made.problem);
    EXPECT_EQ(simplify(made.problem), made.problem) << to_string(made.problem) << to_string(simplify(made.problem));
    for (const sym::Bindings& sizes : all_sizes) {
        auto first = test_data(producer, sizes, {.seed = 1}), second = test_data(consumer, sizes, {.seed = 2});
        auto first_copy = test_data(producer, sizes, {.seed = 1}), second_copy = test_data(consumer, sizes, {.seed = 2});
        std::vector<scalar::HostArray> arrays(made.problem.operands.size());
        for (size_t i = 0; i < first.size(); ++i)
            if (made.producer_operands[i]) arrays[made.producer_operands[i]->value] = first_copy[i];
        for (size_t j = 0; j < second.size(); ++j) {
            if (bindings[j])
                second[j] = first[bindings[j]->value];
            else if (made.consumer_operands[j])
                arrays[made.consumer_operands[j]->value] = second_copy[j];
        }
        interpret(producer, first, sizes);
        interpret(consumer, second, sizes);
        interpret(made.problem, arrays, sizes);
        for (size_t i = 0; i < first.size(); ++i)
            if (made.producer_operands[i] && producer.operands[i].role != Role::in)
                expect_equal(arrays[made.producer_operands[i]->value], first[i],
                             producer.operands[i].name + " of\n" + to_string(made.problem));
        for (size_t j = 0; j < second.size(); ++j)
            if (made.consumer_operands[j] && consumer.operands[j].role != Role::in)
                expect_equal(arrays[made.consumer_operands[j]->value], second[j],
                             consumer.operands[j].name + " of\n" + to_string(made.problem));
    }
    return made.problem;
}

inline std::string stages_of(const Problem& p) { // the stage lines alone
    std::string text = to_string(p), result;
    size_t at = text.size();
    for (size_t i = 0; i < p.stages.size(); ++i) at = text.rfind('\n', at - 2) + 1;
    return text.substr(at);
}

} // namespace codetta::problem::test
