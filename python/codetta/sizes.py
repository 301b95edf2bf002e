"""Symbolic sizes: sympy expressions of torch as Codetta's text, and where a call finds the value of each symbol."""

from __future__ import annotations

from typing import Callable, Sequence

import sympy
import torch
from torch.utils._sympy import functions as torch_functions


class UnknownSize(Exception):
    """A size expression that Codetta's integers cannot say."""


def size_text(value: int | torch.SymInt) -> str:
    """The text of a size, in syntax that Codetta and Python's eval both read. Never adds a guard."""
    if isinstance(value, torch.SymInt):
        return expression_text(value.node.expr)
    return str(int(value))


def size_symbols(value: int | torch.SymInt) -> set[str]:
    if isinstance(value, torch.SymInt):
        return {str(symbol) for symbol in value.node.expr.free_symbols}
    return set()


def expression_text(e: sympy.Basic) -> str:
    if isinstance(e, (int, sympy.Integer)):
        return str(int(e))
    if isinstance(e, sympy.Symbol):
        return e.name
    if isinstance(e, sympy.Add):
        return "(" + " + ".join(expression_text(a) for a in e.args) + ")"
    if isinstance(e, sympy.Mul):
        return "(" + "*".join(expression_text(a) for a in e.args) + ")"
    if isinstance(e, (sympy.Pow, torch_functions.PowByNatural)) and e.args[1].is_Integer and int(e.args[1]) > 0:
        return "(" + "*".join([expression_text(e.args[0])] * int(e.args[1])) + ")"
    if isinstance(e, (torch_functions.FloorDiv, torch_functions.CleanDiv)):
        return f"({expression_text(e.args[0])} // {expression_text(e.args[1])})"
    if isinstance(e, (torch_functions.Mod, torch_functions.PythonMod, sympy.Mod)):
        return f"({expression_text(e.args[0])} % {expression_text(e.args[1])})"
    if isinstance(e, torch_functions.ModularIndexing):
        base, divisor, modulus = (expression_text(a) for a in e.args)
        return f"(({base} // {divisor}) % {modulus})"
    if isinstance(e, torch_functions.CeilToInt) and isinstance(e.args[0], torch_functions.IntTrueDiv):
        numerator, divisor = (expression_text(a) for a in e.args[0].args)
        return f"(({numerator} + {divisor} - 1) // {divisor})"
    for kind, name in ((sympy.Max, "max"), (torch_functions.Max, "max"), (sympy.Min, "min"), (torch_functions.Min, "min")):
        if isinstance(e, kind):
            text = expression_text(e.args[0])
            for a in e.args[1:]:
                text = f"{name}({text}, {expression_text(a)})"
            return text
    if isinstance(e, torch_functions.Identity):
        return expression_text(e.args[0])
    raise UnknownSize(f"the size {e} is not understood")


_RELATIONS = ((sympy.Eq, "=="), (sympy.Ge, ">="), (sympy.Gt, ">"), (sympy.Le, "<="), (sympy.Lt, "<"))


def condition_texts(e: sympy.Basic) -> list[str]:
    """What a guard says for certain, as conditions on sizes: the parts of a conjunction that are comparisons of known expressions."""
    if isinstance(e, sympy.And):
        return [text for part in e.args for text in condition_texts(part)]
    for kind, sign in _RELATIONS:
        if isinstance(e, kind):
            try:
                return [f"{expression_text(e.lhs)} {sign} {expression_text(e.rhs)}"]
            except UnknownSize:
                return []
    return []


def compile_size(text: str) -> Callable[[dict[str, int]], int]:
    """A function from the symbols' values to the value of the expression."""
    code = compile(text, "<size>", "eval")
    functions = {"__builtins__": {}, "max": max, "min": min}
    return lambda symbols: eval(code, functions, symbols)  # noqa: S307: our own arithmetic text


class SizeBinder:
    """Finds every symbol's value in the arguments of a call: an integer argument, an extent of a tensor, or solved from a linear expression."""

    def __init__(self, placeholders: Sequence[object]):
        self._steps: list[tuple[str, Callable[[Sequence, dict[str, int]], int]]] = []
        self.bound: set[str] = set()
        sources = []  # (expression, getter)
        for position, value in enumerate(placeholders):
            if isinstance(value, torch.SymInt):
                sources.append((value.node.expr, lambda args, p=position: args[p]))
            elif isinstance(value, torch.Tensor):
                for d, extent in enumerate(value.shape):
                    if isinstance(extent, torch.SymInt):
                        sources.append((extent.node.expr, lambda args, p=position, d=d: args[p].shape[d]))
        for expression, getter in sources:
            if isinstance(expression, sympy.Symbol):
                self._add(expression.name, lambda args, symbols, g=getter: g(args))
        progress = True
        while progress:
            progress = any(self._solve(expression, getter) for expression, getter in sources)

    def _add(self, symbol: str, step) -> None:
        if symbol not in self.bound:
            self.bound.add(symbol)
            self._steps.append((symbol, step))

    def _solve(self, expression: sympy.Basic, getter) -> bool:
        unknown = [s for s in expression.free_symbols if s.name not in self.bound]
        if len(unknown) != 1:
            return False
        expanded = sympy.expand(expression)
        factor = expanded.coeff(unknown[0])
        rest = sympy.expand(expanded - factor * unknown[0])
        if factor == 0 or unknown[0] in rest.free_symbols or unknown[0] in factor.free_symbols:
            return False
        try:
            factor_of, rest_of = compile_size(expression_text(factor)), compile_size(expression_text(rest))
        except UnknownSize:
            return False
        self._add(unknown[0].name, lambda args, symbols, g=getter: (g(args) - rest_of(symbols)) // factor_of(symbols))
        return True

    def bind(self, args: Sequence) -> dict[str, int]:
        symbols: dict[str, int] = {}
        for symbol, step in self._steps:
            symbols[symbol] = step(args, symbols)
        return symbols
