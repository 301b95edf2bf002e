"""What ./dev prints: one line per step with its time, the running command's progress, and the tail of a log when a step fails."""

from __future__ import annotations

import collections
import contextlib
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path


class Failed(Exception):
    """A step failed; what it has to say was printed already, or is the message."""

    def __init__(self, message: str = "", code: int = 1):
        super().__init__(message)
        self.code = code


def as_written(command) -> str:
    return " ".join(str(part) for part in command)


def telling_lines(lines: list[str]) -> list[str]:
    """The first errors of a compiler or linker run, since the last lines of a parallel build seldom name the cause."""
    errors = [line for line in lines if re.search(r"\berror:|CMake Error|undefined (symbol|reference)|ERROR:|No matching distribution", line)]
    return errors[:20]


class Console:
    """Steps go to stdout; with --json they go to stderr and stdout gets one JSON object at the end."""

    def __init__(self, as_json: bool = False):
        self.as_json = as_json
        self.out = sys.stderr if as_json else sys.stdout
        self.color = self.out.isatty() and "NO_COLOR" not in os.environ
        self.steps: list[dict] = []

    def paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.color else text

    def say(self, text: str = "") -> None:
        print(text, file=self.out, flush=True)

    @contextlib.contextmanager
    def step(self, title: str):
        number = len(self.steps) + 1
        record = {"step": title, "ok": False, "seconds": 0.0}
        self.steps.append(record)
        self.say(self.paint(f"[{number}] {title}", "1"))
        begin = time.monotonic()
        try:
            yield record
            record["ok"] = True
        finally:
            record["seconds"] = round(time.monotonic() - begin, 2)
            word = self.paint("done", "32") if record["ok"] else self.paint("FAILED", "31;1")
            note = f", {record['note']}" if "note" in record else ""
            self.say(f"    {word} in {record['seconds']:.1f} s{note}")

    def finish(self, code: int) -> int:
        if self.as_json:
            print(json.dumps({"ok": code == 0, "exit": code, "steps": self.steps}))
        return code

    def run(self, command, log: Path, *, cwd: Path, env: dict | None = None, allow_failure: bool = False) -> int:
        """Runs a command with its output in `log`; shows its newest line (on a terminal) or a sign of life every 20 s (else)."""
        log.parent.mkdir(parents=True, exist_ok=True)
        tail: collections.deque[str] = collections.deque(maxlen=60)
        last_sign = time.monotonic()
        with open(log, "w") as file:
            file.write(f"$ {as_written(command)}\n")
            process = subprocess.Popen([str(part) for part in command], cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                       text=True, errors="replace", stdin=subprocess.DEVNULL)
            assert process.stdout is not None
            for line in process.stdout:
                file.write(line)
                line = line.rstrip()
                tail.append(line)
                if self.color:
                    print("\r\x1b[K    " + self.paint(line[:120], "2"), end="", file=self.out, flush=True)
                elif time.monotonic() - last_sign > 20:
                    last_sign = time.monotonic()
                    self.say("    " + re.sub(r"\s+", " ", line)[:120])
            code = process.wait()
        if self.color:
            print("\r\x1b[K", end="", file=self.out, flush=True)
        if code != 0 and not allow_failure:
            for line in telling_lines(log.read_text(errors="replace").splitlines()) or tail:
                self.say("    | " + line[:240])
            raise Failed(f"'{as_written(command)[:200]}' ended with {code}; the whole output is in {log}")
        return code

    def stream(self, command, *, cwd: Path, env: dict | None = None) -> int:
        """Runs a command with its output on the screen and returns its exit code."""
        self.out.flush()
        return subprocess.call([str(part) for part in command], cwd=cwd, env=env, stdout=self.out, stdin=subprocess.DEVNULL)
