"""codetta.explain and codetta.compare: what they say is what happened."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F

import codetta
from codetta import noise
from codetta.accuracy import UNIT, compare_tensor, compare_tensors, relative_error
from codetta.limits import bytes_per_second, flops_per_second, least_microseconds


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down, self.norm = torch.nn.Linear(64, 128), torch.nn.Linear(128, 64), torch.nn.LayerNorm(64)

    def forward(self, x):
        hidden = F.gelu(self.up(x))
        return self.norm(x + self.down(hidden))


def with_sort(x):
    return torch.sort(x * 2).values + 1


@pytest.fixture(scope="module")
def explanation():
    with torch.no_grad():
        return codetta.explain(Model().eval(), torch.randn(32, 64))


def test_explain_tells_graphs_regions_kernels_and_reasons(explanation):
    text = str(explanation)
    lines = [line.strip() for line in text.splitlines()]
    assert lines[0] == f"1 graph, {torch.get_num_threads()} threads"
    assert re.fullmatch(r"inference: \d+ operations, \d+ compiled in 1 segments, 0 in eager, compiled in \d+ ms", lines[1])
    assert re.search(r"region r0: generated gemm[^\n]*; addmm\+gelu test_explain\.py:\d+", text)
    assert re.search(r"region r2: generated nest[^\n]*; (add\+)?native_layer_norm test_explain\.py:\d+", text)
    assert re.search(r"kernel gemm_x86_\w+", text)
    assert "not gemm: no product of two operands" in text  # a refusal with its reason
    assert re.search(r"addmm test_explain\.py:\d+ not fused: ", text)
    assert re.search(r"stage build +[\d.]+ ms", text)


def test_explain_tells_times_and_percent_of_the_limit(explanation):
    (regions,) = explanation.regions
    (graph,) = explanation.graphs
    assert [r.label.split()[0] for r in regions] == ["r0", "r1", "r2"]
    flops = 2 * 32 * 64 * 128
    for region in regions[:2]:
        assert region.limited_by == "flops"
        assert region.limit_microseconds == pytest.approx(1e6 * flops / flops_per_second("f32", explanation.threads), rel=0.15)  # and its epilogue
    assert regions[2].limited_by in ("bytes", "flops")
    for region in regions:
        assert region.microseconds == pytest.approx(sum(launch.microseconds for launch in region.launches))
        assert region.microseconds > 0 and region.percent_of_limit == pytest.approx(100 * region.limit_microseconds / region.microseconds)
        assert all(launch.kernel in graph.runners[0].description for launch in region.launches)
    total = sum(r.microseconds for r in regions)
    assert re.search(rf"one call: \d+ kernels, {total:.0f} us; the machine's limit \d+ us, \d+ % of it reached", str(explanation))
    shares = [float(s) for s in re.findall(r"(\d+\.\d) % +\d+ % (?:flops|bytes)  r\d", str(explanation))]
    assert len(shares) == 3 and sum(shares) == pytest.approx(100, abs=0.3)


def test_explain_as_data(explanation):
    data = json.loads(json.dumps(explanation.as_dict()))
    (graph,) = data["graphs"]
    assert graph["kind"] == "inference" and graph["in_eager"] == [] and graph["compiled"] == graph["operations"]
    assert [region["label"].split()[0] for region in graph["regions"]] == ["r0", "r1", "r2"]
    assert graph["regions"][0]["kernels"][-1]["name"].startswith("gemm_x86")
    assert graph["regions"][0]["percent_of_limit"] > 0


def test_explain_lists_fallbacks_and_graph_breaks():
    def broken(x):
        y = with_sort(x)
        torch._dynamo.graph_break()
        return y * 2

    explanation = codetta.explain(broken, torch.randn(3, 5))
    line = with_sort.__code__.co_firstlineno + 1
    assert explanation.fallbacks == [f"aten.sort.default at test_explain.py:{line}: Codetta does not know this operation"]
    text = str(explanation)
    assert f"  in eager: {explanation.fallbacks[0]}" in text and "graph break: " in text and text.startswith("2 graphs")


def test_explain_takes_modes_options_and_training():
    model, x = Model(), torch.randn(8, 64)
    explanation = codetta.explain(model, x, mode="max-autotune", options={"freeze": True})
    assert [graph.kind for graph in explanation.graphs] == ["forward"]
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match="unknown option 'freez'; did you mean 'freeze'"):
        codetta.explain(model, x, options={"freez": True})


def test_limits_are_the_smaller_of_flops_and_bandwidth():
    flops, bandwidth = flops_per_second("f32", 1), bytes_per_second(1 << 20, 1)
    assert least_microseconds(1e9, 4096, "f32", 1) == (pytest.approx(1e15 / flops), "flops")
    assert least_microseconds(1, 1 << 20, "f32", 1) == (pytest.approx(1e6 * (1 << 20) / bandwidth), "bytes")
    assert flops_per_second("f32", 1) == flops, "measured once"


# --- compare


def test_compare_passes_a_right_model():
    model, x = Model().eval(), torch.randn(64, 64)
    comparison = codetta.compare(model, x, least_speedup=0)
    assert comparison.passed and comparison.accurate and comparison.graphs == 1
    (tensor,) = comparison.tensors
    with torch.no_grad():
        exact = Model.forward(model.double(), x.double())
    assert tensor.ours <= tensor.bound == max(1.5 * tensor.eager, UNIT[torch.float32]) and tensor.eager > 0
    assert exact.dtype == torch.float64
    lines = str(comparison).splitlines()
    assert re.fullmatch(r"ok   output: error \S+, eager \S+, allowed \S+", lines[0]) and lines[-1] == "pass"
    assert any(re.search(r"speed: eager [\d.]+ ms, Codetta [\d.]+ ms: [\d.]+ times as fast, asked 0\.00", line) for line in lines)
    data = json.loads(json.dumps(comparison.as_dict()))
    assert data["passed"] and data["tensors"][0]["name"] == "output" and data["speedup"] == pytest.approx(comparison.speedup)


def test_compare_fails_a_slow_model(monkeypatch):
    monkeypatch.setattr("codetta.comparison.busy_machine", lambda: [])
    monkeypatch.setattr("codetta.comparison.jitter_warning", lambda name, times: [])
    comparison = codetta.compare(lambda x: x + 1, torch.randn(4), least_speedup=1000)
    assert comparison.accurate and comparison.fast is False and not comparison.passed
    assert str(comparison).splitlines()[-1] == "fail" and "FAIL speed: " in str(comparison)


def test_compare_does_not_judge_speed_on_a_busy_machine(monkeypatch):
    monkeypatch.setattr("codetta.comparison.busy_machine", lambda: ["other processes keep 1.9 of 2 cores busy; times are not to be trusted"])
    comparison = codetta.compare(lambda x: x + 1, torch.randn(4), least_speedup=1000)
    assert comparison.fast is None and comparison.passed
    lines = str(comparison).splitlines()
    assert "warning: other processes keep 1.9 of 2 cores busy; times are not to be trusted" in lines
    assert lines[-2:] == ["the speed is not judged; run again on a quiet machine", "pass"]


def test_compare_fails_wrong_results():
    exact = torch.randn(50, 20, dtype=torch.float64)
    eager = exact.float()
    assert compare_tensor("t", eager.clone(), eager, exact).passed
    cases = {
        "dtype torch.float64, eager gives torch.float32": exact,
        "shape (50, 19), eager gives (50, 20)": eager[:, :19],
        "NaN at other places than in eager": eager.clone().fill_diagonal_(float("nan")),
        "Inf at other places than in eager": eager.clone().fill_diagonal_(float("inf")),
    }
    for message, ours in cases.items():
        found = compare_tensor("t", ours, eager, exact)
        assert not found.passed and str(found) == f"FAIL t: {message}"
    far = compare_tensor("t", eager * (1 + 2.0**-20), eager, exact)
    assert not far.passed and re.fullmatch(r"FAIL t: error 9\.\d+e-07, eager \S+, allowed 5\.96e-08", str(far))
    assert compare_tensor("i", torch.tensor([1, 2]), torch.tensor([1, 3]), torch.tensor([1, 3])).problem == "values differ from eager's"
    (missing,) = compare_tensors({"a": eager}, {"a": eager, "b": eager}, {"a": exact, "b": exact})
    assert str(missing) == "FAIL outputs: ['a'] where eager gives ['a', 'b']"


def test_compare_looks_at_each_row_that_is_no_padding():
    """One row of 2000 far off hides in the whole tensor's error, not in its own."""
    exact = torch.randn(2, 1000, 16, dtype=torch.float64)
    eager = exact.float()
    ours = eager.clone()
    ours[1, 7] *= 1 + 2.0**-21
    found = compare_tensor("t", ours, eager, exact)
    assert found.ours <= found.bound and re.match(r"row \[1, 7\] is off by [45]\S*e-07, eager's by \S+, allowed 1\.79e-07", found.problem)
    mask = torch.ones(2, 1000, dtype=torch.bool)
    mask[1, 7] = False
    assert compare_tensor("t", ours, eager, exact, mask).passed


def test_compare_gives_each_run_its_own_inputs():
    """The model counts in its argument: shared inputs would make the three runs differ."""

    def counting(x):
        x.add_(1)
        return x * 2

    x = torch.zeros(8)
    assert codetta.compare(counting, x, least_speedup=0).accurate
    assert torch.equal(x, torch.zeros(8))


def test_compare_takes_a_reference_of_the_users():
    def model(x):
        return (x.float() * 3).to(torch.float32)

    comparison = codetta.compare(model, torch.randn(8), reference=lambda x: x * 3, least_speedup=0)
    assert comparison.accurate
    wrong = codetta.compare(model, torch.randn(8), reference=lambda x: x * 4, least_speedup=0)
    assert wrong.tensors[0].eager == pytest.approx(0.25) and wrong.accurate  # no further off than eager


def test_relative_error():
    exact = torch.tensor([3.0, 4.0], dtype=torch.float64)
    assert relative_error(torch.tensor([3.0, 4.5]), exact) == pytest.approx(0.1)
    assert relative_error(torch.tensor([0.5]), torch.zeros(1)) == pytest.approx(0.5)
    assert relative_error(torch.tensor([float("inf"), 4.0]), exact) == 0


# --- noise


def test_a_busy_core_is_noticed():
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as spinner:
        try:
            found = max((noise.busy_machine() for _ in range(20)), key=len)
        finally:
            spinner.kill()
    assert len(found) == 1 and re.fullmatch(r"other processes keep \d\.\d of \d+ cores busy; times are not to be trusted", found[0])


def test_jitter_is_noticed():
    assert noise.jitter_warning("eager", [1.0, 1.1, 1.2]) == []
    assert noise.jitter_warning("eager", [1.0, 1.5, 1.6]) == ["eager: the median of 3 calls is 1.50 times the fastest; times are not to be trusted"]
