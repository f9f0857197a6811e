"""Fused nodes compute what their members do, and nothing that others read is lost."""

from __future__ import annotations

import random

import numpy as np
import pytest

import ferromix as mx
from ferromix.dispatch import invoke
from ferromix.graph.fuse import FusedNode, fuse, readers_of
from ferromix.graph.node import Entry, Node, topological
from ferromix.ops.card import make
from ferromix.ops.fused import MOST_INPUTS, MOST_PARTS

UNARY, BINARY, OTHER = ("tanh", "square", "sigmoid"), ("broadcast_add", "broadcast_mul"), "flip"


def variable(name):
    return Entry(Node(None, name), 0)


def op(name, *inputs, **attrs):
    return Entry(Node(make(name, attrs), name, inputs), 0)


def is_plain(node, _last):
    return node.op.name != OTHER


def order_of(*heads):
    return [n for n in topological(heads) if n.op is not None]


def fused(order, kept, may_join=is_plain):
    return fuse(order, readers_of(order), set(kept), may_join)


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
