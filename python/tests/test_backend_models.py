"""Real transformers end to end: every hidden state within the numerics contract, no fallback, no recompile."""

from __future__ import annotations

import pytest
import torch

from codetta.report import collect_reports
from support.engine import compiled
from support.models import MODELS, reference_of
from support.numerics import check_tensor

DTYPES = [torch.float32, torch.bfloat16]


def tensors_of(output) -> dict[str, torch.Tensor]:
    """Every float tensor of a model's output, hidden states included."""
    found: dict[str, torch.Tensor] = {}
    for key, value in output.items():
        for i, item in enumerate(value if isinstance(value, (tuple, list)) else [value]):
            if isinstance(item, torch.Tensor):
                found[f"{key}[{i}]"] = item
    return found


def check_outputs(ours, eager, reference) -> None:
    ours, eager, reference = tensors_of(ours), tensors_of(eager), tensors_of(reference)
    assert ours.keys() == eager.keys() and ours
    for name, value in eager.items():
        check_tensor(name, ours[name], value, reference[name])


def no_fallback(reports) -> None:
    assert reports, "the backend was never called"
    islands = [str(island) for report in reports for island in report.islands]
    assert not islands, islands


@pytest.mark.parametrize("dtype", DTYPES, ids=["f32", "bf16"])
@pytest.mark.parametrize("name", MODELS)
def test_static(name, dtype):
    tiny = MODELS[name]
    model = tiny.build(dtype)
    inputs = tiny.inputs(2, 7)
    keywords = {"output_hidden_states": True, **({"use_cache": False} if tiny.decoder else {})}
    with torch.no_grad(), collect_reports() as reports:
        ours = compiled(model)(**inputs, **keywords)
        check_outputs(ours, model(**inputs, **keywords), reference_of(model)(**inputs, **keywords))
    no_fallback(reports)


@pytest.mark.parametrize("dtype", DTYPES, ids=["f32", "bf16"])
@pytest.mark.parametrize("name", MODELS)
def test_dynamic(name, dtype):
    tiny = MODELS[name]
    model = tiny.build(dtype)
    reference = reference_of(model)
    keywords = {"output_hidden_states": True, **({"use_cache": False} if tiny.decoder else {})}
    fast = compiled(model, dynamic=True)
    with torch.no_grad(), collect_reports() as reports:
        for length in (5, 9, 6, 2):
            inputs = tiny.inputs(2, length)
            check_outputs(fast(**inputs, **keywords), model(**inputs, **keywords), reference(**inputs, **keywords))
            if length == 5:
                count = len(reports)
    no_fallback(reports)
    assert len(reports) == count, "recompiled for another length"


@pytest.mark.parametrize("dtype", DTYPES, ids=["f32", "bf16"])
@pytest.mark.parametrize("name", [n for n, m in MODELS.items() if m.decoder and n != "opt"])
def test_prefill_and_decode(name, dtype):
    """A static KV cache: the prefill fills it, three decode steps read and extend it; the caches agree too."""
    from transformers import StaticCache

    tiny = MODELS[name]
    model = tiny.build(dtype)
    fast = compiled(model)
    tokens = tiny.inputs(1, 9)["input_ids"]

    def run(step, of):
        cache = StaticCache(config=model.config, max_cache_len=12)
        results = {}
        for start, end in ((0, 6), (6, 7), (7, 8), (8, 9)):
            positions = torch.arange(start, end)
            out = step(input_ids=tokens[:, start:end], past_key_values=cache, position_ids=positions[None], use_cache=True)
            results[f"logits {start}"] = out.logits.clone()
        for i, layer in enumerate(cache.layers):
            results[f"keys {i}"], results[f"values {i}"] = layer.keys.clone(), layer.values.clone()
        return results

    with torch.no_grad(), collect_reports() as reports:
        reference_model = reference_of(model)
        eager, reference = run(model, model), run(reference_model, reference_model)
        ours = run(fast, model)
    for key, value in eager.items():
        check_tensor(key, ours[key], value, reference[key])
    no_fallback(reports)


