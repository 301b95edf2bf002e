#include "codetta/ops/indexing.h"

#include <fmt/format.h>

#include "codetta/base/error.h"
#include "codetta/problem/problem.h"
#include "codetta/sym/expr.h"

namespace codetta::ops {

void check_index(const TensorType& t) {
    CODETTA_USER_CHECK(t.dtype == scalar::DType::i64 || t.dtype == scalar::DType::i32, "an index must be i64 or i32, not {}",
                       scalar::to_string(t.dtype));
}

std::vector<problem::Check> fits_within(const TensorType& index, const TensorType& other, std::optional<size_t> except,
                                        const sym::Facts& facts) {
    std::vector<problem::Check> checks;
    for (size_t d = 0; d < index.rank(); ++d) {
        if (d == except) continue;
        const sym::Condition fits = sym::le(index.shape[d], other.shape[d]);
        CODETTA_USER_CHECK(!facts.refutes(fits), "the index {} is larger than {} in dimension {}", shape_text(index.shape),
                           shape_text(other.shape), d);
        if (!facts.proves(fits)) checks.push_back({index.shape[d], 0, other.shape[d] + 1});
    }
    return checks;
}

Indexing::Indexing(const NodeView& n, size_t first_index)
    : x_(n.input(0)), facts_(&n.facts()), first_index_(first_index), indices_(x_.rank()) {
    CODETTA_USER_CHECK(n.input_count() - first_index <= x_.rank(), "{} indices for {} dimensions", n.input_count() - first_index,
                       x_.rank());
    std::vector<std::vector<Expr>> shapes;
    std::optional<size_t> first, last;
    for (size_t d = 0; d + first_index < n.input_count(); ++d) {
        if (!n.has_input(first_index + d)) continue;
        indices_[d] = n.input(first_index + d);
        check_index(*indices_[d]);
        shapes.push_back(indices_[d]->shape);
        if (!first) first = d;
        last = d;
    }
    CODETTA_USER_CHECK(first, "at least one index is needed");
    broadcast_ = broadcast_shapes(shapes, n.facts());
    bool adjacent = *last - *first + 1 == shapes.size();
    place_ = adjacent ? *first : 0;
}

std::vector<Expr> Indexing::shape() const {
    std::vector<Expr> result;
    for (size_t d = 0; d < x_.rank(); ++d)
        if (!indices_[d]) result.push_back(x_.shape[d]);
    result.insert(result.begin() + static_cast<std::ptrdiff_t>(place_), broadcast_.begin(), broadcast_.end());
    return result;
}

std::span<const Expr> Indexing::index_part(const std::vector<Expr>& index) const {
    return std::span(index).subspan(place_, broadcast_.size());
}

std::vector<Read> Indexing::reads(const Lowering& low, const std::vector<Expr>& index) const {
    std::vector<Read> result;
    for (size_t d = 0; d < x_.rank(); ++d)
        if (indices_[d]) result.push_back(low.read(first_index_ + d, broadcast_index(indices_[d]->shape, index_part(index))));
    return result;
}

std::vector<Expr> Indexing::coordinates(const std::vector<Expr>& index) const {
    std::vector<Expr> rest(index.begin(), index.begin() + static_cast<std::ptrdiff_t>(place_));
    rest.insert(rest.end(), index.begin() + static_cast<std::ptrdiff_t>(place_ + broadcast_.size()), index.end());
    std::vector<Expr> result;
    size_t next_read = 0, next_rest = 0;
    for (size_t d = 0; d < x_.rank(); ++d)
        result.push_back(indices_[d] ? sym::mod(loaded(next_read++), positive(x_.shape[d], *facts_)) : rest[next_rest++]);
    return result;
}

std::vector<problem::Check> Indexing::checks() const {
    std::vector<problem::Check> result;
    size_t next = 0;
    for (size_t d = 0; d < x_.rank(); ++d)
        if (indices_[d]) result.push_back({loaded(next++), -x_.shape[d], x_.shape[d]});
    return result;
}

} // namespace codetta::ops
