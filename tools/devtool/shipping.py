"""build, wheel, demo, bench, clean."""

from __future__ import annotations

import shutil
from pathlib import Path

from .console import Console, Failed
from .ground import ROOT, Ground


def build(console: Console, *, preset: str) -> None:
    ground = Ground(console)
    ground.packages(*(["sanitize"] if preset in ("clang", "asan-ubsan", "fuzz") else []))
    if preset in ("release", "debug", "clang"):
        ground.environment()
    folder = ground.build(preset)
    console.say(f"Program: {folder}/bin/codetta   Package: {folder}/python (on the path of {ground.python})")


def wheel(console: Console, *, output: Path) -> Path:
    """One abi3 wheel for Python 3.10 and later, tagged for its glibc."""
    ground = Ground(console)
    ground.packages()
    ground.environment("wheel")
    raw = ROOT / "build" / "wheel-raw"
    shutil.rmtree(raw, ignore_errors=True)
    with console.step("Wheel"):
        console.run([ground.python, "-m", "pip", "wheel", "--disable-pip-version-check", "--no-build-isolation", "--no-deps", "--no-index",
                     "-w", raw, ROOT], ground.log("wheel"), cwd=ROOT)
    with console.step("Platform tag") as record:
        env = ground.child_env()
        env["PATH"] = f"{ground.python.parent}:{env['PATH']}"
        for old in output.glob("codetta-*.whl"):
            old.unlink()
        console.run([ground.python, "-m", "auditwheel", "repair", "-w", output, *raw.glob("codetta-*.whl")], ground.log("auditwheel"), cwd=ROOT,
                    env=env)
        made = sorted(output.glob("codetta-*.whl"))
        if len(made) != 1:
            raise Failed(f"expected one wheel in {output}, found {len(made)}")
        record["note"] = f"{made[0].stat().st_size / 1e6:.1f} MB"
    console.say(f"Install it with: pip install {made[0]}")
    return made[0]


def demo(console: Console, *, arguments: list[str]) -> None:
    ground = Ground(console)
    ground.packages()
    ground.environment()
    ground.build("release", targets=("_codetta",))
    with console.step("Sentence embeddings: MiniLM through torch.compile(model, backend=\"codetta\")"):
        if console.stream([ground.python, "-u", ROOT / "examples" / "minilm.py", *arguments], cwd=ROOT, env=ground.child_env()) != 0:
            raise Failed("the demo failed")


def bench(console: Console, *, names: list[str], arguments: list[str]) -> None:
    """Runs bench/<name>.py for each name; without names it lists them."""
    scripts = {script.stem: script for script in sorted((ROOT / "bench").glob("*.py")) if not script.stem.startswith("_")}
    if not names:
        console.say("Benches (./dev bench NAME [-- ARGUMENTS]):")
        for name, script in scripts.items():
            first = script.read_text().lstrip().lstrip('"').split("\n")[0].strip('" ')
            console.say(f"  {name:18} {first}")
        return
    for name in names:
        if name not in scripts:
            raise Failed(f"no bench '{name}'; there are: {', '.join(scripts) or 'none yet'}", code=2)
    ground = Ground(console)
    ground.packages("bench")
    ground.environment("bench")
    ground.build("release")
    for name in names:
        with console.step(f"Bench {name}"):
            if console.stream([ground.python, "-u", scripts[name], *arguments], cwd=ROOT, env=ground.child_env()) != 0:
                raise Failed(f"bench {name} failed")


def clean(console: Console, *, everything: bool) -> None:
    folders = [ROOT / "build", ROOT / "dist"] + (sorted(ROOT.glob(".venv*")) if everything else [])
    for folder in folders:
        if folder.exists():
            console.say(f"removing {folder}")
            shutil.rmtree(folder)
