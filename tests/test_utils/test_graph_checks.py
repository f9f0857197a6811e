"""Checks of symbols find what is wrong, and nothing else."""

import numpy as np
import pytest

import ferromix as mx
from ferromix import test_utils as t

A, B = mx.sym.Variable("a"), mx.sym.Variable("b")
X, Y = np.random.RandomState(0).rand(2, 2, 3)
PRODUCT = mx.sym.elemwise_mul(A, B, name="y")
WRONG = mx.sym.elemwise_mul(mx.sym.BlockGrad(A), B)


def test_values():
    (out,) = t.check_symbolic_forward(PRODUCT, [X, Y], [X * Y])
    assert out.dtype == np.float32
    t.check_symbolic_forward(PRODUCT, {"b": Y, "a": X}, {"y_output": X * Y}, dtype="asnumpy")
    with pytest.raises(AssertionError, match=r"EXPECTED_y_output=.*FORWARD_y_output="):
        t.check_symbolic_forward(PRODUCT, [X, Y], [X * Y + 1])
    assert t.simple_forward(mx.sym.Group([A, B]), a=X, b=Y)[1].shape == (2, 3)


def test_values_with_states():
    norm = mx.sym.BatchNorm(A, fix_gamma=False, use_global_stats=True, eps=1e-3, name="n")
    mean, var = np.ones(3), np.full(3, 4.0)
    want = (X - 1) / np.sqrt(4 + 1e-3)
    t.check_symbolic_forward(norm, [X, np.ones(3), np.zeros(3)], [want], aux_states=[mean, var])


def test_gradients():
    head = np.full((2, 3), 2.0)
    grads = t.check_symbolic_backward(PRODUCT, [X, Y], [head], [2 * Y, 2 * X])
    assert t.almost_equal(grads["a"], 2 * Y)
    for request in ("add", "null", {"a": "add", "b": "write"}, ["write", "null"]):
        t.check_symbolic_backward(PRODUCT, [X, Y], [head], [2 * Y, 2 * X], grad_req=request)
    t.check_symbolic_backward(PRODUCT, [X, Y], {"y_output": head}, {"a": 2 * Y})
    with pytest.raises(AssertionError, match=r"EXPECTED_b=.*BACKWARD_b="):
        t.check_symbolic_backward(PRODUCT, [X, Y], [head], [2 * Y, 2 * X + 1])
    with pytest.raises(mx.MXNetError, match="y_output"):
        t.check_symbolic_backward(PRODUCT, [X, Y], None, [Y, X])


def test_gradients_of_sparse_storage():
    weight = mx.nd.array(np.arange(8).reshape(4, 2))
    rows = mx.sym.Embedding(A, B, input_dim=4, output_dim=2, sparse_grad=True)
    want = np.zeros((4, 2))
    want[2] = 1
    grads = t.check_symbolic_backward(
        rows, [[2], weight], [np.ones((1, 2))], {"b": want}, grad_stypes={"b": "row_sparse"}
    )
    assert grads["b"].stype == "row_sparse"


def test_finite_differences():
    e = PRODUCT.bind(mx.cpu(), {"a": mx.nd.array(X), "b": mx.nd.array(Y)})
    found = t.numeric_grad(e, {"a": X, "b": Y}, eps=1e-2)
    assert t.almost_equal(found["a"], Y, rtol=1e-2)
    assert t.almost_equal(found["b"], X, rtol=1e-2)
    assert t.almost_equal(e.arg_dict["a"], X)
    t.check_numeric_gradient(PRODUCT, [X, Y], numeric_eps=1e-3, dtype=np.float64)
    t.check_numeric_gradient(PRODUCT, {"a": X, "b": Y}, grad_nodes={"a": "add", "b": "null"})
    with pytest.raises(AssertionError, match=r"NUMERICAL_a=.*BACKWARD_a="):
        t.check_numeric_gradient(WRONG, [X, Y])
    t.check_numeric_gradient(WRONG, [X, Y], grad_nodes=["b"])


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda: t.check_symbolic_forward(PRODUCT, {"a": X}, [X]), "arguments are a, b.*for a"),
        (lambda: t.check_symbolic_forward(PRODUCT, [X], [X]), "2 arguments .a, b., but 1"),
        (lambda: t.check_symbolic_forward(PRODUCT, [X, Y], [X, X]), "1 outputs"),
        (lambda: t.check_symbolic_backward(PRODUCT, [X, Y], [X], {"c": X}), "gradients of .'c'"),
        (lambda: t.check_symbolic_backward(PRODUCT, [X, Y], [X], [X, Y], grad_req="x"), "'x'"),
        (lambda: t.check_numeric_gradient(PRODUCT, [X, Y], grad_nodes=3), "list or a dict"),
        (lambda: t.check_numeric_gradient(PRODUCT, [X, Y], grad_nodes=["c"]), "no .'c'"),
        (lambda: t.check_numeric_gradient(PRODUCT, [X, Y], dtype=np.int32), "dtype must be"),
        (lambda: t.check_numeric_gradient(mx.sym.Group([A, B]), [X, Y]), "one output"),
        (lambda: t.check_speed(PRODUCT, typ="back"), "typ must be"),
        (lambda: t.check_consistency(PRODUCT, PLACES[:1]), "1 place"),
        (lambda: t.check_consistency([PRODUCT] * 3, PLACES), "3 symbols for 2"),
        (lambda: t.check_consistency([PRODUCT, A + B], PLACES), "list_outputs"),
        (lambda: t.compare_optimizer(SGD(), SGD(), [(2,)], "float32", ntensors=2), "1 shapes"),
    ],
)
def test_what_cannot_be_checked(call, what):
    with pytest.raises(mx.MXNetError, match=what):
        call()


def places(*types):
    shapes = {"a": (2, 3), "b": (2, 3)}
    return [{"ctx": mx.cpu(), **shapes, "type_dict": {"a": d, "b": d}} for d in types]


PLACES = places("float32", "float64")


@pytest.mark.parametrize("request_", ["write", "add", "null", {"a": "null", "b": "write"}])
def test_one_symbol_in_two_types(request_):
    found = t.check_consistency(PRODUCT, PLACES, grad_req=request_)
    assert found["y_output"].dtype == np.float64
    assert set(found) == ({"y_output"} if request_ == "null" else {"y_output", "a", "b"})


def test_inconsistency(capsys):
    other = mx.sym.elemwise_mul(A, B * 1.01, name="y")
    options = {"arg_params": {"a": X, "b": Y}}
    with pytest.raises(AssertionError, match="place_0_y_output"):
        t.check_consistency([PRODUCT, other], PLACES, **options)
    t.check_consistency([PRODUCT, other], PLACES, raise_on_err=False, **options)
    assert "place 0 differs in b" in capsys.readouterr().out
    t.check_consistency([PRODUCT, other], PLACES, rtol=0.1, use_uniform=True, scale=0.5)
    half = places("float16", "float32")
    assert t.check_consistency(PRODUCT, half, rand_type=np.float16)["a"].dtype == np.float32
    with pytest.raises(AssertionError, match="wanted_y_output"):
        t.check_consistency(PRODUCT, PLACES, ground_truth={"y_output": X * Y + 1}, **options)


def test_speed():
    assert t.check_speed(PRODUCT, N=2, a=(2, 3), b=(2, 3)) > 0
    assert t.check_speed(PRODUCT, location={"a": X, "b": Y}, N=2, typ="forward") > 0


SGD, Adam = mx.optimizer.SGD, mx.optimizer.Adam


@pytest.mark.parametrize("stypes", [("default", "default"), ("row_sparse", "row_sparse")])
def test_optimizers(stypes):
    options = dict(zip(("w_stype", "g_stype"), stypes, strict=True))
    t.compare_optimizer(SGD(momentum=0.9), SGD(momentum=0.9), (3, 4), "float32", **options)
    with pytest.raises(AssertionError, match="Location of maximum error"):
        t.compare_optimizer(SGD(), SGD(learning_rate=0.5), (3, 4), "float32", **options)
    shapes = [(3, 4), (2, 2)]
    t.compare_optimizer(Adam(), Adam(), shapes, "float64", ntensors=2, **options)
    mean = {"rtol": 0.01, "atol": 0.01}  # of the gradient, which is all that beta1 changes
    t.compare_optimizer(
        Adam(), Adam(beta1=0.5), (3, 4), "float32", compare_states=False, **mean, **options
    )
    with pytest.raises(AssertionError, match="Location"):
        t.compare_optimizer(Adam(), Adam(beta1=0.5), (3, 4), "float32", **mean, **options)
