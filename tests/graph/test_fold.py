"""What depends on no variable, on graphs made by hand."""

from __future__ import annotations

from ferromix.graph.fold import fold
from ferromix.graph.node import Entry, Node, topological
from ferromix.ops.card import make


def variable(name):
    return Entry(Node(None, name), 0)


def op(name, *inputs, node=None, **attrs):
    return Entry(Node(make(name, attrs), node or name, inputs), 0)


def folded(*heads, may_fold=lambda node: True):
    order = [n for n in topological(heads) if n.op is not None]
    rest, constants, read = fold(order, set(heads), may_fold)
    return [n.name for n in rest], [n.name for n in constants], [e.node.name for e in read]


def test_chains_of_constants_are_taken_out():
    ones = op("_ones", node="ones", shape=(2,))
    chain = op("exp", op("broadcast_add", ones, op("_zeros", node="zeros", shape=(2,)), node="sum"))
    head = op("broadcast_mul", variable("x"), chain, node="head")
    assert folded(head) == (["head"], ["ones", "zeros", "sum", "exp"], ["exp"])


def test_what_depends_on_a_variable_stays():
    x = variable("x")
    head = op("broadcast_add", op("exp", x), op("ones_like", x), node="head")
    assert folded(head) == (["exp", "ones_like", "head"], [], [])


def test_outputs_stay_and_read_what_is_known():
    ones = op("_ones", node="ones", shape=(2,))
    head = op("exp", op("sin", ones))
    assert folded(head) == (["exp"], ["ones", "sin"], ["sin"])
    assert folded(ones, head) == (["ones", "sin", "exp"], [], [])


def test_what_may_not_be_folded_ends_a_chain():
    noise = op("_random_uniform", node="noise", shape=(2,))
    head = op("broadcast_add", op("exp", noise), op("_ones", node="ones", shape=(2,)), node="head")
    order = folded(head, may_fold=lambda node: node.name != "noise")
    assert order == (["noise", "exp", "head"], ["ones"], ["ones"])


def test_several_outputs_and_readers():
    parts = Node(make("SliceChannel", {"num_outputs": 2}), "parts", [op("_ones", shape=(2, 2))])
    one, two = Entry(parts, 0), Entry(parts, 1)
    x = variable("x")
    a, b = op("broadcast_mul", x, two, node="a"), op("broadcast_mul", two, x, node="b")
    rest, constants, read = folded(op("broadcast_add", a, b, node="c"), op("exp", x), one)
    assert (rest, constants) == (["parts", "a", "b", "c", "exp"], ["_ones"])
    assert read == ["_ones"]
    assert folded(op("broadcast_add", a, b, node="c"))[1:] == (["_ones", "parts"], ["parts"])
