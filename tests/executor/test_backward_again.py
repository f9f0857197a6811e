"""Several backward passes after one forward pass, as for the rows of a Jacobian."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import InvalidArgumentError

S = mx.sym
DATA = S.Variable("data")


def dense(x, number):
    return S.FullyConnected(x, num_hidden=6, name=f"fc{number}")


def norm_relu(x, number):
    return S.Activation(S.BatchNorm(x, name=f"bn{number}"), act_type="relu")


def tanhs():
    return dense(S.tanh(dense(S.tanh(dense(DATA, 0)), 1)), 2)


def norms():
    x = DATA
    for number in range(4):
        x = norm_relu(dense(x, number), number)
    return x


def convolutions():
    x = S.Reshape(DATA, shape=(-1, 2, 4, 1))
    for number in range(2):
        x = S.Convolution(x, num_filter=4, kernel=(3, 1), pad=(1, 0), name=f"c{number}")
        x = S.Pooling(S.Activation(x, act_type="relu"), kernel=(2, 1), stride=(2, 1))
    return S.Concat(dense(x, 0), dense(x, 1), dim=1)


NETS = {"tanhs": tanhs, "norms": norms, "convolutions": convolutions}


def filled(net, seed=3):
    executor = net.simple_bind(mx.cpu(), data=(5, 8))
    rng = np.random.default_rng(seed)
    for name, array in executor.arg_dict.items():
        array[:] = 1 if name.endswith("gamma") else rng.uniform(-1, 1, array.shape)
    for array in executor.aux_arrays:
        array[:] = 1
    return executor


def gradients(executor):
    return {name: array.asnumpy() for name, array in executor.grad_dict.items()}


@pytest.mark.parametrize("is_train", [True, False])
@pytest.mark.parametrize("name", NETS)
def test_each_is_as_after_a_forward_pass_of_its_own(name, is_train):
    executor = filled(NETS[name]())
    shape = executor.forward(is_train=is_train)[0].shape
    heads = [mx.nd.array(np.eye(*shape, k)) for k in range(3)]
    expected = []
    for head in heads:
        executor.forward(is_train=is_train)
        executor.backward([head])
        expected.append(gradients(executor))
    # In another order, too.
    executor.forward(is_train=is_train)
    for number in (0, 1, 2, 0):
        executor.backward([heads[number]])
        for key, value in gradients(executor).items():
            np.testing.assert_array_equal(value, expected[number][key], key)


def test_sums_of_gradients():
    net = tanhs()
    once, twice = filled(net), filled(net)
    other = net.simple_bind(mx.cpu(), grad_req="add", data=(5, 8))
    other.copy_params_from(twice.arg_dict)
    once.forward(is_train=True)
    once.backward([mx.nd.ones((5, 6))])
    other.forward(is_train=True)
    for _ in range(3):
        other.backward([mx.nd.ones((5, 6))])
    for name, value in gradients(other).items():
        np.testing.assert_allclose(value, 3 * once.grad_dict[name].asnumpy(), rtol=1e-5)


def test_numbers_that_were_drawn_are_not_drawn_again():
    executor = filled(dense(S.Dropout(S.tanh(dense(S.tanh(dense(DATA, 0)), 1)), p=0.5), 2))
    executor.forward(is_train=True)
    executor.backward([mx.nd.ones((5, 6))])
    with pytest.raises(InvalidArgumentError, match="call forward again"):
        executor.backward([mx.nd.ones((5, 6))])
    executor.forward(is_train=True)
    executor.backward([mx.nd.ones((5, 6))])


def test_what_nothing_wrote_over_needs_no_second_pass():
    net = S.Dropout(DATA, p=0.5)
    executor = net.simple_bind(mx.cpu(), data=(100,))
    executor.arg_dict["data"][:] = 1
    out = executor.forward(is_train=True)[0].asnumpy()
    for _ in range(3):
        executor.backward([mx.nd.ones((100,))])
        np.testing.assert_array_equal(executor.grad_dict["data"].asnumpy(), out)
