"""Drives the rivals in turn, one process each: several thread pools in one process disturb each other."""

from __future__ import annotations

import json
import os
import select
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from .case import FACTOR

BENCH = Path(__file__).resolve().parent.parent
NOISY = 1.3  # a row whose median is over this times its minimum is measured again


@dataclass
class Setup:
    """What is the same for all rows of a run."""

    threads: int
    cores: list[int]
    all_cores: list[int]
    rounds: int = 7
    turn_s: float = 0.015
    patience_s: float = 240.0  # the longest that a rival may take for one command
    jobs: int = 1  # rivals that prepare at the same time
    log: str = os.devnull


class Rival:
    """A worker process. It is started at first use, and again after it died."""

    def __init__(self, name: str, setup: Setup):
        self.name, self.setup, self._process = name, setup, None

    def ask(self, do: str, **fields) -> dict:
        if self._process is None:
            answer = self._start()
            if not answer["ok"]:
                return answer
        try:
            self._process.stdin.write(json.dumps({"do": do, **fields}) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return self._lost()
        return self._answer()

    def _start(self) -> dict:
        environment = dict(os.environ, OMP_NUM_THREADS=str(self.setup.threads), CUDA_VISIBLE_DEVICES="", HF_HUB_OFFLINE="1")
        environment["PYTHONPATH"] = os.pathsep.join([str(BENCH), *filter(None, [os.environ.get("PYTHONPATH")])])
        command = [sys.executable, "-u", "-m", "harness.worker", self.name, str(self.setup.threads)]
        with open(self.setup.log, "a") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
        return self._answer()

    def _answer(self) -> dict:
        ready, _, _ = select.select([self._process.stdout], [], [], self.setup.patience_s)
        if not ready:
            self.stop()
            return {"ok": False, "reason": f"took more than {self.setup.patience_s:.0f} s"}
        line = self._process.stdout.readline()
        return json.loads(line) if line else self._lost()

    def _lost(self) -> dict:
        code = self._process.wait()
        self._process = None
        return {"ok": False, "reason": f"its process died ({'signal' if code < 0 else 'exit code'} {abs(code)})"}

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@dataclass
class Row:
    """Seconds per call of each rival that could run the case; why the others could not."""

    case: dict
    seconds: dict[str, float] = field(default_factory=dict)
    spread: dict[str, float] = field(default_factory=dict)  # median over minimum of the turns
    errors: dict[str, float] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    facts: dict[str, dict] = field(default_factory=dict)
    limit_s: float | None = None
    limited_by: str = ""


class Race:
    def __init__(self, names: list[str], setup: Setup):
        self.setup = setup
        self.rivals = {name: Rival(name, setup) for name in dict.fromkeys(["eager", *names])}  # eager's error is the yardstick

    def __enter__(self) -> Race:
        return self

    def __exit__(self, *_) -> None:
        for rival in self.rivals.values():
            rival.stop()

    def run(self, case: dict, names: list[str]) -> Row:
        row = Row(case)
        racing = self._prepare(row, list(dict.fromkeys(["eager", *names])))
        racing = self._check(row, racing)
        self._time(row, [n for n in racing if n in names])
        for name in racing:
            self.rivals[name].ask("release")
        return row

    def _prepare(self, row: Row, names: list[str]) -> list[str]:
        fields = {"case": row.case, "cores": self.setup.cores, "all_cores": self.setup.all_cores}
        with ThreadPoolExecutor(self.setup.jobs) as pool:
            answers = list(pool.map(lambda name: self.rivals[name].ask("prepare", **fields), names))
        return [name for name, answer in zip(names, answers) if self._keep(row, name, answer)]

    def _keep(self, row: Row, name: str, answer: dict) -> bool:
        if not answer.pop("ok"):
            row.missing[name] = answer["reason"]
            return False
        row.facts.setdefault(name, {}).update(answer)
        return True

    def _check(self, row: Row, names: list[str]) -> list[str]:
        """Every result against fp64, in the same run."""
        if "eager" not in names:
            return names
        with tempfile.NamedTemporaryFile(suffix=".pt") as file:
            if not self.rivals["eager"].ask("reference", path=file.name)["ok"]:
                row.missing["eager"] = "no fp64 reference"
                return []
            answers = {name: self.rivals[name].ask("check", path=file.name) for name in names}
        kept = []
        for name, answer in answers.items():
            if not answer["ok"]:
                row.missing[name] = answer["reason"]
                continue
            kept.append(name)
            row.errors[name] = answer["error"]
            bound = max(FACTOR * answers["eager"].get("error", 0.0), answer["unit"])
            if not answer["error"] <= bound:
                row.wrong[name] = f"error {answer['error']:.2g}, allowed {bound:.2g}"
        return kept

    def _time(self, row: Row, names: list[str]) -> None:
        todo = list(names)
        for _ in range(3):
            turns: dict[str, list[float]] = {name: [] for name in todo}
            for _ in range(self.setup.rounds):
                for name in list(turns):
                    time.sleep(0.003)  # the other pools stop spinning
                    answer = self.rivals[name].ask("time", seconds=self.setup.turn_s)
                    if answer["ok"]:
                        turns[name].append(answer["s"])
                    else:
                        row.missing[name] = answer["reason"]
                        del turns[name]
            for name, values in turns.items():
                median = statistics.median(values)
                spread = median / min(values)
                if name not in row.spread or spread < row.spread[name]:
                    row.seconds[name], row.spread[name] = median, spread
            todo = [name for name in turns if row.spread[name] > NOISY]
            if not todo:
                return


def warm(names: list[str], cases: list[dict], setup: Setup, processes: int, deadline: float) -> None:
    """Compiles ahead with many processes, to fill the rivals' own caches on disk. Nothing is measured."""
    work = [(name, case) for case in cases for name in names]

    def share(start: int) -> None:
        for name in names:
            rival = Rival(name, setup)
            for owner, case in work[start::processes]:
                if owner == name and time.time() < deadline:
                    rival.ask("prepare", case=case, cores=setup.all_cores, all_cores=setup.all_cores)
            rival.stop()

    with ThreadPoolExecutor(processes) as pool:
        list(pool.map(share, range(processes)))
