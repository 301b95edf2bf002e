"""One call or more of every ATen operation that Codetta has a row for, by family.

A case is a function of a tensor maker `t`: t(N, 3) gives a tensor of the dtype under test, N being the size that varies (ragged, empty,
symbolic); t.index(shape, below) gives valid indices; t.mask(shape) gives bools. It returns (operation, arguments, keywords).
"""

from __future__ import annotations

import torch

aten, prims = torch.ops.aten, torch.ops.prims

FLOAT = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
INTEGER = (torch.int64, torch.int32)
NUMBER = FLOAT + INTEGER
BITS = INTEGER + (torch.bool,)
ANY = NUMBER + (torch.bool,)

N = "n"  # the size that varies


def case(dtypes, build, **keywords):
    return (dtypes, build, keywords)


def unary(op, dtypes=FLOAT, low=-3.0, high=3.0, *args, **keywords):
    return case(dtypes, lambda t: (op, (t(N, 3, low=low, high=high), *args), keywords))


def binary(op, dtypes=NUMBER, low=-3.0, **keywords):
    return case(dtypes, lambda t: (op, (t(N, 3), t(3, low=low)), keywords))


def with_number(op, dtypes, *args, low=-3.0, **keywords):
    return case(dtypes, lambda t: (op, (t(N, 3, low=low), *args), keywords))


POINTWISE = [
    *[unary(getattr(aten, n).default, NUMBER) for n in ("neg", "abs", "sign", "relu")],
    *[unary(getattr(aten, n).default, NUMBER) for n in ("exp", "sin", "cos", "tanh", "sigmoid", "erf", "atan", "exp2", "expm1")],
    *[unary(getattr(aten, n).default, FLOAT) for n in ("sinh", "cosh", "floor", "ceil", "trunc", "round", "isnan", "isinf")],
    *[unary(getattr(aten, n).default, FLOAT, 0.1) for n in ("log", "log2", "log1p", "sqrt", "rsqrt", "reciprocal")],
    *[unary(getattr(aten, n).default, FLOAT, -0.9, 0.9) for n in ("asin", "acos", "tan")],
    unary(aten.bitwise_not.default, BITS),
    unary(aten.logical_not.default, ANY),
    *[unary(getattr(aten, n).default, FLOAT) for n in ("silu", "mish", "hardswish", "hardsigmoid", "gelu", "elu", "softplus", "leaky_relu", "hardtanh")],
    unary(aten.gelu.default, FLOAT, approximate="tanh"),
    *[binary(getattr(aten, n).Tensor, NUMBER) for n in ("add", "sub", "mul")],
    binary(aten.add.Tensor, FLOAT, alpha=0.5),
    binary(aten.sub.Tensor, INTEGER, alpha=2),
    with_number(aten.add.Tensor, NUMBER, 2),
    with_number(aten.mul.Tensor, NUMBER, 1.5),
    with_number(aten.mul.Scalar, FLOAT, 0.3),
    with_number(aten.rsub.Scalar, NUMBER, 3),
    binary(aten.div.Tensor, NUMBER, 1.0),
    with_number(aten.div.Scalar, FLOAT, 3.0),
    binary(aten.div.Tensor_mode, NUMBER, 1.0, rounding_mode="floor"),
    binary(aten.div.Tensor_mode, NUMBER, 1.0, rounding_mode="trunc"),
    binary(aten.floor_divide.default, INTEGER, 1.0),
    binary(aten.remainder.Tensor, NUMBER, 1.0),
    binary(aten.fmod.Tensor, NUMBER, 1.0),
    with_number(aten.remainder.Scalar, NUMBER, 2),
    case(FLOAT, lambda t: (aten.pow.Tensor_Tensor, (t(N, 3, low=0.2), t(3)), {})),
    *[with_number(aten.pow.Tensor_Scalar, FLOAT, e, low=0.2) for e in (2, 0.5, -1, 3, 1.7)],
    case(FLOAT, lambda t: (aten.pow.Scalar, (2.0, t(N, 3)), {})),
    *[binary(getattr(aten, n).default, NUMBER) for n in ("minimum", "maximum")],
    *[binary(getattr(aten, n).Tensor, ANY) for n in ("eq", "ne", "lt", "le", "gt", "ge")],
    *[with_number(getattr(aten, n).Scalar, ANY, 1) for n in ("eq", "ne", "lt", "le", "gt", "ge")],
    *[binary(getattr(aten, n).default, ANY) for n in ("logical_and", "logical_or", "logical_xor")],
    *[binary(getattr(aten, n).Tensor, BITS) for n in ("bitwise_and", "bitwise_or", "bitwise_xor")],
    case(INTEGER, lambda t: (aten.bitwise_left_shift.Tensor, (t(N, 3), t(3, low=0.0)), {})),
    case(INTEGER, lambda t: (aten.bitwise_right_shift.Tensor, (t(N, 3), t(3, low=0.0)), {})),
    case(ANY, lambda t: (aten.where.self, (t.mask(N, 3), t(N, 3), t(3)), {})),
    case(FLOAT, lambda t: (aten.masked_fill.Scalar, (t(N, 3), t.mask(3), float("-inf")), {})),
    with_number(aten.clamp.default, NUMBER, -1, 2),
    with_number(aten.clamp_min.default, NUMBER, 0),
    with_number(aten.clamp_max.default, NUMBER, 1),
    case(FLOAT, lambda t: (aten.addcmul.default, (t(N, 3), t(3), t(N, 3)), {"value": 0.5})),
    case(FLOAT, lambda t: (aten.addcdiv.default, (t(N, 3), t(3), t(N, 3, low=1.0)), {"value": 0.5})),
    case(FLOAT, lambda t: (aten.lerp.Scalar, (t(N, 3), t(N, 3), 0.3), {})),
    *[case(ANY, lambda t, d=d: (aten._to_copy.default, (t(N, 3, finite=True),), {"dtype": d})) for d in (*FLOAT, torch.int64, torch.bool)],
    case(ANY, lambda t: (aten.add.Tensor, (t(N, 3), t.of(torch.float32, 3)), {})),  # promotion
    case(ANY, lambda t: (aten.mul.Tensor, (t(N, 3), t.of(torch.float64)), {})),
    case(ANY, lambda t: (aten.add.Tensor, (t(N, 3), t.of(torch.int64, N, 1)), {})),
]

VIEWS = [
    case(ANY, lambda t: (lambda x: x.reshape(-1, 2) + x.reshape(-1, 2), (t(N, 4),), {})),
    case(ANY, lambda t: (lambda x: x.permute(2, 0, 1).clone(), (t(N, 3, 2),), {})),
    case(ANY, lambda t: (lambda x: x.expand(4, -1, 3).clone(), (t(N, 1),), {})),
    case(ANY, lambda t: (lambda x: x.unsqueeze(1).squeeze(1).clone(), (t(N, 3),), {})),
    case(ANY, lambda t: (lambda x: x[:, 1:5:2].clone(), (t(N, 6),), {})),
    case(ANY, lambda t: (lambda x: x[:, -2:].t().clone(), (t(N, 6),), {})),
    case(ANY, lambda t: (lambda x: x.select(1, -1).clone(), (t(N, 3),), {})),
    case(ANY, lambda t: (lambda x: [part.clone() for part in x.split([1, 3], 1)], (t(N, 4),), {})),
    case(ANY, lambda t: (lambda x: [part.clone() for part in x.unbind(1)], (t(N, 3),), {})),
    case(ANY, lambda t: (lambda x: x.unfold(1, 3, 2).clone(), (t(N, 7),), {})),
    case(ANY, lambda t: (lambda x: x.diagonal(0, 1, 2).clone(), (t(N, 3, 4),), {})),
    case(ANY, lambda t: (aten.cat.default, ([t(N, 3), t(2, 3), t(1, 3)],), {})),
    case(ANY, lambda t: (aten.cat.default, ([t(N, 3), t(N, 1)], -1), {})),
    case(ANY, lambda t: (aten.stack.default, ([t(N, 3), t(N, 3)], 1), {})),
    case(NUMBER, lambda t: (aten.constant_pad_nd.default, (t(N, 3), [1, 2, 0, 1], 2), {})),
    case(ANY, lambda t: (aten.repeat.default, (t(N, 3), [2, 1, 2]), {})),
    case(ANY, lambda t: (aten.roll.default, (t(N, 3), [1], [1]), {})),
    case(ANY, lambda t: (aten.flip.default, (t(N, 3), [0, 1]), {})),
    case(ANY, lambda t: (aten.tril.default, (t(N, 4),), {})),
    case(ANY, lambda t: (aten.triu.default, (t(N, 4), 1), {})),
    case(FLOAT, lambda t: (lambda g: aten.slice_backward.default(g, [g.shape[0], 6], 1, 1, 5, 2), (t(N, 2),), {})),
    case(FLOAT, lambda t: (lambda g: aten.select_backward.default(g, [g.shape[0], 3], 1, 2), (t(N),), {})),
    case(FLOAT, lambda t: (lambda x: torch.full_like(x, 2.5), (t(N, 3),), {})),
    case(ANY, lambda t: (lambda x: torch.zeros_like(x) + torch.ones_like(x), (t(N, 3),), {})),
    case(NUMBER, lambda t: (lambda x: torch.arange(x.shape[0], dtype=x.dtype) + x.new_full((), 2), (t(N),), {})),
]

REDUCTIONS = [
    *[case(ANY, lambda t, d=d: (aten.sum.dim_IntList, (t(N, 3, 4), d), {})) for d in ([1], [0, 2], [-1])],
    case(ANY, lambda t: (aten.sum.default, (t(N, 3),), {})),
    case(FLOAT, lambda t: (aten.sum.dim_IntList, (t(N, 3), [1], True), {"dtype": torch.float64})),
    case(FLOAT, lambda t: (aten.mean.dim, (t(N, 3), [1]), {})),
    case(FLOAT, lambda t: (aten.mean.dim, (t(3, N, 2), [0, 2], True), {})),
    *[case(NUMBER, lambda t, n=n: (getattr(aten, n).default, (t(N, 3), [1]), {})) for n in ("amax", "amin")],
    *[case(NUMBER, lambda t, n=n: (getattr(aten, n).dim, (t(N, 7, distinct=True), 1), {})) for n in ("max", "min")],
    *[case(NUMBER, lambda t, n=n: (getattr(aten, n).default, (t(N, 7, distinct=True), 1), {})) for n in ("argmax", "argmin")],
    *[case(ANY, lambda t, n=n: (getattr(aten, n).dim, (t(N, 3), 1), {})) for n in ("any", "all")],
    *[case(FLOAT, lambda t, n=n: (getattr(aten, n).correction, (t(N, 5), [1]), {"correction": 1})) for n in ("var", "std")],
    case(FLOAT, lambda t: (aten.logsumexp.default, (t(N, 5), [1]), {})),
    case(FLOAT, lambda t: (aten.linalg_vector_norm.default, (t(N, 5), 2, [1], True), {})),
    case(ANY, lambda t: (aten.cumsum.default, (t(N, 5), 1), {})),
    case(FLOAT, lambda t: (aten._softmax.default, (t(N, 5), 1, False), {})),
    case(FLOAT, lambda t: (aten._log_softmax.default, (t(N, 5), -1, False), {})),
    case(FLOAT, lambda t: (lambda g, y: aten._softmax_backward_data.default(g, y, 1, g.dtype), (t(N, 5), t(N, 5)), {})),
    case(FLOAT, lambda t: (lambda g, y: aten._log_softmax_backward_data.default(g, y, 1, g.dtype), (t(N, 5), t(N, 5)), {})),
]

PRODUCTS = [
    case(FLOAT, lambda t: (aten.mm.default, (t(N, 6), t(6, 5)), {})),
    case(FLOAT, lambda t: (lambda a, b: a @ b.t(), (t(N, 6), t(5, 6)), {})),
    case(FLOAT, lambda t: (aten.bmm.default, (t(2, N, 6), t(2, 6, 5)), {})),
    case(FLOAT, lambda t: (aten.addmm.default, (t(5), t(N, 6), t(6, 5)), {})),
    case(FLOAT, lambda t: (aten.addmm.default, (t(5), t(N, 6), t(6, 5)), {"alpha": 0.5, "beta": 2.0})),
    case(FLOAT, lambda t: (aten.baddbmm.default, (t(2, N, 5), t(2, N, 6), t(2, 6, 5)), {})),
    case(FLOAT, lambda t: (torch.nn.functional.linear, (t(2, N, 6), t(5, 6), t(5)), {})),
    case(FLOAT, lambda t: (torch.matmul, (t(2, N, 6), t(6)), {})),
    case(FLOAT, lambda t: (lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v), (t(1, 2, N, 8), t(1, 2, 5, 8), t(1, 2, 5, 8)), {}), empty=False),
    case(FLOAT, lambda t: (lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True), (t(1, 2, N, 8), t(1, 2, N, 8), t(1, 2, N, 8)), {}), empty=False),
    case(FLOAT, lambda t: (lambda q, k, v, m: torch.nn.functional.scaled_dot_product_attention(q, k, v, m, scale=0.2, enable_gqa=True), (t(1, 4, N, 8), t(1, 2, 5, 8), t(1, 2, 5, 8), t.mask(N, 5)), {}), empty=False),
]

INDEXING = [
    case(FLOAT, lambda t: (aten.embedding.default, (t(7, 3), t.index(N, 2, below=7)), {})),
    case(ANY, lambda t: (lambda x, i: x[i], (t(7, 3), t.index(N, below=7)), {})),
    case(ANY, lambda t: (lambda x, i: x[:, i], (t(N, 4), t.index(5, below=4)), {})),
    case(ANY, lambda t: (lambda x, i, j: x[i, j], (t(7, 4), t.index(N, 1, below=7), t.index(3, below=4)), {})),
    case(ANY, lambda t: (aten.gather.default, (t(7, 3), 0, t.index(N, 3, below=7)), {})),
    case(ANY, lambda t: (aten.index_select.default, (t(N, 4), 1, t.index(6, below=4)), {})),
    case(ANY, lambda t: (aten.index_copy.default, (t(N, 6), 1, t.fixed([4, 0]), t(N, 2)), {})),
    case(NUMBER, lambda t: (aten.index_add.default, (t(N, 6), 1, t.index(4, below=6), t(N, 4)), {})),
    case(ANY, lambda t: (lambda x, i, v: x.index_put((i,), v), (t(N, 3), t.fixed([0]), t(1, 3)), {}), empty=False),
    case(NUMBER, lambda t: (lambda x, i, v: x.index_put((i,), v, accumulate=True), (t(6, 3), t.index(N, below=6), t(N, 3)), {})),
    case(ANY, lambda t: (aten.slice_scatter.default, (t(N, 6), t(N, 2), 1, 1, 5, 2), {})),
    case(ANY, lambda t: (aten.select_scatter.default, (t(N, 6), t(N), 1, -1), {})),
    case(NUMBER, lambda t: (aten.scatter_add.default, (t(N, 4), 1, t.index(N, 6, below=4), t(N, 6)), {})),
    case(FLOAT, lambda t: (lambda g, i: aten.embedding_dense_backward.default(g, i, 7, 2, False), (t(N, 3), t.index(N, below=7)), {})),
]

NORMS = [
    case(FLOAT, lambda t: (lambda x, w, b: torch.nn.functional.layer_norm(x, [6], w, b), (t(N, 6), t(6), t(6)), {})),
    case(FLOAT, lambda t: (lambda x: torch.nn.functional.layer_norm(x, [6, 2]), (t(N, 6, 2),), {})),
    case(FLOAT, lambda t: (lambda x, w: torch.nn.functional.rms_norm(x, [6], w, 1e-6), (t(N, 6), t(6)), {})),
    case(FLOAT, lambda t: (lambda x, w, b: torch.nn.functional.group_norm(x, 2, w, b), (t(N, 4, 3), t(4), t(4)), {})),
    case(FLOAT, lambda t: (lambda x, w, b: torch.nn.functional.batch_norm(x, w.abs(), b.abs() + 1, w, b), (t(N, 4, 3), t(4), t(4)), {})),
    *[case(FLOAT, lambda t, n=n: (getattr(aten, n).default, (t(N, 3), t(N, 3)), {})) for n in ("gelu_backward", "silu_backward", "tanh_backward", "sigmoid_backward", "hardswish_backward")],
    case(FLOAT, lambda t: (aten.threshold_backward.default, (t(N, 3), t(N, 3), 0), {})),
    case(FLOAT, lambda t: (torch.nn.functional.nll_loss, (t(N, 5), t.index(N, below=5)), {}), empty=False),
]

FAMILIES = {"pointwise": POINTWISE, "views": VIEWS, "reductions": REDUCTIONS, "products": PRODUCTS, "indexing": INDEXING, "norms": NORMS}
