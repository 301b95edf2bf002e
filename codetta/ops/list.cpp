#include "codetta/ops/list.h"

#include "codetta/ops/pointwise.h"

namespace codetta::ops {

graph::OpSet list() {
    std::vector<OpDef> all;
    for (auto family :
         {unary_ops, binary_ops, compare_ops, activation_ops, cast_ops, view_ops, move_ops, scatter_ops, contract_ops, reduce_ops,
          softmax_ops, normalise_ops, normalise_backward_ops, loss_ops, index_ops, attention_ops, factory_ops, scan_ops})
        append(all, family());
    return graph::OpSet(std::move(all));
}

} // namespace codetta::ops
