"""The torch.compile backend: AOT autograd's graphs become compiled segments and, where Codetta cannot, eager islands that everybody can see."""

from __future__ import annotations

import functools
import logging
import re
import time
from typing import Callable, Mapping, Sequence

import torch
from torch import fx
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._subclasses.fake_tensor import unset_fake_temporarily

from codetta import _codetta
from codetta.capture import DTYPE_NAMES, Capture
from codetta.decompositions import decomposition_table
from codetta.driver import Driver, IslandStep, SegmentStep
from codetta.options import parse_options
from codetta.partition import Island, Segment, partition
from codetta.report import GraphReport, IslandReport, publish
from codetta.sizes import SizeBinder, size_text

log = logging.getLogger("codetta.backend")

_OLDEST, _NEWEST = (2, 13, 0), (2, 14, 1)


def _check_torch_version() -> None:
    version = tuple(int(part) for part in re.findall(r"\d+", torch.__version__.split("+")[0])[:3])
    if not _OLDEST <= version <= _NEWEST:
        tested = " to ".join(".".join(map(str, v)) for v in (_OLDEST, _NEWEST))
        log.warning("torch %s: Codetta is tested with %s; others may work", torch.__version__, tested)


_check_torch_version()


def codetta(gm: fx.GraphModule, example_inputs: Sequence, *, mode: str | None = None, options: Mapping | None = None) -> Callable:
    """torch.compile(model, backend="codetta"[, mode=...][, options={...}])."""
    settings = parse_options(mode, options)
    _codetta.set_log_level(settings.get("log_level"))
    if settings.get("mode").startswith("max-autotune") and "tuner" not in _told:
        _told.add("tuner")
        log.info("mode %s: there is no tuner yet, so it does what the default mode does", settings.get("mode"))
    compilers = {kind: functools.partial(compile_graph, kind=kind, settings=settings) for kind in ("forward", "backward", "inference")}
    return aot_autograd(
        fw_compiler=compilers["forward"],
        bw_compiler=compilers["backward"],
        inference_compiler=compilers["inference"],
        partition_fn=functools.partial(_partition_joint_graph, settings=settings),
        decompositions=decomposition_table(),
        keep_inference_input_mutations=True,
    )(gm, example_inputs)


def reset() -> None:
    """Called by torch._dynamo.reset()."""
    _warned.clear()
    _told.clear()


codetta.reset = reset


def _partition_joint_graph(gm: fx.GraphModule, joint_inputs: Sequence, *, settings: _codetta.Options, **keywords) -> tuple:
    if settings.get("fallback") == "error":  # the backward is too late for a refusal
        joint = Capture(gm, "joint")
        _judge(joint, None)
        _refuse_islands(joint)
    return min_cut_rematerialization_partition(gm, joint_inputs, **keywords)


@functools.cache
def torch_border() -> _codetta.TorchBorder:
    guards = torch._C._dynamo.guards
    return _codetta.TorchBorder(
        exchange=torch.Tensor.__dlpack_c_exchange_api__,
        empty_strided=guards._empty_strided_cpu,
        as_strided=guards._reinterpret_tensor,
        thread_count=torch.get_num_threads,
        dtypes={name: dtype for dtype, name in DTYPE_NAMES.items()},
    )


def compile_graph(gm: fx.GraphModule, example_inputs: Sequence, *, kind: str, settings: _codetta.Options) -> Callable:
    """One of AOT's graphs; returns the boxed callable."""
    with unset_fake_temporarily():
        return _compile_graph(gm, kind, settings)


def _compile_graph(gm: fx.GraphModule, kind: str, settings: _codetta.Options) -> Callable:
    started = time.perf_counter()
    capture = Capture(gm, kind, settings.get("numerics"))
    binder = SizeBinder([n.meta.get("val") for n in capture.placeholders])
    importer = _judge(capture, binder)
    if settings.get("fallback") == "error" and kind != "backward":
        _refuse_islands(capture)
    report = GraphReport(kind, len(capture.nodes))
    steps = partition(capture)
    weights = _weights(capture, kind, settings)
    if len(steps) <= 1 and all(isinstance(s, Segment) for s in steps) and _binds_directly(capture, binder):
        run = _compile_whole(capture, importer, steps, weights, settings, report)
    else:
        run = _compile_parts(capture, importer, binder, steps, weights, settings, report)
    report.islands = [IslandReport(str(c.node.target), c.location, c.refusal) for c in capture.nodes if c.refusal]
    report.targets = [str(c.node.target) for c in capture.nodes]
    report.compiled_nodes = sum(not c.refusal for c in capture.nodes)
    report.compile_seconds = time.perf_counter() - started
    _tell(report)
    publish(report)
    return run


# --- what can be compiled


def _judge(capture: Capture, binder: SizeBinder | None) -> _codetta.Importer:
    """Writes into every node why it cannot be compiled, if so."""
    importer = _codetta.Importer(capture.graph)
    for captured in capture.nodes:
        if captured.refusal:
            continue
        unbound = capture.symbols_of(captured) - binder.bound if binder else set()
        if unbound:
            captured.refusal = f"the size {sorted(unbound)[0]} is not determined by the inputs"
            continue
        try:
            captured.refusal = importer.refusal(captured.native)
        except _codetta.InternalError as error:  # our bug; the user's model still runs
            captured.refusal = f"internal error: {error}"
    return importer


def _refuse_islands(judged: Capture) -> None:
    refused = [c for c in judged.nodes if c.refusal]
    if not refused:
        return
    first = refused[0]
    more = f" (and {len(refused) - 1} more)" if len(refused) > 1 else ""
    place = f" at {first.location}" if first.location else ""
    raise _codetta.UserError(f"{first.node.target}{place} cannot be compiled: {first.refusal}{more}; leave fallback=\"allow\" to run it in eager")


# --- weights


def _weights(capture: Capture, kind: str, settings: _codetta.Options) -> dict[int, bool]:
    """Parameter values, and whether each is frozen: never one that the graph writes into."""
    context = torch._guards.TracingContext.try_get()
    metadata = getattr(context, "fw_metadata", None)
    if metadata is None:
        return {}
    static = set(metadata.static_input_indices or [])
    if kind == "backward":
        names = {f"primals_{i + 1}" for i in static}
        positions = [i for i, n in enumerate(capture.placeholders) if n.name in names]
    else:
        positions = [i for i in static if i < len(capture.placeholders)]
    written = {c.reads[0] for c in capture.nodes if c.writes_input}
    freeze = settings.get("freeze") == "true"
    weights = {}
    for i in positions:
        value = capture.value_of.get(capture.placeholders[i])
        if value is not None:
            weights[value] = freeze and value not in written
    return weights


# --- making callables


def _binds_directly(capture: Capture, binder: SizeBinder) -> bool:
    """Every symbol in use is an integer argument or an extent by itself."""
    direct = set()
    for node in capture.placeholders:
        meta = node.meta.get("val")
        for size in [meta] if isinstance(meta, torch.SymInt) else getattr(meta, "shape", ()):
            if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol:
                direct.add(str(size.node.expr))
    for output in capture.outputs:
        meta = output.meta.get("val") if isinstance(output, fx.Node) else output
        if not isinstance(meta, (torch.Tensor, torch.SymInt, int)) and output is not None:
            return False
    return binder.bound <= direct and all(not c.refusal for c in capture.nodes)


def _compile_whole(capture: Capture, importer, steps: list, weights: dict, settings: _codetta.Options, report: GraphReport) -> Callable:
    """The whole graph is one segment: AOT's argument list goes straight to it."""
    inputs, positions, size_positions, sizes = [], [], [], []
    for position, node in enumerate(capture.placeholders):
        meta = node.meta.get("val")
        if node in capture.value_of:
            value = capture.value_of[node]
            inputs.append((value, value in weights, weights.get(value, False)))
            positions.append(position)
        elif isinstance(meta, torch.SymInt) and meta.node.expr.is_Symbol and str(meta.node.expr) not in sizes:
            sizes.append(str(meta.node.expr))
            size_positions.append(position)
    outputs, layout = [], []
    for output in capture.outputs:
        if output is None:
            layout.append(-1)
            continue
        layout.append(len(outputs))
        if isinstance(output, int):
            outputs.append(output)
        elif output in capture.value_of:
            outputs.append(("value", capture.value_of[output]))
        else:
            outputs.append(("size", size_text(output.meta["val"])))
    nodes = [c.native for step in steps for c in step.nodes]
    graph = importer.import_segment(nodes, inputs, sizes, outputs)
    segment = _make_segment(graph, positions + size_positions, len(sizes), layout, inputs, settings)
    report.segments.append(graph)
    report.runners.append(segment)

    def run(args: list) -> list:
        outputs = segment(args)
        args.clear()
        return outputs

    run._boxed_call = True
    return run


def _compile_parts(
    capture: Capture, importer, binder: SizeBinder, steps: list, weights: dict, settings: _codetta.Options, report: GraphReport
) -> Driver:
    made = []
    for step in steps:
        if isinstance(step, Island):
            made.append(IslandStep(capture, step))
            continue
        inputs = [(value, value in weights, weights.get(value, False)) for value in step.reads]
        symbols = sorted(binder.bound)
        graph = importer.import_segment([c.native for c in step.nodes], inputs, symbols, [("value", v) for v in step.makes])
        segment = _make_segment(graph, list(range(len(inputs) + len(symbols))), len(symbols), list(range(len(step.makes))), inputs, settings)
        report.segments.append(graph)
        report.runners.append(segment)
        made.append(SegmentStep(segment, step.reads, symbols, step.makes))
    return Driver(capture, binder, made)


def _make_segment(graph, positions: list[int], integers: int, layout: list[int], inputs: list, settings: _codetta.Options):
    frozen = [i for i, (_, _, is_frozen) in enumerate(inputs) if is_frozen]
    return _codetta.make_segment(torch_border(), graph, positions, integers, layout, frozen, settings)


# --- telling

_warned: set[tuple[str, str]] = set()
_told: set[str] = set()  # what is said once


def _tell(report: GraphReport) -> None:
    log.info(
        "%s graph of %d operations: %d compiled in %d segments, %d in eager (%.0f ms)",
        report.kind, report.nodes, report.compiled_nodes, len(report.segments), len(report.islands), 1000 * report.compile_seconds,
    )
    for island in report.islands:
        if (island.op, island.reason) not in _warned:
            _warned.add((island.op, island.reason))
            log.warning("runs in eager: %s", island)
