"""Whether a thread records and trains, and what that changes."""

import threading

import numpy as np
import pytest

import ferromix as mx

ag = mx.autograd


def state():
    return ag.is_recording(), ag.is_training()


def test_nothing_is_on_at_first():
    assert state() == (False, False)


def test_blocks_nest_and_restore():
    with ag.record():
        assert state() == (True, True)
        with ag.predict_mode():
            assert state() == (True, False)
            with ag.pause(train_mode=True):
                assert state() == (False, True)
                with ag.record(train_mode=False):
                    assert state() == (True, False)
                assert state() == (False, True)
            assert state() == (True, False)
        with ag.pause():
            assert state() == (False, False)
            with ag.train_mode():
                assert state() == (False, True)
        assert state() == (True, True)
    assert state() == (False, False)


def test_one_block_can_be_entered_twice():
    block = ag.record()
    with block, block:
        assert state() == (True, True)
    assert state() == (False, False)


def test_an_exception_restores():
    with pytest.raises(KeyError), ag.record():
        raise KeyError
    assert state() == (False, False)


def test_setters_give_what_was_before():
    assert ag.set_recording(True) is False
    assert ag.set_training(True) is False
    assert state() == (True, True)
    assert ag.set_training(False) is True
    assert ag.set_recording(False) is True
    assert state() == (False, False)


def test_each_thread_has_its_own():
    seen = []
    with ag.record():
        thread = threading.Thread(target=lambda: seen.append(state()))
        thread.start()
        thread.join()
    assert seen == [(False, False)]


def test_a_backward_pass_leaves_the_state_alone():
    x = mx.nd.ones((2,))
    x.attach_grad()
    with ag.record(train_mode=False):
        (x * x).backward()
        assert state() == (True, False)
        with pytest.raises(mx.MXNetError):
            mx.nd.ones((1,)).backward()
        assert state() == (True, False)
        ag.grad(x * x, x, create_graph=True)
        assert state() == (True, False)


def test_training_decides_for_dropout():
    x = mx.nd.ones((1000,))
    with ag.train_mode():
        dropped = mx.nd.Dropout(x, p=0.5).asnumpy()
    assert set(np.unique(dropped)) == {0.0, 2.0}
    np.testing.assert_array_equal(mx.nd.Dropout(x, p=0.5).asnumpy(), x.asnumpy())
    with ag.record(train_mode=False):
        np.testing.assert_array_equal(mx.nd.Dropout(x, p=0.5).asnumpy(), x.asnumpy())


def test_the_mask_of_dropout_is_that_of_the_forward_pass():
    x = mx.nd.ones((1000,))
    x.attach_grad()
    with ag.record():
        y = mx.nd.Dropout(x, p=0.25)
    mx.nd.random_uniform(shape=(10,))  # draws in between change nothing
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), y.asnumpy())


def test_batch_norm_trains_its_states_only_in_training():
    data = np.random.default_rng(0).standard_normal((8, 3)).astype("float32")
    one, zero = mx.nd.ones((3,)), mx.nd.zeros((3,))
    mean, var = mx.nd.zeros((3,)), mx.nd.ones((3,))
    x = mx.nd.array(data)
    x.attach_grad()
    with ag.record(train_mode=False):
        y = mx.nd.BatchNorm(x, one, zero, mean, var, eps=0, fix_gamma=False)
    np.testing.assert_allclose(y.asnumpy(), data, rtol=1e-6)
    np.testing.assert_array_equal(mean.asnumpy(), 0)
    y.backward(train_mode=False)
    np.testing.assert_allclose(x.grad.asnumpy(), 1, rtol=1e-6)
    with ag.record():
        y = mx.nd.BatchNorm(x, one, zero, mean, var, eps=0, fix_gamma=False, momentum=0.5)
        z = mx.nd.BatchNorm(x * 2, one, zero, mean, var, eps=0, fix_gamma=False, momentum=0.5)
    np.testing.assert_array_equal(mean.asnumpy(), 0)
    # The gradient of z comes first, and halves what is there: 0.5 * 2, then 0.5 * 1 + 0.5 * 1.
    for factor in (1.0, 1.25):
        ag.backward([y, z], retain_graph=True)
        np.testing.assert_allclose(x.grad.asnumpy(), 0, atol=1e-5)
        np.testing.assert_allclose(mean.asnumpy(), factor * data.mean(0), rtol=1e-5, atol=1e-6)


def test_second_derivatives_change_no_states():
    x = mx.nd.array([[1.0], [2], [4]])
    x.attach_grad()
    mean, var, weight = mx.nd.zeros((1,)), mx.nd.ones((1,)), mx.nd.array([[1.0], [0], [2]])
    with ag.record():
        y = mx.nd.BatchNorm(x, mx.nd.ones((1,)), mx.nd.zeros((1,)), mean, var, momentum=0.5)
        (first,) = ag.grad((y * weight).sum(), x, create_graph=True)
        squares = (first**2).sum()
    moved = mean.asnumpy(), var.asnumpy()
    np.testing.assert_allclose(moved, ([7 / 6], [0.5 + 7 / 9]), rtol=1e-5)
    squares.backward()
    assert np.abs(x.grad.asnumpy()).max() > 0.01
    np.testing.assert_array_equal((mean.asnumpy(), var.asnumpy()), moved)
