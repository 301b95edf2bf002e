"""Convolutions: those that Codetta compiles (windows that do not overlap) against eager, forward and backward; the others run in eager."""

from __future__ import annotations

import pytest
import torch

from codetta.report import collect_reports
from support.engine import compiled

CASES = [
    # channels, out, kernel, image
    (3, 8, (4, 4), (2, 3, 8, 12)),
    (3, 8, (4, 4), (2, 3, 9, 14)),  # the rest of the image is not seen
    (6, 5, (1, 1), (2, 6, 5, 4)),
    (3, 4, (2,), (2, 3, 10)),
    (2, 3, (1, 2, 3), (1, 2, 3, 4, 6)),
]


class Convolution(torch.nn.Module):
    def __init__(self, channels, out, kernel, bias=True, **keywords):
        super().__init__()
        kind = {1: torch.nn.Conv1d, 2: torch.nn.Conv2d, 3: torch.nn.Conv3d}[len(kernel)]
        self.convolution = kind(channels, out, kernel, bias=bias, **({"stride": kernel} | keywords))

    def forward(self, x):
        return torch.nn.functional.gelu(self.convolution(x))


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "plain"])
@pytest.mark.parametrize("channels, out, kernel, image", CASES)
def test_forward(channels, out, kernel, image, bias):
    model, x = Convolution(channels, out, kernel, bias).eval(), torch.randn(image)
    with torch.no_grad(), collect_reports() as reports:
        ours = compiled(model)(x)
        torch.testing.assert_close(ours, model(x), rtol=1e-5, atol=1e-6)
    assert not [str(i) for r in reports for i in r.islands]


@pytest.mark.parametrize("channels, out, kernel, image", CASES)
def test_gradients(channels, out, kernel, image):
    model, x = Convolution(channels, out, kernel), torch.randn(image)
    compiled(model)(x).square().sum().backward()
    ours = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    model(x).square().sum().backward()
    for mine, parameter in zip(ours, model.parameters()):
        torch.testing.assert_close(mine, parameter.grad, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("keywords", [{"padding": 1, "stride": 1}, {"groups": 2}], ids=["overlapping", "grouped"])
def test_others_run_in_eager(keywords):
    model, x = Convolution(4, 6, (3, 3), **keywords).eval(), torch.randn(2, 4, 9, 9)
    with torch.no_grad(), collect_reports() as reports:
        torch.testing.assert_close(compiled(model)(x), model(x), rtol=1e-5, atol=1e-6)
    assert any("eager is faster" in str(i) for r in reports for i in r.islands)
