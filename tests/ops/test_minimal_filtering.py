"""Float32 convolutions of 3 by 3 by Winograd's minimal filtering, and the switch against it."""

import numpy as np
import pytest

import ferromix as mx

SETTINGS = {"kernel": (3, 3), "pad": (1, 1), "num_filter": 64}


def convolved(batch, dtype):
    """Result and gradient of one image, of which there are `batch`: kernels are kept by shapes."""
    random = np.random.default_rng(11)

    def draw(*shape):
        return mx.nd.array(random.uniform(-1, 1, shape), dtype=dtype)

    image, weight, bias, head = draw(64, 30, 29), draw(64, 64, 3, 3), draw(64), draw(64, 30, 29)
    data = mx.nd.stack(*[image] * batch)
    data.attach_grad()
    with mx.autograd.record():
        out = mx.nd.Convolution(data, weight, bias, **SETTINGS)
    out.backward(mx.nd.stack(*[head] * batch))
    return out.asnumpy()[0], data.grad.asnumpy()[0]


def test_the_switch_gives_the_sums_of_the_definition(monkeypatch):
    if mx.current_context() != mx.cpu():
        pytest.skip("kernels of the CPU filter so")
    monkeypatch.setenv("FERROMIX_WINOGRAD", "0")
    exact, plain = convolved(2, "float64"), convolved(2, "float32")
    monkeypatch.setenv("FERROMIX_WINOGRAD", "1")
    filtered = convolved(3, "float32")
    for want, usual, found in zip(exact, plain, filtered, strict=True):
        most = np.abs(want).max()
        assert np.abs(usual - want).max() < 2e-6 * most
        assert np.abs(found - want).max() < 3e-5 * most
        assert not np.array_equal(usual, found)
