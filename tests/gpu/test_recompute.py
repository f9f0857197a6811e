"""What is computed again on a GPU is what was kept."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx

from .device import races

GPU = mx.gpu(0)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_batch_norm(dtype, monkeypatch):
    monkeypatch.setenv("FERROMIX_GPU_FALLBACK_LOG", "1")
    found = []
    for attr in (None, {"__force_mirroring__": "1"}):
        x = mx.sym.sin(mx.sym.Variable("x"))
        x = mx.sym.BatchNorm(x, fix_gamma=False, name="bn", attr=attr)
        executor = mx.sym.square(x).simple_bind(GPU, x=(4, 3, 5, 2), type_dict={"x": dtype})
        numbers = np.random.default_rng(2)
        for array in executor.arg_dict.values():
            array[:] = mx.nd.array(numbers.uniform(0.5, 1, array.shape), GPU)
        executor.forward(is_train=True)
        executor.backward(mx.nd.ones((4, 3, 5, 2), GPU, dtype=dtype))
        grads = executor.grad_dict.values()
        found.append([g.astype("float64").asnumpy() for g in (*executor.outputs, *grads)])
    for pair in zip(*found, strict=True):
        np.testing.assert_allclose(*pair, rtol=1e-6)
    assert races() == ""
