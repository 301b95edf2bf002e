"""The rules by which benches are judged: bars, the machine's limit, three runs, the page."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))

import judge  # noqa: E402
from harness import report  # noqa: E402
from harness.rivals import Row  # noqa: E402

RIVALS = ("eager", "inductor")


def row(name: str, ours: float, eager: float, inductor: float | None = None, limit: float | None = None, **case) -> Row:
    seconds = {"codetta": ours, "eager": eager} | ({"inductor": inductor} if inductor else {})
    return Row({"name": name, "dtype": "f32", **case}, seconds, limit_s=limit, limited_by="flops")


def test_the_best_rival_counts():
    assert report.ratio(row("a", 1.0, 3.0, 2.0), "codetta", RIVALS) == 2.0
    assert report.ratio(Row({"name": "a"}, {"eager": 1.0}), "codetta", RIVALS) is None


def test_a_row_counts_at_most_twice():
    assert report.mean([8.0, 0.5]) == pytest.approx(1.0)


def test_the_limit_lowers_the_bar():
    """At 95 % of what the machine allows nothing more can be asked: 90 % of the limit is the bar where that is lower."""
    fast = row("a", 1.0, 1.02, limit=0.95)
    assert report.reachable(fast, "codetta", RIVALS, 1.2) == pytest.approx(0.9 * 1.02 / 0.95)
    assert report.Bar("b", 1.2).judge([[fast]], "codetta", RIVALS) == "pass  b: 1.020 over 1 rows, asked 0.966"
    assert report.Bar("b", 1.2).judge([[row("a", 1.0, 1.02, limit=0.2)]], "codetta", RIVALS).startswith("FAIL  b: 1.020")


def test_a_row_fails_when_it_falls_short_in_every_run():
    bar = report.Bar("b", 1.0, 0.9)
    good, bad, other = row("x", 1.0, 1.1), row("x", 1.0, 0.8), row("y", 1.0, 1.5)
    assert bar.judge([[bad, other]], "codetta", RIVALS) == "FAIL  b: 1.095 over 2 rows, asked 1.000; 1 rows below 0.9 (worst 0.800: x)"
    assert bar.judge([[bad, other], [bad, other], [good, other]], "codetta", RIVALS) == "pass  b: 1.095/1.095/1.285 over 2 rows, asked 1.000"
    assert "2 rows below" not in bar.judge([[bad, other]] * 3, "codetta", RIVALS)
    assert bar.judge([[bad, other]] * 3, "codetta", RIVALS).startswith("FAIL")


def test_a_mean_fails_when_it_falls_short_in_every_run():
    bar = report.Bar("b", 1.0)
    slow, fast = [row("x", 1.0, 0.7)], [row("x", 1.0, 1.2)]
    assert bar.judge([slow, slow, slow], "codetta", RIVALS) == "FAIL  b: 0.700/0.700/0.700 over 1 rows, asked 1.000"
    assert bar.judge([slow, fast, slow], "codetta", RIVALS) == "pass  b: 0.700/1.200/0.700 over 1 rows, asked 1.000"
    assert bar.judge([[]], "codetta", RIVALS) is None


def test_medians_over_runs():
    runs = [[row("x", t, 3.0, limit=1.0)] for t in (1.0, 5.0, 2.0)] + [[Row({"name": "z", "dtype": "f32"}, missing={"codetta": "died"})]]
    found = report.median_of_runs(runs)
    assert [r.case["name"] for r in found] == ["x", "z"]
    assert found[0].seconds == {"codetta": 2.0, "eager": 3.0} and found[0].limit_s == 1.0
    assert found[1].missing == {"codetta": "died"}


def save(path: Path, rows: list[Row], verdicts: list[str]) -> Path:
    machine = {"date": "2026-12-01", "cpu": "Test", "features": ["avx2"], "processors": 2, "threads": 2, "cores": [0, 1], "load": 0.1, "torch": "2.13.0"}
    report.save(path, "models", machine, rows, verdicts)
    return path


@pytest.mark.parametrize("third, passes", [(1.5, True), (0.9, False)])
def test_three_files_become_one_page(tmp_path, third, passes):
    files = []
    for i, ratio in enumerate((0.9, 0.95, third)):
        rows = [row("f32 minilm 1x128", 1e-3, ratio * 1e-3, model="minilm 1x128"), row("f32 minilm 1x128, busy core", 2e-3, 3e-3, model="minilm 1x128")]
        verdicts = ["FAIL  models f32 unfrozen: 0.9", f"{'FAIL' if i else 'pass'}  compile bert-base f32: {1 + i}.00 s, asked 1.5",
                    "pass  results and fallbacks: 0 rows where Codetta was wrong or could not run"]
        files.append(save(tmp_path / f"{i}.json", rows, verdicts))
    bench, text, passed = judge.judge_files(files)
    assert bench == "models" and passed == passes
    verdict = "pass" if passes else "FAIL"
    assert f"- {verdict}  models f32 unfrozen: 0.900/0.950/{third:.3f} over 1 rows, asked 1.200" in text
    assert "- pass  compile bert-base f32: 1.00 s, asked 1.5" in text, "a verdict that is no race passes when one run did"
    assert f"| f32 minilm 1x128 | 1000.0 | {1000 * sorted((0.9, 0.95, third))[1]:.1f} | " in text
    assert text.startswith("# models: Test, 2 threads\n\n3 runs, 2026-12-01")


def test_wrong_results_in_one_run_are_enough(tmp_path):
    rows = [row("f32 minilm 1x128", 1e-3, 2e-3, model="minilm 1x128")]
    texts = ["pass  results and fallbacks: 0 rows where Codetta was wrong or could not run", "FAIL  results and fallbacks: 1 rows where Codetta was wrong or could not run"]
    files = [save(tmp_path / f"{i}.json", rows, [text]) for i, text in enumerate(texts)]
    _, text, passed = judge.judge_files(files)
    assert not passed and f"- {texts[1]}" in text


def test_files_of_different_benches_are_refused(tmp_path):
    first = save(tmp_path / "a.json", [], [])
    second = tmp_path / "b.json"
    second.write_text(json.dumps({**json.loads(first.read_text()), "bench": "linear"}))
    with pytest.raises(SystemExit, match="judge: these are runs of different benches: linear, models"):
        judge.judge_files([first, second])


def test_the_benches_have_every_row_of_the_milestone():
    import linear
    import models

    assert set(models.MODELS) == {"minilm 1x128", "minilm 8x64", "bert-base 1x128", "gpt2 1x256", "llama 1x256", "llama decode"}
    assert models.BARS == {("f32", "frozen"): 1.15, ("bf16", "frozen"): 1.4, ("f32", "unfrozen"): 1.2, ("bf16", "unfrozen"): 1.5} and models.WORST == 1.0
    assert linear.SHAPES == [(128, 3072, 768), (512, 3072, 768), (1024, 512, 256), (512, 512, 512), (1024, 1024, 1024), (128, 768, 3072), (16, 4096, 1024),
                             (1, 4096, 4096), (100, 1000, 333)]
    assert set(linear.EPILOGUES) == {"none", "bias", "gelu", "relu", "residual", "swiglu", "layernorm", "softmax"}
    assert linear.BARS == {("f32", "frozen"): 1.05, ("bf16", "frozen"): 1.5, ("f32", "unfrozen"): 1.05, ("bf16", "unfrozen"): 1.3}
    assert (linear.WORST_MEAN, linear.WORST_ROW, linear.RANDOM_BAR) == (0.97, 0.9, 1.0)
    assert (models.DYNAMIC_BAR, models.COMPILE_BAR_S, models.CALL_BAR_US, models.BUSY_BAR) == (1.05, 1.5, 5.0, 2.2)
