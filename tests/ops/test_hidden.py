"""Hidden operators, which have no cases of their own: what gradients of cases, and the gradients of
those, call of them."""

import numpy as np
import pytest

import ferromix as mx
from ferromix import dispatch
from ferromix.error import DTypeError, InvalidArgumentError
from ferromix.ops.card import find, names
from ferromix.ops.csr import Parts
from ferromix.ops.own_backward import PythonRun

from .by_operator import by_operator
from .run import Graph, backward, forward, second_order, to_array, to_arrays, to_numpy
from .table import CASES
from .test_inference_of_cases import TYPES, other_shapes
from .test_second_order import SECOND, STEP
from .tolerance import FINITE_DIFFERENCES

HIDDEN = [c for c in map(find, names(hidden=True)) if c.hidden]
TRIED = [c.name for c in HIDDEN if not (issubclass(c, (Parts, PythonRun)) or c.by_values)]
TRIED.remove("_CrossDeviceCopy")  # put in where a graph has several devices
TRIED.remove("_shuffled_places")  # the part of an operator, which no gradient runs
MOST = 6
"""How many calls of each are tried."""


def hidden_calls(case):
    """What the gradients of a case run of hidden operators, and what the gradients of those do:
    cards and inputs; with the arrays of the case."""
    arrays = to_arrays(case, case.inputs("float64"), "float64")
    heads = forward(case, arrays)[: case.card.num_visible_outputs()]
    first = backward(case, arrays, heads)[1].calls
    second = second_order(case, first)
    return *([c for c in calls if c[0].hidden] for calls in (first, second)), arrays


@by_operator(SECOND)
def test_gradients_of_what_only_second_orders_run(case):
    """So that orders beyond follow, too. Gradients of what first orders run are second orders."""
    first, second, arrays = hidden_calls(case)
    arguments = zip(case.card.list_arguments(), arrays, strict=False)
    fixed = [id(a) for name, a in arguments if name in case.fixed]
    # What a rule takes for a function of the data has no derivative of its own.
    followed = {c.name for c, _ in first} | {"_batch_norm_gradient"}
    for card, inputs in second:
        if not card.differentiable or card.name in followed:
            continue
        outputs = dispatch.invoke(card, inputs, None, case.train)
        random = np.random.default_rng(4)
        heads = [random.standard_normal(o.shape) for o in outputs]
        given = [to_array(h, o.dtype) for h, o in zip(heads, outputs, strict=True)]
        gradients = card.gradient(Graph(case, inputs, outputs, given))
        for k, name in enumerate(card.list_arguments()):
            moves = inputs[k].dtype == "float64" and id(inputs[k]) not in fixed
            if moves and name not in card.argument_dtypes:
                check_slope(case, card, inputs, k, gradients[k], heads)


def check_slope(case, card, inputs, k, gradient, heads):
    """The gradient of input `k` against finite differences along a direction."""
    x = to_numpy(inputs[k])
    direction = np.random.default_rng(5).standard_normal(x.shape)
    ends = []
    for step in (STEP, -STEP):
        moved = [*inputs[:k], to_array(x + step * direction, "float64"), *inputs[k + 1 :]]
        found = dispatch.invoke(card, moved, None, case.train)
        ends.append(sum((to_numpy(o) * h).sum() for o, h in zip(found, heads, strict=True)))
    slope = (ends[0] - ends[1]) / (2 * STEP)
    value = np.zeros(x.shape) if gradient is None else to_numpy(gradient)
    scale = 1 + np.abs(value * direction).sum()
    what = f"{card.name} {card.list_arguments()[k]}"
    assert abs((value * direction).sum() - slope) < 10 * FINITE_DIFFERENCES * scale, what


@pytest.mark.parametrize("case", [c for c in CASES if c.op == "BatchNorm"], ids=lambda c: c.id)
def test_what_is_computed_again_has_the_same_bits(case):
    for dtype in case.types():
        arrays = to_arrays(case, case.inputs(dtype), dtype)
        outputs = forward(case, arrays)
        card, inputs = case.card.again(arrays, outputs)
        (found,) = dispatch.invoke(card, inputs, None, case.train)
        np.testing.assert_array_equal(to_numpy(found), to_numpy(outputs[0]))


@pytest.fixture(scope="module")
def calls():
    """Calls of each hidden operator, by its name, that differ in attributes, shapes or types: the
    case, the card, and shapes and types of the inputs."""
    found = {name: {} for name in TRIED}
    for case in CASES:
        if case.card.differentiable and "float64" in case.types():
            first, second, arrays = hidden_calls(case)
            again = case.card.again(arrays, forward(case, arrays))
            others = [again] if again and again[0].hidden else []
            for card, inputs in (*first, *second, *others):
                descs = tuple((a.shape, a.dtype) for a in inputs)
                if all(0 not in shape for shape, _ in descs):
                    found[card.name].setdefault((card, descs), (case, card, descs))
    return {name: list(own.values()) for name, own in found.items()}


@pytest.mark.parametrize("name", TRIED)
def test_what_does_not_fit_is_refused(calls, name):
    """Other ranks, extents and types are refused by the card or its kernel, or run."""
    assert calls[name]
    for case, card, descs in calls[name][:MOST]:
        for k, argument in enumerate(card.list_arguments()):
            shape, dtype = descs[k]
            types = {*TYPES, *card.argument_dtypes.get(argument, ())} - {dtype}
            others = [(other, dtype) for other in other_shapes(shape)]
            for other in [*others, *((shape, t) for t in sorted(types))]:
                refused_or_run(case, card, (*descs[:k], other, *descs[k + 1 :]))


def refused_or_run(case, card, descs):
    # As indices, zeros are never out of range.
    arrays = [to_array(np.zeros(shape), dtype) for shape, dtype in descs]
    try:
        wanted = dispatch.infer(card, descs)
        found = dispatch.invoke(card, arrays, None, case.train)
        mx.nd.waitall()
    except (InvalidArgumentError, DTypeError):
        return
    assert [(o.shape, o.dtype) for o in found] == list(wanted)
