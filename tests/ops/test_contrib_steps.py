"""The steps of ``mx.nd.contrib`` and ``mx.sym.contrib`` that MXNet writes by hand."""

import numpy as np
import pytest

import ferromix as mx

RATES = {"lr": 0.1, "eta": 0.9, "wd": 0.01}


def arrays(count, seed=0, dtype="float32"):
    """So many arrays of numbers between 1 and 2."""
    rng = np.random.default_rng(seed)
    return [mx.nd.array(rng.random((2, 3)) + 1, dtype=dtype) for _ in range(count)]


def adamw(w, g, m, v, *, scale, lr, eta, wd=0.0, beta1=0.9, beta2=0.999, epsilon=1e-8):
    """Loshchilov and Hutter, "Decoupled weight decay regularization", 2019, uncorrected."""
    w, g, m, v = (np.asarray(x, np.float64) for x in (w, g, m, v))
    g = g * scale
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
    return w - eta * (lr * m / (np.sqrt(v) + epsilon) + wd * w), m, v


def check(found, wanted, tolerance=1e-5):
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_allclose(x.asnumpy(), y, rtol=tolerance)


@pytest.mark.parametrize("scale", [0.5, mx.nd.array([0.5])], ids=["number", "array"])
def test_adamw_takes_its_scale_as_a_number_or_an_array(scale):
    w, g, m, v = arrays(4)
    wanted = adamw(*(x.asnumpy() for x in (w, g, m, v)), scale=0.5, **RATES)
    found = mx.nd.contrib.adamw_update(w, g, m, v, scale, out=w, **RATES)
    assert found is w
    check([w, m, v], wanted)


def test_the_order_of_its_arguments_is_that_of_mxnet():
    w, g, m, v = arrays(4)
    wanted = adamw(*(x.asnumpy() for x in (w, g, m, v)), scale=2, lr=0.1, eta=1, wd=0.3, beta1=0.5)
    new = mx.nd.contrib.adamw_update(w, g, m, v, 2, 0.1, 1, 0.5, 0.999, 1e-8, 0.3)
    check([new, m, v], wanted)


def test_adamw_in_mixed_precision():
    (w, g), (m, v, w32) = arrays(2, dtype="float16"), arrays(3, seed=1)
    wanted = adamw(*(x.asnumpy() for x in (w32, g, m, v)), scale=1, **RATES)
    mx.nd.contrib.mp_adamw_update(w, g, m, v, w32, 1, out=w, **RATES)
    check([w32, m, v], wanted)
    np.testing.assert_array_equal(w.asnumpy(), w32.asnumpy().astype("float16"))


def test_a_scale_of_nothing_changes_nothing():
    for scale in (0.0, float("inf"), float("nan")):
        w, g, m, v = arrays(4)
        before = [x.asnumpy() for x in (w, m, v)]
        mx.nd.contrib.adamw_update(w, g, m, v, scale, out=w, **RATES)
        check([w, m, v], before, 0)


def test_adamw_as_a_graph():
    names = ["w", "g", "m", "v"]
    step = mx.sym.contrib.adamw_update(*map(mx.sym.var, names), 0.5, **RATES)
    values = dict(zip(names, arrays(4), strict=True))
    wanted = adamw(*(values[n].asnumpy() for n in names), scale=0.5, **RATES)
    states = {n: values.pop(n) for n in ("m", "v")}
    bound = step.bind(mx.current_context(), values, aux_states=states)
    check([*bound.forward(), states["m"], states["v"]], wanted)
    scale = mx.sym.contrib.adamw_update(*map(mx.sym.var, names), mx.sym.var("s"), **RATES)
    assert scale.list_arguments() == ["w", "g", "s"]


@pytest.mark.parametrize("mixed", [False, True])
def test_several_steps_of_adamw(mixed):
    dtype = "float16" if mixed else "float32"
    weights, grads = (arrays(2, seed, dtype) for seed in (0, 1))
    mean, var, copies = (arrays(2, seed) for seed in (2, 3, 4))
    lists = [weights, grads, mean, var]
    start = copies if mixed else weights
    rates = [{"lr": 0.1, "wd": 0.01, "eta": 1.0}, {"lr": 0.2, "wd": 0.0, "eta": 0.5}]
    wanted = [
        adamw(*(x[i].asnumpy() for x in (start, grads, mean, var)), scale=0.5, **rates[i])
        for i in (0, 1)
    ]
    lrs, wds, etas = ([r[key] for r in rates] for key in ("lr", "wd", "eta"))
    name = "multi_mp_adamw_update" if mixed else "multi_adamw_update"
    inputs = [*lists, copies] if mixed else lists
    getattr(mx.nd.contrib, name)(*inputs, 0.5, lrs, wds, etas, out=weights, size=2)
    for i in (0, 1):
        check([start[i], mean[i], var[i]], wanted[i])


@pytest.mark.parametrize("mixed", [False, True])
def test_several_steps_of_lamb_are_those_of_the_operator(mixed):
    name = "multi_mp_lamb_update" if mixed else "multi_lamb_update"
    types = ["float16" if mixed else "float32"] * 2 + ["float32"] * (3 if mixed else 2)

    def lists():
        return [arrays(2, seed, dtype) for seed, dtype in enumerate(types)]

    numbers = {"step_count": [1, 3], "wds": [0.01, 0.0]}
    one, other = lists(), lists()
    getattr(mx.nd.contrib, name)(*one, lrs=[0.1, 0.2], out=one[0], num_tensors=2, **numbers)
    flat = [array for group in zip(*other, strict=True) for array in group]
    step = getattr(mx.nd._internal, f"_{name}")
    step(*flat, learning_rates=[0.1, 0.2], out=other[0], num_tensors=2, **numbers)
    for a, b in zip(one, other, strict=True):
        check(a, [x.asnumpy() for x in b], 0)
    assert not np.array_equal(one[0][0].asnumpy(), lists()[0][0].asnumpy())


def test_lists_of_other_lengths_are_refused():
    one, two = arrays(1), arrays(2)
    with pytest.raises(ValueError, match=r"multi_adamw_update: .* not 2 weights, 1 grads, 2 mean"):
        mx.nd.contrib.multi_adamw_update(two, one, two, two, 1, [0.1] * 2, [0.0] * 2, [1.0] * 2)
    with pytest.raises(ValueError, match="at least one, not 0 weights"):
        mx.nd.contrib.multi_lamb_update([], [], [], [], [], [], [])
