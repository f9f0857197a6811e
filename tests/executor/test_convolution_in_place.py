"""Convolutions whose result may take the place of their data, and steps that are far apart."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import ferromix as mx


def transposed(x, weight, out, stride, dilate, pad):
    """The reverse of a convolution by its definition; what is beyond `out` is cut off."""
    whole = np.zeros((x.shape[0], weight.shape[1], *(n + p for n, p in zip(out, pad, strict=True))))
    for i, j in itertools.product(*map(range, weight.shape[2:])):
        for v, u in itertools.product(*map(range, x.shape[2:])):
            at = v * stride[0] + i * dilate[0], u * stride[1] + j * dilate[1]
            if at[0] < whole.shape[2] and at[1] < whole.shape[3]:
                whole[:, :, at[0], at[1]] += x[:, :, v, u] @ weight[:, :, i, j]
    return whole[:, :, pad[0] :, pad[1] :]


def same(x, weight, dilate):
    """A convolution that keeps extents, by its definition."""
    high, wide = x.shape[2:]
    pad = [d * (k // 2) for d, k in zip(dilate, weight.shape[2:], strict=True)]
    x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in pad)])
    out = np.zeros((x.shape[0], weight.shape[0], high, wide))
    for i, j in itertools.product(*map(range, weight.shape[2:])):
        part = x[:, :, i * dilate[0] :, j * dilate[1] :][:, :, :high, :wide]
        out += np.einsum("oc,nchw->nohw", weight[:, :, i, j], part)
    return out


def between(middle, channels):
    """A convolution by `middle` between two of 1 by 1, which leave channels as they are."""
    args = {"num_filter": channels, "kernel": (1, 1), "no_bias": True}
    first = mx.sym.Convolution(mx.sym.Variable("x"), name="first", **args)
    return mx.sym.Convolution(middle(first), name="last", **args)


def outcome(net, x, weight):
    executor = net.simple_bind(mx.cpu(), "null", x=x.shape)
    identity = np.eye(weight.shape[0])[:, :, None, None]
    given = {"first_weight": identity, "w": weight, "x": x, "last_weight": identity}
    for name, value in given.items():
        executor.arg_dict[name][:] = value
    return executor.forward(is_train=False)[0].asnumpy()


WINDOWS = [((8, 2), (3, 1), 6), ((16, 16), (3, 3), 8), ((1, 1), (3, 3), 1), ((9, 11), (3, 5), 5)]
WINDOWS += [((14, 14), (3, 3), d) for d in (3, 7, 13, 14, 40)]


@pytest.mark.parametrize("channels", [16, 48, 64])
@pytest.mark.parametrize(("extents", "kernel", "far"), WINDOWS)
def test_taps_that_read_nothing_but_the_border(extents, kernel, far, channels):
    draw = np.random.default_rng(2)
    x, weight = (
        draw.normal(size=(2, channels, *extents)),
        draw.normal(size=(channels,) * 2 + kernel),
    )
    dilate = [far if k > 1 else 1 for k in kernel]
    pad = [d * (k // 2) for d, k in zip(dilate, kernel, strict=True)]
    args = {"kernel": kernel, "dilate": dilate, "pad": pad, "num_filter": channels}

    def middle(data):
        return mx.sym.Convolution(data, mx.sym.Variable("w"), no_bias=True, **args)

    expected = same(x, weight, dilate)
    found = outcome(between(middle, channels), x, weight)
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


# Extents, kernel, stride, dilation, padding: outputs are as large as the data.
REVERSED = [
    ((1, 2), (1, 3), (1, 3), (1, 2), (0, 3)),
    ((3, 3), (1, 1), (2, 2), (1, 1), (1, 1)),
    ((4, 5), (3, 3), (1, 1), (1, 1), (1, 1)),
    ((5, 4), (3, 3), (1, 1), (1, 1), (1, 1)),
    ((4, 6), (2, 2), (1, 2), (2, 1), (1, 3)),
]


@pytest.mark.parametrize("channels", [1, 3, 32])
@pytest.mark.parametrize(("extents", "kernel", "stride", "dilate", "pad"), REVERSED)
def test_reverse_with_neighbours(extents, kernel, stride, dilate, pad, channels):
    draw = np.random.default_rng(3)
    x, weight = (
        draw.normal(size=(2, channels, *extents)),
        draw.normal(size=(channels,) * 2 + kernel),
    )
    args = {"kernel": kernel, "stride": stride, "dilate": dilate, "pad": pad}

    def middle(data):
        weight = mx.sym.Variable("w")
        return mx.sym.Deconvolution(data * 1, weight, num_filter=channels, **args) * 1

    net = middle(mx.sym.Variable("x"))
    executor = net.simple_bind(mx.cpu(), "null", x=x.shape)
    executor.arg_dict["x"][:] = x
    executor.arg_dict["w"][:] = weight
    found = executor.forward(is_train=False)[0].asnumpy()
    assert found.shape == x.shape
    expected = transposed(x, weight, found.shape[2:], stride, dilate, pad)
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("request_", ["write", "add"])
@pytest.mark.parametrize("bias", [False, True])
def test_steps_so_far_apart_that_most_positions_are_read_by_none(bias, request_):
    draw = np.random.default_rng(4)
    x, weight, shift = draw.normal(size=(2, 3, 2, 3)), draw.normal(size=(3, 4, 3, 2)), np.arange(4)
    args = {
        "kernel": (3, 2),
        "stride": (70, 81),
        "dilate": (2, 100),
        "pad": (1, 0),
        "num_filter": 4,
    }
    operands = [mx.nd.array(a) for a in (x, weight, *[shift] * bias)]
    whole = mx.nd.Deconvolution(*operands, no_bias=not bias, **args)
    expected = transposed(
        x, weight, whole.shape[2:], *(args[a] for a in ("stride", "dilate", "pad"))
    )
    expected += shift[:, None, None] * bias
    np.testing.assert_allclose(whole.asnumpy(), expected, atol=1e-5)

    # The gradient of the data of the convolution that it is the reverse of.
    data = mx.nd.zeros(expected.shape)
    data.attach_grad(grad_req=request_)
    if request_ == "add":
        data.grad[:] = 1
    attrs = {**args, "num_filter": 3}
    with mx.autograd.record():
        out = mx.nd.Convolution(data, operands[1], no_bias=True, **attrs)
    out.backward(operands[0])
    expected += (request_ == "add") - shift[:, None, None] * bias
    np.testing.assert_allclose(data.grad.asnumpy(), expected, atol=1e-5)


@pytest.mark.parametrize("far", [2**24, 2**30, 2**32, 2**48, 2**61])
def test_more_padding_than_any_memory_holds_is_refused(far):
    x, weight = mx.nd.ones((1, 16, 5, 5)), mx.nd.ones((16, 16, 3, 3))
    attrs = {"kernel": (3, 3), "stride": (far, far), "pad": (far, far), "num_filter": 16}
    with pytest.raises(MemoryError, match="Convolution"):
        mx.nd.Convolution(x, weight, no_bias=True, **attrs).wait_to_read()


def test_no_channels_between_convolutions():
    with mx.util.np_shape(True):
        net = mx.sym.Variable("x")
        for kernel in (1, 3, 1):
            attrs = {"kernel": (kernel, kernel), "pad": (kernel // 2,) * 2, "num_filter": 16}
            net = mx.sym.Convolution(net, **attrs)
        executor = net.simple_bind(mx.cpu(), "null", x=(1, 0, 5, 5))
        assert executor.forward(is_train=False)[0].shape == (1, 16, 5, 5)
