"""What executors share: parameters, buffers for other arguments, memory of intermediate results."""

import numpy as np
import pytest

import ferromix as mx
from ferromix import sym as S
from ferromix.error import DTypeError, InvalidArgumentError


def network():
    layer = S.FullyConnected(S.Variable("data"), num_hidden=3, name="fc")
    return S.BatchNorm(layer, name="bn")


def bound(**kwargs):
    kwargs.setdefault("data", (4, 5))
    return network().simple_bind(mx.cpu(), **kwargs)


def test_a_shared_executor_alone_shares_no_arrays():
    # MXNet 1.9.1 gives zeros of its own here, for arguments and for auxiliary states.
    first = bound()
    first.arg_dict["fc_weight"][:] = 7
    first.aux_dict["bn_moving_mean"][:] = 5
    second = bound(shared_exec=first)
    assert not second.arg_dict["fc_weight"].asnumpy().any()
    assert not second.aux_dict["bn_moving_mean"].asnumpy().any()


@pytest.mark.parametrize("buffer", [None, {}])
def test_named_arguments_are_those_of_the_shared_executor(buffer):
    first = bound()
    second = bound(
        shared_exec=first, shared_arg_names=["fc_weight", "nope"], shared_buffer=buffer, data=(2, 5)
    )
    first.arg_dict["fc_weight"][:] = 7
    first.grad_dict["fc_weight"][:] = 3
    first.aux_dict["bn_moving_mean"][:] = 5
    assert (second.arg_dict["fc_weight"].asnumpy() == 7).all()
    assert (second.grad_dict["fc_weight"].asnumpy() == 3).all()
    assert (second.aux_dict["bn_moving_mean"].asnumpy() == 5).all()
    first.arg_dict["fc_bias"][:] = 7
    assert not second.arg_dict["fc_bias"].asnumpy().any()


def test_a_buffer_takes_up_what_is_not_named():
    buffer = {}
    bound(shared_arg_names=["fc_weight"], shared_buffer=buffer)
    others = ["data", "fc_bias", "bn_gamma", "bn_beta"]
    assert buffer.keys() == {*others, *(f"grad of {name}" for name in others)}
    assert buffer["data"].shape == buffer["grad of data"].shape == (4, 5)


def test_a_buffer_serves_smaller_shapes_and_grows():
    buffer = {}
    bound(shared_buffer=buffer)
    large = buffer["data"]
    small = bound(shared_buffer=buffer, data=(2, 5))
    small.arg_dict["data"][:] = 9
    assert buffer["data"] is large
    assert large.asnumpy().tolist() == [[9] * 5, [9] * 5, [0] * 5, [0] * 5]
    larger = bound(shared_buffer=buffer, data=(8, 5))
    larger.arg_dict["data"][:] = 4
    assert buffer["data"].shape == (8, 5)
    assert (buffer["data"].asnumpy() == 4).all()
    assert large.asnumpy()[0, 0] == 9


def test_executors_of_one_buffer_compute_the_same_as_alone():
    values = np.random.default_rng(0).standard_normal((4, 5)).astype("float32")
    weight = np.random.default_rng(1).standard_normal((3, 5)).astype("float32")
    names, buffer = ["fc_weight", "fc_bias", "bn_gamma", "bn_beta"], {}
    first = bound(shared_arg_names=names, shared_buffer=buffer)
    first.copy_params_from({"fc_weight": mx.nd.array(weight), "bn_gamma": mx.nd.ones((3,))})
    short = bound(shared_exec=first, shared_arg_names=names, shared_buffer=buffer, data=(3, 5))
    for executor in (first, short, first):
        rows = executor.arg_dict["data"].shape[0]
        (out,) = executor.forward(is_train=True, data=mx.nd.array(values[:rows]))
        layer = values[:rows] @ weight.T
        expected = (layer - layer.mean(0)) / np.sqrt(layer.var(0) + 1e-3)
        np.testing.assert_allclose(out.asnumpy(), expected, rtol=1e-4, atol=1e-5)


def test_a_failed_bind_leaves_the_buffer_alone():
    buffer = {"bn_beta": mx.nd.zeros((3,), dtype="float64")}
    with pytest.raises(InvalidArgumentError, match=r"'bn_beta'.*float64.*float32"):
        bound(shared_buffer=buffer)
    assert list(buffer) == ["bn_beta"]


@pytest.mark.parametrize(
    ("kwargs", "error", "text"),
    [
        ({"shared_buffer": [1]}, InvalidArgumentError, "shared_buffer must be a dict"),
        ({"shared_buffer": {"data": 1}}, DTypeError, "int as 'data'"),
        ({"shared_buffer": {1: mx.nd.zeros((2,))}}, DTypeError, "NDArray as 1"),
        ({"shared_buffer": {"data": mx.nd.zeros((5, 8))[:, ::2]}}, InvalidArgumentError, "copy it"),
        ({"shared_arg_names": "data"}, InvalidArgumentError, "list"),
        ({"shared_arg_names": [1]}, DTypeError, "shared_arg_names.*1"),
        ({"shared_exec": 3}, DTypeError, "shared_exec.*int"),
    ],
)
def test_mistakes(kwargs, error, text):
    with pytest.raises(error, match=text):
        bound(**kwargs)


def test_shared_arguments_must_fit():
    first = bound(grad_req="null")
    with pytest.raises(InvalidArgumentError, match="no gradient 'fc_weight'"):
        bound(shared_exec=first, shared_arg_names=["fc_weight"])
    with pytest.raises(InvalidArgumentError, match=r"'fc_weight'.*\(3, 5\).*\(3, 6\)"):
        bound(shared_exec=first, shared_arg_names=["fc_weight"], grad_req="null", data=(4, 6))
    other = S.FullyConnected(num_hidden=3, name="gc")
    with pytest.raises(InvalidArgumentError, match="no argument 'gc_weight'"):
        other.simple_bind(
            mx.cpu(), shared_exec=first, shared_arg_names=["gc_weight"], gc_data=(4, 5)
        )


def test_bind_shares_memory():
    first = bound()
    arrays = {n: mx.nd.zeros(a.shape) for n, a in {**first.arg_dict, **first.aux_dict}.items()}
    second = network().bind(mx.cpu(), arrays, None, "null", arrays, shared_exec=first)
    assert second.memory_planned() == pytest.approx(first.memory_planned())
    with pytest.raises(DTypeError, match="shared_exec"):
        network().bind(mx.cpu(), arrays, None, "null", arrays, shared_exec=3)


def test_default_storage_is_all_there_is():
    assert bound(stype_dict={"data": "default"}).arg_dict["data"].shape == (4, 5)
