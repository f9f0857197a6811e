"""Executors: binding, running, gradients, memory, and what they say of mistakes."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import DTypeError, InvalidArgumentError

S = mx.sym


def array(*values, dtype="float32"):
    return mx.nd.array(np.array(values), dtype=dtype)


def product():
    return S.Variable("a") * S.Variable("b")


def perceptron():
    x = S.FullyConnected(S.Variable("data"), num_hidden=4, name="fc1")
    x = S.FullyConnected(S.Activation(x, act_type="tanh"), num_hidden=3, name="fc2")
    return S.SoftmaxOutput(x, name="softmax")


def filled(executor, seed=0):
    rng = np.random.default_rng(seed)
    for value in executor.arg_arrays:
        value[:] = rng.uniform(-1, 1, value.shape)
    return executor


# -- binding ---------------------------------------------------------------------------------------


def test_bind_with_lists_and_with_dicts():
    for args, grads in (
        ([array(1, 2), array(3, 4)], [mx.nd.zeros((2,)), None]),
        ({"b": array(3, 4), "a": array(1, 2)}, {"a": mx.nd.zeros((2,))}),
    ):
        executor = product().bind(mx.cpu(), args, grads)
        assert executor.forward(is_train=True)[0].asnumpy().tolist() == [3, 8]
        executor.backward(array(1, 10))
        assert executor.grad_dict["a"].asnumpy().tolist() == [3, 40]
        assert executor.grad_dict["b"] is None
        assert executor.grad_arrays[1] is None


def test_arrays_are_those_of_the_caller():
    a, b, g = array(1, 2), array(3, 4), mx.nd.zeros((2,))
    executor = product().bind(mx.cpu(), [a, b], {"a": g})
    assert executor.arg_arrays[0] is a
    assert executor.grad_dict["a"] is g
    a[:] = 5
    assert executor.forward()[0].asnumpy().tolist() == [15, 20]


def test_simple_bind_makes_zeros_of_inferred_shapes_and_types():
    executor = perceptron().simple_bind(mx.cpu(), data=(5, 2))
    assert {k: v.shape for k, v in executor.arg_dict.items()} == {
        "data": (5, 2),
        "fc1_weight": (4, 2),
        "fc1_bias": (4,),
        "fc2_weight": (3, 4),
        "fc2_bias": (3,),
        "softmax_label": (5,),
    }
    assert set(executor.grad_dict) == set(executor.arg_dict)
    assert not executor.arg_dict["fc1_weight"].asnumpy().any()
    double = product().simple_bind(mx.cpu(), type_dict={"b": "float64"}, a=(2,))
    assert double.arg_dict["a"].dtype is np.float64
    assert double.outputs[0].dtype is np.float64


def test_gradients_as_asked_for():
    net = product()
    assert net.simple_bind(mx.cpu(), "null", a=(2,)).grad_arrays == [None, None]
    executor = net.simple_bind(mx.cpu(), {"b": "add"}, a=(2,))
    assert executor.grad_dict["a"] is None
    executor = net.simple_bind(mx.cpu(), ["write", "null"], a=(2,))
    assert executor.grad_dict["b"] is None


@pytest.mark.parametrize(
    ("bind", "error", "parts"),
    [
        (lambda n: n.bind(mx.cpu(), [array(1)]), InvalidArgumentError, ["1", "2", "a, b"]),
        (lambda n: n.bind(mx.cpu(), {"a": array(1)}), InvalidArgumentError, ["'b'", "missing"]),
        (lambda n: n.bind(mx.cpu(), [array(1), np.ones(1)]), DTypeError, ["'b'", "ndarray"]),
        (
            lambda n: n.bind(mx.cpu(), [array(1, 2), array(1, 2, 3)]),
            InvalidArgumentError,
            ["'_mul0'", "elemwise_mul", "rhs", "(2,)", "(3,)"],
        ),
        (
            lambda n: n.bind(mx.cpu(), [array(1), array(1, dtype="float64")]),
            InvalidArgumentError,
            ["'_mul0'", "rhs", "float64"],
        ),
        (
            lambda n: n.bind(mx.cpu(), [array(1), array(1)], [array(1, 2), None]),
            InvalidArgumentError,
            ["args_grad", "'a'", "(2,)", "(1,)"],
        ),
        (
            lambda n: n.bind(mx.gpu(9), [array(1), array(1)]),
            mx.error.DeviceError,
            ["gpu(9)"],
        ),
        (lambda n: n.simple_bind(mx.cpu()), InvalidArgumentError, ["a: unknown", "b: unknown"]),
        (
            lambda n: n.simple_bind(mx.cpu(), a=(2, 0)),
            InvalidArgumentError,
            ["a: (2, ?)", "b: (2, ?)"],
        ),
        (lambda n: n.simple_bind(mx.cpu(), aa=(2,)), InvalidArgumentError, ["no arguments: aa"]),
        (lambda n: n.simple_bind(mx.cpu(), "sum", a=(2,)), InvalidArgumentError, ["'a'", "'sum'"]),
        (lambda n: n.simple_bind(mx.cpu(), ["null"], a=(2,)), InvalidArgumentError, ["a, b"]),
        (lambda n: n.simple_bind(mx.cpu(), 3, a=(2,)), DTypeError, ["grad_req", "'write'", "3"]),
        (lambda n: n.bind(mx.cpu(), [array(1)] * 2, grad_req=3), DTypeError, ["grad_req", "3"]),
        (lambda n: n.simple_bind(mx.cpu(), ["add", 3], a=(2,)), InvalidArgumentError, ["'b'", "3"]),
        (lambda n: n.simple_bind(3, a=(2,)), DTypeError, ["Context", "3"]),
        (lambda n: n.bind("cpu", [array(1)] * 2), DTypeError, ["Context", "'cpu'"]),
        (lambda n: n.bind(mx.cpu(), 3), DTypeError, ["args", "int"]),
        (lambda n: n.bind(mx.cpu(), array(1, 2)), DTypeError, ["args", "NDArray"]),
        (lambda n: n.simple_bind(mx.cpu(), type_dict=["float64"]), DTypeError, ["type_dict"]),
        (
            lambda n: n.simple_bind(mx.cpu(), stype_dict={"a": "dense"}, a=(2,)),
            InvalidArgumentError,
            ["stype_dict", "'a'", "'dense'", "default"],
        ),
        (
            lambda n: (n * S.Variable("c", stype="csr")).simple_bind(mx.cpu(), a=(2,)),
            InvalidArgumentError,
            ["csr", "two dimensions", "(2,)"],
        ),
        (
            lambda n: (n + S.Variable("a")).simple_bind(mx.cpu(), a=(2,)),
            InvalidArgumentError,
            ["more than one", "'a'"],
        ),
        (
            lambda n: S.softmax(n).simple_bind(mx.cpu(), type_dict={"a": "int32"}, a=(2,)),
            InvalidArgumentError,
            ["softmax", "int32"],
        ),
    ],
)
def test_mistakes_in_binding(bind, error, parts):
    with mx.name.NameManager(), pytest.raises(error) as found:
        bind(product())
    for part in parts:
        assert part in str(found.value)


def test_eval():
    found = product().eval(a=array(1, 2), b=array(3, 4))
    assert found[0].asnumpy().tolist() == [3, 8]


# -- running ---------------------------------------------------------------------------------------


def test_forward_takes_values_by_name():
    executor = product().simple_bind(mx.cpu(), a=(2,))
    outputs = executor.forward(a=array(1, 2), b=np.array([3.0, 4.0]))
    assert outputs is executor.outputs
    assert outputs[0].asnumpy().tolist() == [3, 8]
    assert executor.output_dict[executor.output_dict.copy().popitem()[0]] is outputs[0]
    with pytest.raises(InvalidArgumentError, match=r"'c'.*a, b"):
        executor.forward(c=array(1, 2))
    with pytest.raises(InvalidArgumentError, match=r"'a'.*\(3,\).*\(2,\)"):
        executor.forward(a=array(1, 2, 3))
    with pytest.raises(DTypeError, match=r"'a'.*list"):
        executor.forward(a=[1, 2])


def test_backward_needs_gradients_of_outputs_that_are_no_loss():
    executor = product().simple_bind(mx.cpu(), a=(2,))
    with pytest.raises(InvalidArgumentError, match="forward"):
        executor.backward(array(1, 1))
    executor.forward(is_train=True, a=array(1, 2), b=array(3, 4))
    with mx.name.NameManager(), pytest.raises(InvalidArgumentError, match="make_loss"):
        executor.backward()
    with pytest.raises(InvalidArgumentError, match=r"\(3,\).*\(2,\)"):
        executor.backward(array(1, 1, 1))
    executor.backward({executor.output_dict.copy().popitem()[0]: array(1, 10)})
    assert executor.grad_dict["b"].asnumpy().tolist() == [1, 20]


def test_nothing_to_differentiate():
    executor = product().simple_bind(mx.cpu(), "null", a=(2,))
    executor.forward(is_train=True)
    executor.backward()


def test_losses_need_no_gradient_and_blocked_arguments_get_zeros():
    a, b = S.Variable("a"), S.Variable("b")
    net = S.Group([S.make_loss(a * a), S.BlockGrad(b * 2)])
    executor = net.simple_bind(mx.cpu(), a=(2,), b=(3,))
    executor.grad_dict["b"][:] = 7
    executor.forward(is_train=True, a=array(1, 2))
    executor.backward()
    assert executor.grad_dict["a"].asnumpy().tolist() == [2, 4]
    assert executor.grad_dict["b"].asnumpy().tolist() == [0, 0, 0]
    executor = net.simple_bind(mx.cpu(), "add", a=(2,), b=(3,))
    executor.grad_dict["b"][:] = 7
    executor.forward(is_train=True, a=array(1, 2))
    executor.backward()
    executor.backward()
    assert executor.grad_dict["a"].asnumpy().tolist() == [4, 8]
    assert executor.grad_dict["b"].asnumpy().tolist() == [7, 7, 7]


def test_one_gradient_for_several_arguments():
    a, b = S.Variable("a"), S.Variable("b")
    for request in ("write", "add"):
        executor = (a + b).simple_bind(mx.cpu(), request, a=(2,))
        executor.forward(is_train=True)
        executor.backward(array(1, 2))
        assert executor.grad_dict["a"].asnumpy().tolist() == [1, 2]
        assert executor.grad_dict["b"].asnumpy().tolist() == [1, 2]
        executor.grad_dict["a"][:] = 9
        assert executor.grad_dict["b"].asnumpy().tolist() == [1, 2]


def test_a_gradient_that_is_read_again_while_it_is_added():
    a, b = S.Variable("a"), S.Variable("b")
    # The gradient of a is that of the sum, which the gradient of b reads too.
    net = S.identity(a) + b * b
    executor = net.simple_bind(mx.cpu(), "add", a=(2,))
    executor.grad_dict["a"][:] = 100
    executor.forward(is_train=True, b=array(3, 4))
    executor.backward(array(1, 2))
    assert executor.grad_dict["a"].asnumpy().tolist() == [101, 102]
    assert executor.grad_dict["b"].asnumpy().tolist() == [6, 16]


def test_outputs_that_are_variables_or_the_same():
    a = S.Variable("a")
    x = a * 2
    executor = S.Group([a, x, x]).simple_bind(mx.cpu(), a=(2,))
    outputs = executor.forward(is_train=True, a=array(1, 2))
    assert [o.asnumpy().tolist() for o in outputs] == [[1, 2], [2, 4], [2, 4]]
    executor.backward([array(1, 1), array(10, 10), array(100, 100)])
    assert executor.grad_dict["a"].asnumpy().tolist() == [221, 221]


def test_an_output_is_not_changed_by_what_follows_it():
    a = S.Variable("a")
    x = S.exp(a)
    net = S.Group([x, S.sqrt(x), S.Flatten(x) * 3])
    executor = net.simple_bind(mx.cpu(), a=(2, 2, 2))
    executor.arg_dict["a"][:] = 1
    outputs = [o.asnumpy() for o in executor.forward(is_train=True)]
    np.testing.assert_allclose(outputs[0], np.e, rtol=1e-6)
    np.testing.assert_allclose(outputs[1], np.sqrt(np.e), rtol=1e-6)
    np.testing.assert_allclose(outputs[2], 3 * np.e, rtol=1e-6)


def test_empty_and_0_d_arrays():
    a = S.Variable("a")
    for value in (np.zeros((0, 3)), np.array(2.0)):
        executor = (a * a).bind(mx.cpu(), [mx.nd.array(value)], [mx.nd.zeros(value.shape)])
        out = executor.forward(is_train=True)[0]
        executor.backward(mx.nd.ones(value.shape))
        np.testing.assert_array_equal(out.asnumpy(), value * value)
        np.testing.assert_array_equal(executor.grad_arrays[0].asnumpy(), 2 * value)


def test_arrays_that_are_not_contiguous():
    base = mx.nd.array(np.arange(12).reshape(3, 4))
    view = mx.nd.NDArray(base.handle.view(1, (3, 2), (4, 2)))
    values = np.array([[1, 3], [5, 7], [9, 11]])
    net = S.Flatten(S.Variable("a")) * 2
    gradients = mx.nd.zeros((3, 4))
    grad = mx.nd.NDArray(gradients.handle.view(0, (3, 2), (4, 2)))
    executor = net.bind(mx.cpu(), [view], [grad])
    assert executor.forward(is_train=True)[0].asnumpy().tolist() == (values * 2).tolist()
    executor.backward(mx.nd.ones((3, 2)))
    assert gradients.asnumpy().tolist() == [[2, 0, 2, 0]] * 3


def test_prediction_between_forward_and_backward():
    executor = filled(perceptron().simple_bind(mx.cpu(), data=(5, 2)))
    executor.arg_dict["softmax_label"][:] = np.array([0, 1, 2, 1, 0])
    executor.forward(is_train=True)
    executor.backward()
    expected = {k: v.asnumpy() for k, v in executor.grad_dict.items()}
    for grad in executor.grad_arrays:
        grad[:] = 5
    executor.forward(is_train=True)
    executor.forward(is_train=False)
    executor.backward()
    for name, value in expected.items():
        np.testing.assert_array_equal(executor.grad_dict[name].asnumpy(), value, err_msg=name)


def test_training_and_prediction_differ_where_the_operator_does():
    net = S.BatchNorm(S.Variable("data"), fix_gamma=False, eps=0, momentum=0.5, name="bn")
    executor = net.simple_bind(mx.cpu(), data=(4, 1))
    executor.arg_dict["bn_gamma"][:] = 1
    executor.aux_dict["bn_moving_var"][:] = 1
    data = np.array([[1.0], [2], [3], [6]], dtype="float32")
    trained = executor.forward(is_train=True, data=data)[0].asnumpy()
    np.testing.assert_allclose(trained, (data - 3) / np.sqrt(3.5), rtol=1e-5)
    np.testing.assert_array_equal(executor.aux_dict["bn_moving_mean"].asnumpy(), [0])
    executor.backward(mx.nd.ones((4, 1)))
    np.testing.assert_allclose(executor.aux_dict["bn_moving_mean"].asnumpy(), [1.5])
    np.testing.assert_allclose(executor.aux_dict["bn_moving_var"].asnumpy(), [2.25])
    predicted = executor.forward(is_train=False)[0].asnumpy()
    np.testing.assert_allclose(predicted, (data - 1.5) / 1.5, rtol=1e-6)
    np.testing.assert_allclose(executor.aux_dict["bn_moving_mean"].asnumpy(), [1.5])


# -- gradients against finite differences ----------------------------------------------------------


def random_network(rng):
    """A graph of smooth operators with many shared results."""
    entries = [S.Variable("a"), S.Variable("b")]
    unary = (S.tanh, S.sin, S.sigmoid, S.square, S.identity, S.negative, S.transpose)
    for _ in range(12):
        x, y = (entries[i] for i in rng.integers(0, len(entries), 2))
        kind = rng.integers(0, 4)
        if kind == 0:
            made = x * y
        elif kind == 1:
            made = S.add_n(x, y, x) * 0.3
        elif kind == 2:
            made = S.dot(S.tanh(x), y) * 0.2
        else:
            made = unary[rng.integers(0, len(unary))](x)
        entries.append(made)
    return S.Group([S.sum(S.add_n(*entries[2:])), S.sin(entries[-1])])


@pytest.mark.parametrize("seed", range(8))
def test_random_networks_against_finite_differences(seed):
    rng = np.random.default_rng(seed)
    values = {k: rng.uniform(-1, 1, (3, 3)) for k in "ab"}
    net = random_network(rng)
    executor = net.bind(
        mx.cpu(),
        {k: mx.nd.array(v, dtype="float64") for k, v in values.items()},
        {k: mx.nd.zeros((3, 3), dtype="float64") for k in "ab"},
    )
    outputs = executor.forward(is_train=True)
    weights = [rng.uniform(-1, 1, o.shape) for o in outputs]
    executor.backward([mx.nd.array(w, dtype="float64") for w in weights])
    direction = {k: rng.uniform(-1, 1, (3, 3)) for k in "ab"}
    found = sum((executor.grad_dict[k].asnumpy() * d).sum() for k, d in direction.items())

    def loss(step):
        moved = {
            k: mx.nd.array(v + step * direction[k], dtype="float64") for k, v in values.items()
        }
        outs = executor.forward(is_train=False, **moved)
        return sum((o.asnumpy() * w).sum() for o, w in zip(outs, weights, strict=True))

    expected = (loss(1e-6) - loss(-1e-6)) / 2e-6
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-6)


# -- memory, parameters, shapes --------------------------------------------------------------------


def test_memory_is_reused_and_reported():
    x = S.Variable("x")
    for _ in range(20):
        x = S.exp(x) * 0.1
    executor = x.simple_bind(mx.cpu(), "null", x=(256, 1024))
    assert executor.memory_planned() == 2.0  # One buffer, and the output.
    text = executor.debug_str()
    assert text.endswith("Total 2 MB allocated\nTotal 0 TempSpace resource requested\n")
    assert "Op:exp" in text


def test_modes_share_buffers():
    net = S.SoftmaxOutput(perceptron().get_internals()["fc2_output"] * 2, name="softmax")
    executor = net.simple_bind(mx.cpu(), data=(5, 2))
    before = executor.memory_planned()
    executor.forward(is_train=False)
    assert executor.memory_planned() == before


def test_shared_executors_share_memory_and_notice_lost_results():
    first = filled(perceptron().simple_bind(mx.cpu(), data=(8, 2)))
    second = perceptron().simple_bind(mx.cpu(), shared_exec=first, data=(5, 2))
    assert second.memory_planned() <= first.memory_planned() * 1.01
    first.forward(is_train=True)
    second.forward(is_train=True)
    with pytest.raises(InvalidArgumentError, match="another executor"):
        first.backward()
    second.backward()


def test_copy_params_from():
    executor = perceptron().simple_bind(mx.cpu(), data=(5, 2))
    executor.copy_params_from({"fc2_bias": array(1, 2, 3, dtype="float64")})
    assert executor.arg_dict["fc2_bias"].asnumpy().tolist() == [1, 2, 3]
    with pytest.raises(InvalidArgumentError, match=r"'fc2_bias'.*\(2,\).*\(3,\)"):
        executor.copy_params_from({"fc2_bias": array(1, 2)})
    with pytest.raises(InvalidArgumentError, match="'foo'"):
        executor.copy_params_from({"foo": array(1)})
    executor.copy_params_from({"foo": array(1)}, {"bar": array(1)}, allow_extra_params=True)


def test_reshape_shares_what_it_can():
    old = filled(perceptron().simple_bind(mx.cpu(), data=(8, 2)))
    with pytest.raises(InvalidArgumentError, match=r"'softmax_label'.*partial_shaping"):
        old.reshape(data=(4, 2))
    new = old.reshape(data=(4, 2), softmax_label=(4,))
    assert new.arg_dict["fc1_weight"] is old.arg_dict["fc1_weight"]
    assert new.outputs[0].shape == (4, 3)
    new.arg_dict["data"][:] = 3
    assert (old.arg_dict["data"].asnumpy()[:4] == 3).all()
    with pytest.raises(InvalidArgumentError, match="grow"):
        old.reshape(partial_shaping=True, data=(9, 2))
    grown = old.reshape(partial_shaping=True, allow_up_sizing=True, data=(9, 2))
    assert grown.forward(is_train=True)[0].shape == (9, 3)
    grown.backward()


def test_views_of_inputs_are_not_made_of_states():
    net = S.BatchNorm(S.Variable("data"), momentum=0.0, name="bn")
    net = S.Group([S.identity(net.get_internals()["bn_moving_mean"]), net])
    executor = net.simple_bind(mx.cpu(), data=(4, 1))
    data = np.array([[1.0], [2], [3], [6]])
    before = executor.forward(is_train=True, data=data)[0].asnumpy()
    executor.backward([mx.nd.ones((1,)), mx.nd.ones((4, 1))])
    assert before.tolist() == [0]
    assert executor.aux_dict["bn_moving_mean"].asnumpy().tolist() == [3]


@pytest.mark.parametrize("requests", [("add", "add"), ("add", "write"), ("write", "add")])
def test_arguments_with_the_same_gradient_keep_their_own_sums(requests):
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    for joined in (a + b, mx.sym.add_n(a, b), mx.sym.identity(a) + mx.sym.identity(b)):
        executor = (joined * 2).simple_bind(
            mx.cpu(), grad_req=dict(zip("ab", requests, strict=True)), a=(2,), b=(2,)
        )
        for name, before in (("a", 100), ("b", 1000)):
            executor.grad_dict[name][:] = before
        for _ in range(3):
            executor.forward(is_train=True)
            executor.backward(mx.nd.ones((2,)))
        for name, request, before in zip("ab", requests, (100, 1000), strict=True):
            value = 2 if request == "write" else before + 6
            assert executor.grad_dict[name].asnumpy().tolist() == [value, value]


def test_outputs_of_one_name_have_no_dict():
    x = mx.sym.Variable("x")
    pair = mx.sym.Group([mx.sym.exp(x, name="y"), mx.sym.sqrt(x, name="y")])
    executor = pair.simple_bind(mx.cpu(), x=(1,))
    with pytest.raises(
        mx.error.InvalidArgumentError, match="more than one output called 'y_output'"
    ):
        repr(executor.output_dict)
