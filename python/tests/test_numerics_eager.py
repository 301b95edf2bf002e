"""options={"numerics": "eager"}: 16-bit results are rounded between operations exactly where eager rounds them."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from codetta.accuracy import UNIT, relative_error
from support.engine import compiled
from support.models import MODELS

# Nothing but additions, products, comparisons: torch's result is a matter of the roundings alone, so every bit must agree.
EXACT = {
    "chain": lambda x, y: ((x * y + y) * 0.3 - x) * y + 1.7,
    "select": lambda x, y: torch.where(x > y, x * y, x - y).clamp(-1, 1) * 3,
    "division": lambda x, y: (x / (y * y + 1)).relu() + x,
    "casts": lambda x, y: (x.float() * y.float()).to(x.dtype) * y + (x * 2).float().to(x.dtype),
    "views": lambda x, y: (x.t() * y.t() + 1).reshape(-1, 2)[::3] * 0.1,
    "numbers": lambda x, y: (1.7 - x - 0.7 + y) / 1.7 * 0.3,
    "power and remainder": lambda x, y: torch.remainder(torch.fmod(x * 9, 0.7), 0.3) + (y * y) ** 2,
    "maximum of a row": lambda x, y: (x * y).amax(-1, keepdim=True) - x * 1.1,
}
# Inside one operation torch and Codetta compute in f32 with roundings of their own, which shows in a last bit now and then.
NEARLY = {
    "alpha": lambda x, y: torch.add(x, y, alpha=0.3) - torch.sub(y, x, alpha=0.7),
    "activations": lambda x, y: F.gelu(x) * F.silu(y) + x.sigmoid() * y.tanh(),
    "exponential": lambda x, y: ((x * y).exp() * 0.5 - x) * y,
    "softmax": lambda x, y: torch.softmax(F.layer_norm(x, (64,)) * y, -1),
    "rms norm": lambda x, y: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * y,
    "linear": lambda x, y: F.relu(x @ y.t() + 1) * 0.3 + 1,
    "sum": lambda x, y: (x * y).sum(-1) * 2 + 1,
}
LEAST_EQUAL = 0.99


def run(function, dtype, numerics):
    torch._dynamo.reset()
    generator = torch.Generator().manual_seed(4)
    x, y = (torch.randn(33, 64, generator=generator).to(dtype) for _ in range(2))
    with torch.no_grad():
        return compiled(function, numerics=numerics)(x, y), function(x, y)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32], ids=["bf16", "f16", "f32"])
@pytest.mark.parametrize("name", EXACT)
def test_roundings_between_operations_are_eagers(name, dtype):
    ours, eager = run(EXACT[name], dtype, "eager")
    assert ours.dtype == eager.dtype and torch.equal(ours, eager)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=["bf16", "f16"])
@pytest.mark.parametrize("name", NEARLY)
def test_operations_with_roundings_of_their_own(name, dtype):
    ours, eager = run(NEARLY[name], dtype, "eager")
    assert (ours == eager).float().mean() >= LEAST_EQUAL
    assert relative_error(ours, eager.double()) <= UNIT[dtype] / 4


@pytest.mark.parametrize("name", ["chain", "division"])
def test_by_default_these_roundings_are_left_out(name):
    """So the option makes a difference, and the default is the more exact one."""
    function = EXACT[name]
    ours, eager = run(function, torch.bfloat16, "contract")
    generator = torch.Generator().manual_seed(4)
    x, y = (torch.randn(33, 64, generator=generator).bfloat16().double() for _ in range(2))
    assert not torch.equal(ours, eager)
    assert relative_error(ours, function(x, y)) < relative_error(eager, function(x, y))


@pytest.mark.parametrize("name", [n for n in MODELS if n != "gpt2"])
def test_models_agree_with_eager_in_nearly_every_bit(name):
    tiny = MODELS[name]
    model = tiny.build(torch.bfloat16)
    inputs = tiny.inputs(2, 9)
    with torch.no_grad():
        eager = next(iter(model(**inputs).values()))
        ours = next(iter(compiled(model, numerics="eager")(**inputs).values()))
        torch._dynamo.reset()
        default = next(iter(compiled(model)(**inputs).values()))
    assert (ours == eager).float().mean() >= LEAST_EQUAL
    assert relative_error(ours, eager.double()) <= UNIT[torch.bfloat16] / 8
    assert relative_error(default, eager.double()) > 4 * relative_error(ours, eager.double())


def test_gpt2_differs_by_the_power_alone():
    """torch computes pow(x, 3) of bf16 as two products, each rounded; Codetta rounds once. Everything else agrees."""
    x = torch.randn(4096).bfloat16()
    with torch.no_grad():
        assert torch.equal(compiled(lambda x: x * x * x, numerics="eager")(x), torch.pow(x, 3.0))
        tiny = MODELS["gpt2"]
        model = tiny.build(torch.bfloat16)
        inputs = tiny.inputs(2, 9)
        ours = compiled(model, numerics="eager")(**inputs).logits
        eager = model(**inputs).logits
        for block in model.transformer.h:
            block.mlp.act = torch.nn.GELU(approximate="tanh")
        torch._dynamo.reset()
        without_ours, without_eager = compiled(model, numerics="eager")(**inputs).logits, model(**inputs).logits
    assert relative_error(ours, eager.double()) <= UNIT[torch.bfloat16]
    assert (without_ours == without_eager).float().mean() >= LEAST_EQUAL
