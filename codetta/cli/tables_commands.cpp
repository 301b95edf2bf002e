// codetta ops, codetta options.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <memory>

#include "codetta/base/options.h"
#include "codetta/cli/session.h"
#include "codetta/cli/tables.h"
#include "codetta/graph/op_def.h"
#include "codetta/ops/list.h"

namespace codetta::cli {

void add_ops(CLI::App& app, Session& session) {
    CLI::App* command = app.add_subcommand("ops", "list the ops, or tell all of one");
    auto name = std::make_shared<std::string>();
    command->add_option("name", *name, "one op");
    command->callback([&session, name] {
        const graph::OpSet ops = ops::list();
        if (name->empty()) {
            for (const graph::OpDef& op : ops.all()) session.say("{:<26} {}\n", op.name, op.signature);
            return;
        }
        const graph::OpDef& op = ops.get(*name);
        session.say("{}{}\n  {}\n  kind: {}\n", op.name, op.signature, op.summary, graph::to_string(op.kind));
        if (op.decompose) session.say("  in terms of other ops\n");
        for (const std::string& sample : op.samples) session.say("  sample: {}\n", sample);
    });
}

void add_options(CLI::App& app, Session& session) {
    CLI::App* command = app.add_subcommand("options", "the options, their values here and where they can be set");
    auto markdown = std::make_shared<bool>(false);
    command->add_flag("--markdown", *markdown, "the page docs/options.md");
    command->callback([&session, markdown] {
        if (*markdown) return session.say("{}", options_page());
        const base::Options options = session.options();
        for (const base::OptionRow& row : base::option_table())
            session.say("{:<12} {:<10} {:<22} {}\n", row.name, row.get(options).empty() ? "(none)" : row.get(options),
                        base::option_variable(row.name), row.sentence);
    });
}

} // namespace codetta::cli
