"""Fused nodes compute what their members do, and nothing that others read is lost."""

from __future__ import annotations

import random

import numpy as np
import pytest

import ferromix as mx
from ferromix.dispatch import invoke
from ferromix.graph.fuse import ALIKE, ASK, NEVER, FusedNode, fuse
from ferromix.graph.node import Entry, Node, topological
from ferromix.ops.card import make
from ferromix.ops.fused import MOST_INPUTS, MOST_PARTS

UNARY, BINARY, OTHER = ("tanh", "square", "sigmoid"), ("broadcast_add", "broadcast_mul"), "reverse"


def variable(name):
    return Entry(Node(None, name), 0)


def op(name, *inputs, **attrs):
    return Entry(Node(make(name, attrs), name, inputs), 0)


def is_plain(node):
    return node.op.name != OTHER


def order_of(*heads):
    return [n for n in topological(heads) if n.op is not None]


def fused(order, kept, *, fits=is_plain, shapes=None, types=None, devices=None, way=ASK):
    (found,) = halves_of([order], kept, fits, shapes or {}, types or {}, devices, way)
    return found


def halves_of(halves, kept, fits, shapes, types, devices=None, way=ASK):
    """Everything is alike and on one device but for what is said."""
    entries = {e for half in halves for n in half for e in [*n.inputs, *n.outputs()]}
    sizes = dict.fromkeys(entries, (3, 2)) | shapes, dict.fromkeys(entries, "float32") | types
    places = {e.node: mx.cpu() for e in entries} | (devices or {})
    about = way if callable(way) else lambda node: (way, [])
    return fuse(halves, set(kept), sizes, places, about, fits, 6)


def run(order, values):
    """Every result in order; a fused node by its parts, which see only what it reads."""
    for node in order:
        given = [values[e] for e in node.inputs]
        if not isinstance(node, FusedNode):
            values[Entry(node, 0)] = invoke(node.op, given)[0]
            continue
        for card, inputs in node.op.parts:
            given.append(invoke(card, [given[i] for i in inputs])[0])
        values[node.outputs()[0]] = given[-1]
    return values


def test_a_chain_is_one_node():
    x = variable("x")
    head = op("tanh", op("square", op("sigmoid", x)))
    (node,) = fused(order_of(head), [head])
    assert isinstance(node, FusedNode)
    assert [m.name for m in node.members] == ["sigmoid", "square", "tanh"]
    assert node.inputs == [x]
    assert node.outputs() == [head]
    assert node.op.label == "sigmoid+square+tanh"


def test_what_others_read_stays():
    x = variable("x")
    middle = op("square", x)
    left, right = op("tanh", middle), op(OTHER, middle, axis=0)
    assert fused(order_of(left, right), [left, right]) == order_of(left, right)
    both = op("broadcast_add", op("tanh", middle), op("sigmoid", middle))
    assert len(fused(order_of(both), [both])) == 1
    assert len(fused(order_of(both), [both, middle])) == 2


def test_groups_keep_within_their_limits():
    head = variable("x")
    for _ in range(2 * MOST_PARTS + 1):
        head = op("tanh", head)
    order = fused(order_of(head), [head])
    assert [len(getattr(n, "members", [n])) for n in order] == [1, MOST_PARTS, MOST_PARTS]
    head = variable("v0")
    for i in range(1, 2 * MOST_INPUTS):
        head = op("broadcast_add", head, variable(f"v{i}"))
    order = fused(order_of(head), [head])
    assert all(len(n.inputs) <= MOST_INPUTS for n in order)
    assert len(order) == 3


def test_a_group_lies_within_a_half():
    middle = op("square", op("tanh", variable("x")))
    last = op("sigmoid", op("tanh", middle))
    nodes = order_of(last)
    first, second = halves_of([nodes[:2], nodes[2:]], [last], is_plain, {}, {})
    assert [len(half) for half in (first, second)] == [1, 1]
    assert first[0].outputs() == [middle]
    assert second[0].inputs == [middle]


def test_a_group_has_one_shape_one_type_and_one_device():
    middle = op("square", op("tanh", variable("x")))
    last = op("sigmoid", middle)
    order = order_of(last)
    assert len(fused(order, [last])) == 1
    assert len(fused(order, [last], shapes={last: (1, 2)})) == 2
    assert len(fused(order, [last], types={last: "float16"})) == 2
    assert len(fused(order, [last], devices={last.node: mx.cpu(1)})) == 2
    # What is read from another device is not read within a group.
    assert fused(order, [last], devices={order[0].inputs[0].node: mx.cpu(1)})[0] is order[0]


def test_large_results_of_one_shape_need_no_question():
    def never(node):
        raise AssertionError(node)

    x = variable("x")
    last = op("square", op("tanh", x))
    order = order_of(last)
    assert len(fused(order, [last], fits=never, way=ALIKE)) == 1
    assert fused(order, [last], fits=never, way=NEVER) == order
    small = dict.fromkeys((x, last, *order[0].outputs()), (5,))
    assert fused(order, [last], fits=never, way=ALIKE, shapes=small) == order
    assert fused(order, [last], fits=never, way=ALIKE, shapes={x: (7,)}) == order


def test_what_an_operator_changes_is_not_read_by_a_group():
    x, state = variable("x"), variable("state")
    update = op(OTHER, state, axis=0)
    last = op("square", op("broadcast_add", x, state))
    order = order_of(update, last)

    def about(node):
        return (NEVER, [0]) if node.op.name == OTHER else (ASK, [])

    assert fused(order, [update, last], way=about) == order
    assert len(fused(order, [update, last])) == 2


def test_an_error_of_a_question_comes_out():
    last = op("square", op("tanh", variable("x")))

    def fits(node):
        raise ZeroDivisionError(node.name)

    with pytest.raises(ZeroDivisionError, match="tanh"):
        fused(order_of(last), [last], fits=fits)


@pytest.mark.parametrize("seed", range(40))
def test_random_graphs(seed):
    draw = random.Random(seed)
    entries = [variable(f"x{i}") for i in range(3)]
    for _ in range(draw.randint(1, 25)):
        kind = draw.random()
        recent = entries[-6:]
        if kind < 0.15:
            entries.append(op(OTHER, draw.choice(recent), axis=0))
        elif kind < 0.6:
            entries.append(op(draw.choice(UNARY), draw.choice(recent)))
        else:
            entries.append(op(draw.choice(BINARY), draw.choice(recent), draw.choice(entries)))
    heads = [entries[-1], draw.choice(entries[3:])]
    order = order_of(*heads)
    short = fused(order, heads)
    places = {e: i for i, n in enumerate(short) for e in n.outputs()}
    for i, node in enumerate(short):
        assert all(e.node.op is None or places[e] < i for e in node.inputs)
    numbers = np.random.default_rng(seed)
    start = {e: mx.nd.array(numbers.normal(size=(3, 2))).handle for e in entries[:3]}
    long, brief = run(order, dict(start)), run(short, dict(start))
    for head in heads:
        assert np.array_equal(
            mx.nd.NDArray(brief[head]).asnumpy(), mx.nd.NDArray(long[head]).asnumpy()
        )
