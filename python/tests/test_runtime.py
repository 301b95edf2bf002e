"""Calls of compiled models under threads, forks, affinity and repetition: right, the same bits, and nothing left behind."""

from __future__ import annotations

import gc
import threading

import pytest
import torch
import torch.nn.functional as F

from codetta.accuracy import relative_error
from support.child import run_child
from support.engine import compiled
from support.models import MODELS


class Block(torch.nn.Module):
    """Products, rows, a gather: what runs on several threads and with temporaries."""

    def __init__(self, width: int = 64):
        super().__init__()
        self.table = torch.nn.Embedding(50, width)
        self.norm = torch.nn.LayerNorm(width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, tokens):
        x = self.table(tokens)
        return x + torch.softmax(self.down(F.gelu(self.up(self.norm(x)))), -1)


def tokens_of(length: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(0, 50, (2, length), generator=torch.Generator().manual_seed(seed))


def in_threads(count: int, work) -> None:
    """work(i) in `count` threads that start together; the first exception is raised here."""
    barrier, failures = threading.Barrier(count), []

    def run(i: int) -> None:
        barrier.wait()
        try:
            with torch.no_grad():
                work(i)
        except BaseException as failure:  # noqa: BLE001: told to the test
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


@pytest.mark.parametrize("freeze", [False, True], ids=["live", "frozen"])
def test_many_threads_call_one_model(freeze):
    model = Block().eval()
    fast = compiled(model, dynamic=True, freeze=freeze)
    with torch.no_grad():
        lengths = [5, 9, 17, 33, 64, 70]
        expected = {n: fast(tokens_of(n, n)) for n in lengths}
        for n in lengths:
            assert relative_error(expected[n], model(tokens_of(n, n))) < 1e-6

    def work(i: int) -> None:
        for round_ in range(40):
            n = lengths[(i + round_) % len(lengths)]
            assert torch.equal(fast(tokens_of(n, n)), expected[n]), f"thread {i}, length {n}"

    in_threads(6, work)


def test_a_failing_call_disturbs_no_other_thread():
    model = Block().eval()
    fast = compiled(model)
    good, bad = tokens_of(8), tokens_of(8).index_fill(1, torch.tensor([3]), 50)
    with torch.no_grad():
        expected = fast(good)

    def work(i: int) -> None:
        for _ in range(50):
            if i % 2:
                with pytest.raises(IndexError):
                    fast(bad)
            else:
                assert torch.equal(fast(good), expected)

    in_threads(4, work)


def test_earlier_results_stay():
    fast = compiled(Block().eval())
    with torch.no_grad():
        results = [fast(tokens_of(8, seed)) for seed in range(6)]
        copies = [r.clone() for r in results]
        for seed in range(6):
            fast(tokens_of(8, seed + 10))
    assert all(torch.equal(a, b) for a, b in zip(results, copies))
    assert len({r.data_ptr() for r in results}) == len(results)


def test_compiled_inside_an_operation_of_a_compiled_function():
    """The island calls another compiled function while the outer one is between its segments."""
    inner = compiled(lambda x: torch.softmax(x @ x.t(), -1))

    @torch.library.custom_op("codetta_tests::nested", mutates_args=())
    def nested(x: torch.Tensor) -> torch.Tensor:
        return inner(x).clone()

    nested.register_fake(lambda x: x.new_empty(x.shape[0], x.shape[0]))
    outer = compiled(lambda x: nested(x * 2) + 1)
    x = torch.randn(40, 16)
    with torch.no_grad():
        torch.testing.assert_close(outer(x), torch.softmax((2 * x) @ (2 * x).t(), -1) + 1)


def test_calls_inside_torchs_own_threads():
    """Backward hooks run on autograd's thread, in the middle of a backward."""
    seen = []
    double = compiled(lambda x: x * 2)
    x = torch.randn(64, 64, requires_grad=True)
    y = compiled(lambda x: (x @ x).sin())(x)
    y.register_hook(lambda gradient: seen.append(double(gradient)) or gradient)
    y.sum().backward()
    assert torch.equal(seen[0], torch.full((64, 64), 2.0))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["f32", "bf16"])
@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "t5"])
def test_the_same_bits_for_any_number_of_threads(name, dtype):
    tiny = MODELS[name]
    model = tiny.build(dtype)
    inputs = tiny.inputs(2, 31)
    before = torch.get_num_threads()
    for freeze in (False, True):
        torch._dynamo.reset()
        fast = compiled(model, freeze=freeze)
        results = []
        try:
            with torch.no_grad():
                for threads in (1, 2, 2, 3, 1):
                    torch.set_num_threads(threads)
                    results.append(next(iter(fast(**inputs).values())).clone())
        finally:
            torch.set_num_threads(before)
        assert all(torch.equal(r, results[0]) for r in results[1:])


def test_the_same_gradients_for_any_number_of_threads():
    model = Block()
    fast = compiled(model)
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 2):
            torch.set_num_threads(threads)
            model.zero_grad()
            fast(tokens_of(33)).pow(2).sum().backward()
            results.append([p.grad.clone() for p in model.parameters()])
    finally:
        torch.set_num_threads(before)
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other))


COUNT_THREADS = """
    import os, torch
    from support.engine import compiled
    def helpers():  # threads that Codetta started: named by it
        found = []
        for task in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{{task}}/comm") as file:
                if file.read().startswith("codetta"):
                    found.append(int(task))
        return found
    torch.set_num_threads({threads})
    f = compiled(lambda x, w: torch.relu(x @ w))
    x, w = torch.randn(256, 256), torch.randn(256, 256)
    with torch.no_grad():
        for _ in range(20):
            assert torch.allclose(f(x, w), torch.relu(x @ w), atol=1e-3)
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_torchs_number_of_threads_is_respected(threads):
    out = run_child(COUNT_THREADS.format(threads=threads) + "    print(len(helpers()))\n")
    assert int(out) == threads - 1


def test_threads_option_goes_before_torchs_number():
    code = COUNT_THREADS.replace("compiled(lambda x, w: torch.relu(x @ w))", "compiled(lambda x, w: torch.relu(x @ w), threads=1)")
    assert int(run_child(code.format(threads=2) + "    print(len(helpers()))\n")) == 0


def test_affinity_is_respected():
    """Threads stay on the processors that the process is allowed to use, and one processor means no helper by default."""
    code = "    import os\n    core = min(os.sched_getaffinity(0))\n    os.sched_setaffinity(0, {{core}})\n" + COUNT_THREADS + """
    print(all(os.sched_getaffinity(int(task)) == {{core}} for task in os.listdir("/proc/self/task")))
"""
    assert run_child(code.format(threads=2)).strip() == "True"


def test_a_forked_child_can_call_and_compile():
    out = run_child("""
        import os, torch
        from support.engine import compiled
        torch.set_num_threads(2)
        model = torch.nn.Sequential(torch.nn.Linear(128, 256), torch.nn.GELU(), torch.nn.Linear(256, 128)).eval()
        x = torch.randn(64, 128)
        frozen, live = compiled(model, freeze=True), compiled(model)
        with torch.no_grad():
            expected = [frozen(x), live(x)]
            for round_ in range(3):
                child = os.fork()
                if child == 0:
                    torch.set_num_threads(1)  # torch's own OpenMP threads do not survive a fork
                    good = torch.equal(frozen(x), expected[0]) and torch.equal(live(x), expected[1])
                    good = good and torch.equal(compiled(lambda x: x * 2 + 1)(x), x * 2 + 1)
                    os._exit(0 if good else 1)
                _, status = os.waitpid(child, 0)
                print(status)
            print(torch.equal(frozen(x), expected[0]) and torch.equal(live(x), expected[1]))
    """)
    assert out.split() == ["0", "0", "0", "True"]


def test_a_child_forked_while_others_call():
    """The child calls a function of its own: Dynamo's guards of a function are locked by whoever calls it, and a forked child finds them so."""
    out = run_child("""
        import os, threading, torch
        from support.engine import compiled
        f = compiled(lambda x, w: torch.softmax(x @ w, -1))
        g = compiled(lambda x, w: torch.softmax(x @ w + 1, -1))
        x, w = torch.randn(128, 128), torch.randn(128, 128)
        with torch.no_grad():
            f(x, w)
            expected = g(x, w)
            stop = threading.Event()
            def caller():
                with torch.no_grad():
                    while not stop.is_set():
                        f(x, w)
            threads = [threading.Thread(target=caller) for _ in range(3)]
            for t in threads: t.start()
            codes = []
            for _ in range(10):
                child = os.fork()
                if child == 0:
                    os._exit(0 if torch.equal(g(x, w), expected) else 1)
                codes.append(os.waitpid(child, 0)[1])
            stop.set()
            for t in threads: t.join()
        print(codes)
    """)
    assert out.strip() == str([0] * 10)


GROWTH = """
    import gc, os, torch
    from support.engine import compiled
    def resident_kib():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 64), torch.nn.LayerNorm(64)).eval()
    f = compiled(model, dynamic=True, freeze={freeze})
    def calls(count):
        with torch.no_grad():
            for i in range(count):
                f(torch.randn(2 + i % {lengths}, 64))
    calls(800)
    gc.collect()
    before = resident_kib()
    calls(3000)
    gc.collect()
    print(resident_kib() - before)
"""


@pytest.mark.parametrize("lengths", [1, 600], ids=["one length", "600 lengths"])
@pytest.mark.parametrize("freeze", [False, True], ids=["live", "frozen"])
def test_no_memory_grows_with_calls(freeze, lengths):
    """3000 calls; the sizes that are remembered are bounded. 1 KiB lost per call would be 3000."""
    grown_kib = int(run_child(GROWTH.format(freeze=freeze, lengths=lengths)))
    assert grown_kib < 1200


def test_arguments_and_results_are_not_kept():
    import weakref

    fast = compiled(Block().eval())
    with torch.no_grad():
        tokens = tokens_of(8)
        fast(tokens)
        result = fast(tokens)
        references = [weakref.ref(result), weakref.ref(tokens)]
        del result, tokens
        gc.collect()
    assert [r() for r in references] == [None, None]
