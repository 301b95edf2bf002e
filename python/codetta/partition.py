"""Splits a captured graph into compiled segments and eager islands, in an order that keeps every data flow, mutation and effect.

Every node gets a level: 0, or one more than the highest level on which a node of the other kind lies that it must follow. Nodes of one level
and kind can run together, so the compiled ones of a level become one segment.
"""

from __future__ import annotations

from dataclasses import dataclass

from codetta.capture import Capture, CapturedNode


@dataclass
class Segment:
    """Nodes that are compiled together; `reads` come from outside, `makes` are needed outside."""

    nodes: list[CapturedNode]
    reads: list[int]
    makes: list[int]


@dataclass
class Island:
    """One node that runs in eager."""

    node: CapturedNode
    reads: list[int]


def partition(capture: Capture) -> list[Segment | Island]:
    levels = _levels(capture)
    wanted = {capture.value_of[node] for node in capture.outputs if node in capture.value_of}
    groups: dict[int, list[CapturedNode]] = {}
    for captured, level in zip(capture.nodes, levels):
        groups.setdefault(level, []).append(captured)
    steps: list[Segment | Island] = []
    for _, group in sorted(groups.items()):
        islands = [c for c in group if c.refusal]
        compiled = [c for c in group if not c.refusal]
        if compiled:
            steps.append(_segment(capture, compiled, wanted))
        steps += [Island(c, list(dict.fromkeys(c.reads))) for c in islands]
    return steps


def _segment(capture: Capture, nodes: list[CapturedNode], wanted: set[int]) -> Segment:
    members = {id(c) for c in nodes}
    made = {r for c in nodes for r in c.results if r is not None}
    read = dict.fromkeys(v for c in nodes for v in c.reads if v not in made and v not in capture.constants)
    outside = {v for c in capture.nodes if id(c) not in members for v in c.reads}
    return Segment(nodes, list(read), [v for v in sorted(made) if v in outside or v in wanted])


def _levels(capture: Capture) -> list[int]:
    # Levels of compiled nodes are even, those of islands odd.
    level_of: dict[int, int] = {}  # by value
    levels: list[int] = []
    last_effect = 0
    for captured in capture.nodes:
        parity = 1 if captured.refusal else 0
        level = parity
        after = [level_of[v] for v in captured.reads if v in level_of]
        if captured.effect:
            after.append(last_effect)
        if captured.writes_input:  # every earlier reader of the old contents comes first, views included
            after += levels
        for earlier in after:
            level = max(level, earlier if earlier % 2 == parity else earlier + 1)
        levels.append(level)
        if captured.effect:
            last_effect = level
        for result in captured.results:
            if result is not None:
                level_of[result] = level
    return levels
