"""Operators of one's own on a GPU: their functions get arrays that are there, however late."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx

from .device import EAGER, ON_WAIT, RANDOM, STARVED, races, schedule

GPU = mx.gpu(0)
X = np.array([[1, -2, 3], [4, 5, -6]], np.float32)
GRAD = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
SEEN: list[mx.Context] = []
"""Where the arrays were that the functions got."""


class Squares(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        SEEN.append(in_data[0].context)
        self.assign(out_data[0], req[0], in_data[0] * in_data[0])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        SEEN.append(out_grad[0].context)
        self.assign(in_grad[0], req[0], 2 * in_data[0] * out_grad[0])


@mx.operator.register("test_gpu_squares")
class SquaresProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, shapes, dtypes):
        return Squares()


@mx.operator.register
class SquaresCard(mx.operator.OperatorProperty):
    """Squares of numbers."""

    name = "test_gpu_squares_card"

    def create_operator(self, ctx):
        return self

    def infer_shape(self, in_shapes):
        return in_shapes, [in_shapes[0]], []

    def forward(self, ctx, in_data, req, out_data, aux):
        SEEN.append(in_data[0].context)
        mx.operator.assign(out_data[0], req[0], in_data[0] * in_data[0])

    def backward(self, ctx, out_grad, in_data, out_data, req, in_grad, aux):
        SEEN.append(out_grad[0].context)
        mx.operator.assign(in_grad[0], req[0], 2 * in_data[0] * out_grad[0])


def _square(x, env):
    SEEN.append(x.context)
    return x * x


mx.operator.SimpleOp("test_gpu_squares_simple").set_function(_square).set_gradient(
    "T2", lambda grad, x, env: 2 * x * grad
).register()

OPERATORS = {
    "custom": (
        lambda x: mx.nd.Custom(x, op_type="test_gpu_squares"),
        lambda x: mx.sym.Custom(x, op_type="test_gpu_squares"),
    ),
    "card": (lambda x: mx.nd.test_gpu_squares_card(x), lambda x: mx.sym.test_gpu_squares_card(x)),
    "simple": (
        lambda x: mx.nd.test_gpu_squares_simple(x),
        lambda x: mx.sym.test_gpu_squares_simple(x),
    ),
}
"""The function of arrays and that of symbols."""


@pytest.fixture(autouse=True)
def fresh():
    SEEN.clear()
    yield
    mx.nd.waitall()
    assert races() == ""
    schedule(EAGER)


@pytest.mark.parametrize("policy", [EAGER, ON_WAIT, RANDOM, STARVED])
@pytest.mark.parametrize("kind", OPERATORS)
def test_functions_and_gradients(kind, policy):
    call, _ = OPERATORS[kind]
    schedule(policy, 5)
    x = mx.nd.array(X, ctx=GPU)
    x.attach_grad()
    with mx.autograd.record():
        y = call(x + 1) * 2
    y.backward(mx.nd.array(GRAD, ctx=GPU))
    np.testing.assert_array_equal(y.asnumpy(), 2 * (X + 1) ** 2)
    np.testing.assert_array_equal(x.grad.asnumpy(), 4 * (X + 1) * GRAD)
    assert y.context == x.grad.context == GPU
    assert set(SEEN) == {GPU}


@pytest.mark.parametrize("req", ["write", "add"])
@pytest.mark.parametrize("kind", OPERATORS)
def test_in_an_executor(kind, req):
    schedule(RANDOM, 7)
    _, call = OPERATORS[kind]
    symbol = call(mx.sym.var("x") + 1) * 2
    x, grad = mx.nd.array(X, ctx=GPU), mx.nd.ones(X.shape, ctx=GPU)
    bound = symbol.bind(GPU, {"x": x}, args_grad={"x": grad}, grad_req=req)
    expected = np.ones_like(X)
    for step in range(3):
        x[:] = X + step
        (y,) = bound.forward(is_train=True)
        bound.backward(mx.nd.array(GRAD, ctx=GPU))
        np.testing.assert_array_equal(y.asnumpy(), 2 * (X + step + 1) ** 2)
        one = 4 * (X + step + 1) * GRAD
        expected = expected + one if req == "add" else one
        np.testing.assert_array_equal(grad.asnumpy(), expected)
    assert set(SEEN) == {GPU}


def test_what_a_function_raises_surfaces_at_the_wait():
    class Fails(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            raise ArithmeticError("of the user's")

    @mx.operator.register("test_gpu_fails")
    class FailsProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Fails()

    y = mx.nd.Custom(mx.nd.ones((2,), ctx=GPU), op_type="test_gpu_fails")
    with pytest.raises(ArithmeticError, match="of the user's"):
        y.wait_to_read()
    assert (mx.nd.ones((2,), ctx=GPU) + 1).asnumpy().tolist() == [2, 2]


SOURCE = """
extern "C" __global__ void squares(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * x[i];
}
"""


def test_a_kernel_of_one_s_own_within():
    squares = mx.rtc.CudaModule(SOURCE).get_kernel("squares", "const float *x, float *y, int n")

    class Compiled(Squares):
        def forward(self, is_train, req, in_data, out_data, aux):
            x, y = in_data[0], out_data[0]
            squares.launch([x, y, x.size], x.context, (1, 1, 1), (x.size, 1, 1))

    @mx.operator.register("test_gpu_compiled")
    class CompiledProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Compiled()

    schedule(STARVED, 2)
    x = mx.nd.array(X, ctx=GPU)
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Custom(x + 1, op_type="test_gpu_compiled") + 1
    y.backward()
    np.testing.assert_array_equal(y.asnumpy(), (X + 1) ** 2 + 1)
    np.testing.assert_array_equal(x.grad.asnumpy(), 2 * (X + 1))


def test_memory_of_a_gpu_has_no_view_of_numpy():
    class Views(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            mx.operator.numpy_view(in_data[0])

    @mx.operator.register("test_gpu_views")
    class ViewsProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Views()

    y = mx.nd.Custom(mx.nd.ones((2,), ctx=GPU), op_type="test_gpu_views")
    with pytest.raises(mx.MXNetError, match=r"gpu\(0\)"):
        y.wait_to_read()


@pytest.mark.filterwarnings("ignore:.*deprecated")
@pytest.mark.parametrize("kind", [mx.operator.NumpyOp, mx.operator.NDArrayOp])
@pytest.mark.parametrize("req", ["write", "add", "null"])
def test_objects_of_numpy_get_copies(kind, req):
    class Doubles(kind):
        def forward(self, in_data, out_data):
            out_data[0][:] = in_data[0] * 2

        def backward(self, out_grad, in_data, out_data, in_grad):
            in_grad[0][:] = out_grad[0] * 2 + out_data[0]

    schedule(RANDOM, 11)
    symbol = Doubles(True)(mx.sym.var("x") + 1, name="doubles")
    x, grad = mx.nd.array(X, ctx=GPU), mx.nd.ones(X.shape, ctx=GPU)
    bound = symbol.bind(GPU, {"x": x}, args_grad={"x": grad}, grad_req=req)
    (y,) = bound.forward(is_train=True)
    bound.backward(mx.nd.array(GRAD, ctx=GPU))
    np.testing.assert_array_equal(y.asnumpy(), 2 * (X + 1))
    one = GRAD * 2 + 2 * (X + 1)
    expected = {"write": one, "add": one + 1, "null": np.ones_like(X)}
    np.testing.assert_array_equal(grad.asnumpy(), expected[req])
