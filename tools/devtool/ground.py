"""Set-up: Debian packages, the Python environment, configure, build. Each step is skipped in a moment when nothing changed."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from .console import Console, Failed, as_written

ROOT = Path(__file__).resolve().parents[2]
DEFAULT_TORCH = "torch==2.13.0"

# Debian packages, by what needs them.
PACKAGES = {
    "build": ["g++", "cmake", "ninja-build", "ccache", "lld-22", "llvm-22-dev", "libfmt-dev", "libspdlog-dev", "libcli11-dev",
              "nlohmann-json3-dev", "libxxhash-dev", "libgtest-dev", "libzstd-dev", "zlib1g-dev"],
    "check": ["clang-format-22"],
    "sanitize": ["clang-22", "libclang-rt-22-dev"],
    "bench": ["libbenchmark-dev"],
}


def torch_requirement() -> str:
    """torch==2.13.0 unless CODETTA_TORCH names another: '2.14.1', 'torch==2.14.1' or a path to a wheel."""
    named = os.environ.get("CODETTA_TORCH", "").strip()
    if not named:
        return DEFAULT_TORCH
    return f"torch=={named}" if named[0].isdigit() else named


class Ground:
    def __init__(self, console: Console):
        self.console = console
        torch = torch_requirement()
        suffix = "" if torch == DEFAULT_TORCH else "-" + "".join(c if c.isalnum() or c == "." else "-" for c in torch)
        self.environment_folder = ROOT / f".venv{suffix}"
        self.python = self.environment_folder / "bin" / "python"

    def build_folder(self, preset: str) -> Path:
        return ROOT / "build" / preset

    def log(self, name: str) -> Path:
        return ROOT / "build" / "logs" / f"{name}.log"

    # ---- Debian packages

    def packages(self, *groups: str) -> None:
        wanted = [package for group in ("build", *groups) for package in PACKAGES[group]]
        if not (Path(sysconfig.get_path("include")) / "Python.h").exists():
            wanted.append("python3-dev")
        if subprocess.run([sys.executable, "-c", "import ensurepip"], capture_output=True).returncode != 0:
            wanted.append("python3-venv")
        with self.console.step("Debian packages") as record:
            if shutil.which("dpkg-query") is None:
                record["note"] = "not a Debian system, taken as given: " + " ".join(wanted)
                return
            missing = missing_packages(wanted)
            if not missing:
                record["note"] = "all present"
                return
            line = ["apt-get", "install", "-y", "--no-install-recommends", *missing]
            prefix = root_prefix()
            if prefix is None:
                raise Failed("these Debian packages are missing and I may not install them; run this line, then try again:\n\n"
                             f"    sudo {as_written(line)}\n", code=2)
            env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
            if self.console.run([*prefix, *line], self.log("apt-install"), cwd=ROOT, env=env, allow_failure=True) != 0:
                self.console.run([*prefix, "apt-get", "update"], self.log("apt-update"), cwd=ROOT, env=env)
                self.console.run([*prefix, *line], self.log("apt-install"), cwd=ROOT, env=env)
            record["note"] = f"{len(missing)} installed"

    # ---- Python environment

    def environment(self, *extra: str) -> None:
        """The environment with build and test requirements, and those of requirements/<extra>.txt."""
        torch = torch_requirement()
        with self.console.step(f"Python environment ({torch})") as record:
            if not self.python.exists():
                self.console.run([sys.executable, "-m", "venv", self.environment_folder], self.log("venv"), cwd=ROOT)
            changed = self.install_once("base", [torch, "-r", ROOT / "requirements/test.txt"])
            changed |= self.install_once("no-deps", ["--no-deps", "-r", ROOT / "requirements/no-deps.txt"])
            for name in extra:
                # The neighbours go into a folder of their own, see requirements/neighbours.txt.
                where = ["--no-deps", "--upgrade", "--target", self.environment_folder / "neighbours"] if name == "neighbours" else []
                changed |= self.install_once(name, [*where, "-r", ROOT / f"requirements/{name}.txt"])
            self.make_package_importable()
            record["note"] = "installed" if changed else "up to date"

    def install_once(self, name: str, arguments: list) -> bool:
        """pip install, unless a stamp says that just these requirements were installed already."""
        digest = hashlib.sha256(as_written(arguments).encode())
        for file in sorted((ROOT / "requirements").glob("*.txt")):
            if any(str(file) == str(argument) for argument in arguments) or file.name in ("constraints.txt", "build.txt"):
                digest.update(file.read_bytes())
        stamp = self.environment_folder / f"codetta-{name}.stamp"
        if stamp.exists() and stamp.read_text() == digest.hexdigest():
            return False
        self.console.run([self.python, "-m", "pip", "install", "--disable-pip-version-check", *arguments], self.log(f"pip-{name}"), cwd=ROOT)
        stamp.write_text(digest.hexdigest())
        return True

    def make_package_importable(self) -> None:
        """A .pth file, so that .venv/bin/python finds the release build's package, entry points included."""
        version = subprocess.run([self.python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], capture_output=True, text=True,
                                 check=True)
        pth = Path(version.stdout.strip()) / "codetta-dev.pth"
        line = f"{self.build_folder('release') / 'python'}\n"
        if not pth.exists() or pth.read_text() != line:
            pth.write_text(line)

    # ---- configure and build

    def build(self, preset: str, targets: tuple[str, ...] = (), definitions: tuple[str, ...] = ()) -> Path:
        folder = self.build_folder(preset)
        arguments = ["cmake", "--preset", preset, "-B", folder, *definitions]
        if self.python.exists():
            arguments.append(f"-DPython_EXECUTABLE={self.python}")
        stamp = folder / "codetta-configured.stamp"
        line = as_written(arguments)
        if not stamp.exists() or stamp.read_text() != line or not (folder / "build.ninja").exists():
            with self.console.step(f"Configure ({preset})"):
                self.console.run(arguments, self.log(f"configure-{preset}"), cwd=ROOT)
                stamp.write_text(line)
        with self.console.step(f"Build ({preset})"):
            self.console.run(["ninja", "-C", folder, *targets], self.log(f"build-{preset}"), cwd=ROOT)
        return folder

    def child_env(self, preset: str = "release", **more: str) -> dict:
        """The environment for Python programs that use the package of this preset's build."""
        old = os.environ.get("PYTHONPATH")
        path = str(self.build_folder(preset) / "python") + (os.pathsep + old if old else "")
        return {**os.environ, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", **more}


def missing_packages(wanted: list[str]) -> list[str]:
    answer = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *wanted], capture_output=True, text=True)
    present = {line.split()[0] for line in answer.stdout.splitlines() if line.endswith(" installed")}
    return [package for package in wanted if package not in present]


def root_prefix() -> list[str] | None:
    """What to put before a command that needs root, or None when that is not possible without asking."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") and subprocess.run(["sudo", "-n", "true"], capture_output=True).returncode == 0:
        return ["sudo"]
    return None
