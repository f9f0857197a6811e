"""Executors for other shapes: what is shared, what is new, what is refused; as in MXNet 1.9.1."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx
from ferromix import sym as S
from ferromix.error import InvalidArgumentError


def bound(grad_req="write"):
    net = S.FullyConnected(S.Variable("data"), num_hidden=3, name="fc")
    return net.simple_bind(mx.cpu(), grad_req, data=(2, 4))


def test_arrays_that_shrink_stay_where_they_are_and_keep_their_values():
    old = bound()
    old.arg_dict["data"][:], old.grad_dict["data"][:] = 7, 5
    new = old.reshape(data=(1, 4))
    assert new.arg_dict["data"].asnumpy().tolist() == [[7] * 4]
    assert new.grad_dict["data"].asnumpy().tolist() == [[5] * 4]
    new.arg_dict["data"][:] = 1
    assert old.arg_dict["data"].asnumpy().tolist() == [[1] * 4, [7] * 4]
    assert new.arg_dict["fc_weight"] is old.arg_dict["fc_weight"]


def test_gradients_of_the_caller_that_are_not_wanted_are_left_behind():
    x = S.Variable("x")
    args, grads = [mx.nd.ones((4, 2))], [mx.nd.ones((4, 2))]
    executor = (x * 2).bind(mx.cpu(), args, grads, "null")
    assert executor.grad_dict["x"] is grads[0]
    assert executor.reshape(x=(2, 2)).grad_dict["x"] is None


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"data": (4, 4)}, r"'data' would grow from \(2, 4\) to \(4, 4\).*allow_up_sizing"),
        ({"data": (2, 2)}, r"'fc_weight' would change from \(3, 4\).*partial_shaping"),
        ({"data": (2, 2), "fc_weight": (3, 4)}, r"\(3, 4\)"),
        ({"data": (-1, 4)}, r"do not follow.*: data: "),
        ({}, r"do not follow.*: data: "),
        ({"other": (2, 2)}, r"do not follow.*: data: "),
    ],
)
def test_what_is_refused(options, text):
    with pytest.raises(InvalidArgumentError, match=text):
        bound().reshape(**options)


@pytest.mark.parametrize(
    ("options", "shapes"),
    [
        ({"data": (4, 4), "allow_up_sizing": True}, [(4, 4), (3, 4)]),
        ({"data": [1, 4]}, [(1, 4), (3, 4)]),
        ({"data": (2, 2), "partial_shaping": True}, [(2, 2), (3, 2)]),
        ({"data": (1, 2, 2), "partial_shaping": True}, [(1, 2, 2), (3, 4)]),
        ({"data": (2, 2), "fc_weight": (3, 2)}, [(2, 2), (3, 2)]),
    ],
)
def test_what_is_allowed(options, shapes):
    new = bound().reshape(**options)
    assert [new.arg_dict[n].shape for n in ("data", "fc_weight")] == shapes
    for array in new.arg_dict.values():
        array[:] = 1
    (out,) = new.forward(is_train=True)
    fan_in = shapes[1][1]
    np.testing.assert_array_equal(out.asnumpy(), np.full((shapes[0][0], 3), fan_in + 1))
    new.backward(mx.nd.ones(out.shape))
    assert (new.grad_dict["fc_bias"].asnumpy() == shapes[0][0]).all()


@pytest.mark.parametrize("grad_req", ["write", "add", ["null", "add", "write"]])
def test_requests_stay(grad_req):
    old, new = bound(grad_req), bound(grad_req).reshape(data=(1, 4))
    for executor in (old, new):
        for array in executor.arg_dict.values():
            array[:] = 1
        for gradient in executor.grad_arrays:
            if gradient is not None:
                gradient[:] = 10
        executor.forward(is_train=True)
        executor.backward(mx.nd.ones(executor.outputs[0].shape))
    for rows, executor in ((2, old), (1, new)):
        requests = [grad_req] * 3 if isinstance(grad_req, str) else grad_req
        for request, gradient, plain in zip(
            requests, executor.grad_arrays, (3, rows, rows), strict=True
        ):
            expected = None if request == "null" else plain + 10 * (request == "add")
            found = None if gradient is None else gradient.asnumpy().flat[0]
            assert found == expected


def test_auxiliary_states_are_shared_or_new():
    net = S.BatchNorm(S.Variable("x"), name="bn")
    old = net.simple_bind(mx.cpu(), x=(2, 4))
    assert old.reshape(x=(1, 4)).aux_dict["bn_moving_mean"] is old.aux_dict["bn_moving_mean"]
    with pytest.raises(InvalidArgumentError, match="partial_shaping"):
        old.reshape(x=(2, 2))
    new = old.reshape(x=(2, 2), partial_shaping=True)
    assert new.aux_dict["bn_moving_mean"].shape == (2,)
