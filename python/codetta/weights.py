"""What `options={"freeze": True}` keeps: packed copies of parameters and buffers.

A packed copy is used while the tensor is the same live object, at the same address, with the same version: a new Parameter, `load_state_dict`,
`p.data = other` and in-place operations (`p.mul_(2)`, an optimizer's step) are noticed by the next call, which packs anew. Writes that torch
does not count are not: `p.data.mul_(2)`, numpy views, another process. After those, call refresh().
"""

from __future__ import annotations

from codetta import _codetta


def refresh() -> None:
    """Every frozen model packs its weights anew at its next call."""
    _codetta.refresh()


def prepared_bytes() -> int:
    """Bytes of all packed copies that live models hold; equal copies are held once."""
    return _codetta.prepared_bytes()
