"""Rows as a table, as JSON, and the arithmetic of the bars."""

from __future__ import annotations

import json
import math
import statistics
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
    """`least` for the mean of the rows, `worst` for each of them. Of several runs the mean fails, and a row fails, when it falls short in all."""

    name: str
    least: float
    worst: float | None = None

    def judge(self, runs: list[list[Row]], ours: str, rivals: tuple[str, ...]) -> str | None:
        runs = [[r for r in rows if ratio(r, ours, rivals)] for rows in runs]
        runs = [rows for rows in runs if rows]
        if not runs:
            return None
        means = [mean([ratio(r, ours, rivals) for r in rows]) for rows in runs]
        asked = [mean([reachable(r, ours, rivals, self.least) for r in rows]) for rows in runs]
        low = self._short_in_every_run(runs, ours, rivals)
        verdict = "pass" if any(got >= want for got, want in zip(means, asked)) and not low else "FAIL"
        figures = "/".join(f"{got:.3f}" for got in means)
        text = f"{verdict}  {self.name}: {figures} over {len(runs[0])} rows, asked {min(asked):.3f}"
        if low:
            name, figure = min(low.items(), key=lambda item: item[1])
            text += f"; {len(low)} rows below {self.worst} (worst {figure:.3f}: {name})"
        return text

    def _short_in_every_run(self, runs: list[list[Row]], ours: str, rivals: tuple[str, ...]) -> dict[str, float]:
        """By case, the best figure of the rows that no run saved."""
        if not self.worst:
            return {}
        best: dict[str, float] = {}
        saved = set()
        for row in (r for rows in runs for r in rows):
            name, figure = row.case["name"], ratio(row, ours, rivals)
            best[name] = max(figure, best.get(name, 0.0))
            if figure >= reachable(row, ours, rivals, self.worst):
                saved.add(name)
        return {name: figure for name, figure in best.items() if name not in saved}


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


def median_of_runs(runs: list[list[Row]]) -> list[Row]:
    """One row per case, in the order of the first run that has it: medians of seconds and limit, all that went wrong in any run."""
    by_name: dict[str, list[Row]] = {}
    for row in (r for rows in runs for r in rows):
        by_name.setdefault(row.case["name"], []).append(row)
    found = []
    for rows in by_name.values():
        limits = [r.limit_s for r in rows if r.limit_s]
        made = Row(rows[0].case, limit_s=statistics.median(limits) if limits else None, limited_by=rows[0].limited_by)
        for name in dict.fromkeys(n for r in rows for n in r.seconds):
            made.seconds[name] = statistics.median(r.seconds[name] for r in rows if name in r.seconds)
            made.spread[name] = min(r.spread.get(name, 1.0) for r in rows if name in r.seconds)
        for r in rows:
            made.wrong |= r.wrong
            made.facts |= r.facts
            made.missing |= {n: reason for n, reason in r.missing.items() if n not in made.seconds}
        found.append(made)
    return found


def combined_verdict(texts: list[str]) -> str:
    """Of one verdict in several runs: the first that passed, else the last."""
    return next((text for text in texts if text.startswith("pass")), texts[-1])
