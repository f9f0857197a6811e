"""Memory plans: no result is overwritten while somebody still reads it."""

from __future__ import annotations

import random

import pytest

import ferromix as mx
from ferromix.graph.node import Entry, Node, topological
from ferromix.graph.plan_memory import plan_memory
from ferromix.ops.card import make


def variable(name):
    return Entry(Node(None, name), 0)


def op(name, *inputs, node="node", **attrs):
    return Node(make(name, attrs), node, inputs).outputs()


def operators(heads):
    return [n for n in topological(heads) if n.op is not None]


def chain(length):
    x = variable("x")
    for i in range(length):
        (x,) = op("exp", x, node=f"exp{i}")
    return x


def check(order, sizes, fixed, plan):
    """Runs the plan with tags in place of values: every reader must find its input's tag."""
    memory = [[None] * size for size in plan.buffers]

    def span(entry):
        buffer, offset = plan.places[entry]
        return memory[buffer], offset, offset + sizes[entry]

    def root(entry):
        while entry in plan.views:
            entry = plan.views[entry]
        return entry

    last = {e: k for k, n in enumerate(order) for e in n.inputs}
    for step, node in enumerate(order):
        for i, entry in enumerate(node.inputs):
            source = root(entry)
            if source.node.op is None or source in fixed or i in node.op.ignored_inputs():
                continue
            cells, low, high = span(source)
            assert all(c == source for c in cells[low:high]), f"{entry} was lost before {node}"
        for entry in node.outputs():
            if entry in fixed or entry in plan.views or entry not in plan.places:
                assert entry in fixed or entry in plan.views or entry not in last
                continue
            cells, low, high = span(entry)
            for other in node.inputs:
                source = root(other)
                if source in plan.places and plan.inplace.get(entry) != other:
                    _, start, stop = span(source)
                    apart = plan.places[source][0] != plan.places[entry][0]
                    assert apart or stop <= low or high <= start, f"{node} overwrites {other}"
            cells[low:high] = [entry] * (high - low)
        assert step < len(order)


def test_a_chain_takes_one_buffer():
    head = chain(10)
    order = operators([head])
    plan = plan_memory(order, {e: 64 for n in order for e in n.outputs()}, {head})
    assert plan.buffers == [64]
    assert len(plan.inplace) == 8
    assert plan.peak == plan.total == 64


def test_nothing_is_written_over_what_is_read_again():
    x = variable("x")
    (a,) = op("exp", x, node="a")
    (b,) = op("negative", a, node="b")
    (c,) = op("elemwise_add", a, b, node="c")
    order = operators([c])
    plan = plan_memory(order, {e: 64 for n in order for e in n.outputs()}, {c})
    assert plan.places[a] != plan.places[b]
    assert plan.inplace == {}


def test_both_arguments_the_same_are_not_written_over():
    (a,) = op("exp", variable("x"), node="a")
    (b,) = op("elemwise_mul", a, a, node="b")
    (c,) = op("exp", b, node="c")
    order = operators([c])
    plan = plan_memory(order, {e: 64 for n in order for e in n.outputs()}, {c})
    assert b not in plan.inplace


def test_a_reshape_is_a_view_and_keeps_its_source_alive():
    (a,) = op("exp", variable("x"), node="a")
    (b,) = op("Flatten", a, node="b")
    (c,) = op("exp", b, node="c")
    (d,) = op("elemwise_add", c, b, node="d")
    order = operators([d])
    plan = plan_memory(order, {e: 64 for n in order for e in n.outputs()}, {d})
    assert plan.views == {b: a}
    assert plan.places[b] == plan.places[a] != plan.places[c]


def test_variables_are_viewed_only_where_that_is_allowed():
    x = variable("x")
    (b,) = op("Flatten", x, node="b")
    (c,) = op("exp", b, node="c")
    order = operators([c])
    sizes = {e: 64 for n in order for e in n.outputs()}
    assert plan_memory(order, sizes, {c}).views == {}
    plan = plan_memory(order, sizes, {c}, {x})
    assert plan.views == {b: x}
    assert plan.buffers == []


def test_small_results_share_a_large_buffer():
    x = variable("x")
    (big,) = op("exp", x, node="big")
    (s,) = op("sum", big, node="s")
    (t,) = op("exp", s, node="t")
    (u,) = op("elemwise_add", s, t, node="u")
    (v,) = op("exp", u, node="v")
    order = operators([v])
    sizes = {big: 1024, s: 64, t: 64, u: 64, v: 64}
    plan = plan_memory(order, sizes, {v})
    assert plan.total == plan.peak == 1088
    check(order, sizes, {v}, plan)


def test_a_result_that_is_only_ignored_is_not_kept():
    x = variable("x")
    (a,) = op("exp", x, node="a")
    (b,) = op("exp", a, node="b")
    (c,) = op("zeros_like", a, node="c")
    (d,) = op("elemwise_add", b, c, node="d")
    order = operators([d])
    sizes = {e: 64 for n in order for e in n.outputs()}
    plan = plan_memory(order, sizes, {d})
    assert plan.inplace == {b: a}
    assert plan.places[c] != plan.places[b]
    check(order, sizes, {d}, plan)


def test_what_shrinks_leaves_the_rest_of_its_memory():
    (a,) = op("exp", variable("x"), node="a")
    (b,) = op("Pooling", a, node="b", kernel=(2, 2))
    (c,) = op("sum", b, node="c")
    (d,) = op("elemwise_add", b, c, node="d")
    order = operators([d])
    sizes = {a: 1024, b: 256, c: 512, d: 256}
    plan = plan_memory(order, sizes, {d})
    assert plan.inplace == {b: a}
    assert plan.places[b] == plan.places[a]
    assert plan.places[c] == (0, 256)
    assert plan.total == plan.peak == 1024
    check(order, sizes, {d}, plan)
    # Not on a GPU, and not where the input is read again.
    devices = {n: mx.gpu(0) for n in order}
    assert plan_memory(order, sizes, {d}, (), devices).inplace == {}
    (e,) = op("elemwise_add", d, op("sum", a, node="f")[0], node="e")
    order = operators([e])
    sizes |= {entry: 256 for n in order for entry in n.outputs() if entry not in sizes}
    assert b not in plan_memory(order, sizes, {e}).inplace


def test_long_graphs_are_planned_in_time():
    x = variable("x")
    results = []
    for i in range(1500):
        (x,) = op("exp", x, node=f"e{i}")
        results.append(x)
    (y,) = op("add_n", *results, node="sum", num_args=len(results))
    order = operators([y])
    plan = plan_memory(order, {e: 64 for n in order for e in n.outputs()}, {y})
    assert plan.total == 64 * 1500


def test_the_plan_can_be_printed():
    head = chain(3)
    order = operators([head])
    text = str(plan_memory(order, {e: 64 for n in order for e in n.outputs()}, {head}))
    assert "exp1_output" in text
    assert "over exp0_output" in text
    assert "64 bytes in 1 buffers" in text


KINDS = ["exp", "elemwise_add", "Flatten", "zeros_like", "add_n", "sum", "Pooling"]


@pytest.mark.parametrize("seed", range(60))
def test_random_graphs(seed):
    rng = random.Random(seed)
    entries = [variable(f"v{i}") for i in range(3)]
    sizes = dict.fromkeys(entries, 64)
    for i in range(rng.randrange(1, 60)):
        kind = rng.choice(
            ["exp", "elemwise_add", "Flatten", "zeros_like", "add_n", "sum", "Pooling"]
        )
        pool = entries[-rng.randrange(1, 12) :]
        first = rng.choice(pool)
        same = [e for e in pool if sizes[e] == sizes[first]]
        if kind == "elemwise_add":
            (made,) = op(kind, first, rng.choice(same), node=f"n{i}")
        elif kind == "add_n":
            parts = [first, *rng.choices(same, k=2)]
            (made,) = op(kind, *parts, node=f"n{i}", num_args=3)
        else:
            attrs = {"kernel": (2, 2)} if kind == "Pooling" else {}
            (made,) = op(kind, first, node=f"n{i}", **attrs)
        sizes[made] = rng.choice([32, 64, 128, 200, 1000]) if kind == "sum" else sizes[first]
        if kind == "Pooling":
            sizes[made] //= rng.choice([1, 2, 4])
        entries.append(made)
    heads = [e for e in rng.sample(entries, min(3, len(entries))) if e.node.op is not None]
    order = operators(heads)
    fixed = set(heads)
    views = {e for e in entries if e.node.op is None and rng.random() < 0.5}
    plan = plan_memory(order, sizes, fixed, views)
    check(order, sizes, fixed, plan)
    assert plan.peak <= plan.total


def test_results_of_more_bytes_than_can_be_counted_are_refused():
    huge = mx.sym.zeros(shape=(2**60,), dtype="float64")
    net = mx.sym.sum(mx.sym.broadcast_add(huge, mx.sym.Variable("a", dtype="float64")))
    with pytest.raises(mx.MXNetError, match=r"\[1152921504606846976\] of float64 holds too many"):
        net.simple_bind(mx.cpu(), grad_req="null", a=(1,))


def test_a_thousand_results_at_once():
    # Each gradient of a concatenation asks for the shapes of all that was joined, which cannot be
    # checked pair by pair of results and buffers.
    count = 1000
    x = variable("x")
    parts = [op("_mul_scalar", x, node=f"part{i}", scalar=str(i))[0] for i in range(count)]
    joined = op("Concat", *parts, num_args=str(count), dim="0")
    gradients = op("_backward_Concat", *joined, *parts, num_args=str(count), dim="0")
    squares = [op("square", e, node=f"square{i}")[0] for i, e in enumerate(gradients)]
    order = [e.node for e in parts] + [joined[0].node, gradients[0].node]
    order += [e.node for e in squares]
    sizes = {e: 64 for n in order for e in n.outputs()} | {joined[0]: 64 * count}
    plan = plan_memory(order, sizes, squares)
    check(order, sizes, squares, plan)
    # The parts and what joins them, or what joins them and its gradients, are there at once.
    assert plan.total <= 3 * 64 * count
