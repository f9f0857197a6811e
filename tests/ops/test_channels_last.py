"""Convolutions with channels last: shapes are those of MXNet 1.9.1, which cannot run them on the
CPU, and values those of the definition."""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import InvalidArgumentError

S = mx.sym
CASES = [  # Operator, layout, kernel, shapes of data, weight and output, by MXNet 1.9.1.
    ("Convolution", "NHWC", (3, 2), (1, 8, 9, 4), (6, 3, 2, 2), (1, 3, 4, 6)),
    ("Convolution", "NDHWC", (3, 2, 1), (1, 5, 6, 7, 4), (6, 3, 2, 1, 2), (1, 2, 3, 4, 6)),
    ("Deconvolution", "NHWC", (3, 2), (1, 8, 9, 4), (4, 3, 2, 3), (1, 17, 18, 6)),
    ("Deconvolution", "NDHWC", (3, 2, 1), (1, 5, 6, 7, 4), (4, 3, 2, 1, 3), (1, 11, 12, 13, 6)),
]


def made(operator, layout, kernel, **attrs):
    steps = {"stride": (2,) * len(kernel), "num_filter": 6, "num_group": 2}
    data, weight = S.Variable("data"), S.Variable("weight")
    card = getattr(S, operator)
    return card(
        data, weight, name="c", kernel=kernel, layout=layout, no_bias=True, **steps, **attrs
    )


def moved_back(x):
    return np.moveaxis(x, 1, -1)


def expected(operator, x, w, shape, kernel):
    """The definition, channel by channel; two groups, steps of 2."""
    out, lasting = np.zeros(shape), operator == "Deconvolution"
    small, large = (x, out) if lasting else (out, x)
    for place in itertools.product(*map(range, small.shape[1:-1])):
        for tap in itertools.product(*map(range, kernel)):
            there = tuple(2 * p + t for p, t in zip(place, tap, strict=True))
            for group in range(2):
                some = slice(group * small.shape[-1] // 2, (group + 1) * small.shape[-1] // 2)
                more = slice(group * large.shape[-1] // 2, (group + 1) * large.shape[-1] // 2)
                w_tap = w[(some, *tap)]
                if lasting:
                    out[(0, *there, more)] += x[(0, *place, some)] @ w_tap
                else:
                    out[(0, *place, some)] += w_tap @ x[(0, *there, more)]
    return out


@pytest.mark.parametrize(("operator", "layout", "kernel", "data", "weight", "out"), CASES)
def test_shapes_and_values(operator, layout, kernel, data, weight, out):
    net = S.load_json(made(operator, layout, kernel).tojson())
    assert net.attr("layout") == layout
    assert net.infer_shape(data=data)[:2] == ([data, weight], [out])
    rng = np.random.default_rng(3)
    x, w = rng.normal(size=data), rng.normal(size=weight)
    want = expected(operator, x, w, out, kernel)
    bound = net.bind(
        mx.cpu(), {"data": mx.nd.array(x, dtype=x.dtype), "weight": mx.nd.array(w, dtype=w.dtype)}
    )
    np.testing.assert_allclose(bound.forward()[0].asnumpy(), want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("operator", "layout", "kernel", "data", "weight", "out"), CASES)
def test_gradients_are_those_with_channels_second(operator, layout, kernel, data, weight, out):
    rng = np.random.default_rng(4)
    x, w, head = (rng.normal(size=s) for s in (data, weight, out))
    found = {}
    for last in (True, False):
        order = (lambda v: v) if last else (lambda v: np.moveaxis(v, -1, 1))
        args = {n: mx.nd.array(order(v), dtype=v.dtype) for n, v in (("data", x), ("weight", w))}
        grads = {n: mx.nd.zeros(v.shape, dtype="float64") for n, v in args.items()}
        bound = made(operator, layout if last else None, kernel).bind(mx.cpu(), args, grads)
        bound.forward(is_train=True)
        bound.backward(mx.nd.array(order(head), dtype="float64"))
        found[last] = {n: v.asnumpy() for n, v in grads.items()}
    for name, grad in found[True].items():
        np.testing.assert_allclose(grad, moved_back(found[False][name]), rtol=1e-12, atol=1e-12)


def test_bias_arrays_and_copies():
    x, w = mx.nd.ones((1, 4, 4, 3)), mx.nd.ones((2, 3, 3, 3))
    with mx.autograd.record():
        b = mx.nd.array([1, 2])
        b.attach_grad()
        y = mx.nd.Convolution(x, w, b, kernel=(3, 3), num_filter=2, layout="NHWC")
    y.backward()
    assert y.shape == (1, 2, 2, 2)
    assert y.asnumpy()[0, 0, 0].tolist() == [28, 29]
    assert b.grad.asnumpy().tolist() == [4, 4]
    net = made("Convolution", "NHWC", (3, 3))
    for again in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert again.infer_shape(data=(1, 5, 5, 4))[1] == [(1, 2, 2, 6)]


@pytest.mark.parametrize("layout", ["NWC", "NCW", "NDHWC"])
def test_layouts_that_do_not_fit_are_refused(layout):
    with pytest.raises(InvalidArgumentError, match="NHWC"):
        made("Convolution", layout, (3, 3))


@pytest.mark.parametrize(
    ("op", "data", "weight", "told"),
    [
        ("Convolution", (2, 4, 5, 7), (6, 7, 3, 3), r"\(6, 7, 3, 3\), expected \(6, 3, 3, 7\)"),
        ("Convolution", (2, 4, 5), (6, 3, 3, 5), r"\(2, 4, 5\), expected 4 dimensions"),
        ("Deconvolution", (2, 4, 5, 7), (6, 3, 3, 6), r"\(6, 3, 3, 6\), expected \(7, 3, 3, 6\)"),
    ],
)
def test_errors_have_the_shapes_that_were_given(op, data, weight, told):
    attrs = {"kernel": (3, 3), "num_filter": 6, "no_bias": True, "layout": "NHWC"}
    with pytest.raises(mx.MXNetError, match=f"^{op}: argument '(data|weight)' has shape {told}"):
        getattr(mx.nd, op)(mx.nd.ones(data), mx.nd.ones(weight), **attrs)
