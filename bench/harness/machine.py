"""The machine that a run was made on, and the cores it uses."""

from __future__ import annotations

import datetime
import os
import re
from pathlib import Path

import torch

FEATURES = ("avx2", "avx512f", "avx512_bf16", "amx_bf16")


def pick_cores(threads: int, wanted: str | None = None) -> list[int]:
    """`wanted` as "2,3", else allowed processors that share no physical core as long as there are such; processor 0 last."""
    if wanted:
        return [int(c) for c in wanted.split(",")]
    allowed = sorted(os.sched_getaffinity(0), key=lambda c: (c == 0, c))
    if len(allowed) < threads:
        raise SystemExit(f"{threads} threads need {threads} processors, this process may use {len(allowed)}")
    seen, first, second = set(), [], []
    for core in allowed:
        siblings = _siblings(core)
        (second if siblings in seen else first).append(core)
        seen.add(siblings)
    return sorted((first + second)[:threads])


def _siblings(core: int) -> str:
    path = Path(f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list")
    return path.read_text().strip() if path.exists() else str(core)


def describe(threads: int, cores: list[int]) -> dict:
    text = Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*: (.*)", text)
    flags = set((re.search(r"flags\s*: (.*)", text) or [""])[0].split())
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "cpu": model[1] if model else "unknown",
        "features": [f for f in FEATURES if f in flags],
        "processors": os.cpu_count(),
        "threads": threads,
        "cores": cores,
        "load": os.getloadavg()[0],
        "torch": torch.__version__,
    }
