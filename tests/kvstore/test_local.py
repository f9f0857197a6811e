"""The local store: sums, updates, keys and errors."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import ArgumentTypeError, InvalidArgumentError, MXNetError

SHAPE = (2, 3)


def store(*keys, name="local", **options):
    kv = mx.kv.create(name, **options)
    for key in keys:
        kv.init(key, mx.nd.ones(SHAPE))
    return kv


def pulled(kv, key, shape=SHAPE):
    out = mx.nd.full(shape, -1)
    kv.pull(key, out=out)
    return out.asnumpy()


@pytest.mark.parametrize("name", ["local", "device", "LOCAL"])
def test_creation(name):
    kv = mx.kv.create(name)
    assert (kv.type, kv.rank, kv.num_workers) == (name.lower(), 0, 1)
    assert kv.is_capable("optimizer")


@pytest.mark.parametrize("key", [3, "fc_weight"])
def test_first_value_is_copied(key):
    value = mx.nd.ones(SHAPE) * 4
    kv = mx.kv.create()
    kv.init(key, value)
    value[:] = 0
    assert (pulled(kv, key) == 4).all()


def test_without_an_updater_a_push_replaces_the_value():
    kv = store(3)
    kv.push(3, mx.nd.ones(SHAPE) * 8)
    assert (pulled(kv, 3) == 8).all()


def test_a_list_is_summed_in_order_and_left_alone():
    rng = np.random.default_rng(0)
    values = [rng.normal(size=SHAPE).astype(np.float32) for _ in range(5)]
    arrays = [mx.nd.array(v) for v in values]
    kv = store("w")
    kv.push("w", arrays)
    total = values[0]
    for value in values[1:]:
        total = total + value
    np.testing.assert_array_equal(pulled(kv, "w"), total)
    for array, value in zip(arrays, values, strict=True):
        np.testing.assert_array_equal(array.asnumpy(), value)


def test_the_same_array_twice_in_a_push():
    kv = store("w")
    value = mx.nd.ones(SHAPE) * 3
    kv.push("w", [value, value])
    assert (pulled(kv, "w") == 6).all()
    assert (value.asnumpy() == 3).all()


def test_lists_of_keys():
    kv = mx.kv.create()
    kv.init([5, 7], [mx.nd.ones((2,)), mx.nd.zeros((3,))])
    kv.push([5, 7], [[mx.nd.ones((2,)), mx.nd.ones((2,))], mx.nd.ones((3,)) * 9])
    outs = [mx.nd.zeros((2,)), [mx.nd.zeros((3,)), mx.nd.zeros((3,))]]
    kv.pull([5, 7], out=outs)
    assert outs[0].asnumpy().tolist() == [2, 2]
    assert [a.asnumpy().tolist() for a in outs[1]] == [[9, 9, 9]] * 2


def test_a_key_given_twice_is_summed():
    kv = store(5)
    kv.push([5, 5], [mx.nd.ones(SHAPE), mx.nd.ones(SHAPE) * 2])
    assert (pulled(kv, 5) == 3).all()


@pytest.mark.parametrize("key", [3, "w"])
def test_updater_sees_key_sum_and_value(key):
    seen = []

    def add_twice(k, received, stored):
        seen.append(k)
        stored += received * 2
        received[:] = 0  # spoils its own copy only

    kv = store(key)
    kv.set_updater(add_twice)
    pushed = mx.nd.ones(SHAPE)
    kv.push(key, pushed)
    kv.push(key, [pushed, pushed])
    assert (pulled(kv, key) == 1 + 2 + 4).all()
    assert seen == [key, key]
    assert (pushed.asnumpy() == 1).all()


def test_pushpull_and_broadcast():
    kv = store(3)
    out = mx.nd.zeros(SHAPE)
    kv.pushpull(3, mx.nd.ones(SHAPE) * 5, out=out)
    assert (out.asnumpy() == 5).all()
    copies = [mx.nd.ones(SHAPE), mx.nd.ones(SHAPE) * 2]
    kv.pushpull(3, copies)
    assert all((c.asnumpy() == 3).all() for c in copies)
    kv.broadcast("q", mx.nd.ones(SHAPE) * 7, out=[out, copies[0]])
    assert (out.asnumpy() == 7).all()
    assert (copies[0].asnumpy() == 7).all()


@pytest.mark.parametrize("name", ["local", "device"])
def test_arrays_of_several_contexts(name):
    kv = mx.kv.create(name)
    kv.init(["a", 2], [mx.nd.zeros(SHAPE), mx.nd.zeros(SHAPE)])
    contexts = [mx.cpu(0), mx.cpu(1), mx.cpu(2)]
    pushed = [mx.nd.full(SHAPE, i + 1, ctx=context) for i, context in enumerate(contexts)]
    outs = [mx.nd.zeros(SHAPE, ctx=context) for context in contexts]
    kv.push(["a", 2], [pushed, pushed[1:]], priority=-1)
    for key, total in (("a", 6), (2, 5)):
        kv.pull(key, out=outs)
        assert all((out.asnumpy() == total).all() for out in outs)
    assert [out.context for out in outs] == contexts
    kv.pushpull("a", pushed)  # in place
    assert all((array.asnumpy() == 6).all() for array in pushed)
    kv.set_optimizer(mx.optimizer.SGD(learning_rate=0.5))
    kv.pushpull("a", pushed, out=outs)
    assert all((out.asnumpy() == 6 - 0.5 * 18).all() for out in outs)


def test_pulling_converts_the_type():
    kv = store(1)
    out = mx.nd.zeros(SHAPE, dtype="float64")
    kv.pull(1, out=out)
    assert out.dtype == np.float64
    assert (out.asnumpy() == 1).all()


def test_pushing_a_view_and_pulling_into_one():
    kv = store("w")
    grid = mx.nd.array(np.arange(12).reshape(3, 4))
    kv.push("w", grid[1:, 1:])
    kv.pull("w", out=grid[:2, :3])
    assert grid.asnumpy().tolist() == [[5, 6, 7, 3], [9, 10, 11, 7], [8, 9, 10, 11]]


def test_empty_and_scalar_shapes():
    kv = mx.kv.create()
    for key, shape in (("none", (0, 2)), ("scalar", ())):
        kv.init(key, mx.nd.ones(shape))
        kv.push(key, [mx.nd.ones(shape), mx.nd.ones(shape)])
        np.testing.assert_array_equal(pulled(kv, key, shape), np.full(shape, 2))


def test_optimizer_on_the_store():
    kv = store(0)
    kv.set_optimizer(mx.optimizer.SGD(learning_rate=0.1, momentum=0.9))
    for _ in range(2):
        kv.push(0, [mx.nd.ones(SHAPE), mx.nd.ones(SHAPE)])
    # velocity -0.2, then 0.9 * -0.2 - 0.2 = -0.38
    np.testing.assert_allclose(pulled(kv, 0), 1 - 0.2 - 0.38, rtol=1e-6)


@pytest.mark.parametrize("name", ["sgd", "adam"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_optimizer_leaves_gradients_alone(name, dtype):
    kv = store(0)
    kv.set_optimizer(mx.optimizer.create(name, rescale_grad=0.5, clip_gradient=0.1, wd=0.1))
    grad = mx.nd.ones(SHAPE, dtype=dtype)
    kv.push(0, grad)
    kv.push(0, [grad, grad])
    assert (grad.asnumpy() == 1).all()
    assert (pulled(kv, 0) < 1).all()


@pytest.mark.parametrize("dump_optimizer", [False, True])
def test_states_survive_a_restart(tmp_path, dump_optimizer):
    def optimizer():
        return mx.optimizer.SGD(learning_rate=0.1, momentum=0.9)

    path = tmp_path / "states"
    kv = store("w")
    kv.set_optimizer(optimizer())
    kv.push("w", mx.nd.ones(SHAPE))
    kv.save_optimizer_states(path, dump_optimizer=dump_optimizer)
    again = mx.kv.create()
    again.init("w", mx.nd.array(pulled(kv, "w")))
    again.set_optimizer(optimizer())
    again.load_optimizer_states(path)
    for one in (kv, again):
        one.push("w", mx.nd.ones(SHAPE))
    np.testing.assert_array_equal(pulled(kv, "w"), pulled(again, "w"))
    assert [p.name for p in tmp_path.iterdir()] == ["states"]
    assert isinstance(pickle.loads(path.read_bytes()), tuple) == dump_optimizer


def test_states_need_an_optimizer(tmp_path):
    with pytest.raises(MXNetError, match="call set_optimizer first"):
        store(1).save_optimizer_states(tmp_path / "states")
    with pytest.raises(MXNetError, match="call set_optimizer first"):
        store(1).load_optimizer_states(tmp_path / "states")


ONE = mx.nd.ones((1,))


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda kv: kv.push("x", ONE), "push: key 'x' has no value; call init first"),
        (lambda kv: kv.pull("x", out=ONE), "pull: key 'x' has no value"),
        (lambda kv: kv.init(3, ONE), r"init: key 3 has a value already, of shape \(2, 3\)"),
        (lambda kv: kv.push(3, ONE), r"key 3 holds shape \(2, 3\), got .* shape \(1,\)"),
        (lambda kv: kv.pull(3, out=ONE), r"pull: key 3 holds shape \(2, 3\), got .* shape \(1,\)"),
        (lambda kv: kv.push(3, []), "push: key 3 got an empty list"),
        (lambda kv: kv.pull(3), "out is required"),
        (lambda kv: kv.push(3, 1.0), "key 3 needs an NDArray or a list of them, got 1.0"),
        (lambda kv: kv.init(4, [ONE, ONE]), "key 4 needs one array, got 2"),
        (lambda kv: kv.init([4, 5], [ONE]), "2 keys, but values for 1"),
        (lambda kv: kv.init([4, 5], ONE), "2 keys, but values for one array"),
        (lambda kv: kv.init(1.5, ONE), "a key must be an int or a str.*got 1.5"),
    ],
)
def test_errors(act, message):
    kv = store(3)
    with pytest.raises(InvalidArgumentError, match=message):
        act(kv)
    assert (pulled(kv, 3) == 1).all()


def test_unknown_store():
    with pytest.raises(InvalidArgumentError, match="unknown KVStore 'locale'; known: local, dev"):
        mx.kv.create("locale")
    with pytest.raises(InvalidArgumentError, match="create: name must be a string, got int"):
        mx.kv.create(3)


def test_a_push_with_an_error_changes_nothing():
    kv = store(1, 2)
    with pytest.raises(InvalidArgumentError, match="key 2 holds"):
        kv.push([1, 2], [mx.nd.zeros(SHAPE), ONE])
    assert (pulled(kv, 1) == 1).all()


@pytest.mark.parametrize("kind", ["local", "device"])
def test_what_is_no_optimizer_and_no_updater_is_refused_at_once(kind):
    kv = mx.kv.create(kind)
    for wrong in ("sgd", 3, None):
        with pytest.raises(ArgumentTypeError, match="expected an Optimizer, got"):
            kv.set_optimizer(wrong)
    with pytest.raises(ArgumentTypeError, match="set_updater: expected a function, got int"):
        kv.set_updater(3)
    with pytest.raises(ValueError, match="unknown capability 'OPTIMIZR'"):
        kv.is_capable("OPTIMIZR")
    assert kv.is_capable("OPTIMIZER")


def test_keys_of_both_kinds_are_different_keys():
    kv = mx.kv.create("local")
    kv.init([3, "3"], [mx.nd.ones((2,)), mx.nd.zeros((2,))])
    one, two = mx.nd.empty((2,)), mx.nd.empty((2,))
    kv.pull([3, "3"], out=[one, two])
    assert (one.asnumpy().tolist(), two.asnumpy().tolist()) == ([1, 1], [0, 0])
