"""How the tests compile: by default as a user does; CODETTA_INTERPRETER=1 runs the same tests on the interpreter."""

from __future__ import annotations

import torch

OPTIONS: dict = {}


def compiled(model, *, dynamic: bool | None = None, **options):
    return torch.compile(model, backend="codetta", dynamic=dynamic, options={**OPTIONS, **options})
