"""Each class of bad input: the exact message, and everything usable afterwards."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F

from codetta import _codetta
from codetta.report import collect_reports
from support.child import run_child
from support.engine import compiled


def line_of(function, offset: int = 1) -> str:
    return f"test_bad_input.py:{function.__code__.co_firstlineno + offset}"


# --- arguments of a compiled graph. Dynamo compiles again for other dtypes and shapes, so this is what a stale or foreign caller gets.


@pytest.fixture
def segment():
    with torch.no_grad(), collect_reports() as reports:
        compiled(lambda x, w: torch.relu(x @ w))(torch.randn(4, 8), torch.randn(8, 6))
    return reports[0].runners[0]


X, W = torch.ones(4, 8), torch.ones(8, 6)


def freed() -> torch.Tensor:
    tensor = torch.ones(4, 8)
    tensor.untyped_storage().resize_(0)
    return tensor


DENSE = "pass a dense torch.Tensor on the CPU"
WRONG_ARGUMENTS = {
    "too few": (lambda: [X], "call of a compiled graph: 1 arguments, 2 or more are needed"),
    "dtype": (lambda: [X.double(), W], "argument 0 ('arg0_1'): has dtype f64 where f32 is expected; convert it, or compile again for this dtype"),
    "shape": (lambda: [X[:3], W], "argument 0 ('arg0_1'): has shape [3, 8] where [4, 8] is expected"),
    "rank": (lambda: [X, W[0]], "argument 1 ('arg1_1'): has 1 dimensions where [8, 6] is expected"),
    "strides": (
        lambda: [X.t().contiguous().t(), W],
        "argument 0 ('arg0_1'): has strides [1, 4] where [8, 1] are expected; copy it into an array with these strides",
    ),
    "device": (lambda: [X.to("meta"), W], f"call of a compiled graph: argument 0 is a Tensor on device meta; {DENSE}"),
    "layout": (lambda: [X.to_sparse(), W], f"call of a compiled graph: argument 0 is a Tensor of layout torch.sparse_coo; {DENSE}"),
    "no tensor": (lambda: [X, 3], f"call of a compiled graph: argument 1 is of type int; {DENSE}"),
    "unknown dtype": (lambda: [X.to(torch.complex64), W], "call of a compiled graph: argument 0 has a dtype that Codetta does not know"),
    "freed": (
        lambda: [freed(), W],
        "call of a compiled graph: argument 0 has no memory: it is a FakeTensor, or its storage was freed; pass a tensor that holds data",
    ),
}


@pytest.mark.parametrize("kind", WRONG_ARGUMENTS)
def test_wrong_argument(segment, kind):
    make, message = WRONG_ARGUMENTS[kind]
    with pytest.raises(_codetta.UserError, match=re.escape(message) + "$"):
        segment(make())
    assert torch.equal(segment([X, W])[0], torch.full((4, 6), 8.0))


def test_wrong_size_argument():
    """With sizes as arguments the message shows what the size was bound to."""
    with torch.no_grad(), collect_reports() as reports:
        compiled(lambda x, y: x * y + x.shape[0], dynamic=True)(torch.ones(5, 3), torch.ones(5, 3))
    segment = reports[0].runners[0]
    with pytest.raises(_codetta.UserError) as raised:
        segment([5, 3, torch.ones(5, 3), torch.ones(4, 3)])
    assert re.fullmatch(r"argument 1 \('arg3_1'\): has shape \[4, 3\] where \[s\d+, s\d+\] = \[5, 3\] is expected", str(raised.value))


# --- an index out of range names the op and the model's line


def take(table, index):
    return torch.relu(table * 2)[index] + 1


def look_up(table, index):
    hidden = F.embedding(index, table)
    return hidden.sum(-1)


def gather_rows(table, index):
    return torch.gather(table, 0, index.view(-1, 1)).exp()


def put_rows(table, index):
    return table.index_copy(0, index, torch.ones(2, 3)) * 2


def two_tables(table, index):
    first = F.embedding(index.clamp(0, 4), table)
    second = F.embedding(index, table)
    return first + second


INDEX_ERRORS = [
    (take, 1, "index", "[-5, 5)"),
    (look_up, 1, "embedding", "[0, 5)"),
    (gather_rows, 1, "gather", "[0, 5)"),
    (put_rows, 1, "index_copy", "[0, 5)"),
    (two_tables, 2, "embedding", "[0, 5)"),
]


@pytest.mark.parametrize("function, line, op, interval", INDEX_ERRORS, ids=[row[0].__name__ for row in INDEX_ERRORS])
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_index_out_of_range(function, line, op, interval, dynamic):
    fast = compiled(function, dynamic=dynamic)
    table, good, bad = torch.randn(5, 3), torch.tensor([1, 4]), torch.tensor([1, 7])
    with torch.no_grad():
        expected = fast(table, good)
        with pytest.raises(IndexError) as raised:
            fast(table, bad)
        place = f"op '{op}' at {line_of(function, line)}: index out of range "
        text = str(raised.value)
        assert text.startswith(place) and (dynamic or text.startswith(f"{place}{interval} of ")), text
        with pytest.raises(IndexError):
            fast(table, torch.tensor([-6, 1]))
        assert torch.equal(fast(table, good), expected)
        torch.testing.assert_close(expected, function(table, good))


def test_index_out_of_range_in_the_backward_graph():
    """A bad index is found in the forward; the parameters are as before and training goes on."""
    table = torch.nn.Embedding(5, 3)
    fast = compiled(lambda i: table(i).pow(2).sum())
    before = table.weight.detach().clone()
    fast(torch.tensor([1, 2])).backward()
    with pytest.raises(IndexError, match=r"op 'embedding' at test_bad_input.py:\d+: index out of range \[0, 5\) of "):
        fast(torch.tensor([1, 5]))
    assert torch.equal(table.weight, before)
    table.zero_grad()
    fast(torch.tensor([3, 3])).backward()
    torch.testing.assert_close(table.weight.grad[3], 4 * before[3])


# --- what cannot be compiled, when told to refuse it


def unsupported(x):
    y = x * 2
    return torch.sort(y).values + torch.unique_consecutive(y).sum()


def test_unsupported_op_names_the_line():
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed) as raised:
        compiled(lambda x: torch.sort(x * 2).values, fallback="error")(torch.randn(4))
    assert re.fullmatch(
        r"aten\.sort\.default at test_bad_input\.py:\d+ cannot be compiled: Codetta does not know this operation; "
        r'leave fallback="allow" to run it in eager',
        str(raised.value.inner_exception),
    )
    x = torch.randn(4)
    assert torch.equal(compiled(lambda x: torch.sort(x * 2).values)(x), torch.sort(x * 2).values)


# --- targets


@pytest.mark.parametrize(
    "target, message",
    [
        ("x86_avx3", r"option 'target': unknown value 'x86_avx3'; did you mean 'x86_avx2'\?"),
        ("sm90", r"target 'sm90' cannot run here: this machine \(\w+\) lacks .*tma, wgmma; use target=auto or one that the machine has"),
    ],
)
def test_missing_target(target, message):
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed) as raised:
        compiled(lambda x: x + 1, target=target)(torch.ones(3))
    assert re.fullmatch(message, str(raised.value.inner_exception))
    assert torch.equal(compiled(lambda x: x + 1)(torch.ones(3)), torch.full((3,), 2.0))


# --- no memory


def test_no_memory_for_a_result():
    fast = compiled(lambda x, n: x.expand(n, 1 << 20) + 1, dynamic=True)
    with torch.no_grad():
        with pytest.raises(_codetta.UserError) as raised:
            fast(torch.ones(1, 1), 1 << 24)
        assert str(raised.value) == (
            f"call of a compiled graph: no memory for a result: f32[{1 << 24}, {1 << 20}]; use smaller inputs or a machine with more memory"
        )
        assert torch.equal(fast(torch.ones(1, 1), 2), torch.full((2, 1 << 20), 2.0))


LIMITED = """
    import resource, torch
    from support.engine import compiled
    from codetta import _codetta

    def with_room(mebibytes, call):
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        with open("/proc/self/statm") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + (mebibytes << 20), hard))
        try:
            call()
        except _codetta.UserError as error:
            print(error)
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
"""


def test_no_memory_for_temporaries():
    out = run_child(LIMITED + """
    f = compiled(lambda x, w: torch.softmax(torch.softmax(x @ w, -1) @ w.t(), -1).sum(0), dynamic=True)
    w = torch.randn(8, 4096)
    with torch.no_grad():
        expected = f(torch.ones(4, 8), w)
        big = torch.ones(1 << 17, 8)
        with_room(300, lambda: f(big, w))
        print(torch.equal(f(torch.ones(4, 8), w), expected))
    """)
    message, usable = out.strip().splitlines()
    assert re.fullmatch(r"no memory: cannot get \d{10} bytes for the temporaries of a call; use smaller inputs or a machine with more memory", message)
    assert usable == "True"


def test_no_memory_for_packed_weights():
    out = run_child(LIMITED + """
    layer = torch.nn.Linear(4096, 8192)
    f, x = compiled(layer, freeze=True), torch.randn(3, 4096)
    with torch.no_grad():
        with_room(100, lambda: f(x))
        print(torch.allclose(f(x), layer(x), atol=1e-4))
    """)
    message, usable = out.strip().splitlines()
    assert message == "no memory: cannot get 134217728 bytes for prepared weights; use smaller inputs or a machine with more memory"
    assert usable == "True"


# --- the program


def program(*arguments) -> tuple[int, str]:
    code = "from codetta.program import main; main()"
    done = subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True)
    return done.returncode, done.stderr


GOOD = "graph g(%x: f32[4, 8]) {\n  %0: f32[4, 8] = relu(%x)\n  return %0\n}\n"
MALFORMED = {
    "dtype": (GOOD.replace("%x: f32", "%x: f33"), "line 1, column 16: unknown dtype 'f33'; did you mean 'f32'?"),
    "end": (GOOD[:-2], "line 4, column 1: expected '}'"),
    "op": (GOOD.replace("relu", "rellu"), "'%0' = rellu(...) at m.graph:2: there is no op 'rellu'; did you mean 'relu'?"),
    "type": (GOOD.replace("%0: f32[4, 8]", "%0: f32[4, 9]"), "'%0' = relu(...) at m.graph:2: '%0' is f32[4, 9], but the op gives f32[4, 8]"),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_malformed_graph(tmp_path, kind):
    file = tmp_path / "m.graph"
    text, message = MALFORMED[kind]
    file.write_text(text)
    assert program("compile", file) == (1, f"codetta: {file}: {message}\n")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("compile", "m.graph", "--targt", "x86_avx2"), "there is no flag '--targt'; did you mean '--target'?"),
        (("compil", "m.graph"), "there is no command 'compil'; did you mean 'compile'?"),
        (("compile", "m.graph", "--target", "x86_avx3"), "option 'target': unknown value 'x86_avx3'; did you mean 'x86_avx2'?"),
        (("compile", "m.graph", "--mode", "max-autotun"), "option 'mode': unknown value 'max-autotun'; did you mean 'max-autotune'?"),
        (("compile", "nowhere.graph"), "nowhere.graph: cannot read file: No such file or directory; check the path"),
    ],
)
def test_wrong_command_line(tmp_path, monkeypatch, arguments, message):
    (tmp_path / "m.graph").write_text(GOOD)
    monkeypatch.chdir(tmp_path)
    code, error = program(*arguments)
    assert code in (1, 2) and error.splitlines()[0] == f"codetta: {message}"
