"""Arrays on several devices of the CPU: memory of their own, copies, and where results are."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import ferromix as mx

nd, ag = mx.nd, mx.autograd


def on(number, *values):
    return nd.array(values or [1.0, 2.0], ctx=mx.cpu(number))


def test_devices_have_memory_of_their_own():
    a = on(1)
    b = a.as_in_context(mx.cpu(0))
    b[:] = 5
    assert a.as_in_context(mx.cpu(1)) is a
    assert (a.asnumpy().tolist(), b.asnumpy().tolist()) == ([1, 2], [5, 5])
    c = a.copyto(mx.cpu(7))
    a[:] = 0
    assert (c.context, c.asnumpy().tolist()) == (mx.cpu(7), [1, 2])


def test_pools_are_counted_apart():
    place = mx.cpu(11)
    before = mx.storage.stats(mx.cpu(0))["in_use"]
    assert mx.storage.stats(place)["in_use"] == 0
    big = nd.zeros((1024, 1024), ctx=place)
    big.wait_to_read()
    assert mx.storage.stats(place)["in_use"] == 4 << 20
    assert mx.storage.stats(mx.cpu(0))["in_use"] - before < 1 << 20
    del big
    nd.waitall()
    assert mx.storage.stats(place)["in_use"] == 0
    mx.storage.trim(0, place)
    assert mx.storage.stats(place)["cached"] == 0


def test_a_limit_is_of_one_device():
    place = mx.cpu(12)
    mx.storage.set_limit(1 << 20, place)
    try:
        with pytest.raises(MemoryError):
            nd.zeros((1024, 1024), ctx=place).wait_to_read()
        assert mx.storage.limit(place) == 1 << 20
        assert mx.storage.limit(mx.cpu(13)) is None
        nd.zeros((1024, 1024), ctx=mx.cpu(13)).wait_to_read()
    finally:
        mx.storage.set_limit(None, place)


@pytest.mark.parametrize(
    ("first", "second", "result"),
    [
        (mx.cpu(0), mx.cpu(1), mx.cpu(0)),
        (mx.cpu(1), mx.cpu(0), mx.cpu(1)),
        (mx.cpu_shared(0), mx.cpu(1), mx.cpu(0)),
        (mx.cpu_shared(2), mx.cpu(1), mx.cpu(2)),
        (mx.cpu(3), mx.cpu_shared(2), mx.cpu(3)),
    ],
)
def test_results_are_where_the_first_input_is(first, second, result):
    a, b = nd.array([1, 2], ctx=first), nd.array([10, 20], ctx=second)
    for found, values in (
        (a + b, [11, 22]),
        (a * 3, [3, 6]),
        (nd.concat(a, b, dim=0), [1, 2, 10, 20]),
        (nd.khatri_rao(a.reshape((1, 2)), b.reshape((1, 2))), [[10, 40]]),
        (a.astype("float64").astype("float32") if first.device_type == "cpu" else a + 0, [1, 2]),
    ):
        assert (found.context, found.asnumpy().tolist()) == (result, values)
    out = nd.zeros((2,), ctx=mx.cpu(5))
    nd.elemwise_add(a, b, out=out)
    assert (out.context, out.asnumpy().tolist()) == (mx.cpu(5), [11, 22])


def test_a_thread_has_a_device_for_new_arrays():
    makers = [
        lambda: nd.zeros((1,)),
        lambda: nd.ones((1,)),
        lambda: nd.empty((1,)),
        lambda: nd.array([1]),
        lambda: nd.arange(2),
        lambda: nd.eye(2),
        lambda: nd.linspace(0, 1, 2),
        lambda: nd.random.uniform(shape=(1,)),
        lambda: nd.random_normal(shape=(1,)),
        lambda: mx.random.normal(shape=(1,)),
    ]
    elsewhere = []
    with mx.cpu(3):
        assert {make().context for make in makers} == {mx.cpu(3)}
        with mx.Context("cpu", 4):
            assert {make().context for make in makers} == {mx.cpu(4)}
            assert nd.zeros((1,), ctx=mx.cpu()).context == mx.cpu(0)
            assert nd.zeros_like(on(1)).context == mx.cpu(1)
        thread = threading.Thread(target=lambda: elsewhere.extend(m().context for m in makers))
        thread.start()
        thread.join()
        assert {make().context for make in makers} == {mx.cpu(3)}
    assert {make().context for make in makers} == set(elsewhere) == {mx.cpu(0)}


def test_a_device_of_an_impossible_number():
    for number in (-1, 2**16):
        bad = mx.Context("cpu", number)
        with pytest.raises(mx.error.InvalidArgumentError, match="devices have the numbers"):
            nd.zeros((1,), ctx=bad)
        with pytest.raises(mx.error.InvalidArgumentError, match="number of a device"), bad:
            pass
    assert nd.zeros((1,)).context == mx.cpu(0)


def test_copies_between_devices_are_recorded():
    x = on(0)
    x.attach_grad()
    with ag.record():
        y = (x * 3).as_in_context(mx.cpu(1)) * x.copyto(mx.cpu(2))
    y.backward()
    assert y.context == mx.cpu(1)
    assert (x.grad.context, x.grad.asnumpy().tolist()) == (mx.cpu(0), [6, 12])


@pytest.mark.parametrize("create_graph", [False, True])
def test_gradients_are_where_their_variables_are(create_graph):
    x, w = on(0), on(1, 3.0, 4.0)
    for variable in (x, w):
        variable.attach_grad()
        assert variable.grad.context == variable.context
    with ag.record():
        z = nd.square(x * w)
        found = ag.grad(z, [x, w], create_graph=create_graph, retain_graph=True)
    z.backward()
    values = [[2 * 1 * 9, 2 * 2 * 16], [2 * 3 * 1, 2 * 4 * 4]]
    for variable, gradient, expected in zip((x, w), found, values, strict=True):
        assert gradient.context == variable.context == variable.grad.context
        assert gradient.asnumpy().tolist() == variable.grad.asnumpy().tolist() == expected


def test_a_recorded_network_on_another_device_stays_there():
    rng = np.random.default_rng(3)
    data, weight = (rng.normal(size=s).astype("float32") for s in ((4, 5), (3, 5)))

    def run(place):
        x, w = nd.array(data, ctx=place), nd.array(weight, ctx=place)
        w.attach_grad()
        with ag.record(), place:
            h = nd.FullyConnected(x, w, no_bias=True, num_hidden=3)
            out = nd.log_softmax(nd.Dropout(h, p=0.0))[1:3].sum()
        out.backward()
        assert {out.context, w.grad.context} == {place}
        return w.grad.asnumpy()

    before = mx.storage.stats(mx.cpu(0))["in_use"]
    np.testing.assert_array_equal(run(mx.cpu(1)), run(mx.cpu(0)))
    nd.waitall()
    assert mx.storage.stats(mx.cpu(0))["in_use"] <= before + 4096


def test_optimizers_and_stores_keep_states_beside_weights():
    weight, grad = on(1), on(1)
    for name in ("sgd", "adam", "rmsprop"):
        state = mx.optimizer.create(name).create_state(0, weight)
        held = state if isinstance(state, (list, tuple)) else [state]
        assert all(s is None or s.context == mx.cpu(1) for s in held)
    store = mx.kv.create("local")
    store.init(0, weight)
    store.push(0, [grad, on(2)])
    out = on(3)
    store.pull(0, out)
    assert (out.context, out.asnumpy().tolist()) == (mx.cpu(3), [2, 4])


def test_saving_and_loading_between_devices(tmp_path):
    nd.save(str(tmp_path / "x"), {"a": on(1)})
    (loaded,) = nd.load(str(tmp_path / "x")).values()
    assert loaded.asnumpy().tolist() == [1, 2]


@pytest.mark.parametrize(
    "key",
    [[0, 1], np.array([True, False]), (np.array([1, 1]),), nd.array([1]), [True, False]],
    ids=str,
)
def test_what_is_picked_stays_on_its_device(key):
    with mx.cpu(2):
        assert on(1)[key].context == mx.cpu(1)
        x = on(1)
        x.attach_grad()
        with ag.record():
            y = x[key] * 2
        y.backward()
    assert y.context == x.grad.context == mx.cpu(1)
    assert x.grad.asnumpy().sum() == 2 * y.size


def test_batches_are_where_their_source_is():
    data, label = nd.ones((4, 2), ctx=mx.cpu(1)), nd.zeros((4,), ctx=mx.cpu(2))
    (batch, *_) = mx.io.NDArrayIter(data, label, 2)
    assert (batch.data[0].context, batch.label[0].context) == (mx.cpu(1), mx.cpu(2))
    (batch, *_) = mx.io.NDArrayIter(np.ones((4, 2)), None, 2)
    assert batch.data[0].context == mx.cpu(0)


def test_loaded_states_go_to_their_weights():
    weight, grad = on(1), on(1)
    updater = mx.optimizer.get_updater(mx.optimizer.create("adam"))
    updater(0, grad, weight)
    other = mx.optimizer.get_updater(mx.optimizer.create("adam"))
    other.set_states(updater.get_states())
    other(0, grad, weight)
    assert {s.context for s in other.states[0]} == {mx.cpu(1)}
