"""CTC of more classes, states and steps than a block has threads gives what the CPU gives."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import IndexOutOfBoundsError

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


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (([[3, 2], [-7, 1]], [5, 4], [2, 2]), "label -7"),
        (([[3, 2], [0, 1]], [99, 4], [2, 2]), "data_lengths has a length of 99"),
        (([[3, 2], [0, 1]], [5, 4], [2, -2]), "label_lengths has a length of -2"),
    ],
)
def test_what_there_cannot_be(wrong, words):
    data = np.random.default_rng(3).standard_normal((5, 2, 4))
    with pytest.raises(IndexOutOfBoundsError, match=words):
        losses(mx.gpu(0), "float32", (data, *wrong), LENGTHS)
    mx.nd.waitall()
