"""What an operation gives in more precision than f64: the judge of results in f64.

The call is traced to torch's smallest operations. Floats are held as 80-bit numbers (64 bits of mantissa); what only moves elements is
torch's own operation on their upper and lower halves; what computes is a row of COMPUTE.
"""

from __future__ import annotations

import operator
from typing import Callable

import mpmath
import numpy as np
import torch
from torch._decomp import decomposition_table
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree

Wide = np.longdouble
assert np.finfo(Wide).nmant >= 63, "this machine's long double is no wider than f64: results in f64 can't be judged"


def to_wide(x: torch.Tensor) -> np.ndarray:
    return x.detach().double().numpy().astype(Wide)


def _halves(x: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
    upper = x.astype(np.float64)
    with np.errstate(invalid="ignore"):
        lower = np.where(np.isfinite(upper), x - upper, 0).astype(np.float64)
    return torch.from_numpy(upper.copy()), torch.from_numpy(lower)


def _is_wide(x: object) -> bool:
    return isinstance(x, np.ndarray)


def _move(target: Callable, arguments: tuple, keywords: dict):
    """torch's own operation on the upper halves, and on the lower ones: elements are moved, not computed with."""

    def halves(part: int):
        return pytree.tree_map(lambda x: _halves(x)[part] if _is_wide(x) else x, (arguments, keywords))

    (upper_arguments, upper_keywords), (lower_arguments, lower_keywords) = halves(0), halves(1)
    if target is torch.ops.aten.constant_pad_nd.default:
        lower_arguments = (*lower_arguments[:2], 0)
    upper, lower = target(*upper_arguments, **upper_keywords), target(*lower_arguments, **lower_keywords)
    return pytree.tree_map(lambda u, l: to_wide(u) + to_wide(l) if u.is_floating_point() else u, upper, lower)


def _predicate(target: Callable, arguments: tuple, keywords: dict):
    """Comparisons and searches, of the upper halves (operands are exact in f64 or far apart), and what only asks for the shape."""
    arguments, keywords = pytree.tree_map(lambda x: _halves(x)[0] if _is_wide(x) else x, (arguments, keywords))
    return target(*arguments, **keywords)


def _erf(x: np.ndarray) -> np.ndarray:
    def one(v: Wide) -> Wide:
        if not np.isfinite(v):
            return np.sign(v)
        upper = float(v)
        return Wide(mpmath.nstr(mpmath.erf(mpmath.mpf(upper) + mpmath.mpf(float(v - Wide(upper)))), 30))

    with mpmath.workprec(120):
        return np.array([one(v) for v in x.reshape(-1)], dtype=Wide).reshape(x.shape)


def _axes(x: np.ndarray, dims) -> tuple[int, ...]:
    dims = [dims] if isinstance(dims, int) else dims
    return tuple(d % x.ndim for d in dims) if dims else tuple(range(x.ndim))


def _sum(x, dims=None, keepdim=False, dtype=None):
    return np.asarray(np.sum(x, axis=_axes(x, dims), keepdims=keepdim, dtype=Wide))


def _mean(x, dims=None, keepdim=False, dtype=None):
    with np.errstate(invalid="ignore"):
        return np.asarray(_sum(x, dims, keepdim) / Wide(np.prod([x.shape[a] for a in _axes(x, dims)])))


def _var(x, dims=None, correction=1, keepdim=False):
    count = np.prod([x.shape[a] for a in _axes(x, dims)])
    with np.errstate(invalid="ignore"):
        return np.asarray(_sum((x - _mean(x, dims, True)) ** 2, dims, keepdim) / Wide(max(count - correction, 0)))


def _extreme(function: Callable) -> Callable:
    return lambda x, dims=None, keepdim=False: np.asarray(function(x, axis=_axes(x, dims), keepdims=keepdim))


def _scatter_add(x, dim, index, source):
    result, at = x.copy(), list(np.indices(index.shape))
    at[dim] = index.numpy()
    np.add.at(result, tuple(at), source[tuple(slice(0, n) for n in index.shape)])
    return result


def _index_put(x, indices, values, accumulate=False):
    if not accumulate:
        return _move(torch.ops.aten.index_put.default, (x, indices, values), {})
    result = x.copy()
    np.add.at(result, tuple(slice(None) if i is None else i.numpy() for i in indices), values)
    return result


def _number(x):
    return to_wide(x) if isinstance(x, torch.Tensor) else x if _is_wide(x) else Wide(x)


def _of_numbers(function: Callable) -> Callable:
    return lambda *x: np.asarray(function(*[_number(v) for v in x]))


def _clamp(x, low=None, high=None):
    x = x if low is None else np.maximum(x, _number(low))
    return x if high is None else np.minimum(x, _number(high))


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


COMPUTE: dict[str, Callable] = {
    **{n: _of_numbers(getattr(np, n)) for n in ("abs", "exp", "exp2", "expm1", "log", "log2", "log1p", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "maximum", "minimum", "floor", "ceil", "trunc", "fmod", "reciprocal")},
    "neg": _of_numbers(np.negative), "asin": _of_numbers(np.arcsin), "acos": _of_numbers(np.arccos), "atan": _of_numbers(np.arctan),
    "rsqrt": _of_numbers(lambda x: 1 / np.sqrt(x)), "erf": _of_numbers(_erf), "sigmoid": _of_numbers(_sigmoid), "round": _of_numbers(np.rint),
    "sign": _of_numbers(lambda x: np.where(np.isnan(x), 0, np.sign(x))), "relu": _of_numbers(lambda x: np.maximum(x, 0)), "square": _of_numbers(np.square),
    "mul": _of_numbers(np.multiply), "pow": _of_numbers(np.power), "remainder": _of_numbers(np.mod), "copysign": _of_numbers(np.copysign),
    "add": lambda x, y, alpha=1: np.asarray(_number(x) + _number(alpha) * _number(y)),
    "sub": lambda x, y, alpha=1: np.asarray(_number(x) - _number(alpha) * _number(y)),
    "rsub": lambda x, y, alpha=1: np.asarray(_number(y) - _number(alpha) * _number(x)),
    "div": lambda x, y, rounding_mode=None: np.asarray({None: np.divide, "floor": np.floor_divide, "trunc": lambda a, b: np.trunc(a / b)}[rounding_mode](_number(x), _number(y))),
    "clamp": _clamp, "clamp_min": _clamp, "clamp_max": lambda x, high: _clamp(x, None, high),
    "where": lambda c, x, y: np.where(c.numpy(), _number(x), _number(y)),
    "sum": _sum, "mean": _mean, "var": _var, "amax": _extreme(np.max), "amin": _extreme(np.min),
    "cumsum": lambda x, dim, dtype=None: np.cumsum(x, axis=dim, dtype=Wide),
    "linalg_vector_norm": lambda x, order=2, dims=None, keepdim=False, dtype=None: np.sqrt(_sum(x * x, dims, keepdim)),
    "mm": lambda x, y: np.matmul(x, y), "bmm": lambda x, y: np.matmul(x, y), "dot": lambda x, y: np.asarray(np.sum(x * y)), "mv": lambda x, y: np.matmul(x, y),
    "scatter_add": _scatter_add, "index_put": _index_put,
    "index_add": lambda x, dim, index, source, alpha=1: _index_put(x, [None] * (dim % x.ndim) + [index], source, True),
    "fma": lambda x, y, z: np.asarray(_number(x) * _number(y) + _number(z)),
}  # fmt: skip

MOVES = {
    "view", "_unsafe_view", "reshape", "permute", "transpose", "t", "expand", "unsqueeze", "squeeze", "slice", "select", "clone", "alias", "detach", "cat", "stack",
    "split", "split_with_sizes", "unbind", "unfold", "diagonal", "as_strided", "constant_pad_nd", "repeat", "roll", "flip", "tril", "triu", "gather", "index",
    "index_select", "index_copy", "embedding", "slice_scatter", "select_scatter", "copy", "lift_fresh_copy", "collapse_view", "broadcast_in_dim", "scatter", "max", "min",
}  # fmt: skip
FRESH = {"full_like", "zeros_like", "ones_like", "empty_like", "new_full", "new_zeros", "new_ones", "new_empty", "fill"}
PREDICATES = {"eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf", "logical_not", "logical_and", "logical_or", "logical_xor", "any", "all", "argmax", "argmin", "isfinite", "signbit"}


def _run(node: torch.fx.Node, arguments: tuple, keywords: dict):
    name = node.target._schema.name.split("::")[1].removesuffix("_") if isinstance(node.target, torch._ops.OpOverload) else ""
    promised = node.meta["val"]
    floats = isinstance(promised, torch.Tensor) and promised.is_floating_point()
    reads_wide = any(_is_wide(x) for x in pytree.tree_leaves((arguments, keywords)))
    if node.target is operator.getitem:
        return arguments[0][arguments[1]]
    if name in ("_to_copy", "convert_element_type"):
        x = arguments[0]
        if floats and promised.dtype is torch.float64:
            return x if _is_wide(x) else to_wide(x)
        if floats:
            return to_wide(node.target(_halves(x)[0] if _is_wide(x) else x, *arguments[1:], **keywords))
        return _halves(x)[0].to(promised.dtype) if _is_wide(x) else node.target(*arguments, **keywords)
    if floats and name in COMPUTE:
        return COMPUTE[name](*arguments, **keywords)
    if not reads_wide:
        made = node.target(*arguments, **keywords)
        return to_wide(made) if floats else made
    if name in MOVES:
        return _move(node.target, arguments, keywords)
    assert name in PREDICATES | FRESH, f"no wide reference for {node.target}"
    made = _predicate(node.target, arguments, keywords)
    return to_wide(made) if floats else made


def wide_reference(function: Callable, arguments: tuple, keywords: dict):
    """function(*arguments, **keywords) with every float of a result as an array of 80-bit floats. @pre float tensors are f64, or exact in it"""
    leaves, spec = pytree.tree_flatten(arguments)
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]

    def call(*tensors):
        given = iter(tensors)
        return function(*pytree.tree_unflatten([next(given) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves], spec), **keywords)

    with torch.no_grad():
        graph = make_fx(torch.func.functionalize(call), decomposition_table=_table(), tracing_mode="fake")(*tensors).graph
    values: dict[torch.fx.Node, object] = {}
    given = iter(tensors)
    with np.errstate(all="ignore"):
        for node in graph.nodes:
            if node.op == "placeholder":
                x = next(given)
                values[node] = to_wide(x) if x.is_floating_point() else x
            elif node.op == "output":
                return pytree.tree_map(lambda n: values[n] if isinstance(n, torch.fx.Node) else n, node.args[0])
            else:
                known = pytree.tree_map(lambda n: values[n] if isinstance(n, torch.fx.Node) else n, (node.args, dict(node.kwargs)))
                values[node] = _run(node, *known)


def _table() -> dict:
    """Torch's decompositions, without those of operations that have a row, that only move, or that write in place."""
    kept = set(COMPUTE) | MOVES | PREDICATES | FRESH

    def name(op) -> str:
        return op.name().split("::")[-1].split(".")[0]

    return {op: rule for op, rule in decomposition_table.items() if name(op) not in kept and not name(op).endswith("_")}
