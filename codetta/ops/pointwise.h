// Makes an op's entry from a scalar body: broadcasting, dtype rule and lowering are the same for all pointwise ops.
#pragma once

#include "codetta/ops/lowering.h"

namespace codetta::ops {

using graph::NodeView;
using graph::OpDef;
using graph::TensorType;

enum class Domain : uint8_t { any, number /* not bool */, floating, integral /* integers and bool */, integer /* not bool */ };
enum class Result : uint8_t { same, boolean };

// The value for one element: operands in compute type (an absent one is the attribute `scalar`), one per operand of the signature.
using NodeBody = std::function<Term(Terms, const NodeView&)>;

struct Pointwise {
    std::string name = {};
    std::string summary = {};
    Domain domain = Domain::floating;
    NodeBody body = {};
    std::string signature = "(x)";
    Result result = Result::same;
    size_t conditions = 0; // so many leading operands are bool whatever the others are
    std::vector<std::string> samples = {};
};
OpDef pointwise(Pointwise entry);

// @post UserError unless the dtype is in the domain
void check_domain(Domain domain, scalar::DType t);
// The common dtype of the present operands from `first` on; UserError when they differ.
scalar::DType common_dtype(const NodeView& n, size_t first = 0);
// An attribute `number` as a term of like's dtype. UserError for a fraction on integers.
Term number_term(const NodeView& n, std::string_view name, Term like);

void append(std::vector<OpDef>& list, std::vector<OpDef> more);

// One function per family; ops::list() joins them.
std::vector<OpDef> unary_ops();
std::vector<OpDef> binary_ops();
std::vector<OpDef> compare_ops();
std::vector<OpDef> activation_ops();
std::vector<OpDef> cast_ops();
std::vector<OpDef> view_ops();
std::vector<OpDef> move_ops();
std::vector<OpDef> scatter_ops();
std::vector<OpDef> contract_ops();
std::vector<OpDef> reduce_ops();
std::vector<OpDef> softmax_ops();
std::vector<OpDef> normalise_ops();
std::vector<OpDef> normalise_backward_ops();
std::vector<OpDef> loss_ops();
std::vector<OpDef> index_ops();
std::vector<OpDef> attention_ops();
std::vector<OpDef> factory_ops();
std::vector<OpDef> scan_ops();
std::vector<OpDef> convolution_ops();
std::vector<OpDef> pool_ops();
std::vector<OpDef> batch_norm_ops();

} // namespace codetta::ops
