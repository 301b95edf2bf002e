"""test, check, fmt, goldens, fuzz."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from .console import Console, Failed
from .ground import ROOT, Ground

SOURCE_FOLDERS = ("codetta", "python/bind", "tests", "bench", "examples")


def git_lines(*arguments: str) -> list[str]:
    answer = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return answer.stdout.split("\n") if answer.returncode == 0 else []


def cpp_files(only_changed: bool) -> list[Path]:
    """All C++ files, or those that differ from HEAD or that the newest commit touched."""
    if only_changed:
        names = git_lines("diff", "--name-only", "HEAD") + git_lines("ls-files", "--others", "--exclude-standard")
        names += git_lines("show", "--name-only", "--format=", "HEAD")
        files = [ROOT / name for name in sorted(set(names)) if name.startswith(SOURCE_FOLDERS)]
    else:
        files = [file for folder in SOURCE_FOLDERS for file in sorted((ROOT / folder).rglob("*"))]
    return [file for file in files if file.suffix in (".h", ".cpp") and file.is_file()]


def run_format(console: Console, *, everything: bool, in_place: bool) -> None:
    ground = Ground(console)
    ground.packages("check")
    files = cpp_files(only_changed=not everything)
    with console.step(f"Format ({len(files)} {'' if everything else 'changed '}files)"):
        if files:
            mode = ["-i"] if in_place else ["--dry-run", "-Werror"]
            code = console.run(["clang-format-22", *mode, *files], ground.log("format"), cwd=ROOT, allow_failure=True)
            if code != 0:
                bad = sorted({line.split(":")[0] for line in ground.log("format").read_text().splitlines() if "error:" in line})
                for file in bad:
                    console.say(f"    {os.path.relpath(file, ROOT)}")
                raise Failed("these files are not formatted; run ./dev fmt")


def check(console: Console, *, everything: bool = False) -> list[str]:
    """Format, layer table, include hygiene, sizes. Returns what failed."""
    failures = []
    try:
        run_format(console, everything=everything, in_place=False)
    except Failed as error:
        console.say(f"    {error}")
        failures.append("format")
    for title, script in (("Layers", "check_layers.py"), ("Include hygiene", "check_includes.py"), ("Sizes (advisory)", "check_sizes.py")):
        try:
            with console.step(title):
                if console.stream([sys.executable, ROOT / "tools" / script], cwd=ROOT) != 0:
                    raise Failed()
        except Failed:
            failures.append(title)
    return failures


def run_ctest(console: Console, ground: Ground, preset: str, labels: str, names: list[str], env: dict) -> list[str]:
    with console.step("C++ tests") as record:
        command = ["ctest", "--test-dir", ground.build_folder(preset), "--output-on-failure", "-j", os.cpu_count() or 1, "-L", labels]
        if names:
            command += ["-R", "|".join(names)]
        log = ground.log(f"ctest-{preset}")
        code = console.run(command, log, cwd=ROOT, env=env, allow_failure=True)
        text = log.read_text()
        summary = re.search(r"(\d+)% tests passed.*out of (\d+)", text)
        record["note"] = summary.group(0) if summary else "no tests"
        if code == 0:
            return []
        # What failed, in GoogleTest's own words, then where to read all of it.
        for line in text.splitlines():
            if re.search(r"\[  FAILED  \]|Failure$|^\s*\d+ - .*\(|error:|ERROR:|runtime error", line):
                console.say("    " + line[:200])
        raise Failed(f"C++ tests failed; the whole output is in {log}")


def run_pytest(console: Console, ground: Ground, preset: str, markers: str, names: list[str]) -> None:
    with console.step("Python tests") as record:
        if not any((ROOT / "python/tests").glob("test_*.py")):
            record["note"] = "none yet"
            return
        command = [ground.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", ROOT / "python/tests", "-m", markers, "--durations=8"]
        if names:
            command += ["-k", " or ".join(names)]
        code = console.stream(command, cwd=ROOT, env=ground.child_env(preset))
        if code not in (0, 5):  # 5: nothing selected
            raise Failed("Python tests failed")


def test(console: Console, *, names: list[str], preset: str = "release", sanitize: bool = False, quick: bool = False) -> None:
    ground = Ground(console)
    preset = "asan-ubsan" if sanitize else preset
    ground.packages(*(["check"] + (["sanitize"] if preset in ("clang", "asan-ubsan") else [])))
    if not sanitize:
        ground.environment(*([] if quick else ["wheel", "neighbours"]))
    ground.build(preset)
    failures = []
    if not names and not sanitize:
        failures += check(console)
    labels = "^host$" if quick or sanitize else "^(host|slow)$"
    env = ground.child_env(preset, CODETTA_ROOT=str(ROOT))
    try:
        run_ctest(console, ground, preset, labels, names, env)
    except Failed as error:
        console.say(f"    {error}")
        failures.append("C++ tests")
    if not sanitize:
        try:
            run_pytest(console, ground, preset, "not gpu and not perf" + (" and not slow" if quick else ""), names)
        except Failed:
            failures.append("Python tests")
    if failures:
        raise Failed("failed: " + ", ".join(failures))
    console.say(console.paint("All tests passed.", "32;1"))


def goldens(console: Console, *, update: bool, names: list[str]) -> None:
    """Runs the tests that compare with golden files; with update they rewrite them (CODETTA_UPDATE_GOLDENS=1)."""
    ground = Ground(console)
    ground.packages()
    ground.build("release")
    env = ground.child_env("release", **({"CODETTA_UPDATE_GOLDENS": "1"} if update else {}))
    try:
        run_ctest(console, ground, "release", "^(host|slow)$", names or ["golden", "journey", "docs", "cli_test"], env)
    finally:
        for line in git_lines("status", "--short", "--", "tests", "docs", "codetta"):
            if line:
                console.say("    " + line)
    if update:
        console.say("Now read the diff: git diff")


def fuzz(console: Console, *, names: list[str], runs: int) -> None:
    ground = Ground(console)
    ground.packages("sanitize")
    folder = ground.build("fuzz")
    targets = sorted((folder / "fuzz").glob("*_fuzz"))
    targets = [target for target in targets if not names or any(name in target.name for name in names)]
    if not targets:
        raise Failed("no fuzz target" + (f" matches {' '.join(names)}" if names else " yet: tests/fuzz/*_fuzz.cpp"))
    failures = []
    for target in targets:
        corpus = ROOT / "build" / "fuzz-corpus" / target.name
        corpus.mkdir(parents=True, exist_ok=True)
        seeds = ROOT / "tests" / "fuzz" / "seeds" / target.name
        with console.step(f"{target.name}, {runs} inputs") as record:
            command = [target, f"-runs={runs}", "-max_len=4096", "-timeout=20", "-rss_limit_mb=4096", "-print_final_stats=1",
                       f"-artifact_prefix={corpus}/", corpus, *([seeds] if seeds.is_dir() else [])]
            log = ground.log(target.name)
            if console.run(command, log, cwd=ROOT, allow_failure=True) != 0:
                failures.append(target.name)
                console.say("\n".join("    | " + line for line in log.read_text(errors="replace").splitlines()[-40:]))
                record["note"] = f"see {log}"
    if failures:
        raise Failed("fuzzing found something: " + ", ".join(failures))
