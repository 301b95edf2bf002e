"""codetta.explain(model, *inputs): what became of a model, as text and as data."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from codetta.limits import least_microseconds
from codetta.noise import busy_machine
from codetta.options import merged_options
from codetta.report import GraphReport, collect_reports


@dataclass
class Launch:
    """One kernel of a call."""

    kernel: str
    label: str  # region, ops, the model's line
    tasks: int
    microseconds: float


@dataclass
class RegionTime:
    """The launches of one region in one call, beside the least time that the machine allows for its work."""

    label: str
    launches: list[Launch]
    limit_microseconds: float = 0.0
    limited_by: str = ""  # flops, bytes

    @property
    def microseconds(self) -> float:
        return sum(launch.microseconds for launch in self.launches)

    @property
    def percent_of_limit(self) -> float:
        return 100 * self.limit_microseconds / self.microseconds if self.microseconds else 0.0


@dataclass
class Explanation:
    """str() gives the whole text; the parts are here for programs, as_dict() for files."""

    graphs: list[GraphReport]
    regions: list[list[RegionTime]] = field(default_factory=list)  # per graph, in the order of a call
    breaks: list[str] = field(default_factory=list)
    threads: int = 1
    warnings: list[str] = field(default_factory=list)

    @property
    def fallbacks(self) -> list[str]:
        return [str(island) for graph in self.graphs for island in graph.islands]

    def __str__(self) -> str:
        lines = [f"{len(self.graphs)} graph{'' if len(self.graphs) == 1 else 's'}, {self.threads} threads"]
        lines += [f"graph break: {reason}" for reason in self.breaks]
        for graph, regions in zip(self.graphs, self.regions):
            lines.append(
                f"{graph.kind}: {graph.nodes} operations, {graph.compiled_nodes} compiled in {len(graph.segments)} segments, "
                f"{len(graph.islands)} in eager, compiled in {1000 * graph.compile_seconds:.0f} ms"
            )
            lines += [f"  in eager: {island}" for island in graph.islands]
            for runner in graph.runners:
                lines += [f"  {line}" for line in runner.description.splitlines()]
            lines += [f"  {line}" for line in _time_table(regions)]
        lines += [f"warning: {warning}" for warning in self.warnings]
        return "\n".join(lines)

    def as_dict(self) -> dict:
        """Plain data, ready for json.dumps."""
        return {
            "threads": self.threads,
            "graph_breaks": self.breaks,
            "warnings": self.warnings,
            "graphs": [
                {
                    "kind": graph.kind,
                    "operations": graph.nodes,
                    "compiled": graph.compiled_nodes,
                    "compile_ms": 1000 * graph.compile_seconds,
                    "in_eager": [{"op": i.op, "location": i.location, "reason": i.reason} for i in graph.islands],
                    "segments": [runner.description for runner in graph.runners],
                    "regions": [
                        {
                            "label": region.label,
                            "us": region.microseconds,
                            "limit_us": region.limit_microseconds,
                            "limited_by": region.limited_by,
                            "percent_of_limit": region.percent_of_limit,
                            "kernels": [{"name": k.kernel, "tasks": k.tasks, "us": k.microseconds} for k in region.launches],
                        }
                        for region in regions
                    ],
                }
                for graph, regions in zip(self.graphs, self.regions)
            ],
        }


def _time_table(regions: list[RegionTime]) -> list[str]:
    if not regions:
        return []
    total, limit = sum(r.microseconds for r in regions), sum(r.limit_microseconds for r in regions)
    count = sum(len(r.launches) for r in regions)
    lines = [f"one call: {count} kernels, {total:.0f} us; the machine's limit {limit:.0f} us, {100 * limit / total if total else 0:.0f} % of it reached"]
    lines.append("       us   share  of limit  region")
    for region in regions:
        share = 100 * region.microseconds / total if total else 0.0
        lines.append(
            f"{region.microseconds:9.1f} {share:5.1f} % {region.percent_of_limit:5.0f} % {region.limited_by}  {region.label}"
        )
        lines += [f"          {launch.microseconds:9.1f} us  {launch.kernel} ({launch.tasks} tasks)" for launch in region.launches]
    return lines


def explain(model, *inputs, mode: str | None = None, options: dict | None = None, dynamic: bool | None = None, rounds: int = 5, **keywords) -> Explanation:
    """Compiles `model` afresh, calls it on the inputs and tells: graphs, segments, kernels, refusals with reasons, times, percent of the limit.

    Grad mode is the caller's: under torch.no_grad() the inference graph is explained, else the forward. Times are those of the fastest of
    `rounds` calls, kernel by kernel; the limit is the smaller of the flops and the bandwidth that loops which do nothing else reach here.
    """
    import codetta.backend  # noqa: F401: checks torch's version

    torch._dynamo.reset()
    torch._dynamo.utils.counters["graph_break"].clear()
    settings = merged_options(mode, options)
    with collect_reports() as reports:
        compiled = torch.compile(model, backend="codetta", options=settings, dynamic=dynamic)
        compiled(*inputs, **keywords)
        graphs = list(reports)
        compiled(*inputs, **keywords)  # settles
        warnings = busy_machine()
        profiles = [_profile(graphs, lambda: compiled(*inputs, **keywords)) for _ in range(max(1, rounds))]
    threads = int(settings.get("threads") or 0) or torch.get_num_threads()
    regions = [_regions(rows, threads) for rows in _fastest(profiles)]
    breaks = [str(reason) for reason in torch._dynamo.utils.counters["graph_break"]]
    return Explanation(graphs, regions, breaks, threads, warnings)


def _profile(graphs: list[GraphReport], call) -> list[list[tuple]]:
    """One call's rows, by graph."""
    runners = [runner for graph in graphs for runner in graph.runners]
    for runner in runners:
        runner.start_profile()
    call()
    return [[row for runner in graph.runners for row in runner.stop_profile()] for graph in graphs]


def _fastest(profiles: list[list[list[tuple]]]) -> list[list[tuple]]:
    """Of each launch the fastest of the calls."""
    best = profiles[0]
    for profile in profiles[1:]:
        for rows, others in zip(best, profile):
            for i, (row, other) in enumerate(zip(rows, others)):
                if other[0] == row[0] and other[3] < row[3]:
                    rows[i] = other
    return best


def _regions(rows: list[tuple], threads: int) -> list[RegionTime]:
    """Launches of one label that follow one another are one region's."""
    regions: list[RegionTime] = []
    for kernel, label, tasks, microseconds, flops, amount, dtype in rows:
        if not regions or regions[-1].label != label:
            regions.append(RegionTime(label, []))
        regions[-1].launches.append(Launch(kernel, label, tasks, microseconds))
        if flops or amount:
            regions[-1].limit_microseconds, regions[-1].limited_by = least_microseconds(flops, amount, dtype, threads)
    return regions
