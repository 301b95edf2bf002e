// Runs a graph or problems: interpreted, compiled, or both.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "codetta/base/error.h"
#include "codetta/cli/call.h"
#include "codetta/cli/run_command.h"
#include "codetta/compile/compile.h"
#include "codetta/ops/list.h"
#include "codetta/problem/interpret.h"
#include "codetta/problem/test_data.h"
#include "codetta/runtime/detect_machine.h"
#include "codetta/scalar/evaluate.h"

namespace codetta::cli {

namespace {

using scalar::HostArray;
using Arrays = std::vector<HostArray>;

constexpr int64_t most_printed = 8;

std::string first_elements(const HostArray& a) {
    std::string text;
    int64_t left = most_printed;
    scalar::for_each_coordinate(a.extents(), [&](std::span<const int64_t> at) {
        if (left-- > 0) text += fmt::format(" {:.6g}", scalar::as_double(a.load(at)));
    });
    return text + (left < 0 ? " ..." : "");
}

/// What one model can do; the two kinds differ in how they are interpreted and called.
struct Model {
    std::string name;
    sym::Bindings sizes;
    std::vector<std::string> output_names;
    std::function<Arrays(bool exact)> interpret;
    std::function<CallResult()> call;  ///< on fresh copies of the inputs
    std::vector<scalar::DType> dtypes; ///< of the outputs
};

bool run(const Session& session, const RunWishes& wishes, Model& model) {
    std::string sizes;
    for (const auto& [name, value] : model.sizes) sizes += fmt::format("{}{} = {}", sizes.empty() ? " with " : ", ", name, value);
    session.say("{}{}\n", model.name, sizes);
    CallResult made;
    if (wishes.interpret) {
        made.outputs = model.interpret(false);
    } else {
        double best = 0;
        for (int i = 0; i < wishes.repeat; ++i) {
            made = model.call();
            best = i == 0 ? made.time_us : std::min(best, made.time_us);
        }
        session.say("  call: {:.1f} us{}\n", best, wishes.repeat > 1 ? fmt::format(", the fastest of {}", wishes.repeat) : "");
    }
    Arrays exact, interpreted;
    if (wishes.compare) exact = model.interpret(true), interpreted = model.interpret(false);
    bool good = true;
    for (size_t i = 0; i < made.outputs.size(); ++i) {
        const HostArray& a = made.outputs[i];
        session.say("  {}: {}[{}]", model.output_names[i], scalar::to_string(model.dtypes[i]), fmt::join(a.extents(), ", "));
        if (wishes.compare) {
            const Distance d = distance(a, exact[i]), judge = distance(interpreted[i], exact[i]);
            const bool within = within_contract(d, judge, model.dtypes[i]);
            session.say(", largest error {:.2e}, relative {:.2e} (interpreter {:.2e}){}", d.largest, d.relative_rms, judge.relative_rms,
                        within ? "" : ": TOO FAR OFF");
            good &= within;
        }
        session.say("\n{}", wishes.print ? fmt::format("   {}\n", first_elements(a)) : "");
    }
    return good;
}

} // namespace

bool run_graph(const Session& session, const RunWishes& wishes, const StageFile& file) {
    const base::Options options = session.options();
    const graph::OpSet ops = ops::list();
    graph::Graph g = read_graph(file, ops);
    for (graph::Input& input : g.inputs) input.frozen |= options.freeze && input.kind == graph::InputKind::parameter;

    std::set<std::string> symbols(g.size_arguments.begin(), g.size_arguments.end());
    for (const graph::Input& input : g.inputs)
        for (const sym::Expr& e : g.type(input.value).shape) sym::collect_symbols(e, symbols);
    Model model;
    model.name = g.name;
    model.sizes = choose_sizes(symbols, g.facts, wishes.sizes);
    std::vector<int64_t> integers;
    for (const std::string& s : g.size_arguments) integers.push_back(model.sizes.find(s)->second);
    const Arrays inputs = random_inputs(g, model.sizes, wishes.ranges, wishes.seed);
    for (const graph::Output& o : g.outputs) {
        const bool is_size = o.kind == graph::Output::Kind::size;
        model.output_names.push_back(is_size ? sym::to_string(o.size) : g.value(o.value).name);
        model.dtypes.push_back(is_size                               ? scalar::DType::i64
                               : o.kind == graph::Output::Kind::view ? o.view_type.dtype
                                                                     : g.type(o.value).dtype);
    }
    model.interpret = [&](bool exact) { return graph::interpret(g, ops, clones(inputs), integers, exact); };
    std::optional<runtime::Executable> executable;
    if (!wishes.interpret) executable.emplace(compile::compile(g, runtime::host_target(options.target), options, model.sizes));
    Arrays passed;
    model.call = [&] {
        if (passed.empty() || wishes.repeat == 1) passed = clones(inputs);
        return call(*executable, passed, integers, options.threads);
    };
    return run(session, wishes, model);
}

bool run_problems(const Session& session, const RunWishes& wishes, const StageFile& file) {
    const base::Options options = session.options();
    bool good = true;
    for (const std::string& part : file.parts) {
        const problem::Problem p = parse_part(file, part, problem::parse_problem);
        Model model;
        model.name = p.name;
        const std::vector<std::string> symbols = p.size_symbols();
        sym::Bindings given;
        for (const auto& [name, value] : wishes.sizes)
            if (std::ranges::find(symbols, name) != symbols.end() || file.parts.size() == 1) given[name] = value;
        model.sizes = choose_sizes({symbols.begin(), symbols.end()}, p.facts, given);
        problem::TestDataOptions data;
        data.seed = wishes.seed;
        // One array per operand; those that are read and those that are returned.
        const auto is_output = [&](size_t i) { return p.operands[i].role == problem::Role::out; };
        for (size_t i = 0; i < p.operands.size(); ++i)
            if (is_output(i)) model.output_names.push_back(p.operands[i].name), model.dtypes.push_back(p.operands[i].dtype);
        model.interpret = [&](bool exact) {
            Arrays arrays = problem::test_data(p, model.sizes, data), outputs;
            for (size_t i = 0; i < arrays.size(); ++i)
                if (exact && is_output(i) && !p.operands[i].aliases && scalar::is_float(p.operands[i].dtype))
                    arrays[i] = HostArray(scalar::DType::f64, arrays[i].extents());
            problem::interpret(p, arrays, model.sizes, exact);
            for (size_t i = 0; i < arrays.size(); ++i)
                if (is_output(i)) outputs.push_back(arrays[i]);
            return outputs;
        };
        std::optional<runtime::Executable> executable;
        if (!wishes.interpret) executable.emplace(compile::compile(p, runtime::host_target(options.target), options, model.sizes));
        Arrays kept;
        model.call = [&] {
            const Arrays arrays = problem::test_data(p, model.sizes, data);
            kept.clear();
            std::vector<int64_t> integers;
            for (size_t i = 0; i < arrays.size(); ++i)
                if (!is_output(i)) kept.push_back(arrays[i]);
            for (const runtime::Size& s : executable->program().sizes)
                if (s.source == runtime::SizeSource::value) integers.push_back(model.sizes.find(s.symbol)->second);
            return call(*executable, kept, integers, options.threads);
        };
        good &= run(session, wishes, model);
    }
    return good;
}

} // namespace codetta::cli
