// Random graphs: the interpreters (in double; with every rounding) against compiled code on every target that this machine runs.
//   differential --seeds 1..5000 [--target x86_avx2] [--minutes 30] [--print] [--in-process]
// Each graph runs in a process of its own, so that a crash is one failure more. Prints the seed, the text (made as small as it goes) and
// the cause of each failure, then how often every op met every dtype; returns 1 when anything failed.
#include <chrono>
#include <cstdio>
#include <cstring>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "codetta/base/error.h"
#include "codetta/ops/list.h"
#include "tests/fuzz/differential/coverage.h"
#include "tests/support/run_graph.h"

namespace codetta::test {
namespace {

constexpr unsigned seconds_per_graph = 120;

struct Options {
    uint64_t first = 1, last = 60;
    double minutes = 0; // 0: no limit
    std::string only;   // target
    bool apart = true, show = false;
};

class Run {
public:
    Run(const graph::OpSet& ops, const Options& options) : ops_(ops), templates_(ops), options_(options) {
        for (const base::Target& t : runnable_targets())
            if (options.only.empty() || t.name == options.only) targets_.push_back(t);
        CODETTA_USER_CHECK(!targets_.empty(), "no target '{}' on this machine", options.only);
        void* shared = mmap(nullptr, sizeof(Coverage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        CODETTA_CHECK(shared != MAP_FAILED, "no memory to share");
        coverage_ = new (shared) Coverage{};
    }

    uint64_t failures() {
        const auto start = std::chrono::steady_clock::now();
        uint64_t failures = 0, seed = options_.first;
        for (; seed <= options_.last; ++seed) {
            if (options_.minutes > 0 && std::chrono::steady_clock::now() - start > std::chrono::duration<double>(options_.minutes * 60))
                break;
            if (options_.show) say("seed {}\n{}\n", seed, graph::to_string(make_random_graph(ops_, templates_, seed).graph));
            failures += !(options_.apart ? run_apart(seed) : run_seed(seed));
        }
        std::string names;
        for (const base::Target& t : targets_) names += (names.empty() ? "" : ", ") + t.name;
        say("{}seeds {}..{} on {}: {} failures\n", to_string(*coverage_, ops_, templates_), options_.first, seed - 1, names, failures);
        return failures;
    }

private:
    template <class... Arguments>
    static void say(fmt::format_string<Arguments...> form, Arguments&&... arguments) {
        const std::string text = fmt::format(form, std::forward<Arguments>(arguments)...);
        std::fwrite(text.data(), 1, text.size(), stdout);
        std::fflush(stdout);
    }

    // True when all is well.
    bool run_seed(uint64_t seed) {
        RandomGraph g;
        try {
            g = make_random_graph(ops_, templates_, seed);
            graph::verify(g.graph, ops_);
        } catch (const std::exception& e) {
            say("seed {}: making: {}\n{}\n", seed, e.what(), graph::to_string(g.graph));
            return false;
        }
        count(g, ops_, *coverage_);
        for (const base::Target& target : targets_) {
            CheckCounts counts;
            auto failure = check(g, ops_, target, seed, &counts);
            add(counts, *coverage_);
            if (!failure) continue;
            const std::string first = failure->text;
            const RandomGraph small = shrunk(g, ops_, target, seed, *failure);
            say("seed {} on {}: {}\n  smaller: {}\n{}\n", seed, target.name, first, failure->text, graph::to_string(small.graph));
            return false;
        }
        return true;
    }

    bool run_apart(uint64_t seed) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(seconds_per_graph);
            _exit(run_seed(seed) ? 0 : 1);
        }
        int status = 0;
        waitpid(child, &status, 0);
        if (WIFSIGNALED(status)) {
            say("seed {}: signal {} ({})\n", seed, WTERMSIG(status), strsignal(WTERMSIG(status)));
            if (const pid_t printer = fork(); printer == 0) { // making it may be what fails
                try {
                    say("{}\n", graph::to_string(make_random_graph(ops_, templates_, seed).graph));
                } catch (const std::exception& e) {
                    say("{}\n", e.what());
                }
                _exit(0);
            } else
                waitpid(printer, nullptr, 0);
        }
        return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }

    const graph::OpSet& ops_;
    Templates templates_;
    Options options_;
    std::vector<base::Target> targets_;
    Coverage* coverage_ = nullptr;
};

Options parse(int argc, char** argv) {
    Options o;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
        if (word == "--seeds") {
            const size_t dots = value.find("..");
            o.first = o.last = std::stoull(value);
            if (dots != value.npos) o.last = std::stoull(value.substr(dots + 2));
            ++i;
        } else if (word == "--target")
            o.only = value, ++i;
        else if (word == "--minutes")
            o.minutes = std::stod(value), ++i;
        else if (word == "--in-process")
            o.apart = false;
        else if (word == "--print")
            o.show = true;
        else
            throw base::UserError("differential --seeds A..B [--target NAME] [--minutes M] [--in-process] [--print]");
    }
    return o;
}

} // namespace
} // namespace codetta::test

int main(int argc, char** argv) {
    try {
        const codetta::graph::OpSet ops = codetta::ops::list();
        return codetta::test::Run(ops, codetta::test::parse(argc, argv)).failures() > 0;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 2;
    }
}
