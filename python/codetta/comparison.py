"""codetta.compare(model, *inputs): accuracy against fp64 and speed against eager, on the user's own workload."""

from __future__ import annotations

import copy
import statistics
import time
from dataclasses import dataclass, field
from typing import Callable

import torch
from torch.utils import _pytree as pytree

from codetta.accuracy import TensorComparison, compare_tensors
from codetta.noise import busy_machine, jitter_warning
from codetta.options import merged_options
from codetta.report import collect_reports


@dataclass
class Comparison:
    """str() gives the whole text; as_dict() plain data."""

    tensors: list[TensorComparison]
    eager_ms: float
    codetta_ms: float
    least_speedup: float = 1.0
    fallbacks: list[str] = field(default_factory=list)
    graphs: int = 0
    warnings: list[str] = field(default_factory=list)  # why the times are not to be trusted

    @property
    def speedup(self) -> float:
        return self.eager_ms / self.codetta_ms

    @property
    def accurate(self) -> bool:
        return self.graphs > 0 and bool(self.tensors) and all(t.passed for t in self.tensors)

    @property
    def fast(self) -> bool | None:
        """None: the machine was too busy to tell."""
        return None if self.warnings else self.speedup >= self.least_speedup

    @property
    def passed(self) -> bool:
        return self.accurate and self.fast is not False

    def __str__(self) -> str:
        lines = [str(t) for t in self.tensors]
        lines += [f"in eager: {fallback}" for fallback in self.fallbacks]
        if not self.graphs:
            lines.append("FAIL no graph reached Codetta")
        verdict = {True: "ok  ", False: "FAIL", None: "?   "}[self.fast]
        lines.append(
            f"{verdict} speed: eager {self.eager_ms:.3f} ms, Codetta {self.codetta_ms:.3f} ms: {self.speedup:.2f} times as fast, "
            f"asked {self.least_speedup:.2f}"
        )
        lines += [f"warning: {warning}" for warning in self.warnings]
        if self.fast is None:
            lines.append("the speed is not judged; run again on a quiet machine")
        lines.append("pass" if self.passed else "fail")
        return "\n".join(lines)

    def as_dict(self) -> dict:
        """Plain data, ready for json.dumps."""
        return {
            "passed": self.passed,
            "accurate": self.accurate,
            "fast": self.fast,
            "eager_ms": self.eager_ms,
            "codetta_ms": self.codetta_ms,
            "speedup": self.speedup,
            "least_speedup": self.least_speedup,
            "graphs": self.graphs,
            "in_eager": self.fallbacks,
            "warnings": self.warnings,
            "tensors": [t.as_dict() for t in self.tensors],
        }


def compare(
    model,
    *inputs,
    mode: str | None = None,
    options: dict | None = None,
    dynamic: bool | None = None,
    rounds: int = 10,
    least_speedup: float = 1.0,
    reference: Callable | None = None,
    **keywords,
) -> Comparison:
    """Runs the model in eager, compiled and in fp64 on equal copies of the inputs (inference), then eager and compiled in turn for the time.

    `reference` computes what is exact, on fp64 inputs; by default a copy of the model in double. Accuracy is judged by the numerics contract
    (docs/design.md, section 3), speed by `least_speedup` times eager's.
    """
    import codetta.backend  # noqa: F401: checks torch's version

    torch._dynamo.reset()
    given = (inputs, keywords)
    with torch.no_grad(), collect_reports() as reports:
        compiled = torch.compile(model, backend="codetta", options=merged_options(mode, options), dynamic=dynamic)
        ours = _outputs(compiled, _copied(given))
        eager = _outputs(model, _copied(given))
        exact = _outputs(reference or _in_double(model), _widened(_copied(given)))
        tensors = compare_tensors(ours, eager, exact, _row_mask(inputs, keywords))
        warnings = busy_machine()
        times = _time_in_turn({"eager": model, "Codetta": compiled}, given, rounds)
    for name, taken in times.items():
        warnings += jitter_warning(name, taken)
    return Comparison(
        tensors,
        statistics.median(times["eager"]),
        statistics.median(times["Codetta"]),
        least_speedup,
        [str(island) for report in reports for island in report.islands],
        len(reports),
        warnings,
    )


def _time_in_turn(functions: dict[str, Callable], given: tuple, rounds: int) -> dict[str, list[float]]:
    """Milliseconds of each call, each after one that settles."""
    inputs, keywords = _copied(given)
    times: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            function(*inputs, **keywords)
            started = time.perf_counter()
            function(*inputs, **keywords)
            times[name].append(1000 * (time.perf_counter() - started))
    return times


def _outputs(function: Callable, given: tuple) -> dict[str, torch.Tensor]:
    inputs, keywords = given
    output = function(*inputs, **keywords)
    leaves = pytree.tree_leaves_with_path(output)
    if not any(isinstance(leaf, torch.Tensor) for _, leaf in leaves) and hasattr(output, "items"):
        leaves = pytree.tree_leaves_with_path(dict(output.items()))
    return {"output" + pytree.keystr(path): leaf.clone() for path, leaf in leaves if isinstance(leaf, torch.Tensor)}


def _copied(value):
    """Each run gets inputs of its own: the model may write into them."""
    return pytree.tree_map(lambda v: v.clone() if isinstance(v, torch.Tensor) else copy.deepcopy(v), value)


def _widened(value):
    return pytree.tree_map(lambda v: v.double() if isinstance(v, torch.Tensor) and v.is_floating_point() else v, value)


def _in_double(model) -> Callable:
    return copy.deepcopy(model).double() if isinstance(model, torch.nn.Module) else model


def _row_mask(inputs: tuple, keywords: dict) -> torch.Tensor | None:
    """Which rows are no padding: transformers' attention_mask, when one is given."""
    mask = keywords.get("attention_mask")
    return mask.bool() if isinstance(mask, torch.Tensor) and mask.dim() == 2 else None
