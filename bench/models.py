"""Transformers end to end: every rival, frozen and not, static and dynamic sizes; compile time, per-call cost, a busy core."""

from __future__ import annotations

import argparse
import copy
import os
import statistics
import subprocess
import sys

import torch
import transformers

from harness.case import DTYPES, Workload

LLAMA = {
    "vocab_size": 32000, "hidden_size": 1024, "intermediate_size": 2816, "num_hidden_layers": 8, "num_attention_heads": 16, "num_key_value_heads": 4,
    "max_position_embeddings": 1024,
}
MINILM = {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536}
MODELS = {  # name: (config, class, its arguments, batch, length)
    "minilm 1x128": (transformers.BertConfig, transformers.BertModel, MINILM, 1, 128),
    "minilm 8x64": (transformers.BertConfig, transformers.BertModel, MINILM, 8, 64),
    "bert-base 1x128": (transformers.BertConfig, transformers.BertModel, {}, 1, 128),
    "gpt2 1x256": (transformers.GPT2Config, transformers.GPT2LMHeadModel, {}, 1, 256),
    "llama 1x256": (transformers.LlamaConfig, transformers.LlamaForCausalLM, LLAMA, 1, 256),
    "llama decode": (transformers.LlamaConfig, transformers.LlamaForCausalLM, LLAMA, 1, 1),
}
CONTEXT, CACHE = 128, 256  # tokens before the decode step; length of its static cache
BARS = {("f32", "frozen"): 1.15, ("bf16", "frozen"): 1.4, ("f32", "unfrozen"): 1.2, ("bf16", "unfrozen"): 1.5}
WORST, DYNAMIC_BAR, COMPILE_BAR_S, CALL_BAR_US, BUSY_BAR = 1.0, 1.05, 1.5, 5.0, 2.2


class Encoder(torch.nn.Module):
    def __init__(self, model: torch.nn.Module):
        super().__init__()
        self.model = model

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=tokens, attention_mask=mask).last_hidden_state


class Prefill(torch.nn.Module):
    def __init__(self, model: torch.nn.Module):
        super().__init__()
        self.model = model

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=tokens, use_cache=False).logits


class Decode(torch.nn.Module):
    """The token after CONTEXT others, whose keys and values lie in a static cache. Each call writes the same place again."""

    def __init__(self, model: torch.nn.Module, context: torch.Tensor):
        super().__init__()
        self.model = model
        self.cache = transformers.StaticCache(config=model.config, max_cache_len=CACHE)
        with torch.no_grad():
            model(input_ids=context, past_key_values=self.cache, position_ids=torch.arange(CONTEXT)[None], use_cache=True)

    def forward(self, token: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        for layer in self.cache.layers:  # a cache counts its tokens in place
            layer.cumulative_length.fill_(CONTEXT)
        return self.model(input_ids=token, past_key_values=self.cache, position_ids=position, use_cache=True).logits

    def exact(self) -> Decode:
        twin = copy.deepcopy(self).double()
        for layer in twin.cache.layers:
            layer.keys, layer.values = layer.keys.double(), layer.values.double()
        return twin


class TinyKernels(torch.nn.Module):
    """Four kernels on tiny tensors: products and row reductions that cannot become one."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(2):
            x = torch.softmax(x @ x, -1) @ x
        return x


def case_of(dtype: str, model: str) -> dict:
    return {"module": "models", "name": f"{dtype} {model}", "dtype": dtype, "model": model}


def make(case: dict) -> Workload:
    if case["model"] == "tiny":
        return Workload(TinyKernels(), (torch.randn(4, 4),))
    config, kind, arguments, batch, length = MODELS[case["model"]]
    model = kind(config(**arguments)).eval()
    with torch.no_grad():  # as large as trained ones, so that every part matters
        for name, p in model.named_parameters():
            if p.dim() >= 2:
                p.normal_(std=p.shape[-1] ** -0.5 if "embed" not in name and "wte" not in name and "wpe" not in name else 1.0)
    model = model.to(DTYPES[case["dtype"]])
    tokens = torch.randint(2, model.config.vocab_size, (batch, length))
    if "decode" in case["model"]:
        step = Decode(model, torch.randint(2, model.config.vocab_size, (1, CONTEXT)))
        return Workload(step, (tokens, torch.tensor([[CONTEXT]])), exact=Decode.exact)
    if kind is not transformers.BertModel:
        return Workload(Prefill(model), (tokens,))
    mask = torch.ones(batch, length, dtype=torch.int64)
    if batch > 1:
        mask[1, length - length // 3 :] = 0
    return Workload(Encoder(model), (tokens, mask))


def work_of(case: dict) -> tuple[float, float] | None:
    """Products with weights and attention; every weight once (embeddings: the rows read)."""
    if case["model"] not in MODELS:
        return None
    config, kind, arguments, batch, length = MODELS[case["model"]]
    with torch.device("meta"):
        model = kind(config(**arguments))
    tables = {id(m.weight) for m in model.modules() if isinstance(m, torch.nn.Embedding)}
    head = model.get_output_embeddings() if kind is not transformers.BertModel else None
    weights = sum(p.numel() for p in model.parameters() if p.dim() == 2 and (id(p) not in tables))
    if head is not None and id(head.weight) in tables:
        weights += head.weight.numel()
    if kind is transformers.BertModel:
        pooler = model.config.hidden_size**2
        weights -= pooler  # reads one row, and its result is not asked for
    context = CONTEXT + 1 if "decode" in case["model"] else length
    attention = 4.0 * batch * length * context * model.config.hidden_size * model.config.num_hidden_layers
    return 2.0 * batch * length * weights + attention, weights * (4 if case["dtype"] == "f32" else 2)


# --- rows that are no race


def compile_time(session, dtype: str, rounds: int = 3) -> None:
    """BERT-base in fresh processes: from our compiler's entry to its return."""
    from harness.rivals import Race

    times = []
    for _ in range(rounds):
        with Race(["codetta"], session.setup) as race:
            row = race.run(case_of(dtype, "bert-base 1x128"), ["codetta"])
        if "compile_s" not in row.facts.get("codetta", {}):
            return session.verdict(f"FAIL  compile time {dtype}: {row.missing.get('codetta')}")
        times.append(row.facts["codetta"]["compile_s"])
    got = statistics.median(times)
    session.verdict(f"{'pass' if got <= COMPILE_BAR_S else 'FAIL'}  compile bert-base {dtype}: {got:.2f} s, asked {COMPILE_BAR_S}")


def call_cost(session) -> None:
    """Over a backend that returns preallocated outputs."""
    row = session.run([{"module": "models", "name": "f32 tiny", "dtype": "f32", "model": "tiny"}], ["codetta", "preallocated"], work_of)[0]
    if not {"codetta", "preallocated"} <= row.seconds.keys():
        return session.verdict(f"FAIL  per-call cost: {row.missing}")
    cost, launches = 1e6 * (row.seconds["codetta"] - row.seconds["preallocated"]), row.facts["codetta"]["launches"]
    session.verdict(f"{'pass' if cost <= CALL_BAR_US else 'FAIL'}  per-call cost of {launches} kernels: {cost:.1f} us, asked {CALL_BAR_US}")


def busy_core(session) -> None:
    """MiniLM while another process spins on one of the bench's cores."""
    quiet = session.run([case_of("f32", "minilm 1x128")], ["codetta", "eager"], work_of)[0]
    command = ["taskset", "-c", str(session.setup.cores[-1]), sys.executable, "-c", "while True: pass"]
    spinner = subprocess.Popen(command)
    try:
        case = {**case_of("f32", "minilm 1x128"), "name": "f32 minilm 1x128, busy core"}
        busy = session.run([case], ["codetta", "eager"], work_of)[0]
    finally:
        spinner.kill()
        spinner.wait()
    for name in ("codetta", "eager"):
        slower = busy.seconds[name] / quiet.seconds[name]
        if name == "codetta":
            session.verdict(f"{'pass' if slower <= BUSY_BAR else 'FAIL'}  busy core: {slower:.2f} times the time, asked {BUSY_BAR}")
        else:
            print(f"      (eager: {slower:.2f})")


def judge(session, runs: list[list]) -> None:
    from harness.report import Bar

    for group, (ours, rivals) in session.groups.items():
        for dtype in DTYPES:
            mine = [[r for r in rows if r.case["dtype"] == dtype] for rows in runs]
            session.verdict(Bar(f"models {dtype} {group}", BARS[dtype, group], WORST).judge(mine, ours, rivals))
            shares: dict[str, list[float]] = {}
            for row in (r for rows in mine for r in rows if {ours, f"{ours}-dynamic"} <= r.seconds.keys()):
                shares.setdefault(row.case["name"], []).append(row.seconds[f"{ours}-dynamic"] / row.seconds[ours])
            for name, got in shares.items():
                figures = "/".join(f"{g:.3f}" for g in got)
                session.verdict(f"{'pass' if min(got) <= DYNAMIC_BAR else 'FAIL'}  dynamic {name} {group}: {figures} of static, asked {DYNAMIC_BAR}")


def main() -> int:
    from harness.session import Session, add_options

    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--static", action="store_true", help="leave the dynamic twins out")
    parser.add_argument("--extras", default="compile,call,busy", help="the rows that are no race")
    options = parser.parse_args()
    session = Session("models", options)
    dtypes, extras = options.dtypes.split(","), options.extras.split(",")
    dynamic = () if options.static else tuple(f"{ours}-dynamic" for ours, _ in session.groups.values())
    cases = [case_of(d, m) for m in options.models.split(",") for d in dtypes]
    rows = session.run(cases, session.engines(dynamic), work_of)
    session.print_tables(rows, dynamic)
    judge(session, [rows])
    if "compile" in extras:
        compile_time(session, dtypes[0])
    if "call" in extras:
        call_cost(session)
    if "busy" in extras:
        busy_core(session)
    return session.finish()


if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    sys.exit(main())
