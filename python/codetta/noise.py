"""Whether times measured now mean anything: what else the machine is doing."""

from __future__ import annotations

import os
import statistics
import time

_JITTER = 1.3  # median over minimum of equal pieces of work
_LOAD = 0.5  # of a core, by others


def busy_machine() -> list[str]:
    """Sentences to show beside times; empty on a quiet machine."""
    warnings = []
    busy = _cores_used_by_others()
    if busy > _LOAD:
        warnings.append(f"other processes keep {busy:.1f} of {len(os.sched_getaffinity(0))} cores busy; times are not to be trusted")
    return warnings


def jitter(times: list[float]) -> float:
    """How much longer a typical measurement took than the fastest: 1 on a quiet machine."""
    return statistics.median(times) / min(times) if times and min(times) > 0 else 1.0


def jitter_warning(name: str, times: list[float]) -> list[str]:
    found = jitter(times)
    if found <= _JITTER:
        return []
    return [f"{name}: the median of {len(times)} calls is {found:.2f} times the fastest; times are not to be trusted"]


def _cores_used_by_others(seconds: float = 0.1) -> float:
    """Averaged over a moment in which this process sleeps; of the cores that it may use."""
    before = _busy_ticks()
    own = time.process_time()
    started = time.perf_counter()
    time.sleep(seconds)
    elapsed = time.perf_counter() - started
    after = _busy_ticks()
    if before is None or after is None:
        return 0.0
    used = (after - before) / os.sysconf("SC_CLK_TCK") - (time.process_time() - own)
    return max(0.0, used / elapsed)


def _busy_ticks() -> int | None:
    """Of the allowed cores together since boot: user, nice, system, irq, softirq, steal."""
    allowed = {f"cpu{core}" for core in os.sched_getaffinity(0)}
    total = 0
    try:
        with open("/proc/stat") as file:
            for line in file:
                name, *numbers = line.split()
                if name in allowed:
                    user, nice, system, _, _, irq, softirq, steal = (int(n) for n in numbers[:8])
                    total += user + nice + system + irq + softirq + steal
    except (OSError, ValueError):
        return None
    return total
