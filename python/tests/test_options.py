"""Modes, options and versions: what each spelling does, and what is said about it."""

from __future__ import annotations

import logging

import pytest
import torch

from codetta import _codetta
from codetta.options import merged_options, parse_options
from codetta.report import collect_reports
from support.child import run_child
from support.engine import compiled

MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")


def messages_of(caplog, mode: str) -> list[str]:
    torch._dynamo.reset()
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="codetta.backend"):
        fast = compiled(lambda x: x.sin() * 2, mode=mode)
        fast(torch.ones(3))
        fast(torch.ones(4, 5))  # a second graph
    return [r.getMessage() for r in caplog.records if r.name == "codetta.backend"]


@pytest.mark.parametrize("mode", MODES)
def test_max_autotune_says_once_that_there_is_no_tuner(caplog, mode):
    said = [m for m in messages_of(caplog, mode) if "tuner" in m]
    wanted = [f"mode {mode}: there is no tuner yet, so it does what the default mode does"] if mode.startswith("max-autotune") else []
    assert said == wanted


@pytest.mark.parametrize("mode", MODES)
def test_no_mode_implies_freeze_and_all_compile_the_same(mode):
    layer = torch.nn.Linear(8, 8)
    with torch.no_grad(), collect_reports() as reports:
        compiled(layer, mode=mode)(torch.ones(2, 8))
        torch._dynamo.reset()
        torch.compile(layer, backend="codetta", mode=mode)(torch.ones(2, 8))
        torch._dynamo.reset()
        compiled(layer)(torch.ones(2, 8))
    texts = {str(report.segments[0]) for report in reports}
    assert len(reports) == 3 and len(texts) == 1 and "frozen" not in texts.pop()


def test_torch_refuses_mode_and_options_at_once():
    with pytest.raises(RuntimeError, match="Either mode or options can be specified"):
        torch.compile(lambda x: x, backend="codetta", mode="default", options={"freeze": True})
    assert parse_options("max-autotune", {"freeze": True}).get("mode") == "max-autotune"
    assert merged_options("default", {"freeze": True}) == {"mode": "default", "freeze": True}


def test_every_row_of_the_table_is_a_key():
    rows = _codetta.option_rows()
    defaults = parse_options()
    assert {name for name, *_ in rows} >= {"mode", "freeze", "numerics", "fallback", "target", "threads", "dump"}
    for name, default, values, sentence in rows:
        assert defaults.get(name) == default and values and sentence.endswith(".")
    assert parse_options(None, {"freeze": True, "threads": 3, "numerics": "eager"}).get("threads") == "3"


@pytest.mark.parametrize(
    "name, value, message",
    [
        ("thread", 2, "unknown option 'thread'; did you mean 'threads'?"),
        ("nothing_like_it", 2, "unknown option 'nothing_like_it'; known are 'mode', 'freeze', "),
        ("threads", -1, "option 'threads': unknown value '-1'; give a number from 0 to 4096"),
        ("threads", "two", "option 'threads': unknown value 'two'; give a number from 0 to 4096"),
        ("numerics", "eagr", "option 'numerics': unknown value 'eagr'; did you mean 'eager'?"),
        ("dump", ["a"], "option 'dump': a list is no value for it; give a bool, a number or a text"),
        (3, "x", "option 3: names of options are texts"),
    ],
)
def test_wrong_options(name, value, message):
    with pytest.raises(_codetta.UserError) as raised:
        parse_options(None, {name: value})
    assert str(raised.value).startswith(message)


def test_environment_goes_before_defaults_and_behind_options():
    out = run_child("""
        from codetta.options import parse_options
        print(parse_options().get("threads"), parse_options(None, {"threads": 2}).get("threads"))
    """, CODETTA_THREADS="3")
    assert out.split() == ["3", "2"]


def test_wrong_environment_names_the_variable():
    out = run_child("""
        import torch
        try:
            torch.compile(lambda x: x + 1, backend="codetta")(torch.ones(2))
        except Exception as error:
            print(error.inner_exception)
    """, CODETTA_NUMERICS="exact")
    assert out.strip() == "environment variable CODETTA_NUMERICS: unknown value 'exact'; known are 'contract', 'eager'"


@pytest.mark.parametrize(
    "version, warned", [("2.13.0+cpu", False), ("2.14.1", False), ("2.12.1", True), ("2.15.0a0+git1", True), ("3.0.0", True)]
)
def test_other_versions_of_torch_are_warned_of(version, warned):
    out = run_child(f"""
        import logging, torch
        torch.__version__ = {version!r}
        records = []
        handler = logging.Handler()
        handler.emit = lambda record: records.append(record.getMessage())
        logging.getLogger("codetta.backend").addHandler(handler)
        f = torch.compile(lambda x: x + 1, backend="codetta")
        assert torch.equal(f(torch.ones(2)), torch.full((2,), 2.0))
        print([r for r in records if "tested" in r])
    """)
    expected = [f"torch {version}: Codetta is tested with 2.13.0 to 2.14.1; others may work"] if warned else []
    assert out.strip() == str(expected)
