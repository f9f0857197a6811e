"""Prepared calls: asked once for each way of calling, right for every way, bounded."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import threading
import tracemalloc
import weakref

import numpy as np
import pytest

import ferromix as mx
from ferromix import _core, dispatch
from ferromix.error import InternalError, InvalidArgumentError
from ferromix.ndarray import protocol
from ferromix.ops.card import OperatorProperty, make, register
from ferromix.ops.param import Param


def array(*shape, dtype="float32", start=1):
    values = np.arange(start, start + np.prod(shape, dtype=int)).reshape(shape)
    return mx.nd.array(values, dtype=dtype)


@pytest.fixture
def asked(monkeypatch):
    """What the core asked about cards since: card, inputs and mode."""
    asked = []

    def prepare(*question):
        asked.append(question)
        return dispatch.answer(*question)

    monkeypatch.setattr(protocol, "prepare", prepare)
    return asked


def fresh(card):
    """A call of a card that has seen no arrays yet."""
    return _core.Call(card, card.name, card.uses_train_mode, card.num_visible_outputs())


def test_a_card_is_asked_once_for_each_combination(asked):
    call = fresh(make("broadcast_add", {}))
    pairs = [((2, 3), (2, 3)), ((2, 3), (1, 3)), ((4,), (4,))]
    for _ in range(3):
        for shapes in pairs:
            a, b = (array(*s) for s in shapes)
            (found,) = call([a.handle, b.handle])
            np.testing.assert_array_equal(mx.nd.NDArray(found).asnumpy(), a.asnumpy() + b.asnumpy())
    assert [tuple(shape for shape, _ in inputs) for _, inputs, *_ in asked] == pairs
    doubles = array(4, dtype="float64").handle
    call([doubles, doubles])
    assert asked[-1][1:] == (((((4,), "float64"),) * 2), False, (1, 0))


def test_training_and_prediction_are_told_apart(asked):
    call = fresh(make("Dropout", {"p": 0.5}))
    data = mx.nd.ones((1000,))
    asked.clear()
    for is_train in (True, False, True):
        out = mx.nd.NDArray(call([data.handle], [], is_train)[0]).asnumpy()
        assert (out == 1).all() != is_train
    with mx.autograd.train_mode():
        call([data.handle])
    assert [is_train for _, _, is_train, _ in asked] == [True, False]


def test_combinations_used_longest_ago_are_forgotten(asked):
    call = fresh(make("negative", {}))
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
    with pytest.raises(TypeError, match="negative: out must be an NDArray, or a list of them, got"):
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


def step(weight, grad, **attrs):
    """What sgd_update computes."""
    attrs = {"wd": 0.0, "rescale_grad": 1.0, **attrs}
    bound = attrs.get("clip_gradient", -1.0)
    grad = grad * attrs["rescale_grad"]
    grad = np.clip(grad, -bound, bound) if bound >= 0 else grad
    return (1 - attrs["lr"] * attrs["wd"]) * weight - attrs["lr"] * grad


def test_dynamic_attributes_travel_with_the_run(asked):
    w, g = array(3, dtype="float64"), array(3, dtype="float64", start=-1)
    function = mx.nd.sgd_update
    for lr in (0.515625, 3, np.float32(0.25), np.float64(2), 1e-3):
        expected = step(w.asnumpy(), g.asnumpy(), lr=float(lr))
        np.testing.assert_allclose(function(w, g, lr).asnumpy(), expected, rtol=1e-15)
        np.testing.assert_allclose(function(w, g, lr=lr).asnumpy(), expected, rtol=1e-15)
    assert [question[0].name for question in asked] == ["sgd_update"]


def test_every_attribute_of_an_update_has_the_value_of_its_call():
    w, g = array(2, 3, dtype="float64"), array(2, 3, dtype="float64", start=-4)
    calls = [
        {"lr": 0.1},
        {"lr": 0.2, "wd": 0.5},
        {"wd": 0.25, "lr": 0.1},
        {"lr": 0.1, "rescale_grad": 2.0},
        {"lr": 0.1, "rescale_grad": 3.0, "clip_gradient": 1.5},
        {"lr": 0.1, "clip_gradient": -1.0},
        {"lr": 0.1},
    ]
    for attrs in calls * 2:
        found = mx.nd.sgd_update(w, g, **attrs).asnumpy()
        np.testing.assert_allclose(found, step(w.asnumpy(), g.asnumpy(), **attrs), rtol=1e-14)
    found = mx.nd.sgd_update(w, g, 0.1, 0.5).asnumpy()
    np.testing.assert_allclose(found, step(w.asnumpy(), g.asnumpy(), lr=0.1, wd=0.5), rtol=1e-14)
    assert mx.nd.sgd_update(w, g, lr="0.5").asnumpy()[0, 0] == 1 + 0.5 * 4
    for wrong in ("fast", [1], None):
        with pytest.raises(InvalidArgumentError, match="sgd_update: attribute 'lr' must be a floa"):
            mx.nd.sgd_update(w, g, lr=wrong)


def test_graphs_keep_the_dynamic_attributes_of_their_nodes():
    data = {"weight": array(3), "grad": array(3)}
    for lr in (0.5, 0.25, 0.5):
        found = mx.sym.sgd_update(mx.sym.var("weight"), mx.sym.var("grad"), lr=lr)
        (out,) = found.bind(mx.cpu(), data).forward()
        np.testing.assert_allclose(out.asnumpy(), (1 - lr) * np.arange(1, 4))


def test_what_cannot_be_dynamic():
    dynamic = {"scalar": Param("float", 1.0, dynamic=True)}
    fields = {"name": "_test_dynamic", "params": dynamic, "kernel": "_plus_scalar"}
    differentiable = type("Differentiable", (OperatorProperty,), fields)
    with pytest.raises(InvalidArgumentError, match="attribute 'scalar' cannot be dynamic"):
        register(differentiable)
    bounded = {"scalar": Param("float", 1.0, low=0, dynamic=True)}
    fields |= {"differentiable": False, "params": bounded, "name": "_test_dynamic_bounded"}
    with pytest.raises(InvalidArgumentError, match="without a range"):
        register(type("Bounded", (OperatorProperty,), fields))
    card = type("Fixing", (OperatorProperty,), {**fields, "params": dynamic})()
    with pytest.raises(InternalError, match="'scalar' is dynamic, but the kernel fixes it"):
        dispatch.invoke(card, [array(2).handle])


def test_learning_rates_that_change_at_every_step_keep_memory_flat():
    w, g, mean, var = (array(2) for _ in range(4))

    def run(begin):
        for k in range(begin, begin + 5000):
            mx.nd.adam_update(w, g, mean, var, lr=1 / (k + 1), out=w)
        mx.nd.waitall()

    run(0)
    tracemalloc.start()
    run(5000)
    before = tracemalloc.get_traced_memory()[0]
    run(10_000)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 1 << 14, f"{grown} bytes"


def test_functions_are_as_those_of_python():
    assert mx.nd.clip.__name__ == "clip"
    assert mx.nd.clip.__module__ == "ferromix.ndarray"
    assert mx.nd.clip.__doc__.startswith("Every element, moved")
    assert list(inspect.signature(mx.nd.clip).parameters)[:3] == ["data", "a_min", "a_max"]
    assert pickle.loads(pickle.dumps(mx.nd.clip)) is mx.nd.clip
    assert copy.deepcopy(mx.nd.clip) is mx.nd.clip
    a = array(3)
    np.testing.assert_array_equal(mx.nd.clip(a, 2, a_max=2, name="x").asnumpy(), [2, 2, 2])
    assert mx.nd.clip(**{"".join(["o", "ut"]): a}, data=a, a_min=0, a_max=1) is a


def test_zeros_of_either_sign_are_told_apart():
    for zero in (0.0, -0.0, 0.0):
        found = mx.nd.clip(mx.nd.array([5.0]), zero, zero).asnumpy()
        assert np.signbit(found[0]) == np.signbit(zero)
        assert np.signbit((mx.nd.ones((1,)) * zero).asscalar()) == np.signbit(zero)


@pytest.mark.slow
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
