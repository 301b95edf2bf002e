"""Three runs of one bench judged together (a row fails when all fall short), as text and as a page for bench/results."""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import report
from harness.engines import FROZEN, UNFROZEN
from harness.markdown import page

GROUPS = {"unfrozen": ("codetta", UNFROZEN), "frozen": ("codetta-frozen", FROZEN)}
RUNS = 3


class Jury:
    """What a bench's judge(session, runs) needs of a session."""

    def __init__(self, groups: dict):
        self.groups, self.verdicts = groups, []

    def verdict(self, text: str | None) -> None:
        if text:
            self.verdicts.append(text)


def judge_files(files: list[Path]) -> tuple[str, str, bool]:
    """The bench's name, the page, and whether everything passed."""
    data = [json.loads(file.read_text()) for file in files]
    benches = {d["bench"] for d in data}
    if len(benches) != 1:
        raise SystemExit(f"judge: these are runs of different benches: {', '.join(sorted(benches))}")
    (bench,) = benches
    runs = [report.load(file)[1] for file in files]
    groups = {g: (ours, rivals) for g, (ours, rivals) in GROUPS.items() if any(ours in r.seconds for rows in runs for r in rows)}
    jury = Jury(groups)
    module = importlib.import_module(bench)
    module.judge(jury, [[r for r in rows if "busy" not in r.case["name"]] for rows in runs])
    jury.verdicts += _other_verdicts([d["verdicts"] for d in data], jury.verdicts)
    text = page(bench, [d["machine"] for d in data], groups, report.median_of_runs(runs), jury.verdicts)
    return bench, text, not any(v.startswith("FAIL") for v in jury.verdicts)


def _other_verdicts(runs: list[list[str]], judged: list[str]) -> list[str]:
    """Those that are no race over rows (compile time, per-call cost, a busy core, results): of each the best run, but results must be right in all."""
    known = {_name(v) for v in judged}
    by_name: dict[str, list[str]] = {}
    for text in (v for verdicts in runs for v in verdicts):
        if _name(text) not in known:
            by_name.setdefault(_name(text), []).append(text)
    return [min(texts) if name.startswith("results") else report.combined_verdict(texts) for name, texts in by_name.items()]


def _name(verdict: str) -> str:
    return verdict[4:].strip().split(":")[0]


def run_bench(bench: str, arguments: list[str], count: int, folder: Path) -> list[Path]:
    files = []
    for i in range(count):
        files.append(folder / f"{bench}_{i + 1}.json")
        print(f"--- {bench}, run {i + 1} of {count}", flush=True)
        subprocess.run([sys.executable, "-u", Path(__file__).with_name(f"{bench}.py"), "--json", files[-1], *arguments], check=False)
        if not files[-1].exists():
            raise SystemExit(f"judge: run {i + 1} of {bench} gave no figures")
    return files


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, epilog="What stands behind -- goes to the bench that --run starts.")
    parser.add_argument("files", nargs="*", type=Path, help="what --json of a bench wrote, one file a run")
    parser.add_argument("--run", choices=("linear", "models"), help="make the runs now")
    parser.add_argument("--count", type=int, default=RUNS)
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the page here, as bench/results/DATE_MACHINE_BENCH.md")
    given = sys.argv[1:]
    here = given.index("--") if "--" in given else len(given)
    options, arguments = parser.parse_args(given[:here]), given[here + 1 :]
    if bool(options.files) == bool(options.run):
        parser.error("give either files or --run")
    with tempfile.TemporaryDirectory() as folder:
        files = options.files or run_bench(options.run, arguments, options.count, Path(folder))
        _, text, passed = judge_files(files)
    print(text)
    if options.markdown:
        options.markdown.write_text(text)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
