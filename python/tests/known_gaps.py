"""Tests that do not hold yet, by their exact id, each with its reason. They run and must fail: one that passes has to leave this list. Nothing else may be added without a reason."""

from __future__ import annotations

GRADIENTS = "gradients that are zero in exact arithmetic are judged by luck of the last bit"


KNOWN_GAPS = {  # the end of a test's id: why
    "test_backend_training.py::test_gradients[gpt2-f32]": GRADIENTS,
}
