"""Layers in bound graphs: states that are left alone, and memory that is shared."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx


def test_frozen_layers_keep_their_statistics():
    net = mx.sym.BatchNorm(mx.sym.Variable("data"), name="frozen")
    net = mx.sym.FullyConnected(net, num_hidden=2, name="fc")
    net = mx.sym.BatchNorm(net, name="bn")
    requests = {"data": "null", "frozen_gamma": "null", "frozen_beta": "null"}
    requests |= dict.fromkeys(("fc_weight", "fc_bias", "bn_gamma", "bn_beta"), "write")
    executor = net.simple_bind(mx.cpu(), data=(4, 3), grad_req=requests)
    executor.arg_dict["fc_weight"][:] = 1
    executor.arg_dict["fc_bias"][:] = 1
    data = np.random.default_rng(0).standard_normal((4, 3))
    executor.forward(is_train=True, data=data)
    executor.backward(mx.nd.ones((4, 2)))
    states = {name: array.asnumpy() for name, array in executor.aux_dict.items()}
    assert not states["frozen_moving_mean"].any()
    assert not states["frozen_moving_var"].any()
    # Normalized data sum to 0, so that the mean behind the layer is its bias.
    np.testing.assert_allclose(states["bn_moving_mean"], [0.1, 0.1], rtol=1e-5)


@pytest.mark.parametrize(
    ("kernel", "stride", "pad"), [(3, 2, 1), (3, 1, 1), (7, 1, 1), (3, 3, 2)], ids=str
)
def test_grouped_convolutions_do_not_write_over_what_others_read(kernel, stride, pad):
    """With a reader behind them, so that the plan may put what they give into their input."""
    window = {"kernel": (kernel,) * 2, "stride": (stride,) * 2, "pad": (pad,) * 2}
    window |= {"num_filter": 64, "num_group": 64, "no_bias": True}
    x, weight = mx.sym.Variable("x"), mx.sym.Variable("weight")
    net = mx.sym.square(mx.sym.Convolution(mx.sym.exp(x), weight, **window))
    executor = net.simple_bind(mx.cpu(), "null", x=(4, 64, 28, 28))
    random = np.random.default_rng(0)
    for array in executor.arg_arrays:
        array[:] = random.standard_normal(array.shape)
    data, factors = (executor.arg_dict[name] for name in ("x", "weight"))
    expected = mx.nd.square(mx.nd.Convolution(mx.nd.exp(data), factors, **window)).asnumpy()
    for _ in range(20):
        np.testing.assert_array_equal(executor.forward()[0].asnumpy(), expected)
