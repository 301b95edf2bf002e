"""What torch computes for each op of the vocabulary: one row per op, from operands and attributes to results.

The keys are the op names of codetta/ops; `None` stands for an absent operand; attributes are those of the op's signature.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

aten = torch.ops.aten
DTYPES = {
    "bool": torch.bool, "u8": torch.uint8, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
    "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64,
}  # fmt: skip


def same(function):
    """An op of operands alone."""
    return lambda inputs, attributes: function(*inputs)


def scalar_operand(function):
    """A binary op whose absent operand is the attribute `scalar`."""

    def run(inputs, attributes):
        x, y = [*inputs, None][:2]
        scalar = attributes.get("scalar")
        return function(scalar if x is None else x, scalar if y is None else y)

    return run


def with_alpha(function):
    def run(inputs, attributes):
        x, y = [*inputs, None][:2]
        scalar, alpha = attributes.get("scalar"), attributes.get("alpha", 1)
        if x is None:  # torch has no scalar on the left of add; the scalar is exact in the compute type
            return function(torch.tensor(scalar, dtype=y.dtype), y, alpha=alpha)
        return function(x, scalar if y is None else y, alpha=alpha)

    return run


def tensor_pair(function):
    """torch.minimum and friends take tensors only."""

    def run(inputs, attributes):
        x, y = [*inputs, None][:2]
        like = x if x is not None else y
        number = lambda: torch.tensor(attributes["scalar"], dtype=torch.float32 if like.dtype.is_floating_point else like.dtype)
        wide = torch.float32 if like.dtype in (torch.float16, torch.bfloat16) else like.dtype
        result = function(number().to(wide) if x is None else x.to(wide), number().to(wide) if y is None else y.to(wide))
        return result.to(like.dtype)

    return run


def dims_of(attributes, x):
    dims = attributes.get("dims") or list(range(x.dim()))
    return {"dim": dims, "keepdim": attributes.get("keepdim", False)}


def reduce(function):
    def run(inputs, attributes):
        extra = {"dtype": DTYPES[attributes["dtype"]]} if "dtype" in attributes else {}
        return function(inputs[0], **dims_of(attributes, inputs[0]), **extra)

    return run


def prod(inputs, attributes):
    x = inputs[0]
    for d in sorted((d % x.dim() for d in dims_of(attributes, x)["dim"]), reverse=True):
        x = torch.prod(x, d, keepdim=attributes.get("keepdim", False))
    return x


def boolean_reduce(function):
    return lambda inputs, attributes: function(inputs[0], **dims_of(attributes, inputs[0]))


def var_mean(inputs, attributes):
    return torch.var_mean(inputs[0], correction=attributes.get("correction", 1), **dims_of(attributes, inputs[0]))


def row(function):
    def run(inputs, attributes):
        extra = {"dtype": DTYPES[attributes["dtype"]]} if "dtype" in attributes else {}
        return function(*inputs, dim=attributes["dim"], **extra)

    return run


def layer_norm(inputs, attributes):
    x, w, b = [*inputs, None, None][:3]
    out, mean, rstd = aten.native_layer_norm(x, attributes["normalized_shape"], w, b, attributes.get("eps", 1e-5))
    stat = DTYPES[attributes["stat_dtype"]] if "stat_dtype" in attributes else x.dtype
    return out, mean.to(stat), rstd.to(stat)


def layer_norm_backward(inputs, attributes):
    grad, x, mean, rstd, w, b = [*inputs, None, None][:6]
    affine = x.dtype if w is None else w.dtype
    wide = [None if i is None else i.float() for i in (grad, x, mean, rstd, w, b)]
    grad_, x_, mean_, rstd_, w_, b_ = wide
    dx, dw, db = aten.native_layer_norm_backward(grad_, x_, attributes["normalized_shape"], mean_, rstd_, w_, b_, [True, w is not None, b is not None])
    return dx.to(x.dtype), None if w is None else dw.to(affine), None if b is None else db.to(affine)


def group_norm(inputs, attributes):
    x, w, b = [*inputs, None, None][:3]
    n, c = x.shape[:2]
    return aten.native_group_norm(x, w, b, n, c, x[0, 0].numel(), attributes["groups"], attributes.get("eps", 1e-5))


def group_norm_backward(inputs, attributes):
    grad, x, mean, rstd, w = [*inputs, None][:5]
    n, c = x.shape[:2]
    return aten.native_group_norm_backward(grad, x, mean, rstd, w, n, c, x[0, 0].numel(), attributes["groups"], [True, True, True])


def batch_norm(inputs, attributes):
    x, mean, variance, w, b = [*inputs, None, None][:5]
    x_, mean, variance, w, b = (None if t is None else t.float() for t in (x, mean, variance, w, b))
    return torch.nn.functional.batch_norm(x_, mean, variance, w, b, eps=attributes.get("eps", 1e-5)).to(x.dtype)


REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def nll_loss_forward(inputs, attributes):
    x, target, w = [*inputs, None][:3]
    return aten.nll_loss_forward(x, target, w, REDUCTIONS[attributes.get("reduction", "mean")], attributes.get("ignore_index", -100))


def nll_loss_backward(inputs, attributes):
    grad, x, target, w, total = [*inputs, None, None][:5]
    total = torch.tensor(0.0, dtype=x.dtype) if total is None else total
    return aten.nll_loss_backward(grad, x, target, w, REDUCTIONS[attributes.get("reduction", "mean")], attributes.get("ignore_index", -100), total)


def float_mask(mask, dtype):
    if mask is None or mask.dtype != torch.bool:
        return mask
    return torch.zeros(mask.shape, dtype=dtype).masked_fill(~mask, -float("inf"))


def attention(inputs, attributes, backward_results=False):
    q, k, v, mask = [*inputs, None][:4]
    rank = q.dim()
    q, k, v = (t.float() for t in (q, k, v))
    heads = q.shape[-3]
    k, v = (t.repeat_interleave(heads // t.shape[-3], dim=-3) for t in (k, v))
    scale = attributes.get("scale", q.shape[-1] ** -0.5)
    scores = q @ k.transpose(-1, -2) * scale
    if attributes.get("causal"):
        scores = scores.masked_fill(torch.ones(scores.shape[-2:]).triu(1).bool(), -float("inf"))
    if mask is not None:
        scores = scores + float_mask(mask, torch.float32).float()
    out = torch.softmax(scores, -1).nan_to_num(0) @ v
    lse = torch.logsumexp(scores, -1)
    lse = torch.where(lse == -float("inf"), torch.zeros_like(lse), lse)
    assert rank == out.dim()
    return out.to(inputs[0].dtype), lse


def attention_backward(inputs, attributes):
    """By torch's formula from the given out and logsumexp (which need not belong to q, k and v)."""
    grad, q, k, v, out, lse, mask = [*inputs, None][:7]
    dtype = q.dtype
    grad, q, k, v, out = (t.float() for t in (grad, q, k, v, out))
    group = q.shape[-3] // k.shape[-3]
    kv_shape, v_shape = k.shape, v.shape
    k, v = (t.repeat_interleave(group, dim=-3) for t in (k, v))
    scale = attributes.get("scale", q.shape[-1] ** -0.5)
    scores = q @ k.transpose(-1, -2) * scale
    if attributes.get("causal"):
        scores = scores.masked_fill(torch.ones(scores.shape[-2:]).triu(1).bool(), -float("inf"))
    if mask is not None:
        scores = scores + float_mask(mask, torch.float32).float()
    p = torch.exp(scores - lse[..., None])
    dv = p.transpose(-1, -2) @ grad
    ds = p * (grad @ v.transpose(-1, -2) - (grad * out).sum(-1, keepdim=True)) * scale
    dq, dk = ds @ k, ds.transpose(-1, -2) @ q

    def grouped(t, shape):
        return t.unflatten(-3, (shape[-3], group)).sum(-3)

    return dq.to(dtype), grouped(dk, kv_shape).to(dtype), grouped(dv, v_shape).to(dtype)


def embedding_backward(inputs, attributes):
    grad, indices = inputs
    return aten.embedding_dense_backward(grad, indices.long(), attributes["num_weights"], attributes.get("padding_idx", -1), False)


def as_strided_memory(x, attributes):
    """x's elements in a memory with base_strides."""
    base = attributes.get("base_strides")
    if base is None:
        return x.contiguous()
    memory = torch.empty_strided(x.shape, base, dtype=x.dtype)
    memory.copy_(x)
    return memory


def scatter(inputs, attributes):
    x, indices, source = [*inputs, None][:3]
    return torch.scatter(x, attributes["dim"], indices, attributes["scalar"] if source is None else source)


def indexed(indices):
    return [None if i is None else i.long() for i in indices]


def index_put(inputs, attributes):
    x, values, *indices = inputs
    return aten.index_put(x, indexed(indices), values, attributes.get("accumulate", False))


def wide_binary(function):
    """Computed in f32 for 16-bit floats and rounded once."""

    def run(inputs, attributes):
        dtype = next(i for i in inputs if i is not None).dtype
        wide = torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype
        return function(*[None if i is None else i.to(wide) for i in inputs], attributes).to(dtype)

    return run


def elu_backward(grad, x, a):
    return aten.elu_backward(grad, a.get("alpha", 1), a.get("scale", 1), a.get("input_scale", 1), a.get("is_result", False), x)


def full(inputs, a):
    return torch.full(a.get("shape", []), a["value"], dtype=DTYPES[a["dtype"]])


def arange(inputs, a):
    start, step, length = a.get("start", 0), a.get("step", 1), a["length"]
    return (start + step * torch.arange(length, dtype=torch.float64)).to(DTYPES[a.get("dtype", "i64")])


def slice_of(x, a):
    return aten.slice(x, a.get("dim", 0), a.get("start", 0), a.get("end"), a.get("step", 1))


def squeeze(inputs, a):
    return torch.squeeze(inputs[0], a["dims"]) if a.get("dims") else torch.squeeze(inputs[0])


def dot_general(inputs, attributes):
    letters = "abcdefghijklmnop"
    x, y = inputs
    names_x = list(letters[: x.dim()])
    names_y = list(letters[x.dim() : x.dim() + y.dim()])
    pairs = [*zip(attributes.get("a_batch", []), attributes.get("b_batch", [])), *zip(attributes["a_contract"], attributes["b_contract"])]
    for dx, dy in pairs:
        names_y[dy] = names_x[dx]
    batch = [names_x[d] for d in attributes.get("a_batch", [])]
    used = {names_x[dx] for dx, _ in pairs}
    out = batch + [n for n in names_x if n not in used] + [n for n in names_y if n not in used]
    result = torch.einsum(f"{''.join(names_x)},{''.join(names_y)}->{''.join(out)}", x.float(), y.float())
    return result.to(DTYPES[attributes["dtype"]] if "dtype" in attributes else x.dtype)


def product(function):
    """Sums of 16-bit products in f32."""
    return lambda inputs, a: function(*[i.float() if i.dtype.is_floating_point else i for i in inputs], **a).to(inputs[0].dtype)


def geometry(a):
    return a["stride"], a["padding"], a["dilation"]


def wide_call(function, inputs):
    """In f32 for 16-bit floats; each result in the dtype of the first operand."""
    dtype = inputs[0].dtype
    results = function(*[None if i is None or not i.dtype.is_floating_point else i.float() for i in inputs])
    return results.to(dtype) if isinstance(results, Tensor) else [r.to(dtype) for r in results]


def convolution(inputs, a):
    x, w, b = [*inputs, None][:3]
    zeros = [0] * len(a["stride"])
    return wide_call(lambda x, w, b: aten.convolution(x, w, b, *geometry(a), False, zeros, a.get("groups", 1)), [x, w, b])


def convolution_transposed(inputs, a):
    x, w, b = [*inputs, None][:3]
    plain = [(x.shape[2 + d] - 1) * s - 2 * p + l * (w.shape[2 + d] - 1) + 1 for d, (s, p, l) in enumerate(zip(*geometry(a)))]
    output_padding = [n - m for n, m in zip(a["size"], plain)]
    return wide_call(lambda x, w, b: aten.convolution(x, w, b, *geometry(a), True, output_padding, a.get("groups", 1)), [x, w, b])


def convolution_backward(inputs, a):
    grad, x, w = inputs
    zeros = [0] * len(a["stride"])
    return aten.convolution_backward(grad, x, w, [w.shape[0]], *geometry(a), False, zeros, a.get("groups", 1), [True, True, True])


def convolution_weight_gradient(inputs, a):
    grad, x = inputs
    w = torch.zeros(grad.shape[1], x.shape[1] // a.get("groups", 1), *a["kernel"])
    return convolution_backward([grad, x, w], a)[1]


def window(a):
    return a["kernel"], a.get("stride") or a["kernel"], a.get("padding") or [0, 0]


def average_window(a):
    return *window(a), a.get("ceil_mode", False), a.get("count_include_pad", True), a.get("divisor_override")


def batch_norm_training(inputs, a):
    x, mean, variance, w, b = [*inputs, None, None, None, None][:5]
    n = x.numel() // x.shape[1]
    momentum, eps = a.get("momentum", 0.1), a.get("eps", 1e-5)
    x_ = x.float()
    dims = [0, *range(2, x.dim())]
    out = torch.nn.functional.batch_norm(x_, None, None, *[None if t is None else t.float() for t in (w, b)], True, momentum, eps)
    batch_variance, batch_mean = torch.var_mean(x_, dims, correction=0)
    moved = lambda old, new: new if old is None else (1 - momentum) * old + momentum * new
    rstd = torch.rsqrt(batch_variance + eps)
    return out.to(x.dtype), batch_mean, rstd, moved(mean, batch_mean), moved(variance, batch_variance * n / (n - 1))


def batch_norm_backward(inputs, a):
    grad, x, mean, rstd, w = [*inputs, None][:5]
    variance = 1 / rstd**2
    return aten.native_batch_norm_backward(grad, x, w, mean, variance, mean, rstd, a.get("training", True), 0.0, [True, True, True])


F = torch.nn.functional
UNARY = (
    "neg abs sign exp exp2 expm1 log log2 log1p sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh erf sigmoid floor ceil trunc round "
    "reciprocal square isnan isinf logical_not bitwise_not relu"
).split()
COMPARE = "eq ne lt le gt ge".split()
LOGICAL = "logical_and logical_or logical_xor".split()
BITS = "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift".split()

Row = Callable[[list, dict], "Tensor | tuple[Tensor, ...]"]
REFERENCE: dict[str, Row] = {
    **{name: same(getattr(torch, name)) for name in UNARY},
    **{name: scalar_operand(getattr(torch, name)) for name in COMPARE + BITS},
    **{name: same(getattr(torch, name)) for name in LOGICAL},
    "add": with_alpha(torch.add),
    "sub": with_alpha(torch.sub),
    "mul": scalar_operand(torch.mul),
    "div": lambda i, a: scalar_operand(lambda x, y: torch.div(x if isinstance(x, Tensor) else torch.tensor(x), y, rounding_mode=None if a.get("rounding_mode", "none") == "none" else a["rounding_mode"]))(i, a),
    "pow": scalar_operand(torch.pow),
    "minimum": tensor_pair(torch.minimum),
    "maximum": tensor_pair(torch.maximum),
    "remainder": scalar_operand(torch.remainder),
    "fmod": scalar_operand(torch.fmod),
    "where": same(torch.where),
    "clamp": lambda i, a: torch.clamp(i[0], a.get("min"), a.get("max")),
    "addcmul": wide_binary(lambda x, y, z, a: torch.addcmul(x, y, z, value=a.get("value", 1))),
    "addcdiv": wide_binary(lambda x, y, z, a: torch.addcdiv(x, y, z, value=a.get("value", 1))),
    "lerp": lambda i, a: torch.lerp(i[0], i[1], i[2] if len(i) > 2 else a["scalar"]),
    "gelu": lambda i, a: F.gelu(i[0], approximate=a.get("approximate", "none")),
    "silu": same(F.silu),
    "mish": same(F.mish),
    "hardswish": same(F.hardswish),
    "hardsigmoid": same(F.hardsigmoid),
    "leaky_relu": lambda i, a: F.leaky_relu(i[0], a.get("negative_slope", 0.01)),
    "elu": lambda i, a: aten.elu(i[0], a.get("alpha", 1), a.get("scale", 1), a.get("input_scale", 1)),
    "softplus": lambda i, a: F.softplus(i[0], a.get("beta", 1), a.get("threshold", 20)),
    "gelu_backward": lambda i, a: aten.gelu_backward(i[0], i[1], approximate=a.get("approximate", "none")),
    "silu_backward": same(aten.silu_backward),
    "mish_backward": wide_binary(lambda g, x, a: aten.mish_backward(g, x)),
    "threshold_backward": lambda i, a: aten.threshold_backward(i[0], i[1], a.get("threshold", 0)),
    "tanh_backward": same(aten.tanh_backward),
    "sigmoid_backward": same(aten.sigmoid_backward),
    "hardswish_backward": same(aten.hardswish_backward),
    "hardsigmoid_backward": same(aten.hardsigmoid_backward),
    "leaky_relu_backward": lambda i, a: aten.leaky_relu_backward(i[0], i[1], a.get("negative_slope", 0.01), False),
    "elu_backward": wide_binary(elu_backward),
    "softplus_backward": lambda i, a: aten.softplus_backward(i[0], i[1], a.get("beta", 1), a.get("threshold", 20)),
    "cast": lambda i, a: i[0].to(DTYPES[a["dtype"]]),
    "view": lambda i, a: torch.reshape(i[0], a["shape"]),
    "permute": lambda i, a: torch.permute(i[0], a["dims"]),
    "expand": lambda i, a: i[0].expand(a["shape"]),
    "unsqueeze": lambda i, a: torch.unsqueeze(i[0], a["dim"]),
    "squeeze": squeeze,
    "slice": lambda i, a: slice_of(i[0], a),
    "select": lambda i, a: torch.select(i[0], a["dim"], a["index"]),
    "alias": same(lambda x: x),
    "diagonal": lambda i, a: torch.diagonal(i[0], a.get("offset", 0), a.get("dim1", 0), a.get("dim2", 1)),
    "unfold": lambda i, a: i[0].unfold(a["dim"], a["size"], a["step"]),
    "as_strided": lambda i, a: torch.as_strided(as_strided_memory(i[0], a), a["size"], a["stride"], a.get("offset", 0)),
    "cat": lambda i, a: torch.cat(i, a.get("dim", 0)),
    "stack": lambda i, a: torch.stack(i, a.get("dim", 0)),
    "constant_pad": lambda i, a: F.pad(i[0], a["pads"], value=a.get("value", 0)),
    "repeat": lambda i, a: i[0].repeat(a["repeats"]),
    "roll": lambda i, a: torch.roll(i[0], a["shifts"], a["dims"]),
    "flip": lambda i, a: torch.flip(i[0], a["dims"]),
    "clone": same(torch.clone),
    "copy": same(aten.copy),
    "tril": lambda i, a: torch.tril(i[0], a.get("diagonal", 0)),
    "triu": lambda i, a: torch.triu(i[0], a.get("diagonal", 0)),
    "slice_backward": lambda i, a: aten.slice_backward(i[0], a["sizes"], a["dim"], a.get("start", 0), a.get("end", a["sizes"][a["dim"]]), a.get("step", 1)),
    "select_backward": lambda i, a: aten.select_backward(i[0], a["sizes"], a["dim"], a["index"]),
    "slice_scatter": lambda i, a: torch.slice_scatter(i[0], i[1], a.get("dim", 0), a.get("start", 0), a.get("end"), a.get("step", 1)),
    "select_scatter": lambda i, a: torch.select_scatter(i[0], i[1], a["dim"], a["index"]),
    "as_strided_scatter": lambda i, a: torch.as_strided_scatter(i[0], i[1], a["size"], a["stride"], a.get("offset", 0)),
    "index_copy": lambda i, a: torch.index_copy(i[0], a["dim"], i[1].long(), i[2]),
    "index_add": lambda i, a: torch.index_add(i[0], a["dim"], i[1], i[2], alpha=a.get("alpha", 1)),
    "index_put": index_put,
    "scatter": scatter,
    "scatter_add": lambda i, a: torch.scatter_add(i[0], a["dim"], i[1], i[2]),
    "mm": product(torch.mm),
    "bmm": product(torch.bmm),
    "addmm": product(torch.addmm),
    "baddbmm": product(torch.baddbmm),
    "linear": product(F.linear),
    "matmul": product(torch.matmul),
    "dot_general": dot_general,
    "sum": reduce(torch.sum),
    "mean": reduce(torch.mean),
    "prod": prod,
    "amax": boolean_reduce(torch.amax),
    "amin": boolean_reduce(torch.amin),
    "any": boolean_reduce(torch.any),
    "all": boolean_reduce(torch.all),
    "argmax": lambda i, a: torch.argmax(i[0], a.get("dim"), a.get("keepdim", False)),
    "argmin": lambda i, a: torch.argmin(i[0], a.get("dim"), a.get("keepdim", False)),
    "var": lambda i, a: var_mean(i, a)[0],
    "std": lambda i, a: torch.std(i[0], correction=a.get("correction", 1), **dims_of(a, i[0])),
    "var_mean": var_mean,
    "logsumexp": boolean_reduce(torch.logsumexp),
    "softmax": row(torch.softmax),
    "safe_softmax": lambda i, a: aten._safe_softmax(i[0], a["dim"]),
    "log_softmax": row(torch.log_softmax),
    "softmax_backward": lambda i, a: aten._softmax_backward_data(i[0], i[1], a["dim"], i[0].dtype),
    "log_softmax_backward": lambda i, a: aten._log_softmax_backward_data(i[0], i[1], a["dim"], i[0].dtype),
    "native_layer_norm": layer_norm,
    "rms_norm": lambda i, a: F.rms_norm(i[0], a["normalized_shape"], i[1] if len(i) > 1 else None, a["eps"]),
    "native_group_norm": group_norm,
    "batch_norm": batch_norm,
    "native_layer_norm_backward": layer_norm_backward,
    "native_group_norm_backward": group_norm_backward,
    "nll_loss_forward": nll_loss_forward,
    "nll_loss_backward": nll_loss_backward,
    "embedding": lambda i, a: F.embedding(i[1].long(), i[0]),
    "embedding_dense_backward": embedding_backward,
    "gather": lambda i, a: torch.gather(i[0], a["dim"], i[1]),
    "index_select": lambda i, a: torch.index_select(i[0], a["dim"], i[1]),
    "index": lambda i, a: aten.index(i[0], indexed(i[1:])),
    "attention": attention,
    "attention_backward": attention_backward,
    "full": full,
    "arange": arange,
    "cumsum": lambda i, a: torch.cumsum(i[0], a["dim"], dtype=DTYPES[a["dtype"]] if "dtype" in a else None),
    "cumprod": lambda i, a: torch.cumprod(i[0], a["dim"], dtype=DTYPES[a["dtype"]] if "dtype" in a else None),
    "convolution": convolution,
    "convolution_transposed": convolution_transposed,
    "convolution_weight_gradient": convolution_weight_gradient,
    "convolution_backward": convolution_backward,
    "max_pool2d_with_indices": lambda i, a: aten.max_pool2d_with_indices(i[0], *window(a), a.get("dilation") or [1, 1], a.get("ceil_mode", False)),
    "max_pool2d_with_indices_backward": lambda i, a: aten.max_pool2d_with_indices_backward(
        i[0], i[0].new_zeros(*i[0].shape[:-2], *a["size"]), [2, 2], [2, 2], [0, 0], [1, 1], False, i[1]
    ),
    "avg_pool2d": lambda i, a: aten.avg_pool2d(i[0], *average_window(a)),
    "avg_pool2d_backward": lambda i, a: aten.avg_pool2d_backward(i[0], i[1], *average_window(a)),
    "adaptive_avg_pool2d": lambda i, a: aten._adaptive_avg_pool2d(i[0], a["size"]),
    "adaptive_avg_pool2d_backward": lambda i, a: aten._adaptive_avg_pool2d_backward(i[0], i[1]),
    "batch_norm_training": batch_norm_training,
    "batch_norm_backward": batch_norm_backward,
}
