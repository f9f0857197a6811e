"""Results of the forward pass that are computed again, on graphs made by hand."""

from __future__ import annotations

from math import inf

import pytest

from ferromix.graph.gradient import differentiate
from ferromix.graph.node import Entry, Node, topological
from ferromix.graph.plan_memory import plan_memory
from ferromix.graph.recompute import Cost, is_forced, recomputed, select
from ferromix.ops.card import make


def variable(name):
    return Entry(Node(None, name), 0)


def op(name, *inputs, node=None, **attrs):
    return Entry(Node(make(name, attrs), node or name, inputs), 0)


def chain(length):
    x = variable("x")
    head = x
    for i in range(length):
        head = op("tanh", head, node=f"t{i}")
    order = [n for n in topological([head]) if n.op is not None]
    return x, head, order, differentiate([head], [x.node]).nodes


def able(nodes):
    return {n.outputs()[0]: n.op.again(n.inputs, n.outputs()) for n in nodes}


def again(backward, *nodes):
    told = {}
    found = recomputed(backward, able(nodes), told.__setitem__)
    return found, told


def test_nothing_dropped_changes_nothing():
    _, _, _, backward = chain(3)
    assert again(backward) == (list(backward), {})


def test_what_is_dropped_is_made_before_its_first_reader():
    x, _, forward, backward = chain(3)
    found, told = again(backward, forward[0])
    made = [n for n in found if n.name == "t0_again"]
    assert len(made) == 1
    assert made[0].inputs == [x]
    readers = [i for i, n in enumerate(found) if Entry(made[0], 0) in n.inputs]
    assert found.index(made[0]) == min(readers) - 1
    assert told == {Entry(made[0], 0): Entry(forward[0], 0)}
    assert not any(Entry(forward[0], 0) in n.inputs for n in found)


def test_chains_are_made_from_what_is_there():
    _, _, forward, backward = chain(5)
    found, _ = again(backward, *forward[1:4])
    made = [n for n in found if n.name.endswith("_again")]
    assert [n.name for n in made] == ["t1_again", "t2_again", "t3_again"]
    assert made[0].inputs == [Entry(forward[0], 0)]
    assert made[2].inputs == [Entry(made[1], 0)]


def test_batch_norm_is_made_again_from_its_statistics():
    names = ("x", "gamma", "beta", "mean", "var")
    node = Node(make("BatchNorm", {}), "bn", [variable(n) for n in names])
    card, inputs = node.op.again(node.inputs, node.outputs())
    assert card.name == "_batch_norm_again"
    assert inputs == [*node.inputs[:3], *node.outputs()[1:]]


@pytest.mark.parametrize("name", ["Dropout", "BatchNormWithReLU", "SyncBatchNorm"])
def test_others_are_not(name):
    attrs = {"key": "a"} if name == "SyncBatchNorm" else {}
    card = make(name if name == "Dropout" else f"_contrib_{name}", attrs)
    node = Node(card, "n", [variable(n) for n in (*card.list_arguments(), *"ab")])
    assert card.again(node.inputs, node.outputs()) is None


@pytest.mark.parametrize(
    ("attrs", "expected"),
    [
        ({"__force_mirroring__": "True"}, True),
        ({"force_mirroring": "1"}, True),
        ({"__force_mirroring__": "False"}, False),
        ({"__force_mirroring__": "0"}, False),
        ({}, False),
    ],
)
def test_the_attribute_asks(attrs, expected):
    assert is_forced(Node(make("tanh", {}), "t", [variable("x")], attrs)) is expected


@pytest.fixture
def halves():
    _, _, forward, backward = chain(16)
    return list(forward), list(backward)


def chosen(halves, budget, most=inf, forced=()):
    """How many results are dropped, and the bytes that the pass takes by its plan."""
    forward, backward = halves
    may = able(forward[:-1])
    costs = {e: Cost(1.0, False) for e in may}
    sizes = dict.fromkeys([n.outputs()[0] for n in (*forward, *backward)], 100)
    found = select(halves, sizes, (), {}, may, forced, costs, budget, most)
    after = recomputed(
        backward,
        {e: may[e] for e in {*forced, *found}},
        lambda new, like: sizes.setdefault(new, sizes[like]),
    )
    return found, plan_memory([*forward, *after], sizes, ()).peak


def test_a_budget_is_met_at_little_cost(halves):
    nothing, whole = chosen(halves, 10**6)
    assert nothing == set()
    few, some = chosen(halves, whole - 500)
    assert some <= whole - 500
    assert 0 < len(few) < len(halves[0]) - 1
    more, least = chosen(halves, 0)
    assert len(more) > len(few)
    assert least < some


def test_no_more_time_is_taken_than_may_be(halves):
    found, _ = chosen(halves, 0, most=3.0)
    assert len(found) == 3


def test_what_is_dropped_anyway_counts(halves):
    forced = [n.outputs()[0] for n in halves[0][:8]]
    _, with_all = chosen(halves, 10**6)
    found, taken = chosen(halves, with_all - 300, forced=forced)
    assert taken <= with_all - 300
    assert len(found) < len(chosen(halves, with_all - 300)[0])
