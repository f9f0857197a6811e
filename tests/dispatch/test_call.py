"""Prepared calls: asked once for each way of calling, right for every way, bounded."""

from __future__ import annotations

import gc
import threading
import tracemalloc
import weakref

import numpy as np
import pytest

import ferromix as mx
from ferromix import _core
from ferromix.dispatch import cpu as dispatch
from ferromix.error import InvalidArgumentError
from ferromix.ops.card import make


def array(*shape, dtype="float32", start=1):
    values = np.arange(start, start + np.prod(shape, dtype=int)).reshape(shape)
    return mx.nd.array(values, dtype=dtype)


def counting(card):
    """A call of a card, and the list of what it was asked."""
    asked = []

    def answer(*question):
        asked.append(question[1:])
        return dispatch.answer(*question)

    visible = card.num_visible_outputs()
    return _core.Call(card, card.name, card.uses_train_mode, visible, answer), asked


def test_a_card_is_asked_once_for_each_combination():
    call, asked = counting(make("broadcast_add", {}))
    pairs = [((2, 3), (2, 3)), ((2, 3), (1, 3)), ((4,), (4,))]
    for _ in range(3):
        for shapes in pairs:
            a, b = (array(*s) for s in shapes)
            (found,) = call([a.handle, b.handle])
            np.testing.assert_array_equal(mx.nd.NDArray(found).asnumpy(), a.asnumpy() + b.asnumpy())
    assert [tuple(shape for shape, _ in inputs) for inputs, _ in asked] == pairs
    doubles = array(4, dtype="float64").handle
    call([doubles, doubles])
    assert asked[-1] == (((((4,), "float64"),) * 2), False)


def test_training_and_prediction_are_told_apart():
    call, asked = counting(make("Dropout", {"p": 0.5}))
    data = mx.nd.ones((1000,))
    for is_train in (True, False, True):
        out = mx.nd.NDArray(call([data.handle], [], is_train)[0]).asnumpy()
        assert (out == 1).all() != is_train
    with mx.autograd.train_mode():
        call([data.handle])
    assert [is_train for _, is_train in asked] == [True, False]


def test_combinations_used_longest_ago_are_forgotten():
    call, asked = counting(make("negative", {}))
    arrays = [array(n).handle for n in range(1, 66)]
    for a in arrays:  # one more than it remembers
        call([a])
    assert len(asked) == 65
    call([arrays[-1]])
    assert len(asked) == 65
    call([arrays[0]])
    assert len(asked) == 66


def test_too_many_arrays_for_the_outputs():
    a = array(2)
    with pytest.raises(InvalidArgumentError, match="negative: has 1 outputs, got 2 arrays"):
        mx.nd.negative(a, out=[array(2), array(2)])


@pytest.mark.parametrize("wrong", [3, "ab", [1, 2]])
def test_out_must_be_arrays(wrong):
    with pytest.raises(TypeError):
        mx.nd.negative(array(2), out=wrong)


def test_keywords_and_positions_give_the_same_in_any_order():
    x, w = array(2, 3), array(4, 3, start=-2)
    expected = x.asnumpy() @ w.asnumpy().T
    attrs = {"num_hidden": 4, "no_bias": True}
    for _ in range(2):
        for found in (
            mx.nd.FullyConnected(x, w, **attrs),
            mx.nd.FullyConnected(x, weight=w, **attrs),
            mx.nd.FullyConnected(weight=w, data=x, **attrs),
            mx.nd.FullyConnected(num_hidden=4, weight=w, no_bias=True, data=x),
        ):
            np.testing.assert_allclose(found.asnumpy(), expected)


def test_the_same_array_for_two_inputs_says_nothing_of_their_order():
    a, b = array(3), array(3, start=5)
    for first, second in ((a, a), (a, b), (b, a)):
        found = mx.nd.broadcast_sub(rhs=second, lhs=first)
        np.testing.assert_array_equal(found.asnumpy(), first.asnumpy() - second.asnumpy())


def test_numbers_of_other_types_are_other_attributes():
    a = array(2, 2)
    assert mx.nd.sum(a, axis=1).asnumpy().tolist() == [3, 7]
    assert mx.nd.sum(a, axis=(0, 1)).asnumpy().tolist() == [10]
    with pytest.raises(InvalidArgumentError, match="axis"):
        mx.nd.sum(a, axis=1.5)
    assert mx.nd.sum(a, axis=[0]).asnumpy().tolist() == [4, 6]  # cannot be hashed
    assert mx.nd.sum(a, axis=[1]).asnumpy().tolist() == [3, 7]


def test_a_list_of_arrays_is_taken_each_time():
    for k in (2, 3, 2):
        parts = [mx.nd.full((2,), n) for n in range(k)]
        assert mx.nd.add_n(parts).asnumpy().tolist() == [sum(range(k))] * 2
        assert mx.nd.Concat(*parts, dim=0).shape == (2 * k,)


@pytest.mark.parametrize(
    "call",
    [
        lambda a: mx.nd.broadcast_add(a, a),
        lambda a: mx.nd.add_n(a, a),
        lambda a: mx.nd.add_n((a, a)),
        lambda a: mx.nd.exp(data=a),
        lambda a: a + 1,
    ],
)
def test_functions_keep_no_array_alive(call):
    a = array(4)
    call(a).wait_to_read()
    alive = weakref.ref(a)
    del a
    gc.collect()
    assert alive() is None


def test_arithmetic_with_ever_new_numbers_keeps_memory_flat():
    a = mx.nd.ones((2,))

    def run(begin):
        for k in range(begin, begin + 20_000):
            a + k / 7
        mx.nd.waitall()

    run(0)
    tracemalloc.start()
    run(20_000)
    before = tracemalloc.get_traced_memory()[0]
    run(40_000)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 1 << 20, f"{grown} bytes"
    assert (a + 1.25).asnumpy().tolist() == [2.25, 2.25]


def test_calls_from_eight_threads_at_once():
    shapes, wrong = [(3,), (2, 3), (4, 1), (1, 5)], []

    def work(seed):
        random = np.random.default_rng(seed)
        for _ in range(300):
            shape = shapes[random.integers(len(shapes))]
            x, y = random.standard_normal(shape), random.standard_normal(shape)
            a, b = mx.nd.array(x, dtype="float64"), mx.nd.array(y, dtype="float64")
            c = mx.nd.zeros(shape, dtype="float64")
            mx.nd.broadcast_mul(a, b, out=c)
            c += a
            found = (2.5 - c / b).asnumpy()
            if not np.allclose(found, 2.5 - (x * y + x) / y, rtol=1e-12):
                wrong.append((seed, shape))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_what_is_no_operand_is_refused_by_name():
    a = array(2)
    for act in (lambda: a + "x", lambda: "x" + a, lambda: a - [1, 2], lambda: None * a):
        with pytest.raises((InvalidArgumentError, TypeError)):
            act()
    with pytest.raises(InvalidArgumentError, match=r"broadcast_add.*list"):
        a += [1, 2]
    np.testing.assert_array_equal(a.asnumpy(), [1, 2])


def test_in_place_arithmetic_keeps_the_array():
    a, b = array(2, 3), array(2, 3, start=10)
    same, values = a, a.asnumpy()
    a += b
    a *= 2
    a -= 1.5
    a /= b
    a %= 3
    assert a is same
    expected = ((values + b.asnumpy()) * 2 - np.float32(1.5)) / b.asnumpy() % 3
    np.testing.assert_allclose(a.asnumpy(), expected, rtol=1e-6)


def test_an_array_of_the_core_alone_makes_an_ndarray():
    with pytest.raises(TypeError):
        mx.nd.NDArray()
    with pytest.raises(TypeError):
        mx.nd.NDArray([1, 2])
    handle = array(2).handle
    assert mx.nd.NDArray(handle).handle is handle
