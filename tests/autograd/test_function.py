"""Functions with gradients that users write."""

import gc
import weakref

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import DTypeError, InvalidArgumentError

ag = mx.autograd


class Sigmoid(ag.Function):
    def forward(self, x):
        assert not ag.is_recording()
        y = 1 / (1 + mx.nd.exp(-x))
        self.save_for_backward(y)
        return y

    def backward(self, dy):
        assert not ag.is_recording()
        (y,) = self.saved_tensors
        return dy * y * (1 - y)


class Mixed(ag.Function):
    """Gradients that are not those of its formula, to see that they are used."""

    def forward(self, x, y):
        return [x * y, x + y]

    def backward(self, a, b):
        return a * 10 + b, None


def variable(values, dtype="float32"):
    x = mx.nd.array(values, dtype=dtype)
    x.attach_grad()
    return x


def test_a_function_of_one_array():
    x = variable([-1.0, 0.0, 2.0], "float64")
    with ag.record():
        y = Sigmoid()(x * 2) * 3
    y.backward()
    s = 1 / (1 + np.exp(-2 * np.array([-1.0, 0.0, 2.0])))
    np.testing.assert_allclose(y.asnumpy(), 3 * s, rtol=1e-14)
    np.testing.assert_allclose(x.grad.asnumpy(), 6 * s * (1 - s), rtol=1e-14)


def test_several_inputs_and_outputs():
    x, y = variable([1.0, 2.0]), variable([3.0, 4.0])
    with ag.record():
        p, q = Mixed()(x, y)
        r = p * 1 + q * 2
    r.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), [12, 12])
    np.testing.assert_array_equal(y.grad.asnumpy(), [0, 0])


def test_an_output_that_is_not_used_has_zeros():
    x, y = variable([1.0, 2.0]), variable([3.0, 4.0])
    with ag.record():
        _, q = Mixed()(x, y)
    q.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), [1, 1])


@pytest.mark.parametrize("request_", ["write", "add"])
def test_requests(request_):
    x = mx.nd.array([0.0])
    x.attach_grad(request_)
    for _ in range(2):
        with ag.record():
            y = Sigmoid()(x)
        y.backward()
    assert x.grad.asscalar() == (0.25 if request_ == "write" else 0.5)


def test_outside_of_recording_it_only_computes():
    y = Sigmoid()(variable([0.0]))
    assert y.asscalar() == 0.5
    assert not y.handle.is_recorded


def test_training_is_seen():
    class Mode(ag.Function):
        def forward(self, x):
            self.seen = ag.is_training()
            return x * 1

        def backward(self, dy):
            return dy

    modes = []
    for train in (True, False):
        function = Mode()
        with ag.record(train_mode=train):
            function(variable([1.0]))
        modes.append(function.seen)
    assert modes == [True, False]


def test_an_object_serves_one_call():
    function, x = Sigmoid(), variable([0.0])
    function(x)
    with pytest.raises(InvalidArgumentError, match=r"Sigmoid: an object .* can be called once"):
        function(x)


def test_wrong_results_are_named():
    class Wrong(ag.Function):
        def __init__(self, result):
            self.result = result

        def forward(self, x):
            return x * 1

        def backward(self, dy):
            return self.result

    x = variable([1.0, 2.0])
    one = mx.nd.ones((1,))
    for result, kind, message in (
        ([one, one], InvalidArgumentError, "Wrong: backward gave 2 gradients for 1 inputs"),
        (one, InvalidArgumentError, r"Wrong: .* float32 \(1,\) for input 0, .* float32 \(2,\)"),
        (3.0, DTypeError, "Wrong: gradient 0 .* must be an NDArray, got float"),
    ):
        with ag.record():
            y = Wrong(result)(x)
        with pytest.raises(kind, match=message):
            y.backward()
    with pytest.raises(DTypeError, match="Sigmoid: input 0 must be an NDArray, got int"):
        Sigmoid()(3)


def test_errors_of_the_user_pass_through():
    class Failing(ag.Function):
        def forward(self, x):
            return x * 1

        def backward(self, dy):
            raise KeyError("mine")

    x = variable([1.0])
    with ag.record():
        y = Failing()(x)
    with pytest.raises(KeyError, match="mine"):
        y.backward()
    assert not ag.is_recording()


def test_a_second_derivative_is_refused():
    x = variable([1.0])
    with ag.record():
        (first,) = ag.grad(Sigmoid()(x), x, create_graph=True)
    with pytest.raises(InvalidArgumentError, match=r"operator _backward_Sigmoid: .* recorded at"):
        first.backward()


def test_it_is_freed_with_the_graph():
    x = variable([1.0])
    function = Sigmoid()
    alive = weakref.ref(function)
    with ag.record():
        y = function(x)
    del function
    gc.disable()
    try:
        assert alive() is not None
        y.backward()
        assert alive() is None
        with ag.record():
            other = Sigmoid()
            alive, z = weakref.ref(other), other(x)
        del other, z
        assert alive() is None
    finally:
        gc.enable()


def test_a_function_may_write_into_the_gradients_that_it_is_given():
    class Zeroing(mx.autograd.Function):
        def forward(self, x):
            return x * 2

        def backward(self, dy):
            dy[:] = 0
            return dy

    x, head = mx.nd.ones((2,)), mx.nd.array([4.0, 4.0])
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.elemwise_add(Zeroing()(x), x)
    y.backward(head)
    assert head.asnumpy().tolist() == x.grad.asnumpy().tolist() == [4, 4]
