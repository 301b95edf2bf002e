"""Training of small BERT and GPT-2: loss and every gradient against eager and fp64; nearly all of the backward is compiled."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from codetta.report import collect_reports
from support.engine import compiled
from support.models import MODELS, reference_of
from support.numerics import Ensemble

LEAST_COMPILED = 0.8  # of the backward's operations
DRAWS = 32


def loss_of(model, tiny, inputs, labels):
    """Cross entropy over the vocabulary; BERT's hidden states are scored against its word embeddings."""
    if tiny.name == "bert":
        hidden = model(**inputs).last_hidden_state
        logits = hidden @ model.embeddings.word_embeddings.weight.t()
    else:
        logits = model(**inputs, use_cache=False).logits
    return F.cross_entropy(logits.flatten(0, 1).float() if logits.dtype == torch.bfloat16 else logits.flatten(0, 1), labels.flatten())


def step(model, function, *arguments):
    model.zero_grad()
    loss = function(*arguments)
    loss.backward()
    return loss.detach(), {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


def batch(tiny, draw):
    inputs = tiny.inputs(2, 6, seed=1 + draw)
    labels = torch.randint(0, 97, (2, 6), generator=torch.Generator().manual_seed(3 + draw))
    labels[1, 4:] = -100
    return inputs, labels


def prepare(name, dtype):
    tiny = MODELS[name]
    return tiny, tiny.build(dtype), *batch(tiny, 0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["f32", "bf16"])
@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_gradients(name, dtype):
    """Loss and gradients of DRAWS batches, each tensor judged over all of them (support/numerics.py: Ensemble)."""
    tiny, model, _, _ = prepare(name, dtype)
    reference = reference_of(model)
    fast = compiled(lambda inputs, labels: loss_of(model, tiny, inputs, labels))
    results = Ensemble()
    with collect_reports() as reports:
        for draw in range(DRAWS):
            inputs, labels = batch(tiny, draw)
            of = [(model, fast), *[(m, lambda i, l, m=m: loss_of(m, tiny, i, l)) for m in (model, reference)]]
            results.add(*[{"loss": loss, **gradients} for loss, gradients in (step(m, function, inputs, labels) for m, function in of)])
    results.check()
    assert [r.kind for r in reports] == ["forward", "backward"]
    for report in reports:
        assert not report.islands, [str(i) for i in report.islands]


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_dropout_under_one_seed(name):
    """With dropout the random masks come from torch itself, in eager's order, so that one seed gives one result."""
    tiny, model, inputs, labels = prepare(name, torch.float32)
    model.train()
    fast = compiled(lambda: loss_of(model, tiny, inputs, labels))
    with collect_reports() as reports:
        step(model, fast)
    results = []
    for function in (fast, lambda: loss_of(model, tiny, inputs, labels)):
        torch.manual_seed(5)
        results.append(step(model, function))
    (ours_loss, ours), (eager_loss, eager) = results
    torch.testing.assert_close(ours_loss, eager_loss, rtol=1e-5, atol=1e-5)
    for parameter in eager:
        torch.testing.assert_close(ours[parameter], eager[parameter], rtol=1e-3, atol=1e-4)
    (backward,) = [r for r in reports if r.kind == "backward"]
    assert backward.compiled_nodes >= LEAST_COMPILED * backward.nodes
    forward = [r for r in reports if r.kind == "forward"][0]
    assert {i.op for i in forward.islands} <= {"aten.native_dropout.default", "aten.bernoulli.p", "aten.rand.default", "aten.rand_like.default"}


def test_dynamic_training():
    tiny, model, inputs, labels = prepare("bert", torch.float32)
    fast = compiled(lambda i, l: loss_of(model, tiny, i, l), dynamic=True)
    for length in (6, 4, 5):
        short = {k: v[:, :length].contiguous() for k, v in inputs.items()}
        ours = step(model, fast, short, labels[:, :length].contiguous())
        eager = step(model, lambda i, l: loss_of(model, tiny, i, l), short, labels[:, :length].contiguous())
        torch.testing.assert_close(ours[0], eager[0], rtol=1e-5, atol=1e-5)
        for parameter in eager[1]:
            torch.testing.assert_close(ours[1][parameter], eager[1][parameter], rtol=1e-3, atol=1e-4)
