"""Every operation of the table against torch: each dtype, and 0-d, empty, ragged, strided, symbolic and NaN/Inf operands.

The calls of a family are compiled as one function, so that the whole walk takes minutes; a failure names the operation.
"""

from __future__ import annotations

import pytest
import torch
from torch.utils import _pytree as pytree

from codetta.report import collect_reports
from support.engine import compiled
from support.numerics import check_tensor
from support.op_cases import ANY, FAMILIES, N
from support.wide import wide_reference

VARIANTS = ["ragged", "strided", "empty", "symbolic", "special", "scalar"]
SPECIAL = [float("nan"), float("inf"), float("-inf"), -0.0]


class Maker:
    """Makes the operands of a case (support/op_cases.py) in one variant."""

    def __init__(self, dtype: torch.dtype, variant: str, n: int):
        self.dtype, self.variant, self.n = dtype, variant, n
        self.generator = torch.Generator().manual_seed(11)

    def __call__(self, *shape, low=-3.0, high=3.0, finite=False, distinct=False):
        return self.of(self.dtype, *shape, low=low, high=high, finite=finite, distinct=distinct)

    def of(self, dtype, *shape, low=-3.0, high=3.0, finite=False, distinct=False):
        shape = self.sizes(shape)
        wide = torch.rand(shape, generator=self.generator, dtype=torch.float64) * (high - low) + low
        if distinct and wide.numel():  # no ties, whose order is not promised
            wide = torch.argsort(torch.argsort(wide.flatten())).view(shape).double() - 3
        if not dtype.is_floating_point:
            x = (wide.ceil() if low > 0 else wide.round()).to(dtype) if dtype != torch.bool else wide > 0
        else:
            x = wide.to(dtype)
            if self.variant == "special" and not finite:
                flat = x.flatten()
                for i, value in enumerate(SPECIAL):
                    if 3 * i < flat.numel():
                        flat[3 * i] = value
                x = flat.view(shape)
        return self.laid_out(x)

    def mask(self, *shape):
        return self.laid_out(torch.rand(self.sizes(shape), generator=self.generator) > 0.4)

    def index(self, *shape, below):
        return self.laid_out(torch.randint(0, below, self.sizes(shape), generator=self.generator))

    def fixed(self, values):
        return torch.tensor(values)

    def sizes(self, shape):
        return () if self.variant == "scalar" else tuple(self.n if s == N else s for s in shape)

    def laid_out(self, x):
        if self.variant != "strided" or x.dim() == 0:
            return x
        wide = torch.zeros([2 * s for s in reversed(x.shape)], dtype=x.dtype)
        view = wide[tuple(slice(0, 2 * s, 2) for s in reversed(x.shape))].permute(*reversed(range(x.dim())))
        return view.copy_(x)


def calls_of(family, dtype, variant):
    """(name, operation, arguments, keywords) of the family's cases for this dtype."""
    maker = Maker(dtype, variant, {"empty": 0}.get(variant, 5))
    for i, (dtypes, build, flags) in enumerate(FAMILIES[family]):
        if dtype in dtypes and not (variant == "empty" and not flags.get("empty", True)):
            op, arguments, keywords = build(maker)
            yield f"{i} {getattr(op, '__name__', op)}", op, arguments, keywords


def widened(tree):
    return pytree.tree_map(lambda x: x.double() if isinstance(x, torch.Tensor) and x.is_floating_point() else x, tree)


def exact_results(op, arguments, keywords, dtype):
    """In more precision than the dtype under test."""
    if dtype is torch.float64:
        return wide_reference(op, arguments, keywords)
    return op(*widened(arguments), **keywords)


CASES = [
    (family, dtype, variant)
    for family in FAMILIES
    for dtype in ANY
    for variant in VARIANTS
    if not (variant == "scalar" and family != "pointwise")
    and not (variant == "special" and (not dtype.is_floating_point or family in ("products", "norms")))
    and any(dtype in dtypes for dtypes, _, _ in FAMILIES[family])
]


@pytest.mark.parametrize("family, dtype, variant", CASES, ids=lambda v: str(v).removeprefix("torch."))
def test_family(family, dtype, variant):
    calls = list(calls_of(family, dtype, variant))

    leaves, spec = pytree.tree_flatten([a for _, _, a, _ in calls])

    def run(tensors):  # numbers are part of the function, tensors its arguments
        given = iter(tensors)
        arguments = pytree.tree_unflatten([next(given) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves], spec)
        return [op(*a, **k) for (_, op, _, k), a in zip(calls, arguments)]

    arguments = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    plain_numbers = torch._dynamo.config.patch(specialize_int=True)  # only sizes of tensors are symbolic
    with torch.no_grad(), collect_reports() as reports, plain_numbers:
        fast = compiled(run, dynamic=True if variant == "symbolic" else None)
        ours, eager = fast(arguments), run(arguments)
    assert reports, "the backend was never called"
    islands = [str(i) for r in reports for i in r.islands]
    assert not islands, islands
    failures = []
    for (name, op, a, k), mine, theirs in zip(calls, ours, eager):
        exact = exact_results(op, a, k, dtype) if dtype.is_floating_point else theirs
        for x, y, z in zip(pytree.tree_leaves(mine), pytree.tree_leaves(theirs), pytree.tree_leaves(exact)):
            try:
                # strides follow torch's meta functions, which for strided operands are not always eager's
                check_tensor(name, x, y, z, strides=variant != "strided")
            except AssertionError as failure:
                failures.append(f"{name}: {failure}")
    assert not failures, "\n".join(failures)
