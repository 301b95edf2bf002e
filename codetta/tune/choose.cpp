#include "codetta/tune/choose.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codetta/base/error.h"
#include "codetta/providers/provider.h"
#include "codetta/sym/condition.h"
#include "codetta/sym/expr.h"

namespace codetta::tune {

namespace {

struct Choice {
    std::shared_ptr<const providers::Candidate> candidate;
    std::vector<std::string> reasons;
};

constexpr std::string_view kLastResort = "reference";

class Chooser {
public:
    Chooser(uint32_t next_value, const sym::Bindings& hints, const base::Target& target, const base::Options& options)
        : next_value_(next_value), hints_(hints), target_(target), threads_(options.threads > 0 ? options.threads : target.cores),
          providers_(providers::list()) {}

    void add(const problem::Region& region) {
        const Choice& whole = choose(region.problem);
        if (whole.candidate->template_name == kLastResort)
            if (const auto split = best_split(region)) {
                add(split->first);
                add(split->second);
                return;
            }
        recipes_.recipes.push_back({region, whole.candidate, whole.reasons});
    }

    Recipes take() { return std::move(recipes_); }

private:
    // The first cut (last stages first, so that the largest piece stays whole) whose first or second piece a better template takes.
    std::optional<problem::Split> best_split(const problem::Region& region) {
        std::optional<problem::Split> any;
        for (auto cut = region.cuts.rbegin(); cut != region.cuts.rend(); ++cut) {
            const std::vector<bool> first = needed_for(region.problem, *cut);
            if (std::all_of(first.begin(), first.end(), [](bool b) { return b; })) continue;
            uint32_t next = next_value_;
            problem::Split split = problem::cut(region, first, next);
            if (!any) any = split, any_next_ = next;
            if (choose(split.first.problem).candidate->template_name != kLastResort) {
                next_value_ = next;
                return split;
            }
        }
        if (any) next_value_ = any_next_;
        return any;
    }

    static std::vector<bool> needed_for(const problem::Problem& p, problem::StageId stage) {
        std::vector<bool> needed(p.stages.size(), false);
        needed[stage.value] = true;
        for (size_t s = p.stages.size(); s-- > 0;)
            if (needed[s])
                for (const problem::Read& r : p.stages[s].reads)
                    if (r.from == problem::Read::From::stage) needed[r.source] = true;
        return needed;
    }

    const Choice& choose(const problem::Problem& p) {
        const std::string key = problem::canonical_key(p);
        if (const auto known = known_.find(key); known != known_.end()) return known->second;
        const providers::Request request{&p, &target_, hints_, threads_};
        Choice choice;
        for (const providers::Provider& provider : providers_) {
            if (const base::Verdict available = provider.available(target_); !available) {
                choice.reasons.push_back(fmt::format("{}: {}", provider.name, available.reason()));
                continue;
            }
            providers::Offers offers = provider.offers(request);
            choice.reasons.insert(choice.reasons.end(), offers.reasons.begin(), offers.reasons.end());
            if (!choice.candidate && !offers.candidates.empty())
                choice.candidate = std::make_shared<providers::Candidate>(offers.candidates.front()());
        }
        CODETTA_CHECK(choice.candidate, "no kernel for problem {}: {}", p.name, fmt::join(choice.reasons, "; "));
        return known_.emplace(key, std::move(choice)).first->second;
    }

    uint32_t next_value_, any_next_ = 0;
    const sym::Bindings& hints_;
    const base::Target& target_;
    int threads_;
    std::vector<providers::Provider> providers_;
    std::map<std::string, Choice> known_;
    Recipes recipes_;
};

} // namespace

Recipes choose(const std::vector<problem::Region>& regions, uint32_t next_value, const sym::Bindings& hints, const base::Target& target,
               const base::Options& options) {
    Chooser chooser(next_value, hints, target, options);
    for (const problem::Region& r : regions) chooser.add(r);
    return chooser.take();
}

std::string to_string(const Recipes& r) {
    std::string out;
    for (const Recipe& recipe : r.recipes) {
        out += fmt::format("recipe {} by {} {}\n", recipe.region.problem.name, recipe.candidate->provider, recipe.candidate->template_name);
        for (const providers::Variant& v : recipe.candidate->variants) {
            std::string guard;
            for (const sym::Condition& c : v.guard) guard += (guard.empty() ? "" : ", ") + sym::to_string(c);
            out += guard.empty() ? "  otherwise:" : fmt::format("  when {}:", guard);
            for (const providers::Kernel& k : v.kernels) out += fmt::format("{} {}", k.once ? " once" : "", k.program.name);
            out += "\n";
        }
        for (const std::string& reason : recipe.reasons) out += fmt::format("  # {}\n", reason);
        for (const std::string& reason : recipe.region.reasons) out += fmt::format("  # {}\n", reason);
    }
    return out;
}

} // namespace codetta::tune
