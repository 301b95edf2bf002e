#include "codetta/problem/bijection.h"

#include <algorithm>
#include <map>

#include "codetta/base/error.h"

namespace codetta::problem {

namespace {

using sym::Expr;
using sym::Kind;

// base // divisor % extent: one digit of a mixed-radix number. A flipped digit counts from the top.
struct Digit {
    Expr base, divisor = 1, extent;
    bool flipped = false;
    Expr factor; // in the sum it stands in
    Expr value;  // over the targets, once known
};

class Inverter {
public:
    Inverter(const std::vector<Dimension>& sources, const sym::Facts& facts) : sources_(sources), facts_(facts) {}

    std::optional<Inverse> run(const std::vector<Expr>& coordinates, const std::vector<Dimension>& targets) {
        Inverse inverse;
        for (size_t i = 0; i < coordinates.size(); ++i) {
            auto radix = decompose(facts_.simplify(coordinates[i]));
            if (!radix) return std::nullopt;
            const Expr& t = targets[i].index;
            Expr end = facts_.simplify(radix->offset + radix->total);
            if (!facts_.proves(sym::le(radix->offset, 0))) inverse.image.push_back(sym::le(radix->offset, t));
            if (!facts_.proves(sym::le(targets[i].extent, end))) inverse.image.push_back(sym::lt(t, end));
            take(*radix, t - radix->offset);
        }
        // Composite numbers first: their digits are digits of simpler ones.
        while (true) {
            auto composite = std::ranges::find_if(digits_, [](const auto& entry) { return entry.first.kind() != Kind::symbol; });
            if (composite == digits_.end()) break;
            Expr base = composite->first;
            std::vector<Digit> digits = std::move(composite->second);
            digits_.erase(composite);
            auto radix = decompose(base);
            if (!radix || !radix->offset.is(0)) return std::nullopt;
            auto value = join(digits, radix->total);
            if (!value) return std::nullopt;
            take(*radix, *value);
        }
        for (const Dimension& s : sources_) {
            auto found = digits_.find(s.index);
            if (found == digits_.end()) {
                if (!s.extent.is(1)) return std::nullopt;
                inverse.index.emplace_back(0);
                continue;
            }
            auto value = join(found->second, s.extent);
            if (!value) return std::nullopt;
            inverse.index.push_back(*value);
        }
        return inverse;
    }

private:
    // offset + a mixed-radix number whose digits are sorted from the lowest; total: the number of its values.
    struct Radix {
        Expr offset, total = 1;
        std::vector<Digit> digits;
    };

    bool is_index(const Expr& e) const {
        return std::ranges::any_of(sym::symbols(e), [&](const std::string& name) { return source(name) != nullptr; });
    }

    const Dimension* source(const std::string& name) const {
        for (const Dimension& s : sources_)
            if (s.index.name() == name) return &s;
        return nullptr;
    }

    bool same(const Expr& a, const Expr& b) const { return a == b || facts_.simplify(a - b).is(0); }

    // One term of a sum as factor * digit.
    std::optional<Digit> digit_of(const Expr& term) {
        Expr factor = 1;
        std::optional<Expr> atom;
        auto add = [&](const Expr& e) {
            if (!is_index(e)) {
                factor = factor * e;
                return true;
            }
            if (atom) return false;
            atom = e;
            return true;
        };
        if (term.kind() == Kind::mul) {
            for (const Expr& e : term.operands())
                if (!add(e)) return std::nullopt;
        } else {
            add(term);
        }
        Digit d;
        d.factor = factor;
        d.base = *atom;
        std::optional<Expr> modulus;
        if (d.base.kind() == Kind::mod) {
            modulus = d.base.operands()[1];
            d.base = Expr(d.base.operands()[0]);
        }
        if (d.base.kind() == Kind::floor_div) {
            d.divisor = d.base.operands()[1];
            d.base = Expr(d.base.operands()[0]);
        }
        if (is_index(d.divisor) || (modulus && is_index(*modulus))) return std::nullopt;
        if (modulus) {
            d.extent = *modulus;
        } else {
            auto whole = extent_of(d.base);
            auto extent = whole ? sym::exact_div(*whole, d.divisor) : std::nullopt;
            if (!extent) return std::nullopt;
            d.extent = *extent;
        }
        if (facts_.range(factor).hi < 0) {
            d.flipped = true;
            d.factor = -factor;
        }
        return d;
    }

    std::optional<Expr> extent_of(const Expr& base) {
        if (base.kind() == Kind::symbol) {
            const Dimension* s = source(base.name());
            return s ? std::optional(s->extent) : std::nullopt;
        }
        auto radix = decompose(base);
        if (!radix || !radix->offset.is(0)) return std::nullopt;
        return radix->total;
    }

    std::optional<Radix> decompose(const Expr& e) {
        Radix radix;
        std::vector<Digit> open;
        auto add = [&](const Expr& term) {
            if (!is_index(term)) {
                radix.offset = radix.offset + term;
                return true;
            }
            auto d = digit_of(term);
            if (!d) return false;
            if (d->flipped) radix.offset = radix.offset - d->factor * (d->extent - 1);
            open.push_back(std::move(*d));
            return true;
        };
        if (e.kind() == Kind::add) {
            for (const Expr& term : e.operands())
                if (!add(term)) return std::nullopt;
        } else if (!add(e)) {
            return std::nullopt;
        }
        radix.offset = facts_.simplify(radix.offset);
        while (!open.empty()) {
            auto next = std::ranges::find_if(open, [&](const Digit& d) { return same(d.factor, radix.total); });
            if (next == open.end()) return std::nullopt;
            radix.total = facts_.simplify(next->factor * next->extent);
            radix.digits.push_back(std::move(*next));
            open.erase(next);
        }
        return radix;
    }

    // The digits of a number whose value over the targets is known.
    void take(const Radix& radix, const Expr& value) {
        for (size_t i = 0; i < radix.digits.size(); ++i) {
            Digit d = radix.digits[i];
            d.value = d.factor.is(1) ? value : sym::floor_div(value, d.factor);
            if (i + 1 < radix.digits.size()) d.value = sym::mod(d.value, d.extent);
            if (d.flipped) d.value = d.extent - 1 - d.value;
            digits_[d.base].push_back(std::move(d));
        }
    }

    // The value of a number of `total` values from all its digits.
    std::optional<Expr> join(std::vector<Digit> digits, const Expr& total) const {
        Expr value = 0, expected = 1;
        while (!digits.empty()) {
            auto next = std::ranges::find_if(digits, [&](const Digit& d) { return same(d.divisor, expected); });
            if (next == digits.end()) return std::nullopt;
            value = value + next->value * next->divisor;
            expected = facts_.simplify(next->divisor * next->extent);
            digits.erase(next);
        }
        if (!same(expected, total)) return std::nullopt;
        return value;
    }

    const std::vector<Dimension>& sources_;
    const sym::Facts& facts_;
    std::map<Expr, std::vector<Digit>> digits_;
};

} // namespace

std::optional<Inverse> invert(const std::vector<Expr>& coordinates, const std::vector<Dimension>& sources,
                              const std::vector<Dimension>& targets, const sym::Facts& facts) {
    CODETTA_CHECK(coordinates.size() == targets.size(), "{} coordinates for {} targets", coordinates.size(), targets.size());
    if (auto inverse = Inverter(sources, facts).run(coordinates, targets)) return inverse;
    // A reshape that refines nothing, [3, 4] to [4, 3], shows its one linear index only when neighbouring coordinates are seen as one
    // number: the canonical form has taken multiples of the divisors out of it.
    bool divides =
        std::ranges::any_of(coordinates, [](const Expr& e) { return sym::to_string(e).find_first_of("/%") != std::string::npos; });
    if (!divides) return std::nullopt;
    for (size_t count = 2; count <= coordinates.size(); ++count)
        for (size_t first = 0; first + count <= coordinates.size(); ++first) {
            std::vector<Expr> joined;
            std::vector<Dimension> spaces;
            for (size_t i = 0; i < coordinates.size(); ++i) {
                if (i > first && i < first + count) {
                    joined.back() = joined.back() * targets[i].extent + coordinates[i];
                    spaces.back() = {spaces.back().index * targets[i].extent + targets[i].index, spaces.back().extent * targets[i].extent};
                } else {
                    joined.push_back(coordinates[i]);
                    spaces.push_back(targets[i]);
                }
            }
            if (auto inverse = Inverter(sources, facts).run(joined, spaces)) return inverse;
        }
    return std::nullopt;
}

} // namespace codetta::problem
