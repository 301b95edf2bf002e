"""Linear layers with what stands before and after them, against every rival, with the bars of the first milestone."""

from __future__ import annotations

import argparse
import random
import sys

import torch
import torch.nn.functional as F

from harness.case import DTYPES, Workload

SHAPES = [  # M, N, K
    (128, 3072, 768), (512, 3072, 768), (1024, 512, 256), (512, 512, 512), (1024, 1024, 1024), (128, 768, 3072), (16, 4096, 1024), (1, 4096, 4096),
    (100, 1000, 333),
]
BARS = {("f32", "frozen"): 1.05, ("bf16", "frozen"): 1.5, ("f32", "unfrozen"): 1.05, ("bf16", "unfrozen"): 1.3}
WORST_MEAN, WORST_ROW, RANDOM_BAR = 0.97, 0.9, 1.0


class Linear(torch.nn.Module):
    """One of EPILOGUES around a product of M x K by K x N."""

    def __init__(self, n: int, k: int, epilogue: str):
        super().__init__()
        self.epilogue = epilogue
        self.weight = torch.nn.Parameter(torch.randn(n, k) / k**0.5)
        self.bias = torch.nn.Parameter(torch.randn(n)) if epilogue not in ("none", "swiglu") else None
        self.gate = torch.nn.Parameter(torch.randn(n, k) / k**0.5) if epilogue == "swiglu" else None
        self.norm = torch.nn.LayerNorm(k) if epilogue == "layernorm" else None

    def forward(self, x: torch.Tensor, residual: torch.Tensor | None = None) -> torch.Tensor:
        if self.norm is not None:
            x = self.norm(x)
        y = F.linear(x, self.weight, self.bias)
        match self.epilogue:
            case "gelu":
                return F.gelu(y)
            case "relu":
                return F.relu(y)
            case "residual":
                return y + residual
            case "swiglu":
                return F.silu(y) * F.linear(x, self.gate)
            case "softmax":
                return torch.softmax(y, -1)
        return y


EPILOGUES = ("none", "bias", "gelu", "relu", "residual", "swiglu", "layernorm", "softmax")


def case_of(dtype: str, shape: tuple[int, int, int], epilogue: str) -> dict:
    m, n, k = shape
    return {"module": "linear", "name": f"{dtype} {m}x{n}x{k} {epilogue}", "dtype": dtype, "m": m, "n": n, "k": k, "epilogue": epilogue}


def make(case: dict) -> Workload:
    dtype = DTYPES[case["dtype"]]
    inputs = [torch.randn(case["m"], case["k"]).to(dtype)]
    if case["epilogue"] == "residual":
        inputs.append(torch.randn(case["m"], case["n"]).to(dtype))
    return Workload(Linear(case["n"], case["k"], case["epilogue"]).eval().to(dtype), tuple(inputs))


def work_of(case: dict) -> tuple[float, float]:
    """Multiply-adds as two operations each; every operand once."""
    m, n, k = case["m"], case["n"], case["k"]
    products = 2 if case["epilogue"] == "swiglu" else 1
    results = 2 if case["epilogue"] == "residual" else 1
    return 2.0 * products * m * n * k, (m * k + products * n * k + results * m * n) * (4 if case["dtype"] == "f32" else 2)


def random_cases(count: int, seed: int) -> list[dict]:
    """Shapes nobody tuned for: log-uniform sizes, any epilogue, f32."""
    made, source = [], random.Random(seed)
    for _ in range(count):
        m, n, k = (int(2 ** source.uniform(low, high)) for low, high in ((0, 10), (5, 12), (5, 12)))
        made.append({**case_of("f32", (m, n, k), source.choice(EPILOGUES)), "random": True})
    return made


def judge(session, runs: list[list]) -> None:
    from harness.report import Bar

    def those(wanted) -> list[list]:
        return [[r for r in rows if wanted(r.case)] for rows in runs]

    for group, (ours, rivals) in session.groups.items():
        for dtype in DTYPES:
            name = f"linear {dtype} {group}"
            listed = lambda c, d=dtype: c["dtype"] == d and not c.get("random")  # noqa: E731
            session.verdict(Bar(name, BARS[dtype, group], WORST_ROW).judge(those(listed), ours, rivals))
            for shape in SHAPES:
                part = those(lambda c: listed(c) and (c["m"], c["n"], c["k"]) == shape)
                session.verdict(Bar(f"{name} {'x'.join(map(str, shape))}", WORST_MEAN).judge(part, ours, rivals))
            for epilogue in EPILOGUES:
                session.verdict(Bar(f"{name} {epilogue}", WORST_MEAN).judge(those(lambda c: listed(c) and c["epilogue"] == epilogue), ours, rivals))
        session.verdict(Bar(f"linear f32 {group}, random shapes", RANDOM_BAR).judge(those(lambda c: c.get("random")), ours, rivals))


def main() -> int:
    from harness.session import Session, add_options

    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser)
    parser.add_argument("--epilogues", default=",".join(EPILOGUES))
    parser.add_argument("--random", type=int, default=0, metavar="N", help="that many seeded random f32 shapes as well (20 for the bar)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    session = Session("linear", options)
    dtypes, epilogues = options.dtypes.split(","), options.epilogues.split(",")
    cases = [case_of(d, s, e) for e in epilogues for d in dtypes for s in SHAPES] + random_cases(options.random, options.seed)
    rows = session.run(cases, session.engines(), work_of)
    session.print_tables(rows)
    judge(session, [rows])
    return session.finish()


if __name__ == "__main__":
    sys.exit(main())
