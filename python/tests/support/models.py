"""Tiny configurations of real transformers: 2 layers, hidden size 64, weights scaled by fan-in so that every part matters."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Callable

import torch
import transformers

VOCABULARY = 97


@dataclass
class TinyModel:
    name: str
    make: Callable[[], torch.nn.Module]
    padding: bool = True  # takes an attention mask with real padding
    decoder: bool = False
    keywords: dict = field(default_factory=dict)

    def build(self, dtype: torch.dtype = torch.float32) -> torch.nn.Module:
        torch.manual_seed(0)
        model = self.make().eval()
        with torch.no_grad():
            for name, p in model.named_parameters():
                if p.dim() >= 2:
                    p.normal_(std=p.shape[-1] ** -0.5 if "embed" not in name and "wte" not in name and "wpe" not in name else 1.0)
                elif name.endswith("bias"):
                    p.normal_(std=0.1)
                else:
                    p.normal_(mean=1.0, std=0.1)
        return model.to(dtype)

    def inputs(self, batch: int, length: int, seed: int = 1) -> dict[str, torch.Tensor]:
        generator = torch.Generator().manual_seed(seed)
        tokens = torch.randint(2, VOCABULARY, (batch, length), generator=generator)
        inputs = {"input_ids": tokens}
        if self.padding:
            mask = torch.ones(batch, length, dtype=torch.int64)
            if batch > 1:
                mask[1, length - max(1, length // 3) :] = 0
            inputs["attention_mask"] = mask
        return inputs


def reference_of(model: torch.nn.Module) -> torch.nn.Module:
    """The same model in fp64."""
    return copy.deepcopy(model).double()


def _decoder(config_class, model_class, **keywords):
    return lambda: model_class(config_class(vocab_size=VOCABULARY, hidden_size=64, num_hidden_layers=2, max_position_embeddings=512, **keywords))


_LLAMA = {"intermediate_size": 96, "num_attention_heads": 4, "num_key_value_heads": 2}

MODELS = {
    m.name: m
    for m in [
        TinyModel("bert", _decoder(transformers.BertConfig, transformers.BertModel, intermediate_size=128, num_attention_heads=4)),
        TinyModel(
            "distilbert",
            lambda: transformers.DistilBertModel(
                transformers.DistilBertConfig(vocab_size=VOCABULARY, dim=64, n_layers=2, n_heads=4, hidden_dim=128, max_position_embeddings=64)
            ),
        ),
        TinyModel(
            "gpt2",
            lambda: transformers.GPT2LMHeadModel(
                transformers.GPT2Config(vocab_size=VOCABULARY, n_embd=64, n_layer=2, n_head=4, n_positions=512)
            ),
            decoder=True,
        ),
        TinyModel(
            "opt",
            _decoder(transformers.OPTConfig, transformers.OPTModel, ffn_dim=128, num_attention_heads=4, word_embed_proj_dim=64),
            decoder=True,
        ),
        TinyModel("llama", _decoder(transformers.LlamaConfig, transformers.LlamaForCausalLM, **_LLAMA), decoder=True),
        TinyModel("qwen3", _decoder(transformers.Qwen3Config, transformers.Qwen3ForCausalLM, head_dim=16, **_LLAMA), decoder=True),
        TinyModel(
            "t5",
            lambda: transformers.T5EncoderModel(
                transformers.T5Config(vocab_size=VOCABULARY, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4)
            ),
        ),
    ]
}
