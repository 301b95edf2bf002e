"""The numerics contract: how far from fp64 a tensor may be, given how far eager's is."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import torch

FACTOR = 1.5  # times eager's error ...
UNIT = {torch.float64: 2.0**-53, torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}  # ... or one unit of the dtype
ROW_FACTOR = 3.0  # a row may be so many times as far off as the tensor


@dataclass
class TensorComparison:
    name: str
    ours: float = 0.0  # relative RMS error against fp64
    eager: float = 0.0
    bound: float = 0.0
    problem: str = ""  # a difference of kind: dtype, shape, strides, integer values, a row

    @property
    def passed(self) -> bool:
        return not self.problem and self.ours <= self.bound

    def __str__(self) -> str:
        verdict = "ok  " if self.passed else "FAIL"
        if self.problem:
            return f"{verdict} {self.name}: {self.problem}"
        return f"{verdict} {self.name}: error {self.ours:.3g}, eager {self.eager:.3g}, allowed {self.bound:.3g}"

    def as_dict(self) -> dict:
        return {**asdict(self), "passed": self.passed}


def compare_tensors(ours: dict, eager: dict, exact: dict, row_mask: torch.Tensor | None = None) -> list[TensorComparison]:
    """By name; `row_mask` [batch, length] says which rows of a [batch, length, ...] tensor are no padding."""
    if ours.keys() != eager.keys():
        return [TensorComparison("outputs", problem=f"{sorted(ours)} where eager gives {sorted(eager)}")]
    return [compare_tensor(name, ours[name], eager[name], exact[name], row_mask) for name in eager]


def compare_tensor(
    name: str, ours: torch.Tensor, eager: torch.Tensor, exact: torch.Tensor, row_mask: torch.Tensor | None = None
) -> TensorComparison:
    for kind, a, b in (("dtype", ours.dtype, eager.dtype), ("shape", tuple(ours.shape), tuple(eager.shape))):
        if a != b:
            return TensorComparison(name, problem=f"{kind} {a}, eager gives {b}")
    if not eager.is_floating_point():
        return TensorComparison(name, problem="" if torch.equal(ours, eager) else "values differ from eager's")
    if not torch.equal(ours.isnan(), eager.isnan()):
        return TensorComparison(name, problem="NaN at other places than in eager")
    if not torch.equal(ours.isinf(), eager.isinf()):
        return TensorComparison(name, problem="Inf at other places than in eager")
    ours_error, eager_error = relative_error(ours, exact), relative_error(eager, exact)
    bound = max(FACTOR * eager_error, UNIT[eager.dtype])
    row_problem = _row_problem(ours, eager, exact, bound, row_mask) if ours_error <= bound else ""
    return TensorComparison(name, ours_error, eager_error, bound, row_problem)


def relative_error(actual: torch.Tensor, exact: torch.Tensor) -> float:
    """RMS of the difference over RMS of the exact values (absolute where those are zero); NaN and Inf left out."""
    return _relative_errors(actual.reshape(1, -1), exact.reshape(1, -1)).item()


def _row_problem(ours: torch.Tensor, eager: torch.Tensor, exact: torch.Tensor, bound: float, row_mask: torch.Tensor | None) -> str:
    if ours.dim() < 2 or ours.numel() == 0:
        return ""
    rows = [t.reshape(-1, t.shape[-1]) for t in (ours, eager, exact)]
    ours_errors, eager_errors = _relative_errors(rows[0], rows[2]), _relative_errors(rows[1], rows[2])
    excess = ours_errors / torch.clamp(FACTOR * eager_errors, min=bound) / ROW_FACTOR
    if row_mask is not None and ours.shape[:2] == row_mask.shape:
        kept = row_mask.reshape(*row_mask.shape, *[1] * (ours.dim() - 3)).expand(ours.shape[:-1]) if ours.dim() > 2 else None
        if kept is not None:
            excess = excess.where(kept.reshape(-1), torch.zeros(()))
    worst = int(excess.argmax())
    if excess[worst] <= 1:
        return ""
    place = list(torch.unravel_index(torch.tensor(worst), ours.shape[:-1]))
    return f"row {[int(i) for i in place]} is off by {ours_errors[worst]:.3g}, eager's by {eager_errors[worst]:.3g}, allowed {ROW_FACTOR * bound:.3g}"


def _relative_errors(actual: torch.Tensor, exact: torch.Tensor) -> torch.Tensor:
    """One for each row."""
    actual, exact = actual.double(), exact.double()
    finite = actual.isfinite() & exact.isfinite()
    zero = torch.zeros((), dtype=torch.float64)
    count = finite.sum(-1).clamp(min=1)
    difference = torch.where(finite, actual - exact, zero).pow(2).sum(-1) / count
    scale = torch.where(finite, exact, zero).pow(2).sum(-1) / count
    return difference.sqrt() / torch.where(scale > 0, scale, torch.ones_like(scale)).sqrt()
