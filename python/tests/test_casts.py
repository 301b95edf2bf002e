"""Casts to the 16-bit floats round once, to nearest even, from every dtype: torch itself goes through f32 from f64 and rounds twice."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from codetta.report import collect_reports
from support.engine import compiled

SMALL = {torch.float16: (10, -14, 65504.0), torch.bfloat16: (7, -126, float(torch.finfo(torch.bfloat16).max))}


def rounded(x: np.ndarray, dtype: torch.dtype) -> np.ndarray:
    """x (f64, or integers as Python objects) to nearest even in `dtype`, as f64. Exact: scaling by powers of two and one rint."""
    bits, least_exponent, largest = SMALL[dtype]
    result = np.empty(x.shape)
    for i, value in enumerate(x):
        if isinstance(value, int):  # exact even beyond 53 bits
            shift = max(abs(value).bit_length() - bits - 1, 0)
            quotient, rest = divmod(abs(value), 1 << shift)
            half = (1 << shift) / 2
            quotient += rest > half or (rest == half and quotient % 2 == 1 and shift > 0)
            result[i] = np.copysign(float(quotient << shift), value) if value else 0.0
        elif not np.isfinite(value) or value == 0:
            result[i] = value
        else:
            step = max(np.frexp(value)[1] - 1, least_exponent) - bits
            result[i] = np.ldexp(np.rint(np.ldexp(value, -step)), step) if step > -1060 else np.copysign(0.0, value)
        if abs(result[i]) > largest:
            result[i] = np.copysign(np.inf, result[i])
    return result


def hard_values(dtype: torch.dtype) -> np.ndarray:
    """Every value of f16 (a sample of bf16), the middles between neighbours, and what lies a hair beside them: double rounding shows there."""
    every = torch.arange(-(2**15), 2**15, 1 if dtype is torch.float16 else 7, dtype=torch.int16).view(dtype).double().numpy()
    finite = np.unique(every[np.isfinite(every)])
    middles = (finite[1:] + finite[:-1]) / 2
    with np.errstate(under="ignore"):
        beside = [middles * (1 + sign * 2.0**-k) for k in (26, 40, 52) for sign in (1, -1)]
    random = np.random.default_rng(3).integers(-(2**63), 2**63, 4000, dtype=np.int64).view(np.float64)
    named = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, -5e-324, 65519.99999, 65520.0, 2.0**-25, 2.0**-25 * (1 + 2.0**-52), 1e300, -1e300, 3.3961775292304e38])
    return np.concatenate([finite, middles, *beside, random, named])


def check(ours: torch.Tensor, wanted: np.ndarray) -> None:
    """Bit for bit, except that AVX512_BF16's instruction takes f32 below 2^-126 for zero: there bf16 may be a zero with the sign."""
    got = ours.double().numpy()
    if ours.dtype is torch.bfloat16:
        flushed = (got == 0) & (abs(wanted) <= 2.0**-126)
        wanted = np.where(flushed, np.copysign(0.0, wanted), wanted)
    same = (got == wanted) & (np.signbit(got) == np.signbit(wanted)) | np.isnan(got) & np.isnan(wanted)
    assert same.all(), [(i, got[i], wanted[i]) for i in np.flatnonzero(~same)[:5]]


def cast(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    with collect_reports() as reports:
        made = compiled(lambda x: x.to(dtype))(x)
    assert reports and not reports[0].islands
    return made


@pytest.mark.parametrize("dtype", SMALL, ids=["f16", "bf16"])
def test_from_f64(dtype):
    x = hard_values(dtype)
    check(cast(torch.from_numpy(x), dtype), rounded(x, dtype))


@pytest.mark.parametrize("dtype", SMALL, ids=["f16", "bf16"])
def test_from_f32(dtype):
    x = torch.from_numpy(hard_values(dtype)).float()
    ours = cast(x, dtype)
    check(ours, rounded(x.double().numpy(), dtype))
    check(ours, x.to(dtype).double().numpy())  # torch rounds once here


@pytest.mark.parametrize("source", [torch.int64, torch.int32, torch.int16, torch.uint8, torch.bool], ids=str)
@pytest.mark.parametrize("dtype", SMALL, ids=["f16", "bf16"])
def test_from_integers(dtype, source):
    if source is torch.bool:
        values = [0, 1]
    else:
        info = torch.iinfo(source)
        middles = [(2 * q + 1) << s for q in (128, 129, 255, 1024, 1025, 2047, 2**24 - 1) for s in range(0, 56)]
        near = [sign * m + d for m in middles for d in (-1, 0, 1) for sign in (1, -1)]
        values = [v for v in (*near, *range(-300, 300), info.min, info.max) if info.min <= v <= info.max]
    x = torch.tensor(values).to(source)
    check(cast(x, dtype), rounded(np.array(values, dtype=object), dtype))


@pytest.mark.parametrize("dtype", SMALL, ids=["f16", "bf16"])
def test_one_element(dtype):
    """0-d tensors: code without vectors."""
    function = compiled(lambda x, i: (x.to(dtype), i.to(dtype)))
    for value in (1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-8 + 2.0**-30, -65519.999, 2.0**-25 * 1.0000001, float("nan"), float("-inf")):
        ours, whole = function(torch.tensor(value, dtype=torch.float64), torch.tensor(2**40 + 2**32 + 1))
        check(ours[None], rounded(np.array([value]), dtype))
        check(whole[None], rounded(np.array([2**40 + 2**32 + 1], dtype=object), dtype))


@pytest.mark.parametrize("shape", [(), (5,), (67,)], ids=str)
@pytest.mark.parametrize("dtype", SMALL, ids=["f16", "bf16"])
def test_remainders_keep_their_sign(dtype, shape):
    """The compiler may not move the rounding past the sign: it then needs a library for f64 to f16."""
    x, y = (torch.randn(shape, generator=torch.Generator().manual_seed(s)).mul(9).to(dtype) for s in (1, 2))
    ours, copied = compiled(lambda x, y: (torch.fmod(x, y), torch.copysign(x.double() * 1.01, y.double()).to(dtype)))(x, y)
    assert torch.equal(ours, torch.fmod(x, y))
    check(copied.reshape(-1), rounded(torch.copysign(x.double() * 1.01, y.double()).reshape(-1).numpy(), dtype))
