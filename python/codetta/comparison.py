"""codetta.compare(model, *inputs): accuracy against fp64 and speed against eager, on the user's own workload."""

from __future__ import annotations

import copy
import statistics
import time
from dataclasses import dataclass, field

import torch
from torch.utils import _pytree as pytree

from codetta.report import collect_reports

# The numerics contract: relative RMS error per tensor at most 1.5 times eager's, or one unit of the dtype.
_FACTOR = 1.5
_UNIT = {torch.float64: 2.0**-53, torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}


@dataclass
class TensorComparison:
    name: str
    ours: float  # relative RMS error against fp64
    eager: float
    bound: float
    problem: str = ""  # a difference of kind: dtype, shape, strides, integer values

    @property
    def passed(self) -> bool:
        return not self.problem and self.ours <= self.bound

    def __str__(self) -> str:
        verdict = "ok  " if self.passed else "FAIL"
        if self.problem:
            return f"{verdict} {self.name}: {self.problem}"
        return f"{verdict} {self.name}: error {self.ours:.3g}, eager {self.eager:.3g}, allowed {self.bound:.3g}"


@dataclass
class Comparison:
    tensors: list[TensorComparison]
    eager_ms: float
    codetta_ms: float
    fallbacks: list[str] = field(default_factory=list)
    graphs: int = 0

    @property
    def passed(self) -> bool:
        return self.graphs > 0 and bool(self.tensors) and all(t.passed for t in self.tensors)

    def __str__(self) -> str:
        lines = [str(t) for t in self.tensors]
        lines += [f"in eager: {fallback}" for fallback in self.fallbacks]
        if not self.graphs:
            lines.append("FAIL no graph reached Codetta")
        lines.append(f"eager {self.eager_ms:.3f} ms, Codetta {self.codetta_ms:.3f} ms: {self.eager_ms / self.codetta_ms:.2f} times as fast")
        lines.append("pass" if self.passed else "fail")
        return "\n".join(lines)


def compare(
    model, *inputs, mode: str | None = None, options: dict | None = None, dynamic: bool | None = None, rounds: int = 10, **keywords
) -> Comparison:
    """Runs the model in eager, compiled and in fp64 on the same inputs (inference), then eager and compiled in turn for the time."""
    import codetta.backend  # noqa: F401: checks torch's version

    torch._dynamo.reset()
    with torch.no_grad(), collect_reports() as reports:
        compiled = torch.compile(model, backend="codetta", mode=mode, options=options, dynamic=dynamic)
        ours = _tensors(compiled(*inputs, **keywords))
        eager = _tensors(model(*inputs, **keywords))
        exact = _in_double(model)
        wide_inputs, wide_keywords = pytree.tree_map(_widened, (inputs, keywords))
        reference = _tensors(exact(*wide_inputs, **wide_keywords))
        tensors = _compare_all(ours, eager, reference)
        times: dict[str, list[float]] = {"eager": [], "codetta": []}
        for _ in range(rounds):
            for name, function in (("eager", model), ("codetta", compiled)):
                function(*inputs, **keywords)  # settles
                started = time.perf_counter()
                function(*inputs, **keywords)
                times[name].append(1000 * (time.perf_counter() - started))
    return Comparison(
        tensors,
        statistics.median(times["eager"]),
        statistics.median(times["codetta"]),
        [str(island) for report in reports for island in report.islands],
        len(reports),
    )


def _tensors(output) -> dict[str, torch.Tensor]:
    leaves = pytree.tree_leaves_with_path(output)
    if not any(isinstance(leaf, torch.Tensor) for _, leaf in leaves) and hasattr(output, "items"):
        leaves = pytree.tree_leaves_with_path(dict(output.items()))
    return {"output" + pytree.keystr(path): leaf for path, leaf in leaves if isinstance(leaf, torch.Tensor)}


def _widened(value):
    return value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def _in_double(model):
    if isinstance(model, torch.nn.Module):
        return copy.deepcopy(model).double()
    return model


def _compare_all(ours: dict, eager: dict, reference: dict) -> list[TensorComparison]:
    if ours.keys() != eager.keys():
        return [TensorComparison("outputs", 0, 0, 0, f"{sorted(ours)} where eager gives {sorted(eager)}")]
    return [_compare_tensor(name, ours[name], eager[name], reference[name]) for name in eager]


def _compare_tensor(name: str, ours: torch.Tensor, eager: torch.Tensor, reference: torch.Tensor) -> TensorComparison:
    for kind, a, b in (("dtype", ours.dtype, eager.dtype), ("shape", tuple(ours.shape), tuple(eager.shape))):
        if a != b:
            return TensorComparison(name, 0, 0, 0, f"{kind} {a}, eager gives {b}")
    if not eager.is_floating_point():
        return TensorComparison(name, 0, 0, 0, "" if torch.equal(ours, eager) else "values differ")
    if not torch.equal(ours.isnan(), eager.isnan()):
        return TensorComparison(name, 0, 0, 0, "NaN at other places than in eager")
    ours_error, eager_error = _relative_error(ours, reference), _relative_error(eager, reference)
    return TensorComparison(name, ours_error, eager_error, max(_FACTOR * eager_error, _UNIT[eager.dtype]))


def _relative_error(actual: torch.Tensor, reference: torch.Tensor) -> float:
    actual, reference = actual.double(), reference.double()
    finite = reference.isfinite() & actual.isfinite()
    difference, size = (actual - reference)[finite], reference[finite]
    if difference.numel() == 0:
        return 0.0
    scale = size.pow(2).mean().sqrt().item()
    return difference.pow(2).mean().sqrt().item() / (scale if scale > 0 else 1.0)
