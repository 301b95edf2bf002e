"""The Python and shell snippets of the README and the howtos, run as a reader would."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "howto").glob("*.md"))]


def blocks(page: Path, language: str) -> list[tuple[int, str]]:
    """(line of the first code line, code) of each block."""
    text = page.read_text()
    found = []
    for match in re.finditer(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        found.append((text[: match.start(1)].count("\n") + 1, match[1]))
    return found


WITH_PYTHON = [page for page in PAGES if blocks(page, "python")]


@pytest.mark.parametrize("page", WITH_PYTHON, ids=[page.name for page in WITH_PYTHON])
def test_python_snippets_run(page, monkeypatch, capsys):
    model = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.ReLU()).eval()
    names = {"model": model, "inputs": (torch.randn(3, 16),), "__name__": "snippet"}
    for line, code in blocks(page, "python"):
        exec(compile("\n" * (line - 1) + code, str(page), "exec"), names)  # noqa: S102: our own pages
    assert capsys.readouterr().out, "the page prints what it shows"


def test_the_pages_with_snippets_are_these():
    assert [page.name for page in WITH_PYTHON] == ["README.md", "use_from_pytorch.md"]


def test_readme_commands_run(tmp_path):
    """`codetta ...` and `python program.py` of "Look inside", on a small model."""
    (tmp_path / "model.graph").write_text("graph g(%x: f32[n, 8]) where n >= 1 {\n  %0: f32[n, 8] = gelu(%x)\n  return %0\n}\n")
    (tmp_path / "program.py").write_text('import torch\ntorch.compile(lambda x: x * 2, backend="codetta")(torch.ones(3))\n')
    codetta = f'{sys.executable} -c "from codetta.program import main; main()"'
    (tmp_path / "codetta").write_text(f'#!/bin/sh\nexec {codetta} "$@"\n')
    (tmp_path / "codetta").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.path.dirname(sys.executable)}:{os.environ['PATH']}"}
    commands = [line for _, block in blocks(ROOT / "README.md", "sh") for line in block.splitlines() if "codetta " in line or "program.py" in line]
    assert len(commands) == 4
    for command in commands:
        done = subprocess.run(command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}\n{done.stderr[-2000:]}"
    dumped = {file.name.split(".")[1] for file in (tmp_path / "folder").iterdir() if file.suffix == ".txt"}
    assert dumped == {"0_graph", "1_passes", "2_fuse", "3_choose", "4_plan", "5_build"}
