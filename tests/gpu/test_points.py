"""The likelihood of points in time on a GPU."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import IndexOutOfBoundsError

from .device import races

GPU = mx.gpu(0)
N, K, T = 5, 3, 40


def found(ctx, marks):
    """The outputs, and the gradients of the first one."""
    numbers = np.random.default_rng(4)
    shapes = (N, K), (K,), (K,), (N, K), (N, T)
    arrays = [mx.nd.array(numbers.uniform(0.1, 1, s), ctx=ctx) for s in shapes]
    for array in arrays[:3]:
        array.attach_grad()
    valid = mx.nd.array([T, 7.9, 0, np.nan, 1e9], ctx=ctx)
    points = mx.nd.array(marks, ctx=ctx, dtype="int32"), valid, mx.nd.full((N,), 25, ctx=ctx)
    with mx.autograd.record():
        outs = mx.nd.contrib.hawkesll(*arrays, *points)
    outs[0].backward(mx.nd.arange(1, N + 1, ctx=ctx))
    return [x.asnumpy() for x in (*outs, *(array.grad for array in arrays[:3]))]


def test_points_are_those_of_the_cpu(monkeypatch):
    monkeypatch.setenv("FERROMIX_GPU_FALLBACK_LOG", "1")
    marks = np.random.default_rng(1).integers(0, K, (N, T))
    for mine, expected in zip(found(GPU, marks), found(mx.cpu(), marks), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-4, atol=1e-4)
    assert races() == ""


@pytest.mark.parametrize("mark", [K, -1])
def test_a_mark_that_is_no_kind(mark):
    marks = np.random.default_rng(1).integers(0, K, (N, T))
    marks[1, 5] = mark
    # The operator refuses it, and so does its gradient.
    for go in (lambda: found(GPU, marks), mx.nd.waitall):
        with pytest.raises(IndexOutOfBoundsError, match=f"mark {mark} of a sequence"):
            go()
