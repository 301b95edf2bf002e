"""codetta.explain(model, *inputs): what became of a model, as text."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from codetta.report import GraphReport, collect_reports


@dataclass
class Explanation:
    """str() gives the whole text; the parts are here for programs."""

    graphs: list[GraphReport]
    launches: list[list[tuple[str, str, int, float]]] = field(default_factory=list)  # per graph: kernel, label, tasks, microseconds
    breaks: list[str] = field(default_factory=list)

    @property
    def fallbacks(self) -> list[str]:
        return [str(island) for graph in self.graphs for island in graph.islands]

    def __str__(self) -> str:
        lines = [f"{len(self.graphs)} graphs"]
        lines += [f"graph break: {reason}" for reason in self.breaks]
        for graph, launches in zip(self.graphs, self.launches):
            lines.append(
                f"{graph.kind}: {graph.nodes} operations, {graph.compiled_nodes} compiled in {len(graph.segments)} segments, "
                f"{len(graph.islands)} in eager, compiled in {1000 * graph.compile_seconds:.0f} ms"
            )
            lines += [f"  in eager: {island}" for island in graph.islands]
            for runner in graph.runners:
                lines += [f"  {line}" for line in runner.description.splitlines()]
            total = sum(row[3] for row in launches)
            if launches:
                lines.append(f"  one call: {len(launches)} launches, {total:.0f} us")
            for kernel, label, tasks, microseconds in launches:
                share = 100 * microseconds / total if total else 0.0
                lines.append(f"    {microseconds:9.1f} us {share:5.1f} %  {kernel}{'  ' + label if label else ''} ({tasks} tasks)")
        return "\n".join(lines)


def explain(model, *inputs, mode: str | None = None, options: dict | None = None, dynamic: bool | None = None, **keywords) -> Explanation:
    """Compiles `model` afresh, calls it on the inputs and tells: graphs, segments, kernels, refusals with reasons, times.

    Grad mode is the caller's: under torch.no_grad() the inference graph is explained, else the forward.
    """
    import codetta.backend  # noqa: F401: checks torch's version

    torch._dynamo.reset()
    with collect_reports() as reports:
        compiled = torch.compile(model, backend="codetta", mode=mode, options=options, dynamic=dynamic)
        compiled(*inputs, **keywords)
        graphs = list(reports)
        runners = [runner for graph in graphs for runner in graph.runners]
        compiled(*inputs, **keywords)  # settles
        for runner in runners:
            runner.start_profile()
        compiled(*inputs, **keywords)
    launches = [[row for runner in graph.runners for row in runner.stop_profile()] for graph in graphs]
    breaks = [str(reason) for reason in torch._dynamo.utils.counters["graph_break"]]
    return Explanation(graphs, launches, breaks)
