"""How each rival prepares a workload: a function from Workload to a callable without arguments, plus facts worth printing."""

from __future__ import annotations

import os
import tempfile
from typing import Callable

import torch

from .case import Workload


class NotAvailable(Exception):
    """The rival cannot run this row; the text says why."""


def _direct(function: Callable, work: Workload) -> Callable:
    inputs, keywords = work.inputs, work.keywords
    return lambda: function(*inputs, **keywords)


def eager(work: Workload, threads: int) -> tuple[Callable, dict]:
    return _direct(work.model, work), {}


def _inductor(mode: str | None, freezing: bool) -> Callable:
    def prepare(work: Workload, threads: int) -> tuple[Callable, dict]:
        from torch._inductor import config

        config.freezing = freezing
        return _direct(torch.compile(work.model, mode=mode), work), {}

    return prepare


def _codetta(freeze: bool, dynamic: bool | None = None) -> Callable:
    def prepare(work: Workload, threads: int) -> tuple[Callable, dict]:
        from codetta.report import collect_reports

        call = _direct(torch.compile(work.model, backend="codetta", dynamic=dynamic, options={"freeze": freeze}), work)
        with collect_reports() as reports:
            call()
        runners = [runner for report in reports for runner in report.runners]
        for runner in runners:
            runner.start_profile()
        call()
        launches = sum(len(runner.stop_profile()) for runner in runners)
        facts = {
            "graphs": len(reports),
            "fallbacks": sorted({str(island) for report in reports for island in report.islands}),
            "compile_s": sum(report.compile_seconds for report in reports),
            "launches": launches,
        }
        if not reports:
            raise NotAvailable("no graph reached Codetta")
        return call, facts

    return prepare


def onnxruntime(work: Workload, threads: int) -> tuple[Callable, dict]:
    try:
        import onnxruntime as ort
    except ImportError:
        raise NotAvailable("onnxruntime is not installed") from None
    if any(p.dtype == torch.bfloat16 for p in work.model.parameters()):
        raise NotAvailable("its CPU kernels have no bf16")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        program = torch.onnx.export(work.model, work.inputs, kwargs=work.keywords, dynamo=True, verbose=False, optimize=True)
        program.save(path, external_data=True)
        options = ort.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feeds = {i.name: v.numpy() for i, v in zip(session.get_inputs(), [*work.inputs, *work.keywords.values()], strict=True)}
    return lambda: session.run(None, feeds), {}


def openvino(work: Workload, threads: int) -> tuple[Callable, dict]:
    try:
        import openvino as ov
    except ImportError:
        raise NotAvailable("openvino is not installed") from None
    narrow = any(p.dtype == torch.bfloat16 for p in work.model.parameters())
    exported = torch.export.export(work.model, work.inputs, work.keywords)
    config = {
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": "bf16" if narrow else "f32",
        "ENABLE_CPU_PINNING": False,
    }
    request = ov.compile_model(ov.convert_model(exported), "CPU", config).create_infer_request()
    for port, value in zip(request.model_inputs, [*work.inputs, *work.keywords.values()], strict=True):
        if value.dtype == torch.bfloat16:
            tensor = ov.Tensor(value.view(torch.int16).numpy(), list(value.shape), ov.Type.bf16)
        else:
            tensor = ov.Tensor(value.numpy())
        request.set_tensor(port, tensor)

    def value_of(port) -> torch.Tensor:
        tensor = request.get_tensor(port)
        if tensor.element_type != ov.Type.bf16:
            return torch.from_numpy(tensor.data)
        return torch.from_numpy(tensor.data.view("int16")).view(torch.bfloat16)  # numpy has no bf16: the bits are right, the type is not

    def call():
        request.infer()
        return [value_of(port) for port in request.model_outputs]

    return call, {}


def preallocated(work: Workload, threads: int) -> tuple[Callable, dict]:
    """A backend that computes once and then returns the same outputs: what Dynamo and AOT cost alone."""
    from torch._dynamo.backends.common import aot_autograd

    def compile_graph(gm, example_inputs):
        outputs = None

        def run(args):
            nonlocal outputs
            if outputs is None:
                outputs = gm(*args)
            args.clear()
            return list(outputs)

        run._boxed_call = True
        return run

    backend = aot_autograd(fw_compiler=compile_graph, inference_compiler=compile_graph, keep_inference_input_mutations=True)
    return _direct(torch.compile(work.model, backend=backend), work), {}


ENGINES: dict[str, Callable] = {
    "eager": eager,
    "inductor": _inductor(None, False),
    "max-autotune": _inductor("max-autotune", False),
    "max-autotune-frozen": _inductor("max-autotune", True),
    "onnxruntime": onnxruntime,
    "openvino": openvino,
    "preallocated": preallocated,
    "codetta": _codetta(False),
    "codetta-frozen": _codetta(True),
    "codetta-dynamic": _codetta(False, True),
    "codetta-frozen-dynamic": _codetta(True, True),
}
UNFROZEN = ("eager", "inductor", "max-autotune")  # Codetta's rivals without freeze ...
FROZEN = ("max-autotune-frozen", "onnxruntime", "openvino")  # ... and with it
