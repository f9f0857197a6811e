"""Register the smooth L1 loss from outside the package: one function, one gradient.

With a scalar s, f(x) = 0.5 (s x)^2 where |x| < 1 / s^2, and |x| - 0.5 / s^2 elsewhere. As soon as
it is registered, ``mx.nd`` and ``mx.sym`` have it, with its documentation. The gradient is checked
beside differences of the function, in both.
"""

from __future__ import annotations

import numpy as np

import ferromix as mx

SIGMA = 2.0


def smooth_l1(x: mx.NDArray, env: mx.operator.EnvArguments) -> mx.NDArray:
    """The loss of each element."""
    square = env.scalar**2
    near = mx.nd.abs(x) < 1 / square
    return mx.nd.where(near, 0.5 * square * x * x, mx.nd.abs(x) - 0.5 / square)


def smooth_l1_gradient(
    out_grad: mx.NDArray, x: mx.NDArray, env: mx.operator.EnvArguments
) -> mx.NDArray:
    """The gradient: of kind T2, as it reads the input."""
    square = env.scalar**2
    near = mx.nd.abs(x) < 1 / square
    return out_grad * mx.nd.where(near, square * x, mx.nd.sign(x))


mx.operator.SimpleOp("my_smooth_l1").set_function(smooth_l1).set_gradient(
    "T2", smooth_l1_gradient, inplace="out_in"
).set_enable_scalar().describe("The smooth L1 loss of each element.").register()


def differences(x: np.ndarray, step: float = 1e-4) -> np.ndarray:
    """The slope of the function, by central differences."""
    ends = [mx.nd.array(x + sign * step, dtype="float64") for sign in (1, -1)]
    high, low = (mx.nd.my_smooth_l1(end, scalar=SIGMA).asnumpy() for end in ends)
    return (high - low) / (2 * step)


def main() -> None:
    """Computes values and gradients in three ways."""
    values = np.array([-3.0, -0.3, -0.1, 0.0, 0.2, 0.24, 0.3, 5.0])
    x = mx.nd.array(values, dtype="float64")
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.my_smooth_l1(x, scalar=SIGMA)
    y.backward()
    assert x.grad is not None
    print("values   ", np.round(y.asnumpy(), 4))
    print("gradient ", np.round(x.grad.asnumpy(), 4))

    symbol = mx.sym.my_smooth_l1(mx.sym.Variable("x"), scalar=SIGMA)
    executor = symbol.simple_bind(mx.cpu(), x=values.shape, type_dict={"x": "float64"})
    executor.forward(is_train=True, x=x)
    executor.backward(mx.nd.ones(values.shape, dtype="float64"))
    bound = executor.grad_dict["x"].asnumpy()
    print("the symbol gives the same:", bool((bound == x.grad.asnumpy()).all()))
    error = np.abs(differences(values) - bound).max()
    print(f"differences from central differences: {error:.1e}")
    print("documented as:", mx.nd.my_smooth_l1.__doc__.splitlines()[0])


if __name__ == "__main__":
    main()
