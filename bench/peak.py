"""The machine's limits with the bench's threads: multiply-adds per second in registers, bytes per second of a loop that only reads."""

from __future__ import annotations

import argparse
import ctypes
import functools
import hashlib
import math
import os
import subprocess
import tempfile
from pathlib import Path

SOURCE = Path(__file__).with_name("peak.cpp")
REPEATS = 5


class Limits:
    """Each figure is measured once per run, best of five, while no rival is busy."""

    def __init__(self, cores: list[int]):
        self._cores = (ctypes.c_int * len(cores))(*cores)
        self._threads = len(cores)
        self._library = _library()

    @functools.cache
    def flops(self, dtype: str) -> float:
        """The best of the instructions that multiply this dtype ("f32", "bf16") into f32 sums."""
        kinds = ["f32"] if dtype == "f32" else ["f32", "bf16_dot", "bf16_amx"]
        return max(self._library.peak_flops(k.encode(), self._cores, self._threads, REPEATS) for k in kinds)

    @functools.cache
    def bandwidth(self, size_class: int) -> float:
        return self._library.read_bandwidth(int(2 ** (size_class / 2)), self._cores, self._threads, REPEATS)

    def of(self, dtype: str, flops: float, bytes: float) -> tuple[float, str]:
        """The least seconds that work of `flops` over `bytes` distinct bytes can take, and what sets them."""
        compute = flops / self.flops(dtype)
        memory = bytes / self.bandwidth(round(2 * math.log2(max(bytes, 4096))))  # sizes in steps of sqrt(2)
        return max((compute, "flops"), (memory, "bytes"))


def _library() -> ctypes.CDLL:
    key = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]
    path = Path(tempfile.gettempdir()) / f"codetta_peak_{os.getuid()}_{key}.so"
    if not path.exists():
        made = path.with_suffix(f".{os.getpid()}.so")
        subprocess.run([os.environ.get("CXX", "g++"), "-std=c++20", "-O2", "-shared", "-fPIC", "-pthread", SOURCE, "-o", made], check=True)
        made.rename(path)
    library = ctypes.CDLL(str(path))
    library.peak_flops.restype = library.read_bandwidth.restype = ctypes.c_double
    library.read_bandwidth.argtypes = [ctypes.c_long, ctypes.POINTER(ctypes.c_int), ctypes.c_int, ctypes.c_int]
    return library


def main() -> None:
    from harness.machine import pick_cores

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    limits = Limits(pick_cores(parser.parse_args().threads))
    for dtype in ("f32", "bf16"):
        print(f"{dtype:5} {limits.flops(dtype) / 1e9:10.0f} GFLOP/s")
    for size_class in range(32, 57, 4):
        print(f"read {2 ** (size_class / 2) / 1024:10.0f} KiB {limits.bandwidth(size_class) / 1e9:7.1f} GB/s")


if __name__ == "__main__":
    main()
