"""The tape uses the cards' rules as executors do, for every operator, and to second order."""

import numpy as np
import pytest
from ops.by_operator import by_operator
from ops.case import Case
from ops.table import CASES, ONE_EACH
from ops.test_gradient import SMOOTH

import ferromix as mx
from ferromix.error import InvalidArgumentError


def is_public(case: Case):
    return not case.card.hidden and case.shapes and case.card.differentiable


REQUESTS = [(c, "write") for c in filter(is_public, CASES)]
REQUESTS += [(c, "add") for c in filter(is_public, ONE_EACH)]
TWICE = list({c.op: c for c in SMOOTH[::-1] if is_public(c) and c.orders > 1}.values())
"""The first case of each operator: how rules follow each other does not depend on shapes, and
tests/ops/test_second_order.py has them all."""
STEP = 1e-5


def arrays_of(inputs, dtype="float64"):
    return [mx.nd.array(x, dtype=dtype) for x in inputs]


def inputs_of(case: Case, inputs):
    types = case.input_types("float64")
    return [mx.nd.array(x, dtype=t) for x, t in zip(inputs, types, strict=True)]


def marked(case: Case, inputs, grad_req="write", start=0.0):
    arrays = inputs_of(case, inputs)
    for array in arrays[: len(case.card.list_arguments())]:
        array.attach_grad(grad_req)
        array.grad[...] = start
    return arrays


def call(case: Case, arrays):
    outputs = getattr(mx.nd, case.op)(*arrays, **case.attrs)
    return outputs if isinstance(outputs, list) else [outputs]


def heads_for(shapes):
    random = np.random.default_rng(4)
    return [random.standard_normal(s) for s in shapes]


@by_operator(REQUESTS)
def test_tape_is_executor(case, grad_req):
    inputs = case.inputs("float64")
    arrays = marked(case, inputs, grad_req, 1.0)
    mx.random.seed(5)
    with mx.autograd.record(train_mode=case.train):
        outputs = call(case, arrays)
    seeds = arrays_of(heads_for(o.shape for o in outputs))
    seeds = [s.astype(o.dtype_name) for s, o in zip(seeds, outputs, strict=True)]

    names = case.card.list_arguments() + case.card.list_auxiliary_states()
    symbol = getattr(mx.sym, case.op)(*map(mx.sym.Variable, names), **case.attrs)
    values = dict(zip(names, inputs_of(case, inputs), strict=True))
    args = {n: values[n] for n in symbol.list_arguments()}
    aux = {n: values[n] for n in symbol.list_auxiliary_states()}
    grads = {n: mx.nd.ones(a.shape, dtype=a.dtype_name) for n, a in args.items()}
    executor = symbol.bind(mx.cpu(), args, grads, grad_req, aux)
    mx.random.seed(5)
    for found, wanted in zip(outputs, executor.forward(is_train=case.train), strict=True):
        assert found.asnumpy().tobytes() == wanted.asnumpy().tobytes()

    mx.autograd.backward(outputs, seeds, train_mode=case.train)
    executor.backward(seeds)
    for name, array in zip(case.card.list_arguments(), arrays, strict=False):
        np.testing.assert_array_equal(array.grad.asnumpy(), executor.grad_dict[name].asnumpy())


def slopes(case, arrays, seed, create_graph):
    with mx.autograd.record(train_mode=case.train):
        out = call(case, arrays)[0]
        arguments = arrays[: len(case.card.list_arguments())]
        mode = {"create_graph": create_graph, "train_mode": case.train}
        return mx.autograd.grad(out, arguments, seed, **mode)


@by_operator(TWICE)
def test_second_derivative_against_finite_differences(case):
    inputs = case.inputs("float64")
    count = len(case.card.list_arguments())
    arrays, states = marked(case, inputs), inputs[count:]
    out = call(case, arrays)[0]
    seed = mx.nd.array(heads_for([out.shape])[0], dtype=out.dtype_name)
    random = np.random.default_rng(6)
    weights = [random.standard_normal(x.shape) for x in inputs[:count]]
    direction = [random.standard_normal(x.shape) for x in inputs[:count]]
    for name, step in zip(case.card.list_arguments(), direction, strict=True):
        step *= name not in case.fixed

    first = slopes(case, arrays, seed, True)
    needed = [f for f in first if f.handle.is_recorded]
    if needed:
        heads = [w for f, w in zip(first, arrays_of(weights), strict=True) if f.handle.is_recorded]
        mx.autograd.backward(needed, heads, train_mode=case.train)
        found = sum((a.grad.asnumpy() * d).sum() for a, d in zip(arrays, direction, strict=False))
    else:
        found = 0.0

    def slope(sign):
        moved = [x + sign * STEP * d for x, d in zip(inputs, direction, strict=False)]
        grads = slopes(case, marked(case, [*moved, *states]), seed, False)
        return sum((g.asnumpy() * w).sum() for g, w in zip(grads, weights, strict=True))

    expected = (slope(1) - slope(-1)) / (2 * STEP)
    size = sum(np.abs(a.grad.asnumpy() * d).sum() for a, d in zip(arrays, direction, strict=False))
    assert abs(found - expected) < 1e-7 * (1 + size)


@pytest.mark.parametrize(
    ("op", "shapes", "missing"),
    [
        ("digamma", [(3,)], "_trigamma"),
        ("SoftmaxOutput", [(2, 3), (2,)], "_backward_SoftmaxOutput"),
    ],
)
def test_a_missing_second_derivative_is_named(op, shapes, missing):
    arrays = [mx.nd.ones(shape) for shape in shapes]
    for array in arrays:
        array.attach_grad()
    with mx.autograd.record():
        out = getattr(mx.nd, op)(*arrays)
        (first,) = mx.autograd.grad(out, arrays[0], create_graph=True)
    with pytest.raises(
        InvalidArgumentError, match=rf"operator {missing}: .* recorded at .*test_rules\.py:\d+"
    ):
        first.backward()
