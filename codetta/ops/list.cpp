#include "codetta/ops/list.h"

#include <fmt/format.h>

#include "codetta/ops/pointwise.h"

namespace codetta::ops {

graph::OpSet list() {
    std::vector<OpDef> all;
    for (auto family : {unary_ops,
                        binary_ops,
                        compare_ops,
                        activation_ops,
                        cast_ops,
                        view_ops,
                        move_ops,
                        scatter_ops,
                        contract_ops,
                        reduce_ops,
                        softmax_ops,
                        normalise_ops,
                        normalise_backward_ops,
                        loss_ops,
                        index_ops,
                        attention_ops,
                        factory_ops,
                        scan_ops,
                        convolution_ops,
                        pool_ops,
                        batch_norm_ops})
        append(all, family());
    return graph::OpSet(std::move(all));
}

std::string print_ops_table(const graph::OpSet& ops) {
    auto escaped = [](std::string text) {
        for (size_t i = 0; (i = text.find('|', i)) != std::string::npos; i += 2) text.insert(i, "\\");
        return text;
    };
    std::string table = "| op | signature | kind | meaning |\n|---|---|---|---|\n";
    for (const graph::OpDef& op : ops.all())
        table += fmt::format("| {} | `{}` | {} | {} |\n", op.name, escaped(op.signature), graph::to_string(op.kind), escaped(op.summary));
    return table;
}

} // namespace codetta::ops
