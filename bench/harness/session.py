"""The common course of a bench: options, machine, rows one by one with progress, tables, verdicts, JSON."""

from __future__ import annotations

import argparse
import os
import time
from typing import Callable

from . import report
from .engines import ENGINES, FROZEN, UNFROZEN
from .machine import describe, pick_cores
from .rivals import Race, Row, Setup, warm

GROUPS = {"unfrozen": ("codetta", UNFROZEN), "frozen": ("codetta-frozen", FROZEN)}
COMPILING = ("inductor", "max-autotune", "max-autotune-frozen")  # compile ahead with --warm


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cores", help="processors to stay on, as 0,1; default: distinct physical cores")
    parser.add_argument("--dtypes", default="f32,bf16")
    parser.add_argument("--groups", default="unfrozen,frozen")
    parser.add_argument("--rivals", help="only these, of: " + ", ".join(n for n in ENGINES if not n.startswith(("codetta", "prealloc"))))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", help="only cases whose name contains one of these, separated by commas")
    parser.add_argument("--json", metavar="FILE", help="write all figures here, after every row")
    parser.add_argument("--log", default=os.devnull, metavar="FILE", help="what the rivals print")
    parser.add_argument("--jobs", type=int, default=1, help="rivals that prepare a row at the same time")
    parser.add_argument("--warm", type=int, default=0, metavar="N", help="first compile the rows' Inductor code with N processes")
    parser.add_argument("--budget", type=float, default=1e9, metavar="S", help="start no row after so many seconds")
    parser.add_argument("--patience", type=float, default=300, metavar="S", help="give a rival up after so many seconds")
    parser.add_argument("--no-limits", action="store_true", help="do not measure the machine's limits")


class Session:
    def __init__(self, bench: str, options: argparse.Namespace):
        self.bench, self.options, self.started = bench, options, time.time()
        cores = pick_cores(options.threads, options.cores)
        self.groups = {g: GROUPS[g] for g in options.groups.split(",")}
        self.machine = describe(options.threads, cores)
        self.setup = Setup(options.threads, cores, sorted(os.sched_getaffinity(0)), options.rounds, patience_s=options.patience,
                           jobs=options.jobs, log=options.log)
        self.limits = self._measure_limits(cores)
        self.rows: list[Row] = []
        self.verdicts: list[str] = []
        print(", ".join(f"{k} {v}" for k, v in self.machine.items()), flush=True)

    def _measure_limits(self, cores: list[int]):
        if self.options.no_limits:
            return None
        from peak import Limits

        limits = Limits(cores)
        self.machine["gflops"] = {d: round(limits.flops(d) / 1e9) for d in self.options.dtypes.split(",")}
        return limits

    def engines(self, more: tuple[str, ...] = ()) -> list[str]:
        """Codetta's and the rivals' of the groups asked for."""
        wanted = self.options.rivals.split(",") if self.options.rivals is not None else None
        names = [ours for ours, _ in self.groups.values()] + list(more)
        names += [n for _, rivals in self.groups.values() for n in rivals if wanted is None or n in wanted]
        return names

    def run(self, cases: list[dict], engines: list[str], work_of: Callable[[dict], tuple[float, float] | None]) -> list[Row]:
        """work_of(case) = (flops, distinct bytes), for the limit."""
        only = [text for text in self.options.only.split(",") if text]
        cases = [c for c in cases if not only or any(text in c["name"] for text in only)]
        deadline = self.started + self.options.budget
        if self.options.warm:
            warm([n for n in engines if n in COMPILING], cases, self.setup, self.options.warm, self.started + self.options.budget * 0.45)
            print(f"warmed {len(cases)} cases in {time.time() - self.started:.0f} s", flush=True)
        made: list[Row] = []
        with Race(engines, self.setup) as race:
            for case in cases:
                if time.time() > deadline:
                    print(f"out of time: {len(cases) - len(made)} cases left out", flush=True)
                    break
                row = race.run(case, engines)
                work = work_of(case)
                if self.limits and work:
                    row.limit_s, row.limited_by = self.limits.of(case["dtype"], *work)
                made.append(row)
                self.rows.append(row)
                self._progress(row)
                self.save()
        return made

    def _progress(self, row: Row) -> None:
        figures = "  ".join(f"{n} {s * 1e6:.1f}" for n, s in row.seconds.items())
        print(f"{time.time() - self.started:5.0f} s  {row.case['name']}: {figures}", flush=True)

    def print_tables(self, rows: list[Row], more: tuple[str, ...] = ()) -> None:
        for group, (ours, rivals) in self.groups.items():
            names = [ours, *(n for n in more if n == f"{ours}-dynamic")] + [n for n in rivals if any(n in row.seconds or n in row.missing for row in rows)]
            print(f"\n{group}, microseconds per call (* wrong result, ~ noisy)\n{report.table(rows, names, ours, rivals)}")

    def verdict(self, text: str | None) -> None:
        if text:
            self.verdicts.append(text)
            print(text, flush=True)

    def finish(self, extra: dict | None = None) -> int:
        print()
        for note in report.notes(self.rows):
            print(note)
        wrong = [r for r in self.rows if any(n.startswith("codetta") for n in (*r.wrong, *r.missing))]
        self.verdict(f"{'FAIL' if wrong else 'pass'}  results and fallbacks: {len(wrong)} rows where Codetta was wrong or could not run")
        self.save(extra)
        return 1 if any(v.startswith("FAIL") for v in self.verdicts) else 0

    def save(self, extra: dict | None = None) -> None:
        if self.options.json:
            report.save(self.options.json, self.bench, self.machine, self.rows, self.verdicts, extra)
