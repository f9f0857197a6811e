"""CachedOp: symbols as functions of arrays, beside executors and finite differences."""

from __future__ import annotations

import copy
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import ferromix as mx
from ferromix import sym as S
from ferromix.error import ArgumentTypeError, DTypeError, InvalidArgumentError


def network():
    net = S.Convolution(S.Variable("data"), kernel=(3, 3), num_filter=2, name="conv")
    net = S.BatchNorm(net, fix_gamma=False, name="bn")
    net = S.Activation(net, act_type="tanh")
    left, right = S.split(net, num_outputs=2, axis=1)
    return S.Group([S.sum(left * right, axis=(2, 3)), net])


def arrays(net, **shapes):
    """Arrays for the inputs, in their order, all with gradients but for auxiliary states."""
    args, _, states = net.infer_shape(**shapes)
    found = dict(zip(net.list_arguments(), args, strict=True))
    found |= dict(zip(net.list_auxiliary_states(), states, strict=True))
    rng = np.random.default_rng(0)
    made = {n: mx.nd.array(rng.uniform(0.1, 1, found[n])) for n in net.list_inputs()}
    for name in net.list_arguments():
        made[name].attach_grad()
    return made


@pytest.mark.parametrize("flags", [(), [("static_alloc", True), ("static_shape", "True")]])
def test_results_gradients_and_states_are_those_of_an_executor(flags):
    net = network()
    given = arrays(net, data=(2, 3, 5, 5))
    args = {n: given[n].copy() for n in net.list_arguments()}
    grads = {n: mx.nd.zeros(a.shape) for n, a in args.items()}
    states = {n: given[n].copy() for n in net.list_auxiliary_states()}
    executor = net.bind(mx.cpu(), args, grads, aux_states=states)
    op = mx.nd.CachedOp(net, flags)
    for _ in range(2):
        expected = executor.forward(is_train=True)
        heads = [mx.nd.ones(o.shape) for o in expected]
        executor.backward(heads)
        with mx.autograd.record():
            found = op(*given.values())
        mx.autograd.backward(found, heads)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-5, atol=1e-6)
        for name, gradient in grads.items():
            result = given[name].grad.asnumpy()
            np.testing.assert_allclose(result, gradient.asnumpy(), rtol=1e-4, atol=1e-5)
        for name, state in states.items():
            np.testing.assert_allclose(given[name].asnumpy(), state.asnumpy(), rtol=1e-5)
    expected = executor.forward(is_train=False)
    for a, b in zip(op(*given.values()), expected, strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-5, atol=1e-6)


def test_inputs_come_in_the_order_of_list_inputs():
    net = S.BatchNorm(S.Variable("x"), use_global_stats=True, eps=0, name="bn")
    assert net.list_inputs() == ["x", "bn_gamma", "bn_beta", "bn_moving_mean", "bn_moving_var"]
    values = [[[2.0, 5.0]], [1.0, 1.0], [10.0, 20.0], [1.0, 1.0], [1.0, 4.0]]
    out = mx.nd.CachedOp(net)(*(mx.nd.array(v) for v in values))
    np.testing.assert_allclose(out.asnumpy(), [[11, 22]], rtol=1e-6)


def test_one_output_is_an_array_and_several_are_a_list():
    x, a = S.Variable("x"), mx.nd.array([1, 2])
    assert mx.nd.CachedOp(x + 1)(a).asnumpy().tolist() == [2, 3]
    y = x + 1
    found = mx.nd.CachedOp(S.Group([x, y, y, x]))(a)
    assert [f.asnumpy().tolist() for f in found] == [[1, 2], [2, 3], [2, 3], [1, 2]]
    found[0][:] = 7
    found[1][:] = 8
    assert [f.asnumpy().tolist() for f in found] == [[7, 7], [8, 8], [2, 3], [1, 2]]
    assert a.asnumpy().tolist() == [1, 2]


def test_out_takes_the_results():
    op, a = mx.nd.CachedOp(S.Variable("x") * 2), mx.nd.array([1, 2])
    out = mx.nd.zeros((2,))
    assert op(a, out=out) is out
    assert out.asnumpy().tolist() == [2, 4]
    listed = [mx.nd.zeros((2,))]
    assert op(a, out=listed) is listed
    assert listed[0].asnumpy().tolist() == [2, 4]
    op(a, out=a)
    assert a.asnumpy().tolist() == [2, 4]
    with pytest.raises(InvalidArgumentError, match="2 arrays for 1 outputs"):
        op(a, out=[a, out])
    with pytest.raises(InvalidArgumentError, match=r"\[2\], got float32 \[3\]"):
        op(a, out=mx.nd.zeros((3,)))
    with pytest.raises(DTypeError, match=r"out: .*NDArray"):
        op(a, out=[np.zeros(2)])


def test_shapes_types_and_devices_may_change_from_call_to_call():
    op = mx.nd.CachedOp(S.sum(S.square(S.Variable("x")), axis=1))
    for shape in [(2, 3), (1, 5), (0, 3), (2, 3)]:
        for dtype in ("float32", "float64"):
            for place in (mx.cpu(), mx.cpu(1)):
                values = np.arange(np.prod(shape), dtype=dtype).reshape(shape)
                found = op(mx.nd.array(values, place, dtype))
                assert (found.context, found.dtype) == (place, np.dtype(dtype))
                np.testing.assert_allclose(found.asnumpy(), (values**2).sum(1))


def test_views_are_inputs_like_others():
    values = np.arange(12, dtype="float32").reshape(3, 4)
    found = mx.nd.CachedOp(S.exp(S.Variable("x")))(mx.nd.array(values)[:, ::2])
    np.testing.assert_allclose(found.asnumpy(), np.exp(values[:, ::2]), rtol=1e-6)


def test_derivatives_of_higher_order():
    op, x = mx.nd.CachedOp(S.Variable("x") ** 3), mx.nd.array([2.0])
    x.attach_grad()
    with mx.autograd.record():
        (first,) = mx.autograd.grad(op(x), x, create_graph=True)
    first.backward()
    assert x.grad.asnumpy().tolist() == [12]


def test_the_mode_is_that_of_the_thread():
    op, x = mx.nd.CachedOp(S.Dropout(S.Variable("x"), p=0.5)), mx.nd.ones((1000,))
    assert (op(x).asnumpy() == 1).all()
    with mx.autograd.train_mode():
        assert set(op(x).asnumpy()) == {0, 2}


def test_composed_operators_and_operators_without_inputs():
    net = S.khatri_rao(S.Variable("x"), S.ones((1, 2))) + S.zeros((2, 2))
    found = mx.nd.CachedOp(net)(mx.nd.array([[1, 2], [3, 4]]))
    assert found.asnumpy().tolist() == [[1, 2], [3, 4]]


def test_threads_call_one_operator_at_once():
    op = mx.nd.CachedOp(network())
    given = arrays(network(), data=(2, 3, 5, 5))
    expected = op(*given.values())[0].asnumpy()
    copies = [[a.copy() for a in given.values()] for _ in range(4)]

    def work(inputs):
        for a in inputs[:3]:
            a.attach_grad()
        for _ in range(20):
            with mx.autograd.record(train_mode=False):
                result = op(*inputs)[0]
            result.backward()
        return result.asnumpy(), inputs[1].grad.asnumpy()

    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(work, copies))
    for value, gradient in results:
        np.testing.assert_array_equal(value, expected)
        np.testing.assert_array_equal(gradient, results[0][1])
    assert results[0][1].any()


def test_later_changes_of_the_symbol_do_not_matter():
    x = S.Variable("x")
    net = S.negative(x)
    op = mx.nd.CachedOp(copy.deepcopy(net))
    net._set_attr(lr_mult="2")
    assert op(mx.nd.ones((1,))).asnumpy().tolist() == [-1]


def test_mistakes():
    op = mx.nd.CachedOp(S.FullyConnected(S.Variable("x"), num_hidden=3, name="fc"))
    x, w, b = mx.nd.ones((2, 4)), mx.nd.ones((3, 4)), mx.nd.ones((3,))
    with pytest.raises(InvalidArgumentError, match=r"3 inputs \(x, fc_weight, fc_bias\), got 2"):
        op(x, w)
    with pytest.raises(DTypeError, match="'fc_weight' must be an NDArray, got ndarray"):
        op(x, np.ones((3, 4)), b)
    with pytest.raises(ArgumentTypeError, match="unexpected arguments: y"):
        op(x, w, b, y=1)
    with pytest.raises(InvalidArgumentError, match=r"'fc_weight' has shape \(3, 5\).*\(3, 4\)"):
        op(x, mx.nd.ones((3, 5)), b)
    with pytest.raises(DTypeError, match="must be a Symbol, got int"):
        mx.nd.CachedOp(3)
    with pytest.raises(InvalidArgumentError, match=r"unknown attribute 'static_aloc' .*alloc"):
        mx.nd.CachedOp(S.Variable("x"), [("static_aloc", True)])
    with pytest.raises(InvalidArgumentError, match=r"static_alloc.*a bool, got 'maybe'"):
        mx.nd.CachedOp(S.Variable("x"), [("static_alloc", "maybe")])
    with pytest.raises(DTypeError, match="flags must be pairs"):
        mx.nd.CachedOp(S.Variable("x"), 3)
    with pytest.raises(InvalidArgumentError, match="static_shape needs static_alloc"):
        mx.nd.CachedOp(S.Variable("x"), [("static_shape", True)])
