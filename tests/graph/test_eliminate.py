"""Common expressions and dead nodes, on graphs made by hand."""

from __future__ import annotations

import time

import pytest

from ferromix.graph.eliminate import live, may_shrink, merge
from ferromix.graph.node import Entry, Node, topological
from ferromix.ops.card import find, make


def variable(name):
    return Entry(Node(None, name), 0)


def op(name, *inputs, node=None, **attrs):
    return Entry(Node(make(name, attrs), node or name, inputs), 0)


def order_of(*heads):
    return [n for n in topological(heads) if n.op is not None]


def merged(*heads, kept=None, guarded=(), pure=lambda card: True):
    return merge(order_of(*heads), set(heads if kept is None else kept), guarded, pure)


def names(order):
    return [n.name for n in order]


def test_repeated_expressions_are_read_where_they_came_first():
    x = variable("x")
    a, b = op("exp", x, node="a"), op("exp", x, node="b")
    head = op("broadcast_add", op("sin", a, node="c"), op("sin", b, node="d"), node="e")
    order = merged(head)
    assert names(order) == ["a", "c", "e"]
    assert order[-1].inputs == [Entry(order[1], 0)] * 2
    assert order[-1].outputs() == [head]
    # The graph itself is as it was.
    assert names(order_of(head)) == ["a", "c", "b", "d", "e"]


@pytest.mark.parametrize(
    ("one", "other", "count"),
    [
        ({"scalar": 1.0}, {"scalar": 1.0}, 1),
        ({"scalar": 1.0}, {"scalar": "1.0"}, 1),
        ({"scalar": 0.0}, {"scalar": -0.0}, 2),
        ({"scalar": 1.0}, {"scalar": 2.0}, 2),
    ],
)
def test_attributes_count(one, other, count):
    x = variable("x")
    a, b = op("_plus_scalar", x, **one), op("_plus_scalar", x, **other)
    head = op("broadcast_mul", a, b)
    assert len(merged(head)) == count + 1


def test_cards_that_are_two_objects_are_compared_by_attributes():
    x, kind = variable("x"), find("exp")
    a, b = (Entry(Node(kind(), name, [x]), 0) for name in "ab")
    assert a.node.op is not b.node.op
    assert len(merged(op("broadcast_mul", a, b))) == 2


def test_the_order_of_inputs_counts():
    x, y = variable("x"), variable("y")
    a, b = op("broadcast_sub", x, y), op("broadcast_sub", y, x)
    assert len(merged(op("broadcast_mul", a, b))) == 3


def test_what_is_kept_stays_and_may_be_read():
    x = variable("x")
    a, b, c = (op("exp", x, node=name) for name in "abc")
    head = op("sin", c)
    order = merged(a, b, head)
    assert names(order) == ["a", "b", "sin"]
    assert order[-1].inputs == [a]


def test_guarded_values_are_apart():
    x, state = variable("x"), variable("state")
    a, b = op("exp", state, node="a"), op("exp", state, node="b")
    assert len(merged(op("broadcast_mul", a, b), guarded={state})) == 3
    a, b = op("exp", x, node="a"), op("exp", x, node="b")
    head = op("broadcast_mul", b, b)
    assert names(merged(a, head, guarded={a})) == ["a", "b", "broadcast_mul"]


def test_impure_nodes_stay():
    x = variable("x")
    a, b = op("exp", x, node="a"), op("exp", x, node="b")
    head = op("broadcast_mul", a, b)
    order = merged(head, pure=lambda card: card.name != "exp")
    assert names(order) == ["a", "b", "broadcast_mul"]


def test_what_nobody_reads_is_left_out():
    x = variable("x")
    head, dead = op("sin", x), op("tanh", op("exp", x))
    order = order_of(head, dead)
    assert names(live(order, {head}, lambda card: True)) == ["sin"]
    stays = live(order, {head}, lambda card: card.name != "tanh")
    assert names(stays) == ["sin", "exp", "tanh"]


def test_time_is_linear():
    def seconds(length):
        x = variable("x")
        for i in range(length):
            x = op("broadcast_add", op("exp", x, node=f"a{i}"), op("exp", x, node=f"b{i}"))
        order = order_of(x)
        start = time.process_time()
        assert (
            len(live(merge(order, {x}, (), lambda card: True), {x}, lambda card: True))
            == 2 * length
        )
        return time.process_time() - start

    short = min(seconds(1000) for _ in range(3))
    assert min(seconds(10000) for _ in range(2)) < 40 * short


def test_most_graphs_have_nothing_to_leave_out():
    x = variable("x")
    head = op("exp", op("elemwise_add", op("sin", x), op("cos", x)))
    assert not may_shrink(order_of(head), {head})


def test_what_is_there_twice_or_unread_is_looked_for():
    x = variable("x")
    twice = op("elemwise_add", op("exp", x, node="a"), op("exp", x, node="b"))
    assert may_shrink(order_of(twice), {twice})
    head, loose = op("exp", x), op("sin", x)
    assert may_shrink([head.node, loose.node], {head})
    assert not may_shrink([head.node, loose.node], {head, loose})


def test_one_output_that_is_read_is_enough():
    x = variable("x")
    parts = Node(make("SliceChannel", {"num_outputs": 3}), "parts", [x]).outputs()
    assert not may_shrink([parts[0].node], {parts[2]})
    assert may_shrink([parts[0].node], set())
