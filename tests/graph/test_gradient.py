"""The gradient pass: structure here, values in tests/executor."""

from __future__ import annotations

from ferromix.graph.gradient import differentiate
from ferromix.graph.node import Entry, Node
from ferromix.ops.card import make


def variable(name):
    return Entry(Node(None, name), 0)


def op(name, *inputs, node="node", **attrs):
    return Node(make(name, attrs), node, inputs).outputs()


def test_several_ways_are_added_in_one_node():
    a = variable("a")
    (x,) = op("square", a)
    (y,) = op("add_n", x, x, a, num_args=3)
    found = differentiate([y], [a.node])
    assert found.entries[0] is not None
    names = [n.op.name for n in found.nodes]
    assert names.count("add_n") == 2
    assert found.entries[0].node is found.nodes[-1]


def test_only_what_is_wanted_is_differentiated():
    a, b = variable("a"), variable("b")
    (x,) = op("exp", a, node="first")
    (y,) = op("elemwise_mul", x, b, node="second")
    found = differentiate([y], [b.node])
    assert all(n.name.startswith("second") for n in found.nodes)
    assert len(found.nodes) == 1


def test_no_path_gives_no_gradient():
    a, b = variable("a"), variable("b")
    (x,) = op("BlockGrad", a)
    (y,) = op("elemwise_add", x, b)
    found = differentiate([y], [a.node, b.node])
    assert found.entries[0] is None
    assert found.entries[1] == Entry(found.head_grads[0], 0)
    assert found.nodes == []


def test_a_loss_needs_no_gradient_of_its_own():
    data, label = variable("data"), variable("label")
    (x,) = op("SoftmaxOutput", data, label, node="softmax")
    found = differentiate([x], [data.node])
    assert found.head_grads == [None]
    assert found.entries[0] is not None


def test_the_gradient_of_a_variable_that_is_an_output():
    a = variable("a")
    (x,) = op("negative", a)
    found = differentiate([a, x], [a.node])
    assert [g is not None for g in found.head_grads] == [True, True]
    assert found.nodes[-1].op.name == "add_n"


def test_nodes_come_after_their_inputs():
    a, b = variable("a"), variable("b")
    (x,) = op("elemwise_mul", a, b)
    (y,) = op("tanh", x)
    (z,) = op("elemwise_div", y, x)
    found = differentiate([z], [a.node, b.node])
    seen = set()
    new = set(found.nodes)
    for node in found.nodes:
        assert all(e.node in seen or e.node not in new for e in node.inputs)
        seen.add(node)
