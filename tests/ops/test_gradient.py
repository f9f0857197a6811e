"""Gradients against finite differences of the oracle, and the same in every float type."""

import numpy as np

from ferromix import dispatch

from .by_operator import by_operator
from .run import backward, forward, to_array, to_arrays, to_numpy
from .table import CASES
from .tolerance import FINITE_DIFFERENCES, assert_close

FLOATS = ("float64", "float32", "float16", "bfloat16")
DIFFERENTIABLE = [
    c
    for c in CASES
    if c.card.differentiable
    and "float64" in c.types()
    and c.attrs.get("dtype", "float64").startswith("float")
]
SMOOTH = [c for c in DIFFERENTIABLE if c.gradient is None and c.smooth]
LOSSES = [c for c in DIFFERENTIABLE if c.gradient is not None]
BY_TYPE = [(c, t) for c in DIFFERENTIABLE for t in c.types() if t in FLOATS[1:]]
STEP = 1e-5


def heads_of(case, arrays):
    """Random gradients of the outputs from which they flow back, as their types hold them."""
    outs = forward(case, arrays)[: case.heads]
    random = np.random.default_rng(1)
    return [to_numpy(to_array(random.standard_normal(o.shape), o.dtype)) for o in outs]


def gradients(case, inputs, dtype, given):
    arrays = to_arrays(case, inputs, dtype)
    visible = case.card.num_visible_outputs()
    outs = dispatch.infer(case.card, tuple((a.shape, a.dtype) for a in arrays))[:visible]
    heads = [to_array(h, t) for h, (_, t) in zip(given, outs, strict=False)]
    heads += [to_array(np.zeros(s), t) for s, t in outs[len(given) :]]
    found, _ = backward(case, arrays, heads)
    return [None if g is None else to_numpy(g) for g in found]


@by_operator(SMOOTH)
def test_gradient_against_finite_differences(case):
    inputs = case.inputs("float64")
    heads = heads_of(case, to_arrays(case, inputs, "float64"))
    found = gradients(case, inputs, "float64", heads)
    random = np.random.default_rng(2)

    def objective(k, x):
        moved = [*inputs[:k], x, *inputs[k + 1 :]]
        outputs = case.expected(moved, "float64")
        return sum((o * h).sum() for o, h in zip(outputs, heads, strict=False))

    for k, (name, grad) in enumerate(zip(case.card.list_arguments(), found, strict=True)):
        if name in case.fixed:
            assert grad is None, f"{case.id} {name} has a gradient"
            continue
        x = inputs[k]
        direction = random.standard_normal(x.shape)
        slope = (objective(k, x + STEP * direction) - objective(k, x - STEP * direction)) / (
            2 * STEP
        )
        if grad is None:
            assert abs(slope) < FINITE_DIFFERENCES, f"{case.id} {name} has no gradient"
            continue
        assert grad.shape == x.shape
        scale = 1 + np.abs(grad * direction).sum()
        assert abs((grad * direction).sum() - slope) < FINITE_DIFFERENCES * scale, name


@by_operator(LOSSES)
def test_gradient_of_a_loss(case):
    inputs = case.inputs("float64")
    heads = heads_of(case, to_arrays(case, inputs, "float64"))
    found = gradients(case, inputs, "float64", heads)
    for name, grad, wanted in zip(
        case.card.list_arguments(), found, case.gradient(*inputs, heads[0]), strict=True
    ):
        assert (grad is None) == (wanted is None), name
        if wanted is not None:
            assert_close(grad, wanted, "float64", 10, f"{case.id} {name}")


@by_operator(BY_TYPE)
def test_gradient_in_every_type(case, dtype):
    inputs = case.inputs(dtype)
    heads = heads_of(case, to_arrays(case, inputs, dtype))
    exact = gradients(case, inputs, "float64", heads)
    found = gradients(case, inputs, dtype, heads)
    for name, grad, wanted in zip(case.card.list_arguments(), found, exact, strict=True):
        assert (grad is None) == (wanted is None), name
        if wanted is not None:
            size = max(1.0, np.abs(wanted).max(initial=0))
            assert_close(grad / size, wanted / size, dtype, 4 * case.steps, f"{case.id} {name}")


@by_operator(c for c in CASES if not c.card.differentiable)
def test_no_gradient_where_none_is_claimed(case):
    class Untouchable:
        in_data = out_data = out_grad = ()

    assert case.card.gradient(Untouchable()) == [None] * len(case.card.list_arguments())
