"""CTC of more classes, states and steps than a block has threads gives what the CPU gives."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx

from .device import races

ROUNDING = {"float32": 2e-5, "float64": 1e-12, "float16": 2e-3, "bfloat16": 2e-2}
LENGTHS = {"use_data_lengths": True, "use_label_lengths": True}


def losses(context, dtype, arrays, attrs):
    """Losses, and the gradient of the data, added to ones."""
    data, *rest = arrays
    data = mx.nd.array(data, context, dtype)
    data.attach_grad("add")
    data.grad[:] = 1
    with mx.autograd.record():
        loss = mx.nd.CTCLoss(data, *[mx.nd.array(x, context, "int32") for x in rest], **attrs)
    loss.backward(mx.nd.array(np.arange(len(loss)) / 4 + 1, context, dtype))
    return [x.astype("float64").asnumpy() for x in (loss, data.grad)]


@pytest.mark.parametrize("dtype", list(ROUNDING))
@pytest.mark.parametrize("blank", ["first", "last"])
def test_ctc(dtype, blank):
    steps, batch, classes, labels = 90, 3, 300, 41
    random = np.random.default_rng(2)
    data = random.standard_normal((steps, batch, classes))
    # Few different ones, so that neighbours are equal; the last sequence has too few steps.
    label = random.integers(1, 4, (batch, labels))
    lengths = np.array([steps, 60, 2]), np.array([labels, 30, labels])
    for attrs, arrays in (({}, ()), (LENGTHS, lengths)):
        given = (data, label, *arrays), {**attrs, "blank_label": blank}
        found, expected = (losses(c, dtype, *given) for c in (mx.gpu(0), mx.cpu()))
        for a, b in zip(found, expected, strict=True):
            scale = np.abs(b).max()
            np.testing.assert_allclose(a, b, rtol=0, atol=ROUNDING[dtype] * scale)
    assert races() == ""


def test_what_there_cannot_be():
    """Kernels cannot raise: the nearest labels and lengths are taken."""
    data = np.random.default_rng(3).standard_normal((5, 2, 4))
    wrong = [[9, 2], [-7, 1]], [99, -1], [5, -2]
    right = [[3, 2], [0, 1]], [5, 0], [2, 0]
    found, expected = (losses(mx.gpu(0), "float32", (data, *x), LENGTHS) for x in (wrong, right))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)
