"""One rival's process: JSON commands on stdin, one JSON answer each on the original stdout. `python -m harness.worker NAME THREADS`."""

from __future__ import annotations

import gc
import json
import os
import statistics
import sys
import time
import traceback

import torch

from .case import UNIT, build, relative_error, tensors_of
from .engines import ENGINES, NotAvailable

SETTLE_S, MAX_CALLS = 0.002, 200


class Worker:
    def __init__(self, name: str, threads: int):
        self.prepare_with, self.threads = ENGINES[name], threads
        self.call = self.work = None
        torch.set_num_threads(threads)

    def prepare(self, command: dict) -> dict:
        """Builds and compiles the case, on any core; then keeps every thread of the process to the bench's cores."""
        self.release({})
        pin(command["all_cores"])
        self.work = build(command["case"])
        started = time.perf_counter()
        self.call, facts = self.prepare_with(self.work, self.threads)
        self.call()
        facts["prepare_s"] = time.perf_counter() - started
        pin(command["cores"])
        return facts

    def reference(self, command: dict) -> dict:
        torch.save(self.work.reference(), command["path"])
        return {}

    def check(self, command: dict) -> dict:
        """The largest relative error of any output against fp64, and the dtype's unit."""
        result = self.call()
        mine = [torch.as_tensor(t) if not isinstance(t, torch.Tensor) else t for t in tensors_or_arrays(result)]
        exact = torch.load(command["path"])
        if len(mine) != len(exact):
            raise RuntimeError(f"{len(mine)} outputs, eager gives {len(exact)}")
        kind = next((p.dtype for p in self.work.model.parameters()), mine[0].dtype)
        return {"error": max(relative_error(a, b) for a, b in zip(mine, exact)), "unit": UNIT[kind]}

    def time(self, command: dict) -> dict:
        """A settling call (or more, for 2 ms), then calls for `seconds`; their median."""
        clock, call = time.perf_counter, self.call
        started = clock()
        while True:
            before = clock()
            call()
            after = clock()
            if after - started > SETTLE_S:
                break
        count = max(1, min(MAX_CALLS, int(command["seconds"] / (after - before))))
        times = []
        for _ in range(count):
            before = clock()
            call()
            times.append(clock() - before)
        return {"s": statistics.median(times)}

    def release(self, command: dict) -> dict:
        self.call = self.work = None
        torch._dynamo.reset()
        gc.collect()
        return {}


def tensors_or_arrays(result) -> list:
    if hasattr(result, "__array__"):
        return [result]
    return tensors_of(result) if isinstance(result, dict) or not isinstance(result, (list, tuple)) else [t for r in result for t in tensors_or_arrays(r)]


def pin(cores: list[int]) -> None:
    for thread in os.listdir("/proc/self/task"):
        try:
            os.sched_setaffinity(int(thread), cores)
        except ProcessLookupError:
            pass  # it ended meanwhile


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print must not mix with the answers
    worker = Worker(sys.argv[1], int(sys.argv[2]))
    print(json.dumps({"ok": True}), file=answers, flush=True)
    with torch.no_grad():
        for line in sys.stdin:
            command = json.loads(line)
            try:
                answer = {"ok": True, **getattr(worker, command["do"])(command)}
            except NotAvailable as reason:
                answer = {"ok": False, "reason": str(reason)}
            except Exception as error:  # noqa: BLE001: a rival may fail in any way; the row says how
                traceback.print_exc()
                answer = {"ok": False, "reason": f"{type(error).__name__}: {error}".strip().replace("\n", " ")[:300]}
            print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
