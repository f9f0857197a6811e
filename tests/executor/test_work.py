"""How much work binding is: it must not grow with nodes that are alike, nor be done again for a
graph that was bound before. Counted, not timed."""

from __future__ import annotations

import copy
import gc
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ferromix as mx
from ferromix.executor import network, program, structures
from ferromix.graph import gradient, infer


class Counter:
    """Counts the calls of a function of a module."""

    def __init__(self, patch: pytest.MonkeyPatch, module: Any, name: str) -> None:
        self.calls = 0
        self._function: Callable[..., Any] = getattr(module, name)
        patch.setattr(module, name, self)

    def __call__(self, *args: Any) -> Any:
        self.calls += 1
        return self._function(*args)


def chain(length: int, prefix: str = "") -> mx.sym.Symbol:
    """A chain of three operators, again and again."""
    y = mx.sym.var("x")
    for i in range(length):
        y = mx.sym.tanh(y * 0.5 + 0.25, name=f"{prefix}t{i}")
    return y


def named(make: Callable[[], Any]) -> Any:
    """What `make` gives when names are counted from the beginning."""
    with mx.name.NameManager():
        return make()


def bind(net: mx.sym.Symbol, *shape: int) -> mx.executor.Executor:
    return net.simple_bind(mx.cpu(), x=shape, grad_req="write")


@pytest.fixture(autouse=True)
def nothing_is_known():
    structures.forget()
    gc.collect()
    yield
    structures.forget()


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (infer, "_ask_shapes"),
        (infer, "_ask_types"),
        (gradient, "_rule_of"),
        (program, "maker"),
    ],
)
def test_cards_are_asked_no_more_often_in_a_longer_chain(module, name, monkeypatch):
    counts = []
    for length in (20, 200):
        with monkeypatch.context() as patch:
            counter = Counter(patch, module, name)
            bind(chain(length), 3)
        counts.append(counter.calls)
    assert counts[0] == counts[1] > 0


def test_a_rule_is_written_down_once(monkeypatch):
    gradient._rule_of.cache_clear()
    counter = Counter(monkeypatch, gradient, "_write_down")
    bind(chain(100), 3)
    first = counter.calls
    bind(chain(200), 3)
    assert first == counter.calls == 3


def test_shapes_that_are_not_known_are_asked_for_no_more_often(monkeypatch):
    def questions(length: int) -> int:
        x = mx.sym.var("x")
        y = x
        for i in range(length):
            y = mx.sym.broadcast_add(y, mx.sym.var(f"b{i}", shape=(2, 3)))
        counter = Counter(monkeypatch, infer, "_ask_shapes")
        y.infer_shape_partial()
        monkeypatch.undo()
        return counter.calls

    assert questions(10) == questions(100)


def test_an_equal_graph_finds_its_network(monkeypatch):
    counter = Counter(monkeypatch, structures, "build")
    first, second = (bind(named(lambda: chain(5)), 3) for _ in range(2))
    assert counter.calls == 1
    assert first.handle.network is second.handle.network
    values = np.array([0.1, -2, 3], np.float32), np.array([1, 2, -0.5], np.float32)
    results = []
    for executor, value in zip((first, second), values, strict=True):
        executor.forward(is_train=True, x=value)
        executor.backward(mx.nd.ones((3,)))
    for executor, value in zip((first, second), values, strict=True):
        x = mx.nd.array(value)
        x.attach_grad()
        with mx.autograd.record():
            y = x
            for _ in range(5):
                y = mx.nd.tanh(y * 0.5 + 0.25)
        y.backward()
        np.testing.assert_array_equal(executor.outputs[0].asnumpy(), y.asnumpy())
        np.testing.assert_array_equal(executor.grad_arrays[0].asnumpy(), x.grad.asnumpy())
        results.append(executor.outputs[0].asnumpy())
    assert not np.array_equal(*results)


@pytest.mark.parametrize("what", ["name", "shape", "type", "request", "attribute", "output"])
def test_what_differs_is_built_anew(what, monkeypatch):
    counter = Counter(monkeypatch, structures, "build")
    net = named(lambda: chain(2))
    bind(net, 3)
    if what == "name":
        bind(named(lambda: chain(2, "other_")), 3)
    elif what == "shape":
        bind(net, 4)
    elif what == "type":
        net.simple_bind(mx.cpu(), x=(3,), grad_req="write", type_dict={"x": "float64"})
    elif what == "request":
        net.simple_bind(mx.cpu(), x=(3,), grad_req="add")
    elif what == "attribute":
        other = copy.deepcopy(net)
        other._set_attr(__note__="1")
        bind(other, 3)
    else:
        bind(mx.sym.Group([net, net]), 3)
    assert counter.calls == 2


def test_attributes_given_after_binding_are_not_seen_by_an_equal_older_graph(monkeypatch):
    first, second = (named(lambda: chain(2)) for _ in range(2))
    bind(first, 3)
    first._set_attr(__force_mirroring__="True")
    counter = Counter(monkeypatch, structures, "build")
    executor = bind(second, 3)
    assert counter.calls == 1
    attributes = [n.attrs for n in executor.handle.network.operators]
    assert not any("__force_mirroring__" in a for a in attributes)
    assert bind(second, 3).handle.network is executor.handle.network


def test_inference_goes_around_a_zigzag_as_often_as_it_learns_something(monkeypatch):
    """The shape is known at one end, and each node next to it stands in the other half."""

    def visits(count):
        names = [mx.sym.var(f"v{i}") for i in range(count + 1)]
        order = [*range(0, count, 2), *range(1, count, 2)]
        net = mx.sym.Group([mx.sym.elemwise_add(names[i], names[i + 1]) for i in order])
        counter = Counter(monkeypatch, infer, "_ask_shapes")
        start = time.thread_time()
        shapes, _, _ = net.infer_shape(**{f"v{count}": (2, 3)})
        seconds = time.thread_time() - start
        monkeypatch.undo()
        assert set(shapes) == {(2, 3)}
        return counter.calls, seconds

    (few, _), (many, _) = visits(100), visits(1000)
    assert few == many
    # In proportion it would be 16 times as long, and 256 times if each turn looked at all nodes.
    short, long = (min(visits(count)[1] for _ in range(3)) for count in (500, 8000))
    assert long < 80 * short


def test_reshaping_to_and_fro_builds_each_shape_once(monkeypatch):
    executor = bind(chain(3), 8)
    counter = Counter(monkeypatch, structures, "build")
    for size in (4, 8, 4, 8, 4):
        executor = executor.reshape(x=(size,), allow_up_sizing=True)
        executor.forward(x=np.full(size, 0.5, np.float32))
        expected = 0.5
        for _ in range(3):
            expected = np.tanh(expected * 0.5 + 0.25)
        np.testing.assert_allclose(executor.outputs[0].asnumpy(), np.full(size, expected), 1e-6)
    assert counter.calls == 1


def test_buckets_of_one_length_find_their_network(monkeypatch):
    def graph(length):
        cell = mx.rnn.LSTMCell(4, prefix="cell_")
        outputs, _ = cell.unroll(length, mx.sym.var("data"), merge_outputs=True)
        return mx.sym.LinearRegressionOutput(outputs, mx.sym.var("label")), ("data",), ("label",)

    counter = Counter(monkeypatch, structures, "build")
    for _ in range(2):
        with mx.name.NameManager():
            module = mx.mod.BucketingModule(graph, default_bucket_key=5)
            module.bind([("data", (2, 5, 3))], [("label", (2, 5, 4))])
            module.init_params()
            module.switch_bucket(3, [("data", (2, 3, 3))], [("label", (2, 3, 4))])
    assert counter.calls == 2


def test_what_nobody_uses_is_kept_up_to_a_number_of_nodes(monkeypatch):
    monkeypatch.setattr(structures, "MOST_NODES", 40 + 2 * structures.OWN)
    for size in (1, 2, 3, 2, 4, 3):
        bind(chain(3), size)
        kept = structures._RECENT.networks.values()
        assert sum(n.size + structures.OWN for n in kept) == structures._RECENT.nodes
    assert structures._RECENT.nodes <= structures.MOST_NODES
    assert len(kept) == 2
    gc.collect()
    assert len(structures._KNOWN) == 2


def test_cards_with_objects_of_a_user_are_not_kept():
    class Property(mx.operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            return mx.operator.CustomOp()

    mx.operator.register("work_of_a_user")(Property)
    bind(mx.sym.Custom(mx.sym.var("x"), op_type="work_of_a_user"), 3)
    assert not structures._RECENT.networks


def test_a_long_chain_binds_and_runs():
    length = 5000
    y = mx.sym.var("x")
    for i in range(length):
        y = mx.sym.negative(y + 1) if i % 2 else y * 1
    executor = bind(y, 3)
    executor.forward(is_train=True, x=np.zeros(3, np.float32))
    executor.backward(mx.nd.ones((3,)))
    expected = 0.0
    for i in range(length):
        expected = -(expected + 1) if i % 2 else expected
    np.testing.assert_array_equal(executor.outputs[0].asnumpy(), np.full(3, expected))
    sign = -1 if (length // 2) % 2 else 1
    np.testing.assert_array_equal(executor.grad_dict["x"].asnumpy(), np.full(3, sign))
    # Each result is written over the one before.
    assert executor.handle.main_program().memory.peak <= 2 * 3 * 4


def test_many_copies_of_one_gradient_stand_in_their_order():
    names = [f"v{i}" for i in range(300)]
    total = mx.sym.add_n(*[mx.sym.var(n) for n in names])
    shapes: dict[str, Any] = dict.fromkeys(names, (2,))
    executor = total.simple_bind(mx.cpu(), "write", **shapes)
    executor.forward(is_train=True)
    executor.backward(mx.nd.array([2, 5]))
    assert len(executor.handle.network.backward) <= len(names)
    for name in names:
        assert executor.grad_dict[name].asnumpy().tolist() == [2, 5]
    assert isinstance(executor.handle.network, network.Network)
