"""Loops and branches of symbols, against the same steps written out."""

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import DTypeError, InvalidArgumentError

contrib = mx.sym.contrib
var = mx.sym.Variable
RANDOM = np.random.default_rng(5)


def bound(symbol, grad_req="write", **shapes):
    """An executor with random arguments."""
    executor = symbol.simple_bind(mx.cpu(), grad_req, **shapes)
    for array in executor.arg_arrays:
        array[:] = RANDOM.uniform(-1, 1, array.shape)
    return executor


def same(one, other, is_train=True):
    """Two symbols give the same outputs and gradients for the arguments of `one`."""
    args = {n: a.copy() for n, a in one.arg_dict.items()}
    two = other.bind(mx.cpu(), args, {n: mx.nd.zeros(a.shape) for n, a in args.items()})
    outs = [e.forward(is_train=is_train) for e in (one, two)]
    heads = [mx.nd.array(RANDOM.uniform(-1, 1, o.shape)) for o in outs[0]]
    for executor in (one, two):
        executor.backward(heads)
    for a, b in zip(*outs, strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), 1e-5, 1e-6)
    for name, grad in two.grad_dict.items():
        np.testing.assert_allclose(
            one.grad_dict[name].asnumpy(), grad.asnumpy(), 1e-4, 1e-5, err_msg=name
        )


def cell(row, states):
    h, c = states
    mixed = mx.sym.FullyConnected(row, var("w"), num_hidden=3, no_bias=True, name="mix")
    new = mx.sym.tanh(mixed + h * var("u"))
    return [new, [new * c]], [new, c * 0.5 + h]


def looped(body=cell):
    outputs, states = contrib.foreach(body, var("x"), [var("h"), var("c")])
    return mx.sym.Group([outputs[0], outputs[1][0], *states])


def unrolled(steps=4):
    rows = mx.sym.split(var("x"), num_outputs=steps, axis=0, squeeze_axis=True)
    states, firsts, seconds = [var("h"), var("c")], [], []
    w, u = var("w"), var("u")
    for i in range(steps):
        h, c = states
        mixed = mx.sym.FullyConnected(rows[i], w, num_hidden=3, no_bias=True, name=f"mix{i}")
        new = mx.sym.tanh(mixed + h * u)
        firsts.append(new)
        seconds.append(new * c)
        states = [new, c * 0.5 + h]
    return mx.sym.Group([mx.sym.stack(*firsts), mx.sym.stack(*seconds), *states])


SHAPES = {"x": (4, 2, 5), "h": (2, 3), "c": (2, 3), "u": (2, 3)}


@pytest.mark.parametrize("is_train", [True, False])
def test_a_loop_and_its_steps(is_train):
    loop = looped()
    assert loop.infer_shape(**SHAPES)[1] == unrolled().infer_shape(**SHAPES)[1]
    executor = bound(loop, **SHAPES)
    assert {"x", "h", "c", "w", "u"} == set(executor.arg_dict)
    for _ in range(2):
        same(executor, unrolled(), is_train)


def test_gradients_are_added_on_request():
    executor = bound(
        looped(), {"x": "add", "h": "write", "c": "null", "w": "add", "u": "add"}, **SHAPES
    )
    outputs = executor.forward(is_train=True)
    heads = [mx.nd.ones(o.shape) for o in outputs]
    executor.backward(heads)
    once = {n: g.asnumpy() for n, g in executor.grad_dict.items() if g is not None}
    executor.forward(is_train=True)
    executor.backward(heads)
    for name, grad in once.items():
        factor = 1 if name == "h" else 2
        np.testing.assert_allclose(executor.grad_dict[name].asnumpy(), factor * grad, 1e-5, 1e-6)


def test_backward_twice():
    executor = bound(looped(), **SHAPES)
    outputs = executor.forward(is_train=True)
    heads = [mx.nd.ones(o.shape) for o in outputs]
    executor.backward(heads)
    first = executor.grad_dict["w"].asnumpy()
    executor.backward(heads)
    np.testing.assert_array_equal(executor.grad_dict["w"].asnumpy(), first)


def test_shapes_and_types_go_both_ways():
    outputs, last = contrib.foreach(lambda x, h: (x * h, h + x), var("x"), var("h"))
    both = mx.sym.Group([outputs, last])
    assert both.infer_shape(x=(4, 3)) == ([(4, 3), (3,)], [(4, 3), (3,)], [])
    assert both.infer_type(h="float64")[1] == [np.float64, np.float64]
    with pytest.raises(InvalidArgumentError, match=r"_foreach.*\(3,\)"):
        both.infer_shape(x=(4, 3), h=(4,))


def test_a_while_loop_pads_its_outputs():
    def step(i, a):
        return [i + a], [i + 1, a * var("w")]

    outputs, states = contrib.while_loop(
        lambda i, a: i < var("limit"), step, [var("i"), var("a")], max_iterations=5
    )
    symbol = mx.sym.Group([*outputs, *states])
    given = {"i": [0], "a": [3], "w": [2], "limit": [3]}
    args = {n: mx.nd.array(v) for n, v in given.items()}
    grads = {n: mx.nd.zeros((1,)) for n in args}
    executor = symbol.bind(mx.cpu(), args, grads)
    out, i, a = executor.forward(is_train=True)
    assert out.asnumpy().ravel().tolist() == [3, 7, 14, 0, 0]
    assert (i.item(), a.item()) == (3, 24)
    executor.backward([mx.nd.ones(o.shape) for o in executor.outputs])
    # 3 + (1 + a w) + (2 + a w^2) + a w^3 + i
    expected = {"i": 4, "a": 1 + 2 + 4 + 8, "w": 3 * (1 + 4 + 12), "limit": 0}
    assert {n: g.item() for n, g in grads.items()} == expected
    for limit, count in ((-1, 0), (99, 5), (1, 1)):
        args["limit"][:] = limit
        out, i, _ = executor.forward()
        assert i.item() == count
        assert not out.asnumpy()[count:].any()


@pytest.mark.parametrize("p", [0, 1])
def test_a_branch(p):
    a, b = var("a"), var("b")
    found = contrib.cond(var("p") > 0, lambda: [a * b, [a]], lambda: [mx.sym.exp(a), [b * 3]])
    symbol = mx.sym.Group([found[0], found[1][0]])
    other = mx.sym.Group([a * b, a + var("p") * 0] if p else [mx.sym.exp(a), b * 3 + var("p") * 0])
    assert symbol.infer_shape(p=(1,), a=(2,))[1] == [(2,), (2,)]
    executor = bound(symbol, p=(1,), a=(1,), b=(1,))
    executor.arg_dict["p"][:] = p
    same(executor, other)


def test_a_condition_is_one_number():
    a = var("a")
    symbol = contrib.cond(var("p"), lambda: a + 1, lambda: a)
    executor = symbol.bind(mx.cpu(), {"p": mx.nd.ones((2,)), "a": mx.nd.ones((2,))})
    with pytest.raises(InvalidArgumentError, match=r"_cond.*\(2,\)"):
        executor.forward()[0].asnumpy()


def test_dropout_goes_back_by_the_same_factors():
    def body(row, h):
        new = mx.sym.Dropout(row, p=0.5) + h
        return new, new

    outputs, _ = contrib.foreach(body, var("x"), var("h"))
    executor = bound(outputs, x=(3, 40), h=(40,))
    out = executor.forward(is_train=True)[0].asnumpy()
    executor.backward([mx.nd.ones((3, 40))])
    first = out[0] - executor.arg_dict["h"].asnumpy()
    kept = executor.grad_dict["x"].asnumpy()[0] != 0
    assert 5 < kept.sum() < 35
    np.testing.assert_array_equal(kept, np.abs(first) > 1e-5)


def test_moving_averages_change_in_training():
    def body(row, h):
        row = mx.sym.BatchNorm(row, name="bn", momentum=0.5, fix_gamma=False)
        return row + h, row

    outputs, _ = contrib.foreach(body, var("x"), var("h"))
    executor = bound(outputs, x=(2, 4, 3), h=(4, 3))
    x = executor.arg_dict["x"].asnumpy()
    (mean,) = (a for n, a in executor.aux_dict.items() if n.endswith("mean"))
    executor.forward(is_train=False)
    assert not mean.asnumpy().any()
    executor.forward(is_train=True)
    assert not mean.asnumpy().any()
    executor.backward(mx.nd.ones((2, 4, 3)))
    # The backward pass begins with the last step.
    found = 0.5 * x[0].mean(0) + 0.25 * x[1].mean(0)
    np.testing.assert_allclose(mean.asnumpy(), found, 1e-5, 1e-6)


def test_loops_in_cached_graphs_are_recorded():
    outputs, last = contrib.foreach(lambda x, h: (x * h, x + h), var("x"), var("h"))
    op = mx.nd.CachedOp(mx.sym.Group([outputs * 2, last]))
    x, h = mx.nd.array([[1], [2], [3]]), mx.nd.array([4])
    for array in (x, h):
        array.attach_grad()
    with mx.autograd.record():
        out, _ = op(x, h)
    out.backward()
    assert out.asnumpy().ravel().tolist() == [8, 20, 42]
    # 2 (x0 h + x1 (h + x0) + x2 (h + x0 + x1))
    assert h.grad.item() == 12
    assert x.grad.asnumpy().ravel().tolist() == [18, 16, 14]


def test_no_rows():
    outputs, last = contrib.foreach(lambda x, h: (x * h, x + h), var("x"), var("h"))
    args = {"x": mx.nd.zeros((0, 3)), "h": mx.nd.array([1, 2, 3])}
    grads = {n: a.zeros_like() for n, a in args.items()}
    executor = mx.sym.Group([outputs, last]).bind(mx.cpu(), args, grads)
    out, state = executor.forward(is_train=True)
    assert out.shape == (0, 3)
    executor.backward([mx.nd.ones((0, 3)), mx.nd.ones((3,))])
    np.testing.assert_array_equal(state.asnumpy(), executor.arg_dict["h"].asnumpy())
    np.testing.assert_array_equal(executor.grad_dict["h"].asnumpy(), 1)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: contrib.foreach(lambda x, h: (x, x), 3, var("h")), DTypeError, "data"),
        (lambda: contrib.foreach(lambda x, h: (h, h), var("x"), var("h")), ValueError, "not used"),
        (lambda: contrib.foreach(lambda x, h: (x, x), var("x"), var("h")), ValueError, "states"),
        (lambda: contrib.foreach(lambda x, h: x, var("x"), var("h")), ValueError, "pair"),
        (
            lambda: contrib.foreach(lambda x, h: (x, [h, h]), var("x"), var("h")),
            ValueError,
            "2 states",
        ),
        (
            lambda: contrib.while_loop(lambda i: i < 3, lambda i: (i, i), var("i")),
            ValueError,
            "max_iterations",
        ),
        (
            lambda: contrib.while_loop(lambda i: 3, lambda i: (i, i), var("i"), 3),
            DTypeError,
            "cond must return",
        ),
        (
            lambda: contrib.while_loop(lambda i: i < 3, lambda i: (i, [i, i]), var("i"), 3),
            ValueError,
            "2 loop variables",
        ),
        (lambda: contrib.cond(var("p"), lambda: var("a"), lambda: []), ValueError, "as many"),
        (lambda: contrib.cond(True, lambda: var("a"), lambda: var("b")), DTypeError, "pred"),
    ],
)
def test_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()
