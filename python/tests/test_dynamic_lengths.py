"""dynamic=True: one compile serves every length; a slice whose size torch promises through a guard stays compiled."""

from __future__ import annotations

import pytest
import torch

from codetta.report import collect_reports
from support.engine import compiled
from support.models import MODELS, reference_of
from support.numerics import check_tensor

LENGTHS = (5, 2, 512, 3, 7, 8, 16, 17, 31, 33, 48, 64, 65, 100, 127, 128, 200, 255, 300, 511)  # the first is not the batch: equal sizes would share a symbol


@pytest.mark.parametrize("name", ["gpt2", "llama", "qwen3"])
def test_twenty_lengths(name):
    tiny = MODELS[name]
    model = tiny.build(torch.float32)
    reference = reference_of(model)
    fast = compiled(model, dynamic=True)
    with torch.no_grad(), collect_reports() as reports:
        for length in LENGTHS:
            inputs = tiny.inputs(2, length)
            ours = fast(**inputs, use_cache=False).logits
            check_tensor(f"logits at {length}", ours, model(**inputs, use_cache=False).logits, reference(**inputs, use_cache=False).logits)
            if length == LENGTHS[0]:
                count = len(reports)
    assert len(reports) == count, "recompiled for another length"
    assert not [str(i) for r in reports for i in r.islands]


@pytest.mark.parametrize("keep", [1, 3, 8])
def test_last_positions_of_any_length(keep):
    """x[:, -n:] with a symbolic n of either sign: torch guards -n <= length, and the elements are eager's."""

    def last(x, n):
        return x[:, -n:] * 2.0 + 1.0

    fast = compiled(last, dynamic=True)
    with torch.no_grad(), collect_reports() as reports:
        for length in (8, 9, 30):
            x = torch.randn(3, length, 5)
            assert torch.equal(fast(x, keep), last(x, keep))
            assert torch.equal(fast(x, keep + (1 if keep < 8 else 0)), last(x, keep + (1 if keep < 8 else 0)))
    assert reports and not [str(i) for r in reports for i in r.islands]


@pytest.mark.parametrize("offset", [-5, -1, 0, 4])
def test_integers_may_be_negative(offset):
    """An int argument is a symbol; it is no size and may lie below 0."""
    fast = compiled(lambda x, o: x * o + torch.arange(x.shape[0]) - o, dynamic=True)
    with torch.no_grad(), collect_reports() as reports:
        for o in (offset, offset - 2, offset - 9):
            x = torch.randn(11)
            torch.testing.assert_close(fast(x, o), x * o + torch.arange(11) - o, rtol=0, atol=0)
    assert reports and not [str(i) for r in reports for i in r.islands]
