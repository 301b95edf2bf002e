"""options={"freeze": True}: weights are packed once, what changes them is noticed, copies are shared and go away with the model."""

from __future__ import annotations

import gc
import threading

import pytest
import torch

import codetta
from codetta.accuracy import relative_error
from codetta.report import collect_reports
from support.engine import compiled
from support.models import MODELS, reference_of
from support.numerics import check_tensor


class TwoLayers(torch.nn.Module):
    """Two products whose weights are packed; `scale` is a buffer, `shift` a plain tensor attribute."""

    def __init__(self, width: int = 96, hidden: int = 160):
        super().__init__()
        self.first = torch.nn.Linear(width, hidden)
        self.second = torch.nn.Linear(hidden, width, bias=False)
        self.register_buffer("scale", torch.rand(width) + 0.5)
        self.shift = torch.randn(width)

    def forward(self, x):
        return self.second(torch.nn.functional.gelu(self.first(x))) * self.scale + self.shift


def agree(ours: torch.Tensor, model: torch.nn.Module, x: torch.Tensor) -> bool:
    return relative_error(ours, model(x)) < 1e-6


def packed_bytes_of(*extents: tuple[int, int]) -> int:
    """The least that packed copies of these weights take: panels are padded, never smaller."""
    return sum(4 * rows * columns for rows, columns in extents)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["f32", "bf16"])
@pytest.mark.parametrize("name", MODELS)
def test_frozen_models_keep_the_contract(name, dtype):
    tiny = MODELS[name]
    model = tiny.build(dtype)
    inputs = tiny.inputs(2, 7)
    keywords = {"output_hidden_states": True, **({"use_cache": False} if tiny.decoder else {})}
    with torch.no_grad(), collect_reports() as reports:
        ours = compiled(model, freeze=True)(**inputs, **keywords)
        eager, exact = model(**inputs, **keywords), reference_of(model)(**inputs, **keywords)
    for key, values in eager.items():
        for i, value in enumerate(values if isinstance(values, (tuple, list)) else [values]):
            get = lambda output: output[key][i] if isinstance(values, (tuple, list)) else output[key]  # noqa: E731, B023
            check_tensor(f"{key}[{i}]", get(ours), value, get(exact))
    assert "parameter frozen" in str(reports[0].segments[0])
    assert not [island for report in reports for island in report.islands]


def test_frozen_gives_what_unfrozen_gives():
    model, x = TwoLayers(), torch.randn(7, 96)
    with torch.no_grad():
        frozen, live = compiled(model, freeze=True)(x), compiled(model)(x)
    torch.testing.assert_close(frozen, live, rtol=1e-5, atol=1e-6)


CHANGES = {
    "in place": lambda m: m.first.weight.mul_(2),
    "an optimizer's step": lambda m: m.second.weight.add_(torch.ones_like(m.second.weight), alpha=0.1),
    "new Parameter": lambda m: setattr(m.first, "weight", torch.nn.Parameter(torch.randn_like(m.first.weight))),
    "other data": lambda m: setattr(m.first.weight, "data", torch.randn_like(m.first.weight)),
    "load_state_dict": lambda m: m.load_state_dict({k: torch.randn_like(v) for k, v in m.state_dict().items()}),
    "a new submodule": lambda m: setattr(m, "second", torch.nn.Linear(160, 96, bias=False)),
    "a bias": lambda m: m.first.bias.add_(3),
    "a buffer": lambda m: m.scale.mul_(-1),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changes_that_torch_counts_are_seen(change):
    model, x = TwoLayers(), torch.randn(5, 96)
    fast = compiled(model, freeze=True)
    with torch.no_grad():
        before = fast(x)
        CHANGES[change](model)
        after = fast(x)
        assert agree(after, model, x), "a stale weight was used"
        assert not torch.allclose(before, after)
        assert agree(fast(x), model, x)


def test_a_new_weight_at_the_old_address_is_seen():
    """Address and version of a tensor that died come back: only the live object itself tells them apart."""
    x = torch.randn(3, 64)
    layer = torch.nn.Linear(64, 64)
    fast = compiled(lambda x, w: torch.nn.functional.linear(x, w), freeze=True)
    with torch.no_grad():
        for _ in range(20):
            layer = torch.nn.Linear(64, 64)
            assert agree(compiled(layer, freeze=True)(x), layer, x)
            assert relative_error(fast(x, layer.weight), x @ layer.weight.t()) < 1e-6


def test_writes_behind_torchs_back_need_refresh():
    """As the documentation says: `.data` writes are not counted by torch; refresh() makes them seen."""
    model, x = TwoLayers(), torch.randn(5, 96)
    fast = compiled(model, freeze=True)
    with torch.no_grad():
        before = fast(x)
        model.first.weight.data.mul_(2)
        assert torch.equal(fast(x), before), "the packed copy is what a frozen model uses"
        codetta.refresh()
        assert agree(fast(x), model, x)


def test_lengths_share_one_packed_copy():
    model = TwoLayers()
    gc.collect()
    before = codetta.prepared_bytes()
    fast = compiled(model, freeze=True)
    with torch.no_grad(), collect_reports() as reports:
        x = torch.randn(4, 96)
        assert agree(fast(x), model, x)
        one_length = codetta.prepared_bytes() - before
        assert one_length >= packed_bytes_of((96, 160), (160, 96))
        assert one_length < 2 * packed_bytes_of((96, 160), (160, 96)), "packed more than once"
        for length in (1, 5, 33, 128, 300):
            x = torch.randn(length, 96)
            assert agree(fast(x), model, x)
        assert codetta.prepared_bytes() - before == one_length, "a length packed a copy of its own"
    assert len(reports) > 1, "several compiles share it: static, dynamic, length 1"


def test_a_new_length_packs_nothing():
    """Seen by the result: a write behind torch's back stays unseen, whatever length comes next."""
    model = TwoLayers()
    fast = compiled(model, freeze=True, dynamic=True)
    with torch.no_grad():
        x = torch.randn(9, 96)
        before = fast(x)
        model.first.weight.data.mul_(2)
        for length in (3, 17, 40):
            fast(torch.randn(length, 96))
        assert torch.equal(fast(x), before)


def test_models_that_share_a_weight_share_its_copy():
    first, second = TwoLayers(), TwoLayers()
    second.first.weight, second.second.weight = first.first.weight, first.second.weight
    x = torch.randn(5, 96)
    with torch.no_grad():
        one, two = compiled(first, freeze=True), compiled(second, freeze=True)
        one(x)
        held = codetta.prepared_bytes()
        assert agree(two(x), second, x)
        assert codetta.prepared_bytes() == held


def test_packed_copies_go_with_the_model():
    gc.collect()
    before = codetta.prepared_bytes()
    model = TwoLayers()
    fast = compiled(model, freeze=True)
    with torch.no_grad():
        fast(torch.randn(5, 96))
    assert codetta.prepared_bytes() > before
    del fast, model
    gc.collect()
    assert codetta.prepared_bytes() == before


def test_repacking_frees_the_old_copy():
    model, x = TwoLayers(), torch.randn(5, 96)
    fast = compiled(model, freeze=True)
    with torch.no_grad():
        fast(x)
        held = codetta.prepared_bytes()
        for _ in range(5):
            model.first.weight.mul_(1.5)
            fast(x)
        assert codetta.prepared_bytes() == held


def test_first_calls_from_many_threads():
    model, x = TwoLayers(), torch.randn(5, 96)
    fast = compiled(model, freeze=True)
    with torch.no_grad():
        expected = fast(x)
        held = codetta.prepared_bytes()
        for _ in range(3):
            codetta.refresh()
            barrier, results = threading.Barrier(8), [None] * 8

            def call(i):
                with torch.no_grad():
                    barrier.wait()
                    results[i] = fast(x)

            threads = [threading.Thread(target=call, args=(i,)) for i in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert all(torch.equal(r, expected) for r in results)
        assert codetta.prepared_bytes() == held


def test_gradients_do_not_use_stale_copies():
    """A training step changes the weights in place; the next forward sees them."""
    model, x = TwoLayers(), torch.randn(5, 96)
    fast = compiled(model, freeze=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = fast(x).pow(2).mean()
        torch.testing.assert_close(loss, model(x).pow(2).mean(), rtol=1e-4, atol=1e-5)
        optimizer.zero_grad()
        loss.backward()
        ours = [p.grad.clone() for p in model.parameters()]
        optimizer.zero_grad()
        model(x).pow(2).mean().backward()
        for gradient, parameter in zip(ours, model.parameters()):
            torch.testing.assert_close(gradient, parameter.grad, rtol=1e-4, atol=1e-5)
        optimizer.step()


def test_inference_tensors_can_be_frozen():
    """They keep no version: torch forbids changing them outside inference mode, and refresh() serves inside."""
    with torch.inference_mode():
        model, x = TwoLayers(), torch.randn(5, 96)
        fast = compiled(model, freeze=True)
        assert agree(fast(x), model, x)
        model.first.weight.mul_(2)
        codetta.refresh()
        assert agree(fast(x), model, x)
