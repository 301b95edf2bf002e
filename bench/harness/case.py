"""A row of a bench: something to run, known by its JSON so that every rival's process builds the same one."""

from __future__ import annotations

import copy
import importlib
from dataclasses import dataclass, field
from typing import Callable

import torch

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}
UNIT = {torch.float32: 2.0**-24, torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11, torch.float64: 2.0**-53}
FACTOR = 1.5  # the numerics contract: error against fp64 at most this times eager's, or one unit of the dtype


@dataclass
class Workload:
    """A module and its inputs. `exact` gives the fp64 twin where a deep copy .double() is not enough."""

    model: torch.nn.Module
    inputs: tuple = ()
    keywords: dict = field(default_factory=dict)
    exact: Callable[[torch.nn.Module], torch.nn.Module] = lambda model: copy.deepcopy(model).double()

    def reference(self) -> list[torch.Tensor]:
        with torch.no_grad():
            inputs = [widened(x) for x in self.inputs]
            return tensors_of(self.exact(self.model)(*inputs, **{k: widened(v) for k, v in self.keywords.items()}))


def build(case: dict) -> Workload:
    """`case["module"]` names the bench (a module beside this package) whose make(case) builds it."""
    torch.manual_seed(0)
    return importlib.import_module(case["module"]).make(case)


def widened(value):
    return value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def tensors_of(output) -> list[torch.Tensor]:
    if isinstance(output, torch.Tensor):
        return [output]
    values = output.values() if hasattr(output, "values") else output
    return [t for value in values for t in tensors_of(value)]


def relative_error(actual: torch.Tensor, reference: torch.Tensor) -> float:
    """RMS of the difference over RMS of the reference; infinite when shapes differ or a value is not finite."""
    actual, reference = actual.double(), reference.double()
    if actual.shape != reference.shape or not actual.isfinite().all():
        return float("inf")
    return ((actual - reference).square().mean().sqrt() / reference.square().mean().sqrt().clamp_min(1e-300)).item()
