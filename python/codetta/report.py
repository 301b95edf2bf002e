"""What became of each compiled graph: collected for explain, compare and the tests."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import Iterator


@dataclass
class IslandReport:
    op: str
    location: str
    reason: str

    def __str__(self) -> str:
        return f"{self.op}{' at ' + self.location if self.location else ''}: {self.reason}"


@dataclass
class GraphReport:
    kind: str  # inference, forward, backward
    nodes: int  # operations in torch's graph, sizes and constants not counted
    segments: list = field(default_factory=list)  # native graphs, compiled
    runners: list = field(default_factory=list)  # native segments, parallel to `segments`
    compiled_nodes: int = 0
    islands: list[IslandReport] = field(default_factory=list)
    compile_seconds: float = 0.0
    targets: list[str] = field(default_factory=list)  # of torch's operations, in order


_listeners: list[list[GraphReport]] = []


@contextlib.contextmanager
def collect_reports() -> Iterator[list[GraphReport]]:
    """All graphs that are compiled inside, in order."""
    reports: list[GraphReport] = []
    _listeners.append(reports)
    try:
        yield reports
    finally:
        _listeners.remove(reports)


def publish(report: GraphReport) -> None:
    for reports in _listeners:
        reports.append(report)
