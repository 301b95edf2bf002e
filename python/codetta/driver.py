"""Runs the steps of a partitioned graph. One segment alone is called directly; otherwise values travel by number between steps."""

from __future__ import annotations

from typing import Callable, Sequence

import torch
from torch import fx

from codetta.capture import Capture
from codetta.partition import Island
from codetta.sizes import SizeBinder, compile_size, size_symbols, size_text


class Environment:
    """The values of one call."""

    __slots__ = ("tensors", "symbols", "others")

    def __init__(self, symbols: dict[str, int]):
        self.tensors: dict[int, torch.Tensor] = {}
        self.symbols = symbols
        self.others: dict[fx.Node, object] = {}  # results of islands that are no tensors; size nodes over unbound symbols


class SegmentStep:
    """A compiled segment: tensors by value number, then the sizes it asks for."""

    def __init__(self, segment, reads: Sequence[int], symbols: Sequence[str], makes: Sequence[int]):
        self.segment = segment
        self.reads = list(reads)
        self.symbols = list(symbols)
        self.makes = list(makes)

    def run(self, env: Environment) -> None:
        arguments = [env.tensors[v] for v in self.reads]
        arguments += [env.symbols[s] for s in self.symbols]
        for value, tensor in zip(self.makes, self.segment(arguments)):
            env.tensors[value] = tensor


class IslandStep:
    """A node in eager. What really comes out is checked against what the rest of the graph was compiled for."""

    def __init__(self, capture: Capture, island: Island):
        captured = island.node
        self._node = captured.node
        self._lookup = NodeLookup(capture)
        self._target = captured.node.target
        self.makes = [r for r in captured.results if r is not None]
        self.reads = island.reads
        self._results = []  # (position or None, value, dtype, shape, strides)
        single = captured.node in capture.value_of
        for position, value in enumerate(captured.results):
            if value is None:
                continue
            meta = capture.metas[value]
            self._results.append((None if single else position, value, meta.dtype, _sizes(meta.shape), _sizes(meta.stride())))
        self._is_tensor = bool(captured.results)

    def run(self, env: Environment) -> None:
        args = fx.node.map_arg(self._node.args, lambda n: self._lookup(n, env))
        kwargs = fx.node.map_arg(self._node.kwargs, lambda n: self._lookup(n, env))
        result = self._target(*args, **kwargs)
        for position, value, dtype, shape, strides in self._results:
            tensor = result if position is None else result[position]
            env.tensors[value] = self._conform(tensor, dtype, shape(env.symbols), strides(env.symbols))
        env.others[self._node] = result

    def _conform(self, tensor: torch.Tensor, dtype: torch.dtype, shape: tuple | None, strides: tuple | None) -> torch.Tensor:
        if shape is not None and tuple(tensor.shape) != shape:
            raise RuntimeError(f"codetta: {self._target} gave a tensor of shape {tuple(tensor.shape)} where torch had promised {shape}")
        same_strides = strides is None or all(a == b or n <= 1 for a, b, n in zip(tensor.stride(), strides, tensor.shape))
        if tensor.dtype == dtype and same_strides:
            return tensor
        if same_strides:
            return tensor.to(dtype)
        return torch.empty_strided(tuple(tensor.shape), strides, dtype=dtype).copy_(tensor)


class NodeLookup:
    """The run-time value of an fx node that an island or the result reads."""

    def __init__(self, capture: Capture):
        self._capture = capture
        self._sizes: dict[fx.Node, Callable | None] = {}

    def __call__(self, node: fx.Node, env: Environment) -> object:
        value = self._capture.value_of.get(node)
        if value is not None:
            return env.tensors[value]
        if node in env.others:
            return env.others[node]
        meta = node.meta.get("val")
        if isinstance(meta, (int, float, bool)):
            return meta
        if node.op == "get_attr":
            return getattr(self._capture.gm, node.target)
        if isinstance(meta, torch.SymInt):
            if size_symbols(meta) <= env.symbols.keys():
                if node not in self._sizes:
                    self._sizes[node] = compile_size(size_text(meta))
                return self._sizes[node](env.symbols)
        if node.op == "call_function":  # size arithmetic of another kind: floats, conditions, sizes that only data decides
            args = fx.node.map_arg(node.args, lambda n: self(n, env))
            kwargs = fx.node.map_arg(node.kwargs, lambda n: self(n, env))
            env.others[node] = node.target(*args, **kwargs)
            return env.others[node]
        raise RuntimeError(f"codetta: no value for the node {node.name}")


def _sizes(sizes: Sequence) -> Callable[[dict[str, int]], tuple | None]:
    if not any(isinstance(s, torch.SymInt) for s in sizes):
        fixed = tuple(int(s) for s in sizes)
        return lambda symbols: fixed
    parts = [compile_size(size_text(s)) for s in sizes]
    needed = set().union(*(size_symbols(s) for s in sizes))
    return lambda symbols: tuple(p(symbols) for p in parts) if needed <= symbols.keys() else None


class Driver:
    """The boxed callable that AOT gets: a list in (emptied), a list out."""

    def __init__(self, capture: Capture, binder: SizeBinder, steps: Sequence[SegmentStep | IslandStep]):
        self._capture = capture
        self._binder = binder
        self._steps = list(steps)
        self._lookup = NodeLookup(capture)
        self._tensors = [(i, capture.value_of[n]) for i, n in enumerate(capture.placeholders) if n in capture.value_of]
        self._others = [(i, n) for i, n in enumerate(capture.placeholders) if n not in capture.value_of]
        self._last_use = self._find_last_uses()
        self._boxed_call = True

    def _find_last_uses(self) -> list[list[int]]:
        last: dict[int, int] = {}
        for i, step in enumerate(self._steps):
            for value in (*step.reads, *step.makes):
                last[value] = i
        kept = {self._capture.value_of[n] for n in self._capture.outputs if n in self._capture.value_of} | set(self._capture.constants)
        dead: list[list[int]] = [[] for _ in self._steps]
        for value, i in last.items():
            if value not in kept:
                dead[i].append(value)
        return dead

    def __call__(self, args: list) -> list:
        env = Environment(self._binder.bind(args))
        env.tensors.update(self._capture.constants)
        for position, value in self._tensors:
            env.tensors[value] = args[position]
        for position, node in self._others:
            env.others[node] = args[position]
        args.clear()
        for step, dead in zip(self._steps, self._last_use):
            step.run(env)
            for value in dead:
                env.tensors.pop(value, None)
        return [self._lookup(o, env) if isinstance(o, fx.Node) else o for o in self._capture.outputs]
