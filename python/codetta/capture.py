"""From an fx graph of ATen operations to plain data (ImportedGraph): thin, no decisions."""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass, field

import torch
from torch import fx

from codetta import _codetta
from codetta.eager_roundings import rounded_argument
from codetta.sizes import UnknownSize, condition_texts, size_symbols, size_text

DTYPE_NAMES = {
    torch.bool: "bool",
    torch.uint8: "u8",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float64: "f64",
}


@dataclass
class CapturedNode:
    """A node that computes tensors: `native` is its number in the ImportedGraph."""

    node: fx.Node
    native: int | None = None
    refusal: str = ""  # why Codetta cannot compile it
    reads: list[int] = field(default_factory=list)  # values
    results: list[int | None] = field(default_factory=list)  # values, by position in a tuple result
    writes_input: bool = False  # copy_ into a placeholder
    effect: bool = False  # keeps its place among other effects: random numbers, mutation, unknown operations

    @property
    def location(self) -> str:
        return source_location(self.node)


class Capture:
    """All of one fx graph. Tensors are numbered (values); `value_of` finds the number of an fx node that is one tensor."""

    def __init__(self, gm: fx.GraphModule, name: str, numerics: str = "contract"):
        self.gm = gm
        self._numerics = numerics
        self.graph = _codetta.ImportedGraph(name)
        self.placeholders: list[fx.Node] = [n for n in gm.graph.nodes if n.op == "placeholder"]
        self.nodes: list[CapturedNode] = []
        self.value_of: dict[fx.Node, int] = {}
        self.metas: list[torch.Tensor] = []  # by value
        self.refusals: list[str] = []  # by value
        self.constants: dict[int, torch.Tensor] = {}
        self.makers: dict[int, CapturedNode] = {}
        self._tuples: dict[fx.Node, list[int | None]] = {}
        self._storages: dict[int, int] = {}
        self._ranges: set[str] = set()
        self._environment = None  # torch's knowledge of the symbols
        for node in gm.graph.nodes:
            self._add(node)
        self._add_guards()
        (output,) = [n for n in gm.graph.nodes if n.op == "output"]
        self.outputs = list(output.args[0]) if isinstance(output.args[0], (list, tuple)) else [output.args[0]]

    # --- nodes

    def _add(self, node: fx.Node) -> None:
        if node.op == "output":
            return
        value = node.meta.get("val")
        if node.op == "get_attr":
            constant = _attribute(self.gm, node.target)
            if isinstance(constant, torch.Tensor):
                self._add_constant(node, constant)
            return
        if node.op == "placeholder":
            if isinstance(value, torch.Tensor):
                self.value_of[node] = self._add_value(node.name, value)
            else:
                self._note_symbols(value)
            return
        if node.target is operator.getitem and node.args[0] in self._tuples:
            found = self._tuples[node.args[0]][node.args[1]]
            if found is not None:
                self.value_of[node] = found
            return
        if is_size(value):
            self._note_symbols(value)
            return
        self._add_compute(node, value)

    def _add_compute(self, node: fx.Node, value: object) -> None:
        captured = CapturedNode(node)
        if isinstance(value, (list, tuple)):
            read = _positions_read(node)
            captured.results = [
                self._add_value(f"{node.name}_{i}", item) if isinstance(item, torch.Tensor) and i in read else None
                for i, item in enumerate(value)
            ]
            self._tuples[node] = captured.results
        elif isinstance(value, torch.Tensor):
            captured.results = [self._add_value(node.name, value)]
            self.value_of[node] = captured.results[0]
        captured.reads = [self.value_of[n] for n in node.all_input_nodes if n in self.value_of]
        for result in captured.results:
            if result is not None:
                self.makers[result] = captured
        captured.effect = has_effect(node)
        target = node.target
        if node.op != "call_function" or not isinstance(target, torch._ops.OpOverload):
            captured.refusal = f"{_target_name(node)} is no ATen operation"
        elif isinstance(value, (list, tuple)) and any(isinstance(item, (list, tuple)) for item in value):
            captured.refusal = "a nested result"
        elif not any(result is not None for result in captured.results):
            captured.refusal = "its result is no tensor"
        elif target._schema.is_mutable and target is not torch.ops.aten.copy_.default:
            captured.refusal = "it changes an argument in place"
        elif target is torch.ops.aten.copy_.default:
            captured.writes_input = node.args[0].op == "placeholder"
            if not captured.writes_input:
                captured.refusal = "a write into a tensor that is no input of the model"
        if not captured.refusal:
            try:
                captured.native = self._add_native(node, captured)
            except UnknownSize as unknown:
                captured.refusal = str(unknown)
        self.nodes.append(captured)

    def _add_native(self, node: fx.Node, captured: CapturedNode) -> int:
        schema = node.target._schema.arguments
        given = [*((rule.name, value) for rule, value in zip(schema, node.args)), *node.kwargs.items()]
        if self._numerics == "eager":
            dtype = getattr(node.meta.get("val"), "dtype", None)
            given = [(name, rounded_argument(node.target, name, value, dtype)) for name, value in given]
        arguments = [(name, self._plain(value)) for name, value in given]
        return self.graph.add_node(node.name, str(node.target) if str(node.target).startswith("aten.") else f"{node.target}", arguments,
                                   captured.results, source_location(node))

    def _plain(self, value: object) -> object:
        if value is None or isinstance(value, (bool, float, str)):
            return value
        if isinstance(value, int):
            return value if -(2**63) <= value < 2**63 else ("opaque", str(value))
        if isinstance(value, (list, tuple)):
            return [self._plain(item) for item in value]
        if isinstance(value, fx.Node):
            if value in self.value_of:
                return ("value", self.value_of[value])
            meta = value.meta.get("val")
            if isinstance(meta, int) and not isinstance(meta, bool):
                return meta
            return ("size", size_text(meta)) if isinstance(meta, torch.SymInt) else ("opaque", str(value))
        if isinstance(value, torch.dtype):
            return ("dtype", DTYPE_NAMES[value]) if value in DTYPE_NAMES else ("opaque", str(value).removeprefix("torch."))
        return ("opaque", str(value))

    # --- values

    def _add_value(self, name: str, meta: torch.Tensor) -> int:
        refusal, shape, strides, offset, storage = _tensor_refusal(meta), [], [], "0", 0
        if not refusal:
            try:
                shape = [size_text(s) for s in meta.shape]
                strides = [size_text(s) for s in meta.stride()]
                offset = size_text(meta.storage_offset())
                key = meta.untyped_storage()._cdata
                storage = self._storages.setdefault(key, len(self._storages) + 1)
            except UnknownSize as unknown:
                refusal = str(unknown)
            for s in (*meta.shape, *meta.stride(), meta.storage_offset()):
                self._note_symbols(s)
        dtype = DTYPE_NAMES.get(meta.dtype)
        value = self.graph.add_value(name, dtype, shape, strides, offset, storage, refusal)
        self.metas.append(meta)
        self.refusals.append(refusal)
        return value

    def _add_constant(self, node: fx.Node, constant: torch.Tensor) -> None:
        value = self._add_value(node.name, constant)
        self.value_of[node] = value
        self.constants[value] = constant
        if not self.refusals[value]:
            self.graph.set_data(value, constant.data_ptr(), list(constant.shape), list(constant.stride()))

    def _note_symbols(self, size: object) -> None:
        """Hands the facts of the symbols in `size` over. Reads only: no guard is added."""
        if not isinstance(size, torch.SymInt):
            return
        self._environment = environment = size.node.shape_env
        for symbol in size.node.expr.free_symbols:
            if symbol.name in self._ranges:
                continue
            self._ranges.add(symbol.name)
            known = environment.var_to_range.get(symbol)
            lo, hi = (_bound(known.lower, -(2**60)), _bound(known.upper, 2**60)) if known is not None else (-(2**60), 2**60)
            self.graph.set_range(symbol.name, lo, hi)
            for divisible in environment.divisible:
                if divisible.args[0] == symbol and divisible.args[1].is_Integer:
                    self.graph.set_multiple(symbol.name, int(divisible.args[1]))

    def _add_guards(self) -> None:
        """What torch checks before every call holds for the graph: `-n <= length` is why hidden[:, -n:] has n elements."""
        guards = [] if self._environment is None else [guard.expr.xreplace(self._environment.replacements) for guard in self._environment.guards]
        texts = [t for g in guards if {s.name for s in g.free_symbols} <= self._ranges for t in condition_texts(g)]
        for text in sorted(dict.fromkeys(texts), key=lambda t: ("==" not in t, len(t))):  # the strongest first: what they prove is not repeated
            self.graph.assume(text)

    def symbols_of(self, captured: CapturedNode) -> set[str]:
        """Every size symbol that the node's tensors and arguments speak of."""
        symbols: set[str] = set()
        for value in [*captured.reads, *[r for r in captured.results if r is not None]]:
            for s in (*self.metas[value].shape, *self.metas[value].stride()):
                symbols |= size_symbols(s)
        for argument in captured.node.all_input_nodes:
            symbols |= size_symbols(argument.meta.get("val"))
        return symbols


def _positions_read(node: fx.Node) -> set[int]:
    """The positions of a tuple result that somebody takes out."""
    return {user.args[1] for user in node.users if user.target is operator.getitem}


def _bound(value: object, otherwise: int) -> int:
    if isinstance(value, int) or getattr(value, "is_Integer", False):
        return max(-(2**60), min(int(value), 2**60))
    return otherwise


def _attribute(gm: fx.GraphModule, target: str) -> object:
    found: object = gm
    for part in target.split("."):
        found = getattr(found, part)
    return found


def _tensor_refusal(meta: torch.Tensor) -> str:
    if meta.device.type != "cpu":
        return f"a tensor on device {meta.device}"
    if meta.layout is not torch.strided:
        return f"a tensor of layout {str(meta.layout).removeprefix('torch.')}"
    if meta.dtype not in DTYPE_NAMES:
        return f"a tensor of dtype {str(meta.dtype).removeprefix('torch.')}"
    if meta.is_neg():
        return "a lazily negated tensor"
    return ""


def is_size(value: object) -> bool:
    return isinstance(value, (int, float, bool, torch.SymInt, torch.SymFloat, torch.SymBool))


def _target_name(node: fx.Node) -> str:
    target = node.target
    if isinstance(target, torch._ops.HigherOrderOperator):
        return f"the higher-order operation {target.name()}"
    return str(target)


def has_effect(node: fx.Node) -> bool:
    target = node.target
    if target is operator.getitem:
        return False
    if not isinstance(target, torch._ops.OpOverload):
        return True
    if target.namespace not in ("aten", "prims"):
        return True
    return target._schema.is_mutable or torch.Tag.nondeterministic_seeded in target.tags


_FRAME = re.compile(r'File "([^"]+)", line (\d+)')


def source_location(node: fx.Node) -> str:
    """The model's source line, `model.py:12`; empty when torch recorded none."""
    frames = _FRAME.findall(node.stack_trace or "")
    if not frames:
        return ""
    path, line = frames[-1]
    return f"{path.rsplit('/', 1)[-1]}:{line}"
