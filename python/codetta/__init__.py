"""Codetta: compiles PyTorch models into fast machine code.

    compiled = torch.compile(model, backend="codetta")      # needs no import of codetta
    codetta.explain(model, *inputs)                         # what became of it: regions, kernels, reasons, times
    codetta.compare(model, *inputs)                         # accuracy against fp64, speed against eager, on your own inputs
    codetta.refresh()                                       # after weights of a frozen model were changed behind torch's back

This module must not import torch: `TORCH_LOGS="+codetta"` makes torch import it while torch itself is being imported.
"""

import importlib

__version__ = "0.1.0"

# Public name -> the module that defines it; imported at first use.
_LAZY = {
    "compare": "codetta.comparison",
    "explain": "codetta.explanation",
    "prepared_bytes": "codetta.weights",
    "refresh": "codetta.weights",
    "reset": "codetta.backend",
}

__all__ = ["__version__", *_LAZY]


def __getattr__(name: str):
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'codetta' has no attribute '{name}'")


def __dir__():
    return sorted([*globals(), *_LAZY])
