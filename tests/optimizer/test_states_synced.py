"""Which states of an updater are where their weights are, as scripts read and set it."""

import numpy as np

import ferromix as mx


def updater():
    return mx.optimizer.get_updater(mx.optimizer.SGD(momentum=0.9))


def test_loaded_states_are_synced_when_they_are_used():
    first, weight, ones = updater(), mx.nd.ones(2), mx.nd.ones(2)
    assert first.states_synced == {}
    first(0, ones, weight)
    assert first.states_synced == {0: True}
    second = updater()
    second.set_states(first.get_states())
    assert second.states_synced == {0: False}
    second(0, ones, weight)
    second(1, ones, mx.nd.ones(2))
    assert second.states_synced == {0: True, 1: True}


def test_states_may_be_called_unsynced():
    one, weight = updater(), mx.nd.zeros(2)
    one(0, mx.nd.ones(2), weight)
    one.states_synced = {0: False}
    one(0, mx.nd.ones(2), weight)
    assert one.states_synced == {0: True}
    np.testing.assert_allclose(weight.asnumpy(), [-0.029, -0.029], rtol=1e-6)


def test_states_may_be_given():
    one, weight = updater(), mx.nd.zeros(2)
    one.states[0] = mx.nd.ones(2)
    one(0, mx.nd.zeros(2), weight)
    np.testing.assert_allclose(weight.asnumpy(), [0.9, 0.9], rtol=1e-6)
