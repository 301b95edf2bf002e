"""Runs a piece of Python in a process of its own, for what would disturb other tests: forks, limits, affinity, counting threads."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap


def run_child(code: str, *, timeout: float = 240, **environment: str) -> str:
    """Its standard output; the child must end well. `code` finds the tests' support modules."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    path = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=timeout, env={**os.environ, "PYTHONPATH": path, **environment}
    )
    assert done.returncode == 0, f"the child ended with {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout
