"""The steps of trainings under the names that loops of one's own call them by."""

import numpy as np
import pytest

import ferromix as mx

FUNCTIONS = mx.model


def blocks():
    params = [[mx.nd.zeros(2), mx.nd.zeros(2)], [mx.nd.zeros(3)] * 2, [mx.nd.zeros(1)] * 2]
    grads = [[mx.nd.ones(2), mx.nd.ones(2) * 2], [None, None], [mx.nd.ones(1), mx.nd.ones(1)]]
    return params, grads


NAMES = ["a", "b", "c"]
VALUES = {"a": mx.nd.ones(2), "b": mx.nd.ones(3) * 2, "c": mx.nd.ones(1) * 3}


def numbers(arrays):
    return [[None if a is None else a.asnumpy().tolist() for a in block] for block in arrays]


@pytest.mark.parametrize("on_store", [True, False])
def test_devices_take_parameters_from_a_store_that_updates(on_store):
    store, (params, _) = mx.kv.create("local"), blocks()
    FUNCTIONS._initialize_kvstore(store, params, VALUES, NAMES, on_store)
    wanted = [[[1, 1]] * 2, [[2, 2, 2]] * 2, [[3]] * 2] if on_store else numbers(blocks()[0])
    assert numbers(params) == wanted
    held = mx.nd.zeros(3)
    store.pull("b", held)
    assert held.asnumpy().tolist() == [2, 2, 2]


def test_a_store_updates():
    store, (params, grads) = mx.kv.create("local"), blocks()
    FUNCTIONS._initialize_kvstore(store, params, VALUES, NAMES, True)
    store.set_optimizer(mx.optimizer.SGD(learning_rate=0.5))
    assert FUNCTIONS._update_params_on_kvstore(params, grads, store, NAMES) is None
    assert numbers(params) == [[[-0.5, -0.5]] * 2, [[2, 2, 2]] * 2, [[2]] * 2]
    assert numbers(grads) == numbers(blocks()[1])


@pytest.mark.parametrize("summing", [True, False])
def test_an_updater_gets_what_each_device_has(summing):
    params, grads = blocks()
    how = {}
    if summing:
        how = {"kvstore": mx.kv.create("local"), "param_names": NAMES}
        FUNCTIONS._initialize_kvstore(how["kvstore"], params, VALUES, NAMES, False)
    seen = []
    FUNCTIONS._update_params(params, grads, lambda *given: seen.append(given), 2, **how)
    assert [(i, len(g), w) for i, g, w in seen] == [
        ((0, 4), 2, (params[0][0], params[2][0])),
        ((1, 5), 2, (params[0][1], params[2][1])),
    ]
    first, second = ([[3, 3], [2]],) * 2 if summing else ([[1, 1], [1]], [[2, 2], [1]])
    assert [numbers([g])[0] for _, g, _ in seen] == [first, second]


def test_an_updater_is_not_called_for_nothing():
    def refuse(*given):
        raise AssertionError(given)

    FUNCTIONS._update_params([[mx.nd.zeros(2)]], [[None]], refuse, 1)


def test_a_loop_of_ones_own_trains():
    weight, grad = mx.nd.ones(2), mx.nd.array([1, 2])
    updater = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.5))
    for _ in range(2):
        FUNCTIONS._update_params([[weight]], [[grad]], updater, num_device=1)
    np.testing.assert_array_equal(weight.asnumpy(), [0, -1])


def test_one_callback_or_several_are_called():
    seen = []
    FUNCTIONS._multiple_callbacks(seen.append, 1)
    FUNCTIONS._multiple_callbacks([seen.append, seen.append], 2)
    FUNCTIONS._multiple_callbacks(None, 3)
    assert seen == [1, 2, 2]
