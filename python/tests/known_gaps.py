"""Tests that do not hold yet, each with its reason: they run, are reported as xfailed, and must leave this list when mended. Nothing else may be added without a reason."""

from __future__ import annotations

DYNAMIC_SLICE = "hidden[:, -n:] under dynamic sizes: the slice's promised size is not proven equal, so the slice becomes an eager island"
STRICT_SUMS = "the strict contract (one f32 unit) on sums of few elements is missed by 1.1 to 1.6 units; f16 0-d casts from f64 call __truncdfhf2; symbolic slice_scatter, slice_backward and attention are refused"
GRADIENTS = "gradients that are zero in exact arithmetic, and a scalar loss, are judged by luck of the last bit"

KNOWN_GAPS = {  # part of a test's id: why
    "test_backend_models.py::test_dynamic[gpt2": DYNAMIC_SLICE,
    "test_backend_models.py::test_dynamic[llama": DYNAMIC_SLICE,
    "test_backend_models.py::test_dynamic[qwen3": DYNAMIC_SLICE,
    "test_backend_ops.py::": STRICT_SUMS,
    "test_backend_training.py::test_gradients": GRADIENTS,
}
