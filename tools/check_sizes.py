#!/usr/bin/env python3
"""Sizes, as advice: files of 60-250 lines; over 400 wants a reason, over 800 is split; a room of more than about 25 sources gets sub-rooms."""

from __future__ import annotations

import collections
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("codetta", "python", "tests", "bench", "examples", "tools")


def main() -> int:
    sizes = {}
    per_folder: collections.Counter[str] = collections.Counter()
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*")):
            if file.suffix not in (".h", ".cpp", ".py") or not file.is_file():
                continue
            sizes[file.relative_to(ROOT).as_posix()] = file.read_text(errors="replace").count("\n")
            if file.suffix == ".cpp" and not file.stem.endswith("_test"):
                per_folder[file.parent.relative_to(ROOT).as_posix()] += 1
    for name, lines in sorted(sizes.items(), key=lambda item: -item[1]):
        if lines > 400:
            print(f"    {name}: {lines} lines; {'split it' if lines > 800 else 'more than 400 want a reason'}")
    for name, count in sorted(per_folder.items()):
        if count > 25:
            print(f"    {name}: {count} sources in one folder; think of sub-rooms")
    print(f"    {len(sizes)} files, {sum(sizes.values())} lines, median {sorted(sizes.values())[len(sizes) // 2] if sizes else 0}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
