"""Results of the forward pass that are computed again, on graphs made by hand."""

from __future__ import annotations

from math import inf

import pytest

from ferromix.graph.gradient import differentiate
from ferromix.graph.node import Entry, Node, topological
from ferromix.graph.plan_memory import plan_memory
from ferromix.graph.recompute import Cost, again_of, is_forced, recomputed, select
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


def free(card):
    return Cost(again_of(card))


def chosen(halves, budget, share=inf, forced=(), cost=free, size=100):
    """What is dropped, and the bytes that the pass takes by its plan."""
    forward, backward = halves
    sizes = dict.fromkeys([n.outputs()[0] for n in (*forward, *backward)], size)
    last = forward[-1].outputs()
    found = select(halves, sizes, last, {}, cost, forced, budget, share)
    after = recomputed(backward, found, lambda new, like: sizes.setdefault(new, sizes[like]))
    return set(found), plan_memory([*forward, *after], sizes, last).peak


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
    # A fifth of sixteen steps that all take the same time.
    found, _ = chosen(halves, 0, share=0.2)
    assert len(found) == 3
    assert chosen(halves, 0, share=0)[0] == set()


def test_what_is_dropped_anyway_counts(halves):
    forced = [n.outputs()[0] for n in halves[0][2:4]]
    found, whole = chosen(halves, 10**6, forced=forced)
    assert found == set(forced)
    found, taken = chosen(halves, whole - 300, forced=forced)
    assert taken <= whole - 300
    assert found > set(forced)


def test_what_is_dear_goes_for_a_budget_alone(halves):
    def dear(card):
        return Cost(again_of(card), heavy=True)

    assert chosen(halves, None, cost=dear)[0] == set()
    assert chosen(halves, None)[0] == chosen(halves, 0)[0]
    assert chosen(halves, 0, cost=dear)[0]


def test_what_cannot_be_computed_again_is_kept(halves):
    assert chosen(halves, 0, cost=lambda card: Cost(None))[0] == set()
    first = halves[0][0].outputs()[0]
    assert first not in chosen(halves, 0, forced=[first], cost=lambda card: Cost(None))[0]


def test_nothing_is_computed_again_from_a_state():
    names = ("x", "gamma", "beta", "mean", "var")
    x, *others = map(variable, names)
    y = op("broadcast_mul", x, others[2], node="y")
    bn = Node(make("BatchNorm", {"fix_gamma": "False"}), "bn", [y, *others])
    head = op("tanh", Entry(bn, 0), node="t")
    forward = [y.node, bn, head.node]
    backward = differentiate([head], [x.node]).nodes
    sizes = dict.fromkeys([e for n in (*forward, *backward) for e in n.outputs()], 100)
    found = select((forward, list(backward)), sizes, [head], {}, free, [y, Entry(bn, 0)], None, 0)
    # The one is made from the moving mean; the other from the statistics of the batch.
    assert set(found) == {Entry(bn, 0)}
    assert found[Entry(bn, 0)][0].name == "_batch_norm_again"


def test_products_with_weights_count_among_costs():
    x, weight, bias = map(variable, ("x", "w", "b"))
    dense = op("FullyConnected", x, weight, bias, node="fc", num_hidden="1000")
    head = dense
    for i in range(4):
        head = op("tanh", head, node=f"t{i}")
    order = [n for n in topological([head]) if n.op is not None]
    halves = order, list(differentiate([head], [x.node, weight.node]).nodes)
    entries = [e for half in halves for n in half for e in n.outputs()]
    shapes = dict.fromkeys([x, weight, *entries], (1000, 1000)) | {bias: (1000,)}
    types = dict.fromkeys(shapes, "float32")

    def dropped(weight, share):
        def cost(card):
            return Cost(again_of(card), weight=weight if card.name == "FullyConnected" else None)

        return dense in select(halves, (shapes, types), [head], {}, cost, (), 0, share)

    # By its bytes the dense layer is a quarter of the pass, by its products nearly all of it.
    assert dropped(None, 0.6)
    assert not dropped(1, 0.6)
    assert dropped(1, 2.0)
