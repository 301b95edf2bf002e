"""The options of one torch.compile call, checked against the one table in C++."""

from __future__ import annotations

from typing import Mapping

from codetta import _codetta


def parse_options(mode: str | None = None, options: Mapping[str, object] | None = None) -> _codetta.Options:
    """Defaults, then CODETTA_* of the environment, then what the user gave. Raises UserError with the nearest name."""
    pairs: list[tuple[str, str]] = []
    if mode is not None:
        pairs.append(("mode", _text("mode", mode)))
    for name, value in (options or {}).items():
        if not isinstance(name, str):
            raise _codetta.UserError(f"option {name!r}: names of options are texts")
        pairs.append((name, _text(name, value)))
    return _codetta.options_from(pairs)


def _text(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int)):
        return str(value)
    if hasattr(value, "__fspath__"):
        return value.__fspath__()
    raise _codetta.UserError(f"option '{name}': a {type(value).__name__} is no value for it; give a bool, a number or a text")


def merged_options(mode: str | None, options: Mapping[str, object] | None) -> dict[str, object]:
    """`mode` as an option: torch.compile refuses to take both keywords at once."""
    return {**({"mode": mode} if mode is not None else {}), **(options or {})}
