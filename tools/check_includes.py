#!/usr/bin/env python3
"""Include hygiene and a few rules that a glance can check, for all C++ files.

  * a header has #pragma once and no `using namespace`
  * a source includes its own header first, so that each header stands alone
  * no <iostream> in the library (its static constructor) and no <bits/...>
  * no header is included twice
  * quoted headers exist
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("codetta", "python/bind", "tests", "bench", "examples")
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]')
SAY_ON_STDOUT = ("codetta/cli/", "tests/", "bench/", "examples/")


def check_file(file: Path) -> list[str]:
    where = file.relative_to(ROOT).as_posix()
    lines = file.read_text(errors="replace").split("\n")
    problems = []
    included: list[str] = []
    in_raw_string = False
    for number, line in enumerate(lines, 1):
        if in_raw_string or 'R"' in line:
            in_raw_string = (in_raw_string or 'R"' in line) and ')"' not in line
            continue
        match = INCLUDE.match(line)
        if match:
            header = match.group(2)
            if header in included:
                problems.append(f"{where}:{number}: {header} is included twice")
            included.append(header)
            if header == "iostream" and not where.startswith(SAY_ON_STDOUT):
                problems.append(f"{where}:{number}: <iostream> has a static constructor; use fmt and base/log.h")
            if header.startswith("bits/"):
                problems.append(f"{where}:{number}: <{header}> is the library's own; include the public header")
            if match.group(1) == '"' and header.startswith("codetta/") and not (ROOT / header).exists():
                problems.append(f"{where}:{number}: there is no {header}")
        if file.suffix == ".h" and re.match(r"\s*using\s+namespace\b", line):
            problems.append(f"{where}:{number}: no 'using namespace' in a header")
    if file.suffix == ".h" and not any(line.strip() == "#pragma once" for line in lines):
        problems.append(f"{where}:1: a header starts with #pragma once")
    own = file.with_suffix(".h")
    if file.suffix == ".cpp" and own.exists() and included:
        header = own.relative_to(ROOT).as_posix()
        if header not in included:
            problems.append(f"{where}:1: does not include its own header {header}")
        elif included[0] != header:
            problems.append(f"{where}:1: includes its own header {header} after {included[0]}; it comes first")
    return problems


def main() -> int:
    files = [file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*")) if file.suffix in (".h", ".cpp")]
    problems = [problem for file in files for problem in check_file(file)]
    for problem in problems:
        print("    " + problem)
    print(f"    {len(files)} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
