"""Programs with autograd that run on MXNet and on Ferromix; each gives arrays by name.

`tools/golden/make_autograd.py` keeps what MXNet's gave.
"""

import numpy as np


def numbers(*shape, seed=0):
    """Numbers that are the same everywhere."""
    return np.random.RandomState(seed).uniform(-1.5, 1.5, shape).astype("float32")


def arrays(mx, *values, grad_req="write"):
    """Variables with the given values."""
    found = [mx.nd.array(v) for v in values]
    for array in found:
        array.attach_grad(grad_req)
    return found


def perceptron(mx):
    """A network with a loss, trained for three steps by hand."""
    data, label = mx.nd.array(numbers(6, 5)), mx.nd.array([0, 1, 2, 0, 1, 2])
    w1, b1, w2, b2 = arrays(
        mx, numbers(8, 5, seed=1), numbers(8, seed=2), numbers(3, 8, seed=3), numbers(3, seed=4)
    )
    for _ in range(3):
        with mx.autograd.record():
            h = mx.nd.FullyConnected(data, w1, b1, num_hidden=8)
            h = mx.nd.Activation(h, act_type="tanh")
            out = mx.nd.SoftmaxOutput(mx.nd.FullyConnected(h, w2, b2, num_hidden=3), label)
        out.backward()
        for w in (w1, b1, w2, b2):
            w[:] = w - 0.1 * w.grad
    return {"out": out, "w1": w1, "b1": b1, "w2": w2, "b2": b2, "grad": w1.grad}


def convolutions(mx):
    """Images, with pooling, normalization in both modes, and both modes of the backward pass.

    Without pooling in prediction, whose gradient MXNet gets wrong there, as differences show.
    """
    x, w, gamma, beta = arrays(
        mx, numbers(2, 3, 6, 6), numbers(4, 3, 3, 3, seed=1), numbers(4, seed=2), numbers(4, seed=3)
    )
    found = {}
    for train in (True, False):
        mean, var = mx.nd.zeros((4,)), mx.nd.ones((4,))
        with mx.autograd.record(train_mode=train):
            y = mx.nd.Convolution(x, w, kernel=(3, 3), num_filter=4, no_bias=True)
            y = mx.nd.BatchNorm(y, gamma, beta, mean, var, fix_gamma=False)
            y = mx.nd.relu(y)
            if train:
                y = mx.nd.Pooling(y, kernel=(2, 2), stride=(2, 2), pool_type="max")
            loss = (y * y).sum()
        loss.backward(train_mode=train)
        found[f"loss_{train}"] = loss
        for name, array in (("x", x), ("w", w), ("gamma", gamma), ("beta", beta)):
            found[f"{name}_{train}"] = array.grad.copy()
    return found


def indexing(mx):
    """Views, picked elements, reshapes, joins and broadcasting."""
    x, y = arrays(mx, numbers(3, 4), numbers(1, 4, seed=1))
    with mx.autograd.record():
        a = x[1] * x[:, 1:4:2].sum() + x[2, 3] * y.reshape((4,))
        b = x[mx.nd.array([0, 0, 2])] * y
        c = mx.nd.concat(x.T, x.T[::-1], dim=1).slice_axis(axis=1, begin=1, end=5)
        head = mx.nd.concat(a.reshape((-1,)), b.reshape((-1,)), (c * c).reshape((-1,)), dim=0)
    head.backward(mx.nd.array(numbers(*head.shape, seed=2)))
    return {"head": head, "x": x.grad, "y": y.grad}


def requests(mx):
    """Sums over several passes, several heads, gradients of heads, and a graph that is kept."""
    (a,) = arrays(mx, numbers(4), grad_req="add")
    (w,) = arrays(mx, numbers(4, seed=1))
    for i in range(3):
        with mx.autograd.record():
            p, q = a * w, mx.nd.exp(a) - w
        mx.autograd.backward([p, q], [mx.nd.array(numbers(4, seed=5 + i)), None], retain_graph=True)
        p.backward()
    with mx.autograd.record():
        cut = (a * a).detach() * w + mx.nd.BlockGrad(a) * a
    (by_w,) = mx.autograd.grad(cut, [w], retain_graph=True)
    cut.backward()
    return {"a": a.grad, "w": w.grad, "by_w": by_w}


def orders(mx):
    """Derivatives of derivatives."""
    (x,) = arrays(mx, np.abs(numbers(5)) + 0.5)
    found = {}
    for name in ("sin", "cos", "exp", "log", "sqrt", "tanh", "sigmoid", "square", "reciprocal"):
        with mx.autograd.record():
            y = getattr(mx.nd, name)(x)
            (first,) = mx.autograd.grad(y, [x], create_graph=True, retain_graph=True)
            last = first * x
        last.backward()
        found[f"{name}_1"], found[f"{name}_2"] = first, x.grad.copy()
    return found


def function(mx):
    """A gradient that the user wrote."""

    class Clamp(mx.autograd.Function):
        def forward(self, x, y):
            self.save_for_backward(x)
            return mx.nd.clip(x, -0.5, 0.5), x * y

        def backward(self, a, b):
            (x,) = self.saved_tensors
            return a * 2 + b * x, b - a

    x, y = arrays(mx, numbers(4), numbers(4, seed=1))
    with mx.autograd.record():
        p, q = Clamp()(x, y)
        out = p * 3 + q * q
    out.backward()
    return {"out": out, "x": x.grad, "y": y.grad}


PROGRAMS = (perceptron, convolutions, indexing, requests, orders, function)
