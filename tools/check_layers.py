#!/usr/bin/env python3
"""Who may include whom: checks every #include below codetta/ against tools/layers.json (docs/design.md, section 2).

Three rules:
  1. a room includes only the rooms that its row lists (tests beside the sources obey it too);
  2. third-party headers listed under "externals" appear only in the rooms named there;
  3. includes between rooms are direct: a file that names another room's namespace (scalar::DType) includes a header of that room,
     itself or through headers of its own room; what another room's header happens to include does not count.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.MULTILINE)
COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^()\\ ]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.DOTALL)


class Table:
    def __init__(self, layers: dict):
        self.may_include = {row["name"]: set(row["includes"]) | {row["name"]} for row in layers["rooms"]}
        self.externals: dict[str, list[str]] = layers["externals"]
        names = "|".join(sorted(self.may_include, key=len, reverse=True))
        # A qualified name that starts with a room: not preceded by '::' of something else, an identifier or a member access.
        self.qualified = re.compile(rf"(?<![\w.>])(?:::)?(?:codetta::)?\b({names})::")

    def room_of(self, header: str) -> str | None:
        """'codetta/sym/expr.h' -> 'sym'; None for what is no room's header (codetta/codetta.h)."""
        parts = header.split("/")
        return parts[1] if len(parts) > 2 and parts[0] == "codetta" and parts[1] in self.may_include else None


def includes_of(text: str) -> list[tuple[int, str, str]]:
    """(line, quote, header) of each include."""
    return [(text.count("\n", 0, match.start(2)) + 1, match.group(1), match.group(2)) for match in INCLUDE.finditer(text)]


def rooms_through(header: str, room: str, table: Table, seen: set[str]) -> set[str]:
    """The rooms whose headers `header`, one of `room`, includes: itself or through headers of `room`."""
    path = ROOT / header
    if header in seen or not path.exists():
        return set()
    seen.add(header)
    rooms = set()
    for _, _, name in includes_of(path.read_text(errors="replace")):
        other = table.room_of(name)
        if other is not None:
            rooms |= {other} if other != room else rooms_through(name, room, table, seen)
    return rooms


class DirectIncludes:
    """Adds the includes that rule 3 misses: for each name used, the header of its room that declares it."""

    def __init__(self) -> None:
        self.headers: dict[str, list[tuple[str, str]]] = {}

    def header_of(self, room: str, name: str) -> str | None:
        if room not in self.headers:
            files = sorted((ROOT / "codetta" / room).rglob("*.h"), key=lambda path: (len(path.parts), str(path)))
            self.headers[room] = [(path.relative_to(ROOT).as_posix(), COMMENT_OR_STRING.sub("", path.read_text(errors="replace")))
                                  for path in files]
        for pattern in (rf"\b(?:struct|class|enum class|enum)\s+(?:\[\[\w+\]\]\s*)?{name}\b[^;{{]*\{{", rf"\busing\s+(?:{name}\s*=|[\w:]*::{name};)",
                        rf"^(?!\s*return)[\w:<>,&*\s\[\]]+[\s&*]{name}\s*\(", rf"\b{name}\b\s*="):
            for header, text in self.headers[room]:
                if re.search(pattern, text, re.MULTILINE):
                    return header
        return None

    def add(self, file: Path, room: str, names: set[str]) -> None:
        headers = {header for name in names if (header := self.header_of(room, name))}
        lines = file.read_text().split("\n")
        for header in sorted(headers):
            line = f'#include "{header}"'
            block = [index for index, old in enumerate(lines) if old.startswith('#include "codetta/')]
            own = f'#include "{file.with_suffix(".h").relative_to(ROOT).as_posix()}"'
            rest = [index for index in block if lines[index] != own]
            if rest:
                position = next((index for index in rest if lines[index] > line), rest[-1] + 1)
                lines.insert(position, line)
            elif block:
                lines[block[0] + 1:block[0] + 1] = ["", line]
            else:
                first = next(index for index, old in enumerate(lines) if old.startswith("#include") or old.startswith("#pragma once"))
                at = first + 1 if lines[first].startswith("#pragma") else first
                lines[at:at] = (["", line] if lines[first].startswith("#pragma") else [line, ""])
        file.write_text("\n".join(lines))


def check_file(file: Path, room: str, table: Table, fixer: DirectIncludes | None) -> list[str]:
    where = file.relative_to(ROOT)
    text = file.read_text(errors="replace")
    problems = []
    allowed = table.may_include[room]
    included_rooms = {room}
    for line, quote, header in includes_of(text):
        other = table.room_of(header)
        if header.startswith("codetta/") and other is None and header.count("/") > 1:
            problems.append(f"{where}:{line}: there is no room '{header.split('/')[1]}' (tools/layers.json)")
        if other is not None:
            included_rooms.add(other)
            if other not in allowed:
                problems.append(f"{where}:{line}: room '{room}' may not include '{other}' ({header})")
            if quote == "<":
                problems.append(f"{where}:{line}: write \"{header}\", in quotes")
        for prefix, rooms in table.externals.items():
            if header.startswith(prefix) and room not in rooms:
                problems.append(f"{where}:{line}: {header} belongs to {', '.join(rooms) or 'no room'}, not to '{room}'")
        if quote == '"' and not header.startswith(("codetta/", "tests/", "python/")):
            problems.append(f"{where}:{line}: write the path from the root: \"codetta/<room>/...\", not \"{header}\"")

    walked: set[str] = set()
    for _, _, header in includes_of(text):
        if table.room_of(header) == room:
            included_rooms |= rooms_through(header, room, table, walked)
    bare = COMMENT_OR_STRING.sub(lambda match: "\n" * match.group(0).count("\n"), text)
    seen = set()
    for match in table.qualified.finditer(bare):
        other = match.group(1)
        if other in included_rooms or other in seen:
            continue
        seen.add(other)
        line = bare.count("\n", 0, match.start()) + 1
        if other not in allowed:
            problems.append(f"{where}:{line}: room '{room}' may not use '{other}::'")
        elif fixer is not None:
            fixer.add(file, other, set(re.findall(rf"(?<![\w.>])(?:codetta::)?\b{other}::(\w+)", bare)))
        else:
            problems.append(f"{where}:{line}: uses '{other}::' but includes no header of '{other}' itself")
    return problems


def main(arguments: list[str]) -> int:
    """With --fix [FILES], adds the direct includes that rule 3 misses (to those files)."""
    fixer = DirectIncludes() if arguments[:1] == ["--fix"] else None
    only = [Path(name).resolve() for name in arguments[1:]]
    table = Table(json.loads((ROOT / "tools/layers.json").read_text()))
    problems = []
    files = 0
    for room in sorted(path for path in (ROOT / "codetta").iterdir() if path.is_dir()):
        if room.name not in table.may_include:
            problems.append(f"codetta/{room.name}: not a room of tools/layers.json")
            continue
        for file in sorted(room.rglob("*")):
            if file.suffix in (".h", ".cpp"):
                files += 1
                problems += check_file(file, room.name, table, fixer if not only or file in only else None)
    for problem in problems:
        print("    " + problem)
    print(f"    {files} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
