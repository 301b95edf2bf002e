"""Rows as a table, as JSON, and the arithmetic of the bars."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path

from .rivals import Row

CAP = 2.0  # a row counts at most this in a mean


def best_rival(row: Row, ours: str, rivals: tuple[str, ...]) -> str | None:
    names = [n for n in rivals if n in row.seconds]
    return min(names, key=row.seconds.get) if names and ours in row.seconds else None


def ratio(row: Row, ours: str, rivals: tuple[str, ...]) -> float | None:
    """How many times as fast as the best rival; None when either is missing."""
    name = best_rival(row, ours, rivals)
    return row.seconds[name] / row.seconds[ours] if name else None


def reachable(row: Row, ours: str, rivals: tuple[str, ...], bar: float) -> float:
    """The bar, or 90 % of what the machine's limit allows where that is lower."""
    name = best_rival(row, ours, rivals)
    return min(bar, 0.9 * row.seconds[name] / row.limit_s) if name and row.limit_s else bar


def mean(values: list[float]) -> float:
    return math.exp(sum(math.log(min(v, CAP)) for v in values) / len(values))


@dataclass
class Bar:
    """`least` for the mean of the rows, `worst` for each of them."""

    name: str
    least: float
    worst: float | None = None

    def judge(self, rows: list[Row], ours: str, rivals: tuple[str, ...]) -> str | None:
        rows = [r for r in rows if ratio(r, ours, rivals)]
        if not rows:
            return None
        got = mean([ratio(r, ours, rivals) for r in rows])
        asked = mean([reachable(r, ours, rivals, self.least) for r in rows])
        low = [r for r in rows if self.worst and ratio(r, ours, rivals) < reachable(r, ours, rivals, self.worst)]
        verdict = "pass" if got >= asked and not low else "FAIL"
        text = f"{verdict}  {self.name}: {got:.3f} over {len(rows)} rows, asked {asked:.3f}"
        if low:
            worst = min(low, key=lambda r: ratio(r, ours, rivals))
            text += f"; {len(low)} rows below {self.worst} (worst {ratio(worst, ours, rivals):.3f}: {worst.case['name']})"
        return text


def table(rows: list[Row], names: list[str], ours: str, rivals: tuple[str, ...]) -> str:
    """Microseconds. `*`: result outside the numerics contract; `~`: noisy in spite of three tries; %: of the machine's limit."""
    head = ["case", *names, "best/ours", "limit", "% of limit"]
    lines = [head]
    for row in rows:
        cells = [row.case["name"]]
        for name in names:
            mark = ("*" if name in row.wrong else "") + ("~" if row.spread.get(name, 1) > 1.3 else "")
            cells.append(f"{row.seconds[name] * 1e6:.1f}{mark}" if name in row.seconds else "n/a")
        r = ratio(row, ours, rivals)
        cells.append(f"{r:.3f}" if r else "-")
        cells.append(f"{row.limit_s * 1e6:.1f} {row.limited_by}" if row.limit_s else "-")
        cells.append(f"{100 * row.limit_s / row.seconds[ours]:.0f}" if row.limit_s and ours in row.seconds else "-")
        lines.append(cells)
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    text = [" | ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths))) for line in lines]
    text.insert(1, "-|-".join("-" * w for w in widths))
    return "\n".join(text)


def notes(rows: list[Row]) -> list[str]:
    """Each reason once, with the rows it holds for; then wrong results and fallbacks."""
    reasons: dict[str, list[str]] = {}
    for row in rows:
        for name, reason in row.missing.items():
            reasons.setdefault(f"n/a {name}: {reason}", []).append(row.case["name"])
        for name, text in row.wrong.items():
            reasons.setdefault(f"* {name}: {text}", []).append(row.case["name"])
        for name, facts in row.facts.items():
            for fallback in facts.get("fallbacks", []):
                reasons.setdefault(f"in eager ({name}): {fallback}", []).append(row.case["name"])
    return [f"{reason}  [{len(where)} rows, first {where[0]}]" for reason, where in reasons.items()]


def save(path: str | Path, bench: str, machine: dict, rows: list[Row], verdicts: list[str], extra: dict | None = None) -> None:
    text = json.dumps({"bench": bench, "machine": machine, "verdicts": verdicts, **(extra or {}), "rows": [asdict(r) for r in rows]}, indent=1)
    Path(path).write_text(text + "\n")


def load(path: str | Path) -> tuple[dict, list[Row]]:
    data = json.loads(Path(path).read_text())
    return data["machine"], [Row(**r) for r in data["rows"]]


def best_of_runs(runs: list[list[Row]], ours: str, rivals: tuple[str, ...]) -> list[Row]:
    """A row fails only when it falls short in every run: of each case, the run with the best ratio."""
    found: dict[str, Row] = {}
    for row in (r for rows in runs for r in rows):
        name = row.case["name"]
        if name not in found or (ratio(row, ours, rivals) or 0) > (ratio(found[name], ours, rivals) or 0):
            found[name] = row
    return list(found.values())
