"""The machine's limits, measured once per process: what any program could do at best with so many operations over so many bytes."""

from __future__ import annotations

import functools
import math

from codetta import _codetta


@functools.cache
def flops_per_second(dtype: str, threads: int) -> float:
    """Of a register loop that multiplies this dtype."""
    return _codetta.peak_flops(dtype, threads)


@functools.cache
def _bandwidth(size_class: int, threads: int) -> float:
    return _codetta.read_bandwidth(int(2 ** (size_class / 2)), threads)


def bytes_per_second(amount: float, threads: int) -> float:
    """Of a loop that only reads about so many bytes; sizes in steps of the square root of 2."""
    return _bandwidth(round(2 * math.log2(max(amount, 4096))), threads)


def least_microseconds(flops: float, amount: float, dtype: str, threads: int) -> tuple[float, str]:
    """The least time that work of `flops` over `amount` distinct bytes can take, and which of the two sets it."""
    compute = flops / flops_per_second(dtype, threads)
    memory = amount / bytes_per_second(amount, threads)
    seconds, what = max((compute, "flops"), (memory, "bytes"))
    return 1e6 * seconds, what
