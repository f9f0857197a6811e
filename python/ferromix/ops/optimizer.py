"""Steps of optimizers, which change a weight and its states.

The new weight is the output, for which callers give the weight itself; the states are changed in
place. The gradient is rescaled, then clipped.
"""

from __future__ import annotations

from typing import ClassVar

from .card import register
from .family import FLOATS, Elementwise
from .param import Param, Params

__all__ = ["AdamUpdate", "SgdMomUpdate", "SgdUpdate"]

LR = Param("float", doc="The learning rate.")
COMMON = {
    "wd": Param("float", 0.0, "The weight decay."),
    "rescale_grad": Param("float", 1.0, "The factor of the gradient."),
    "clip_gradient": Param("float", -1.0, "The bound of the gradient; none where negative."),
    "lazy_update": Param("bool", True, "Whether rows without gradient stay; for sparse ones."),
}


class Update(Elementwise):
    """The base of optimizer steps: the weight, its gradient, and states of the same shape."""

    dtypes: ClassVar[tuple[str, ...]] = FLOATS
    differentiable: ClassVar[bool] = False

    def mutated_inputs(self) -> list[int]:
        """The states, which come after the weight and the gradient."""
        return list(range(2, len(self.list_arguments())))

    def inplace_options(self) -> list[tuple[int, int]]:
        """The new weight takes the place of the old one."""
        return [(0, 0)]


@register
class SgdUpdate(Update):
    """A step of stochastic gradient descent.

    Formula: ``g = clip(rescale_grad * grad)``,
    ``out = (1 - lr * wd) * weight - lr * g``. Shapes: all alike. Types: floats, all alike.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> weight, grad = mx.nd.array([1, 2]), mx.nd.array([10, -10])
    >>> print(mx.nd.sgd_update(weight, grad, lr=0.1, out=weight).asnumpy())
    [0. 3.]
    """

    name = "sgd_update"
    arguments = ("weight", "grad")
    params: ClassVar[Params] = {"lr": LR, **COMMON}


@register
class SgdMomUpdate(Update):
    """A step of stochastic gradient descent with momentum.

    Formula: ``g = clip(rescale_grad * grad)``,
    ``mom = momentum * mom - lr * wd * weight - lr * g``, ``out = weight + mom``.
    Shapes: all alike. Types: floats, all alike.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> weight, grad, mom = mx.nd.array([1]), mx.nd.array([10]), mx.nd.array([0.5])
    >>> print(mx.nd.sgd_mom_update(weight, grad, mom, lr=0.1, momentum=0.5, out=weight).asnumpy())
    [0.25]
    >>> print(mom.asnumpy())
    [-0.75]
    """

    name = "sgd_mom_update"
    arguments = ("weight", "grad", "mom")
    params: ClassVar[Params] = {
        "lr": LR,
        "momentum": Param("float", 0.0, "The decay of the momentum."),
        **COMMON,
    }


@register
class AdamUpdate(Update):
    """A step of Adam; the correction of the bias is part of the learning rate that is given.

    Formula: ``g = clip(rescale_grad * grad + wd * weight)``,
    ``mean = beta1 * mean + (1 - beta1) * g``, ``var = beta2 * var + (1 - beta2) * g ** 2``,
    ``out = weight - lr * mean / (sqrt(var) + epsilon)``.
    Shapes: all alike. Types: floats, all alike.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> weight, grad = mx.nd.array([1]), mx.nd.array([4])
    >>> mean, var = mx.nd.zeros((1,)), mx.nd.zeros((1,))
    >>> out = mx.nd.adam_update(weight, grad, mean, var, lr=0.1, beta1=0.5, beta2=0.75, out=weight)
    >>> print(out.asnumpy(), mean.asnumpy(), var.asnumpy())
    [0.9] [2.] [4.]
    """

    name = "adam_update"
    arguments = ("weight", "grad", "mean", "var")
    params: ClassVar[Params] = {
        "lr": LR,
        "beta1": Param("float", 0.9, "The decay of the mean."),
        "beta2": Param("float", 0.999, "The decay of the variance."),
        "epsilon": Param("float", 1e-8, "What keeps the divisor from 0."),
        **COMMON,
    }
