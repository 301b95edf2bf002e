"""Which ATen operations AOT may take apart before we see them: those that Codetta has no row for."""

from __future__ import annotations

import functools

import torch

from codetta import _codetta

# Left whole although there is no row: in eager one operation is better than its parts, or the parts mean the same op again and again.
_KEPT_WHOLE = {
    "aten._scaled_dot_product_flash_attention_for_cpu.default",
    "aten._scaled_dot_product_flash_attention_for_cpu_backward.default",
    "aten.native_layer_norm_backward.default",
    "aten.native_group_norm_backward.default",
    "aten.native_batch_norm_backward.default",
    "aten.embedding_dense_backward.default",
    "aten.index_add.default",
    "aten.index_put.default",
    "aten.select_scatter.default",
    "aten.slice_scatter.default",
    "aten.upsample_bilinear2d.vec",
    "aten.upsample_nearest2d.vec",
    "aten.upsample_bicubic2d.vec",
    "aten.unfold_backward.default",
}


# Core ATen keeps these whole; their parts are all operations that Codetta has rows for.
_TAKEN_APART = [torch.ops.aten.linalg_vector_norm.default]


@functools.cache
def decomposition_table() -> dict:
    known = set(_codetta.known_targets()) | _KEPT_WHOLE
    table = {**torch._decomp.core_aten_decompositions(), **torch._decomp.get_decompositions(_TAKEN_APART)}
    return {op: function for op, function in table.items() if str(op) not in known}
