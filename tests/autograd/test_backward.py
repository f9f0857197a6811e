"""Backward passes: what goes where, what is freed, and what is refused."""

import inspect

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import DTypeError, InvalidArgumentError

ag = mx.autograd


def variable(values=(1.0, 2.0, 3.0), grad_req="write", dtype="float32"):
    x = mx.nd.array(values, dtype=dtype)
    x.attach_grad(grad_req)
    return x


def same(array, values):
    np.testing.assert_array_equal(array.asnumpy(), np.asarray(values, array.dtype))


def test_gradients_of_a_network_against_numpy():
    random = np.random.default_rng(0)
    data, w1, w2 = (random.standard_normal(s) for s in ((4, 5), (6, 5), (2, 6)))
    x, a, b = (variable(v, dtype="float64") for v in (data, w1, w2))
    with ag.record():
        h = mx.nd.tanh(mx.nd.FullyConnected(x, a, num_hidden=6, no_bias=True))
        loss = mx.nd.sum((mx.nd.dot(h, b.T) - 1) ** 2)
    loss.backward()
    hidden = np.tanh(data @ w1.T)
    error = 2 * (hidden @ w2.T - 1)
    inner = error @ w2 * (1 - hidden**2)
    for found, wanted in ((b, error.T @ hidden), (a, inner.T @ data), (x, inner @ w1)):
        np.testing.assert_allclose(found.grad.asnumpy(), wanted, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int32", "int64", "uint8"])
def test_every_type_that_arithmetic_takes(dtype):
    x = variable([1, 2, 3], dtype=dtype)
    with ag.record():
        y = x * x
    y.backward()
    assert x.grad.dtype == np.dtype(dtype).type
    same(x.grad, [2, 4, 6])


@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 0), (2, 1, 3)])
def test_every_shape(shape):
    values = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    x = variable(values)
    with ag.record():
        y = x * x + x
    y.backward()
    same(x.grad, 2 * values + 1)


def test_broadcasting_sums():
    x, y = variable(np.ones((2, 1))), variable(np.full((3,), 2.0))
    with ag.record():
        z = x * y
    z.backward()
    same(x.grad, [[6], [6]])
    same(y.grad, [2, 2, 2])


def test_head_gradients():
    x = variable()
    with ag.record():
        y, z = x * x, x * 3
    ag.backward([y, z], [mx.nd.array([1, 10, 100]), None])
    same(x.grad, [5, 43, 603])
    with ag.record():
        y = x * x
    y.backward(mx.nd.array([0, 1, 2]))
    same(x.grad, [0, 4, 12])


def test_one_head_twice_counts_twice():
    x = variable()
    with ag.record():
        y = x * x
    ag.backward([y, y])
    same(x.grad, [4, 8, 12])


def test_a_variable_as_head():
    x = variable()
    x.backward()
    same(x.grad, [1, 1, 1])


def test_requests():
    w, a, n = variable(), variable(grad_req="add"), variable(grad_req="null")
    for _ in range(3):
        with ag.record():
            y = w * a * n
        y.backward()
    same(w.grad, [1, 4, 9])
    same(a.grad, [3, 12, 27])
    same(n.grad, [0, 0, 0])


def test_add_where_the_gradient_is_read_again():
    # The gradient of y is that of x, and the head's own: nothing of it may be added to in place.
    x, y = variable(grad_req="add"), variable(grad_req="add")
    for _ in range(2):
        with ag.record():
            z = (x + y) * 2
        z.backward()
    same(x.grad, [4, 4, 4])
    same(y.grad, [4, 4, 4])


def test_variables_off_the_way_keep_their_gradients_and_others_get_zeros():
    x, other, blocked = variable(), variable(), variable()
    for v in (x, other, blocked):
        v.grad[:] = 7
    with ag.record():
        y = x * 2 + mx.nd.BlockGrad(blocked)
    y.backward()
    same(x.grad, [2, 2, 2])
    same(other.grad, [7, 7, 7])
    same(blocked.grad, [0, 0, 0])


def test_the_gradient_may_be_the_heads_gradient():
    x = variable()
    x.grad[:] = mx.nd.array([1, 2, 3])
    with ag.record():
        y = x * x * x
    y.backward(x.grad)
    same(x.grad, [3, 24, 81])


def test_one_gradient_for_two_variables():
    x, y, g = mx.nd.array([2]), mx.nd.array([3]), mx.nd.zeros((1,))
    ag.mark_variables([x, y], [g, g], ["add", "add"])
    with ag.record():
        z = x * y
    z.backward()
    same(g, [5])


def test_marks_of_one_array_and_of_lists():
    x, g = mx.nd.array([2]), mx.nd.zeros((1,))
    ag.mark_variables(x, g, "add")
    with ag.record():
        y = x * x
    ag.backward(y, mx.nd.array([10]))
    same(g, [40])
    same(x.grad, [40])


def test_attach_grad_cuts_off():
    x = variable()
    with ag.record():
        y = x * x
        y.attach_grad()
        z = y * 2
    z.backward()
    same(y.grad, [2, 2, 2])
    same(x.grad, [0, 0, 0])


def test_detach_is_a_constant_in_the_same_memory():
    x = variable()
    with ag.record():
        y = x * x
        c = y.detach()
        z = c * x
    z.backward()
    same(x.grad, [1, 4, 9])
    assert c.grad is None
    c[:] = 5
    same(y, [5, 5, 5])


def test_retained_graphs_can_be_differentiated_again():
    x = variable(grad_req="add")
    with ag.record():
        y = x * x
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    same(x.grad, [4, 8, 12])
    y.backward()
    same(x.grad, [6, 12, 18])


def test_a_freed_graph_is_refused_with_both_lines():
    x = variable()
    with ag.record():
        here = inspect.currentframe().f_lineno
        y = mx.nd.exp(x)
        z = y * 2
        other = y * 3
    z.backward()
    message = rf"exp, recorded at .*test_backward\.py:{here + 1}, .*test_backward\.py:{here + 4}; "
    with pytest.raises(InvalidArgumentError, match=message + "pass retain_graph=True"):
        other.backward()
    with pytest.raises(InvalidArgumentError, match="freed by the backward pass"):
        z.backward()


def test_freed_arrays_are_constants_from_then_on():
    x = variable()
    with ag.record():
        y = x * x
        y.backward()
        z = y * x
    z.backward()
    same(x.grad, [1, 4, 9])


def test_heads_off_the_tape_are_refused():
    x = variable()
    y = x * x
    with pytest.raises(InvalidArgumentError, match=r"head 0 of shape \[3\] is not part of a rec"):
        y.backward()
    with ag.record():
        z = x * x
        with ag.pause():
            w = z * 2
        c = mx.nd.ones((3,)) * 2
    for head in (w, c):
        with pytest.raises(InvalidArgumentError, match="head 1 of shape"):
            ag.backward([z, head])


def test_nothing_to_do_is_refused():
    x = variable(grad_req="null")
    with ag.record():
        y = x * x
    with pytest.raises(InvalidArgumentError, match=r"no array that needs a gradient.*grad_req"):
        y.backward()


def test_wrong_arguments_are_named():
    x = variable()
    with ag.record():
        y = x * x
    with pytest.raises(InvalidArgumentError, match=r"head 0 is float32 \(2,\).*float32 \(3,\)"):
        y.backward(mx.nd.ones((2,)))
    with pytest.raises(InvalidArgumentError, match=r"head 0 is float64 \(3,\)"):
        y.backward(mx.nd.ones((3,), dtype="float64"))
    with pytest.raises(InvalidArgumentError, match="head_grads: expected 1, got 2"):
        ag.backward([y], [None, None])
    with pytest.raises(DTypeError, match="heads must be an NDArray or a list"):
        ag.backward(3)
    with pytest.raises(InvalidArgumentError, match="heads: expected at least one"):
        ag.backward([])
    with pytest.raises(InvalidArgumentError, match="'null', 'write', 'add', got 'all'"):
        x.attach_grad("all")
    with pytest.raises(InvalidArgumentError, match="unknown storage type 'dense'"):
        x.attach_grad(stype="dense")
    with pytest.raises(InvalidArgumentError, match=r"float32 \(3,\) cannot be one of float32 \(2"):
        ag.mark_variables(x, mx.nd.ones((2,)))
    with pytest.raises(InvalidArgumentError, match="cannot share memory"):
        ag.mark_variables(x, x)
    with pytest.raises(InvalidArgumentError, match="grad_reqs: expected 1, got 2"):
        ag.mark_variables([x], [mx.nd.ones((3,))], ["write", "add"])


def test_grad_gives_new_arrays_and_leaves_the_others():
    x, w = variable(), variable([2.0, 2, 2])
    with ag.record():
        y = x * w
    dw, dx = ag.grad(y, [w, x], mx.nd.array([1, 10, 100]))
    same(dw, [1, 20, 300])
    same(dx, [2, 20, 200])
    same(x.grad, [0, 0, 0])
    with pytest.raises(InvalidArgumentError, match="freed"):
        ag.grad(y, x)


def test_grad_never_gives_the_callers_memory():
    x, y = variable(), variable()
    head = mx.nd.ones((3,))
    with ag.record():
        z = x + y
    dx, dy = ag.grad(z, [x, y], head)
    head[:] = 9
    dx[:] = 8
    same(dy, [1, 1, 1])


def test_grad_of_what_is_no_variable_is_refused():
    x, other = variable(), variable()
    with ag.record():
        y = x * x
        z = y * 2
    for wrong, why in (
        (other, "no head depends on it"),
        (mx.nd.ones((3,)), "not require"),
        (y, ""),
    ):
        with pytest.raises(InvalidArgumentError, match=rf"variable 1 of shape \(3,\).*{why}"):
            ag.grad(z, [x, wrong])


def test_losses_ignore_the_heads_gradient():
    x, label = variable([[1.0, 2.0]]), mx.nd.array([0])
    with ag.record():
        y = mx.nd.SoftmaxOutput(x, label)
    y.backward(mx.nd.full((1, 2), 100))
    p = np.exp([1.0, 2.0]) / np.exp([1.0, 2.0]).sum()
    np.testing.assert_allclose(x.grad.asnumpy(), [p - [1, 0]], rtol=1e-6)


def test_several_outputs():
    x = variable(np.arange(8.0).reshape(4, 2))
    g, b, m, v = (mx.nd.array(a) for a in ([1, 1], [0, 0], [0, 0], [1, 1]))
    with ag.record():
        y, mean, _ = mx.nd.BatchNorm(x, g, b, m, v, output_mean_var=True, fix_gamma=False)
        z = y * 0
    assert mean.handle.is_recorded
    z.backward()
    same(x.grad, np.zeros((4, 2)))


def test_get_symbol_computes_the_same():
    x, w = variable(), variable([4.0, 5.0, 6.0])
    with ag.record():
        y = mx.nd.exp(x) * w + x
    symbol = ag.get_symbol(y)
    assert symbol.list_arguments() == ["var0", "var1"]
    executor = symbol.bind(mx.cpu(), [x, w])
    assert executor.forward()[0].asnumpy().tobytes() == y.asnumpy().tobytes()
    again = mx.symbol.load_json(symbol.tojson())
    assert again.list_arguments() == symbol.list_arguments()
    with ag.record():
        cut = x[1:]
    with pytest.raises(InvalidArgumentError, match=r"'_select' has no symbol.*slice_axis"):
        ag.get_symbol(cut)
    with pytest.raises(InvalidArgumentError, match="not part of a recorded graph"):
        ag.get_symbol(mx.nd.ones((1,)))


def test_copies_and_casts_are_recorded():
    x = variable()
    other = mx.nd.zeros((3,))
    wide = mx.nd.zeros((3,), dtype="float64")
    with ag.record():
        results = [x.copy(), x.copyto(mx.cpu()), x.copyto(other), x.as_in_context(mx.cpu())]
        results += [x.astype("float64"), x.copyto(wide), mx.nd.array(x)]
        other2 = mx.nd.zeros((3,))
        other2[:] = x * 2
    for result in results:
        same(ag.grad(result, x, retain_graph=True)[0], [1, 1, 1])
    assert ag.grad(other2, x)[0].dtype == np.float32


def test_constants_are_not_recorded():
    with ag.record():
        y = mx.nd.ones((2,)) * 3
    assert not y.handle.is_recorded


def test_the_gradient_of_a_loss_is_not_looked_at():
    # As in MXNet 1.9.1, whatever its shape and type.
    x = mx.nd.array([[0.0, 1.0], [2.0, 4.0]])
    x.attach_grad()
    expected = None
    for head in (None, mx.nd.ones((2, 2)), mx.nd.ones((3,)), mx.nd.ones((2, 2), dtype="float64")):
        with mx.autograd.record():
            loss = mx.nd.SoftmaxOutput(x, mx.nd.array([0, 1]))
        loss.backward(head)
        expected = x.grad.asnumpy() if expected is None else expected
        np.testing.assert_allclose(x.grad.asnumpy(), expected)
    z = np.exp(x.asnumpy()) / np.exp(x.asnumpy()).sum(1, keepdims=True)
    np.testing.assert_allclose(expected, z - np.eye(2), rtol=1e-5)


@pytest.mark.parametrize("requests", [("add", "add"), ("add", "write"), ("write", "add")])
@pytest.mark.parametrize(
    "join", [mx.nd.elemwise_add, mx.nd.add_n, lambda a, b: mx.nd.identity(a) + mx.nd.identity(b)]
)
def test_variables_with_the_same_gradient_keep_their_own_sums(join, requests):
    a, b = mx.nd.ones((2,)), mx.nd.ones((2,))
    for array, request, before in ((a, requests[0], 100), (b, requests[1], 1000)):
        array.attach_grad(request)
        array.grad[:] = before
    for _ in range(3):
        with mx.autograd.record():
            y = join(a, b) * 2
        y.backward()
    expected = [
        2 if request == "write" else before + 6
        for request, before in zip(requests, (100, 1000), strict=True)
    ]
    assert [a.grad.asnumpy().tolist(), b.grad.asnumpy().tolist()] == [[v, v] for v in expected]
