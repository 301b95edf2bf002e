"""A bench's outcome as a page for bench/results: machine, verdicts, tables."""

from __future__ import annotations

from . import report
from .rivals import Row


def page(bench: str, machines: list[dict], groups: dict[str, tuple[str, tuple[str, ...]]], rows: list[Row], verdicts: list[str]) -> str:
    """`rows` one per case (report.median_of_runs). Ends in a line break; needs no other file to be read."""
    machine = machines[0]
    lines = [f"# {bench}: {machine['cpu']}, {machine['threads']} threads", ""]
    lines.append(f"{len(machines)} run{'s' if len(machines) > 1 else ''}, {', '.join(m['date'] for m in machines)}; torch {machine['torch']}; "
                 f"features {', '.join(machine['features']) or 'none'}; cores {machine['cores']} of {machine['processors']}; "
                 f"load at the start {', '.join(format(m['load'], '.2f') for m in machines)}.")
    if machine.get("gflops"):
        lines.append(f"Register-loop peak: {', '.join(f'{dtype} {figure} GFLOP/s' for dtype, figure in machine['gflops'].items())}.")
    lines += ["", "Times are medians over the runs, in microseconds per call. A row or mean fails only when it falls short in every run.", ""]
    lines += ["## Verdicts", "", *[f"- {text}" for text in verdicts], ""]
    for group, (ours, rivals) in groups.items():
        if any(ours in row.seconds for row in rows):
            lines += [f"## {group}", "", *_table(rows, ours, rivals), ""]
    found = report.notes(rows)
    if found:
        lines += ["## Notes", "", *[f"- {note}" for note in found], ""]
    return "\n".join(lines)


def _table(rows: list[Row], ours: str, rivals: tuple[str, ...]) -> list[str]:
    dynamic = f"{ours}-dynamic"
    names = [ours, *([dynamic] if any(dynamic in r.seconds for r in rows) else [])]
    names += [n for n in rivals if any(n in r.seconds or n in r.missing for r in rows)]
    lines = [f"| case | {' | '.join(names)} | best / ours | limit | % of limit |", f"|---|{'---:|' * (len(names) + 3)}"]
    for row in rows:
        cells = [f"{1e6 * row.seconds[n]:.1f}{'*' if n in row.wrong else ''}" if n in row.seconds else "n/a" for n in names]
        ratio = report.ratio(row, ours, rivals)
        limit = f"{1e6 * row.limit_s:.1f} {row.limited_by}" if row.limit_s else "-"
        percent = f"{100 * row.limit_s / row.seconds[ours]:.0f}" if row.limit_s and ours in row.seconds else "-"
        lines.append(f"| {row.case['name']} | {' | '.join(cells)} | {f'{ratio:.3f}' if ratio else '-'} | {limit} | {percent} |")
    return lines
