"""The numerics contract: no further from the exact result than eager is, up to a factor and one unit of the dtype.

The exact result is fp64's, for results in f64 an array of 80-bit floats (support/wide.py).
"""

from __future__ import annotations

import numpy as np
import torch

from support.wide import Wide, to_wide

UNIT = {torch.float64: 2.0**-53, torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}
FACTOR = 1.5


def as_wide(x: torch.Tensor | np.ndarray) -> np.ndarray:
    return to_wide(x) if isinstance(x, torch.Tensor) else np.asarray(x, dtype=Wide)


def relative_rms_error(actual: torch.Tensor | np.ndarray, reference: torch.Tensor | np.ndarray) -> float:
    """RMS of the difference over RMS of the reference (absolute where that is zero). NaN and Inf must stand at the same places."""
    actual, reference = as_wide(actual), as_wide(reference)
    assert np.array_equal(np.isnan(actual), np.isnan(reference)), "NaN at other places"
    infinite = np.isinf(reference)
    assert np.array_equal(actual[infinite], reference[infinite]), "Inf at other places"
    finite = np.isfinite(reference)
    difference, size = (actual[finite] - reference[finite]), reference[finite]
    if difference.size == 0:
        return 0.0
    scale = float(np.sqrt(np.mean(size**2)))
    return float(np.sqrt(np.mean(difference**2))) / (scale if scale > 0 else 1.0)


def check_tensor(name: str, ours: torch.Tensor, eager: torch.Tensor, reference: torch.Tensor | np.ndarray, *, strides: bool = True) -> None:
    """dtype, shape and strides as eager's; values within the contract (integers and bool: equal).

    NaN and Inf must be eager's or fp64's, element by element: eager's own vectorised kernels disagree with fp64 in places (gelu(inf) is NaN
    in f32, inf in fp64), and there both are right.
    """
    assert ours.dtype == eager.dtype, f"{name}: {ours.dtype}, eager gives {eager.dtype}"
    assert ours.shape == eager.shape, f"{name}: shape {tuple(ours.shape)}, eager gives {tuple(eager.shape)}"
    same = all(a == b or n <= 1 for a, b, n in zip(ours.stride(), eager.stride(), eager.shape))
    assert same or eager.numel() == 0 or not strides, f"{name}: strides {ours.stride()}, eager gives {eager.stride()}"
    if not eager.dtype.is_floating_point:
        assert torch.equal(ours, eager), f"{name}: values differ"
        return
    exact = _with_eager_specials(as_wide(ours), as_wide(eager), as_wide(reference))
    rounded_eager = np.where(np.isfinite(exact), as_wide(eager), exact)
    bound = max(FACTOR * relative_rms_error(rounded_eager, exact), UNIT[eager.dtype])
    error = relative_rms_error(ours, exact)
    assert error <= bound, f"{name}: relative RMS error {error:.3g} against fp64 exceeds {bound:.3g}"


class Ensemble:
    """The contract over several draws of the data: each tensor of a calculation is judged as one tensor, stacked over the draws.

        rms over draws and elements of (ours - exact)  <=  max(1.5 rms of (eager - exact), one unit * rms of exact)

    The bar is check_tensor's. What a whole calculation rounds is a random number that the elements of a small tensor share: one draw of a
    scalar loss, or of a gradient that is zero in exact arithmetic (attention's key bias), compares two last bits and tells nothing of
    their size. Over the draws both sides are the size of the rounding noise. Of an exact zero both are absolute, which is the same
    comparison: the rms of the reference divides both sides.
    """

    def __init__(self) -> None:
        self._draws: list[tuple[dict, dict, dict]] = []

    def add(self, ours: dict[str, torch.Tensor], eager: dict[str, torch.Tensor], exact: dict[str, torch.Tensor]) -> None:
        assert ours.keys() == eager.keys() == exact.keys()
        self._draws.append((ours, eager, exact))

    def check(self) -> None:
        assert len(self._draws) >= 16, "too few draws to know the size of the noise"
        failures = []
        for name in self._draws[0][0]:
            try:
                check_tensor(name, *(torch.stack([draw[side][name] for draw in self._draws]) for side in range(3)))
            except AssertionError as failure:
                failures.append(str(failure))
        assert not failures, "\n".join(failures)


def _with_eager_specials(ours: np.ndarray, eager: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """The exact values; where eager has another NaN or Inf there and ours agrees with eager, eager's."""
    differs = (np.isnan(eager) != np.isnan(reference)) | (np.isinf(eager) | np.isinf(reference)) & (eager != reference)
    same_as_eager = (np.isnan(ours) & np.isnan(eager)) | (np.isinf(ours) & (ours == eager))
    return np.where(differs & same_as_eager, eager, reference)
