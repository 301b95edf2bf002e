"""The border to torch: options, errors, mutation, aliasing, strides, dynamic sizes, islands, training."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from codetta import _codetta
from codetta.report import collect_reports
from support.engine import compiled
from support.numerics import check_tensor


def run_both(function, *inputs, **options):
    """Ours and eager on equal copies of the inputs; also gives the inputs back, to look at mutation, and the reports."""
    ours_inputs = [x.clone() if isinstance(x, torch.Tensor) else x for x in inputs]
    eager_inputs = [x.clone() if isinstance(x, torch.Tensor) else x for x in inputs]
    with torch.no_grad(), collect_reports() as reports:
        ours = compiled(function, **options)(*ours_inputs)
        eager = function(*eager_inputs)
    assert reports, "the backend was never called"
    for a, b in zip(ours_inputs, eager_inputs):
        if isinstance(a, torch.Tensor):
            torch.testing.assert_close(a, b)
    return ours, eager, reports, ours_inputs


def islands_of(reports) -> list[str]:
    return [island.op for report in reports for island in report.islands]


# --- options


@pytest.mark.parametrize(
    "keywords, message",
    [
        ({"mode": "max-autotun"}, "option 'mode': unknown value 'max-autotun'; did you mean 'max-autotune'?"),
        ({"options": {"freez": True}}, "unknown option 'freez'; did you mean 'freeze'?"),
        ({"options": {"freeze": "maybe"}}, "option 'freeze': unknown value 'maybe'; known are 'false', 'true'"),
        ({"options": {"fallback": "errors"}}, "option 'fallback': unknown value 'errors'; did you mean 'error'?"),
        ({"options": {"freeze": 1.5}}, "option 'freeze': a float is no value for it; give a bool, a number or a text"),
        ({"options": {"mode": "fast"}}, "option 'mode': unknown value 'fast'; known are 'default', 'reduce-overhead', 'max-autotune', 'max-autotune-no-cudagraphs'"),
    ],
)
def test_bad_options(keywords, message):
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed) as raised:
        torch.compile(lambda x: x + 1, backend="codetta", **keywords)(torch.ones(3))
    inner = raised.value.inner_exception
    assert isinstance(inner, _codetta.UserError) and str(inner) == message
    assert torch.equal(compiled(lambda x: x + 1)(torch.ones(3)), torch.full((3,), 2.0))  # usable afterwards


@pytest.mark.parametrize("mode", ["default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"])
def test_modes(mode):
    x = torch.randn(4)
    assert torch.equal(torch.compile(lambda x: x * 2, backend="codetta", mode=mode)(x), x * 2)
    torch._dynamo.reset()
    assert torch.equal(compiled(lambda x: x * 2, mode=mode)(x), x * 2)


def test_the_package_does_not_import_torch():
    import subprocess
    import sys

    code = "import sys, codetta; assert 'torch' not in sys.modules; print(codetta.__version__)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "0.1.0"


# --- mutation and aliasing


def test_mutated_input():
    def f(x, y):
        x.mul_(2).add_(y)
        return x.sum()

    ours, eager, reports, _ = run_both(f, torch.randn(3, 4), torch.randn(4))
    torch.testing.assert_close(ours, eager)
    assert not islands_of(reports)


def test_inputs_that_swap():
    def f(a, b):
        c = a.clone()
        a.copy_(b * 2)
        b.copy_(c)
        return a + b

    ours, eager, reports, _ = run_both(f, torch.randn(5), torch.randn(5))
    torch.testing.assert_close(ours, eager)
    assert not islands_of(reports)


def test_flipped_into_itself():
    def f(a):
        a.copy_(a.flip(0))
        return a * 1

    ours, eager, _, _ = run_both(f, torch.randn(6, 3))
    torch.testing.assert_close(ours, eager)


def test_cache_is_written_in_place():
    def f(cache, position, value):
        cache.index_copy_(1, position, value)
        return cache.sum(-1)

    cache, position, value = torch.randn(2, 6, 3), torch.tensor([4]), torch.randn(2, 1, 3)
    ours, eager, reports, _ = run_both(f, cache, position, value)
    torch.testing.assert_close(ours, eager)
    text = str(reports[0].segments[0])
    assert "index_copy(" in text and "into %" in text and "clone" not in text


def test_slice_is_written_in_place():
    def f(x, y):
        x[:, 1:3] = y
        x[0] = 7
        return x * 2

    ours, eager, reports, _ = run_both(f, torch.randn(4, 5), torch.randn(4, 2))
    torch.testing.assert_close(ours, eager)
    assert not islands_of(reports)


def test_input_returned_is_the_very_object():
    x, y = torch.randn(3), torch.randn(3)
    out = compiled(lambda x, y: (x, x + y))(x, y)
    assert out[0] is x


def test_outputs_that_alias_each_other():
    def f(x):
        z = x * 2
        return z, z.t(), z[0], z[:, 1:]

    (z, zt, row, rest), eager, _, _ = run_both(f, torch.randn(3, 4))
    for ours, theirs in zip((z, zt, row, rest), eager):
        assert ours.stride() == theirs.stride() and ours.storage_offset() == theirs.storage_offset()
        torch.testing.assert_close(ours, theirs)
    z.fill_(5)
    assert zt.eq(5).all() and row.eq(5).all() and rest.eq(5).all()


def test_view_of_an_input():
    x = torch.randn(4, 6)
    out = compiled(lambda x: (x[1:3].t(), x.sum()))(x)[0]
    assert out.stride() == (1, 6) and out.data_ptr() == x.data_ptr() + 6 * 4
    x.zero_()
    assert out.eq(0).all()


def test_the_same_tensor_twice_as_output():
    y, z = compiled(lambda x: (lambda v: (v, v))(x + 1))(torch.ones(2))
    assert y is z


@pytest.mark.parametrize("make", [lambda: torch.randn(4, 6).t(), lambda: torch.randn(8, 12)[::2, 1::3], lambda: torch.randn(1, 6).expand(4, 6),
                                  lambda: torch.randn(30).as_strided((4, 6), (2, 1)), lambda: torch.randn(0, 6), lambda: torch.randn(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)])
def test_strided_inputs(make):
    def f(x):
        return x * 2 + 1, x.sum(-1), (x + 1).transpose(0, 1)

    x = make()
    with torch.no_grad():
        ours, eager, reference = compiled(f)(x), f(x), f(x.double())
    for a, b, c in zip(ours, eager, reference):
        check_tensor("output", a, b, c)


def test_misaligned_input():
    x = torch.randn(1 + 4 * 6)[1:].view(4, 6)
    torch.testing.assert_close(compiled(lambda x: x @ x.t())(x), x @ x.t())


# --- arguments at call time


def test_index_out_of_range():
    f = compiled(lambda w, i: F.embedding(i, w))
    w = torch.randn(5, 3)
    with pytest.raises(IndexError):
        f(w, torch.tensor([1, 7]))
    with pytest.raises(IndexError):
        f(w, torch.tensor([-1, 2]))
    assert torch.equal(f(w, torch.tensor([4, 0])), w[[4, 0]])


# --- dynamic sizes


def test_sizes_are_arguments():
    def f(x, y):
        n = x.shape[0]
        return (x.view(-1) * n, torch.arange(n), torch.cat([x, y]).sum(0), x.shape[0] * 2, x[n // 2 :], torch.full((n, 2), 1.5))

    fast = compiled(f, dynamic=True)
    with torch.no_grad(), collect_reports() as reports:
        for n in (4, 7, 9, 3):  # torch itself guards against n - n // 2 == 1
            x, y = torch.randn(n, 3), torch.randn(5, 3)
            for a, b in zip(fast(x, y), f(x, y)):
                assert a == b if isinstance(a, int) else a.dtype == b.dtype and a.stride() == b.stride()
                torch.testing.assert_close(a, b)
    assert len(reports) == 1 and not islands_of(reports)


def test_automatic_dynamic_recompiles_once():
    fast = compiled(lambda x: torch.softmax(x, -1) + x.shape[0])
    with collect_reports() as reports:
        for n in (3, 4, 5, 6, 7):
            x = torch.randn(n, 5)
            torch.testing.assert_close(fast(x), torch.softmax(x, -1) + n)
    assert len(reports) == 2


# --- islands


def test_island_between_segments():
    def f(x):
        y = torch.sort(x * 2, dim=-1)
        return y.values + 1, y.indices * 2, x.exp()

    ours, eager, reports, _ = run_both(f, torch.randn(3, 5))
    for a, b in zip(ours, eager):
        torch.testing.assert_close(a, b)
    assert islands_of(reports) == ["aten.sort.default"] and len(reports[0].segments) == 2
    assert "test_backend_semantics.py:" in str(reports[0].islands[0])


def test_island_with_dynamic_size():
    fast = compiled(lambda x: torch.sort(x.view(-1)).values * x.shape[0], dynamic=True)
    for n in (3, 6):
        x = torch.randn(n, 4)
        torch.testing.assert_close(fast(x), torch.sort(x.view(-1)).values * n)


def test_complex_runs_in_eager():
    ours, eager, reports, _ = run_both(lambda x: torch.fft.rfft(x * 2).abs() + 1, torch.randn(8))
    torch.testing.assert_close(ours, eager)
    assert "aten._fft_r2c.default" in islands_of(reports)


def test_random_numbers_keep_their_order():
    def f(x):
        a = torch.rand_like(x)
        b = torch.bernoulli(torch.full_like(x, 0.5))
        return a + 1, F.dropout(x, 0.5) * b

    x = torch.randn(4, 5)
    fast = compiled(f)
    fast(x)
    torch.manual_seed(7)
    ours = fast(x)
    torch.manual_seed(7)
    for a, b in zip(ours, f(x)):
        torch.testing.assert_close(a, b)


def test_fallback_error_names_op_and_line():
    def f(x):
        return torch.sort(x * 2).values

    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed) as raised:
        compiled(f, fallback="error")(torch.randn(4))
    message = str(raised.value.inner_exception)
    line = f.__code__.co_firstlineno + 1
    assert message == (
        f"aten.sort.default at test_backend_semantics.py:{line} cannot be compiled: Codetta does not know this operation; "
        'leave fallback="allow" to run it in eager'
    )


def test_fallback_error_sees_the_backward():
    def f(x):
        return torch.cummax(x * 2, 0).values.sum()

    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed):
        compiled(f, fallback="error")(torch.randn(4, requires_grad=True))


# --- training


def gradients(function, module, *inputs):
    module.zero_grad()
    function(*inputs).backward()
    return [p.grad.clone() for p in module.parameters()]


def test_training_step():
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.LayerNorm(8), torch.nn.GELU(), torch.nn.Linear(8, 4))
    x, y = torch.randn(5, 6), torch.randint(0, 4, (5,))

    def loss(x, y):
        return F.cross_entropy(module(x), y)

    with collect_reports() as reports:
        ours = gradients(compiled(loss), module, x, y)
    for a, b in zip(ours, gradients(loss, module, x, y)):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)
    assert [r.kind for r in reports] == ["forward", "backward"] and not islands_of(reports)


def test_training_with_batch_statistics_in_eager():
    module = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8))
    x = torch.randn(5, 6)

    def loss(x):
        return module(x).pow(2).sum() + module[1].running_mean.sum()

    ours = gradients(compiled(loss), module, x)
    module[1].reset_running_stats()
    module2 = gradients(loss, module, x)
    for a, b in zip(ours, module2):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def test_retain_graph_and_float_argument():
    x = torch.randn(4, requires_grad=True)
    fast = compiled(lambda x, s: (x.sin() * s).sum())
    for s in (0.5, 0.25, 3.0):
        y = fast(x, s)
        (a,) = torch.autograd.grad(y, x, retain_graph=True)
        (b,) = torch.autograd.grad(y, x)
        torch.testing.assert_close(a, x.cos() * s)
        torch.testing.assert_close(a, b)


# --- weights


def test_weights_changed_in_place_are_seen():
    module = torch.nn.Linear(4, 3)
    fast, x = compiled(module), torch.randn(2, 4)
    with torch.no_grad():
        fast(x)
        module.weight.data.mul_(2)
        torch.testing.assert_close(fast(x), module(x))
        module.weight = torch.nn.Parameter(torch.randn(3, 4))
        torch.testing.assert_close(fast(x), module(x))


def test_frozen_weights_are_marked_unless_written():
    module = torch.nn.Linear(4, 3)

    def f(x):
        module.bias.mul_(1.0)
        return module(x)

    with torch.no_grad(), collect_reports() as reports:
        compiled(f, freeze=True)(torch.randn(2, 4))
    text = str(reports[0].segments[0])
    assert text.count("parameter frozen") == 1 and text.count("parameter") == 2


# --- numbers beside tensors


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64], ids=["bf16", "f16", "f32", "f64"])
def test_a_number_is_compared_as_a_value_of_the_tensors_dtype(dtype):
    number = torch.tensor(0.3, dtype=dtype)
    x = torch.stack([number, -number, number * 2, number * 0.5])

    def f(x):
        return x > 0.3, x >= 0.3, x == 0.3, x != 0.3, x < 0.3, x <= 0.3, 0.3 < x

    for ours, eager in zip(compiled(f)(x), f(x)):
        assert torch.equal(ours, eager)
