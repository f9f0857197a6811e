"""The gradient pass: structure here, values in tests/executor."""

from __future__ import annotations

import pytest

import ferromix as mx
from ferromix.graph.gradient import MissingRuleError, differentiate
from ferromix.graph.infer import infer_both, infer_shapes, infer_types
from ferromix.graph.node import Entry, Node, topological
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


def network():
    """Layers of many kinds, of which some results are read twice."""
    data = mx.sym.var("data")
    x = mx.sym.Convolution(data, kernel=(3, 3), pad=(1, 1), num_filter=4, name="conv")
    x = mx.sym.LeakyReLU(mx.sym.BatchNorm(x, name="bn"), act_type="prelu", name="slope")
    y = mx.sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max")
    y = mx.sym.repeat(mx.sym.repeat(y, repeats=2, axis=2), repeats=2, axis=3)
    x = mx.sym.Concat(x, y * 2 + x, dim=1)
    x = mx.sym.broadcast_mul(x, mx.sym.mean(x, axis=1, keepdims=True))
    x = mx.sym.Cast(mx.sym.Cast(x, dtype="float64"), dtype="float32")
    x = mx.sym.dot(mx.sym.Flatten(x), mx.sym.var("weight"))
    return mx.sym.SoftmaxOutput(x, mx.sym.var("label"), name="softmax")


def test_what_is_alike_is_what_operators_infer():
    heads = network().entries
    order = topological(heads)
    shapes = {"data": (2, 3, 4, 4), "weight": (128, 5), "label": (2,)}
    known = {Entry(n, 0): shapes.get(n.name) for n in order if n.op is None}
    found, types = infer_both(order, known, {}, "float32")
    wanted = [n for n in order if n.op is None and n.name not in ("label", "data")]
    gradients = differentiate(heads, wanted)
    seeds = [n for n in gradients.head_grads if n is not None]
    outputs = [e for n in gradients.nodes for e in n.outputs()]
    nodes = [*order, *seeds, *gradients.nodes]
    all_shapes, all_types = infer_both(nodes, found, types, "float32")
    alike = {e: gradients.alike[e] for e in outputs if e in gradients.alike}
    assert len(alike) > 0.7 * len(outputs)
    for entry, other in alike.items():
        assert all_shapes[entry] == found[other], entry
        assert all_types[entry] == types[other], entry


def test_inference_of_both_is_that_of_each():
    order = topological(network().entries)
    shapes = {Entry(n, 0): (2, 3, 4, 4) for n in order if n.name == "data"}
    types = {Entry(n, 0): "float32" for n in order if n.name == "data"}
    both = infer_both(order, shapes, types)
    assert both == (infer_shapes(order, shapes), infer_types(order, types))
    assert [list(t) for t in both] == [[e for n in order for e in n.outputs()]] * 2


def test_a_gradient_without_a_rule_says_whose_it_is():
    a = variable("a")
    hidden = Node(make("_backward_SoftmaxOutput", {}), "loss", [a, a])
    with pytest.raises(MissingRuleError, match="_backward_SoftmaxOutput") as error:
        differentiate([hidden.outputs()[0]], [a.node])
    assert error.value.node is hidden
