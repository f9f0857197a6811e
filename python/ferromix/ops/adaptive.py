"""Steps of optimizers with a rate for each element; the base and the terms are in ``optimizer``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from .card import MaybeShape, merge_shapes, register
from .family import REALS
from .optimizer import CLIP, COMMON, LAZY, LR, RESCALE, WD, Update
from .param import Param, Params

__all__ = [
    "AdagradUpdate",
    "AdamUpdate",
    "AdamwUpdate",
    "FtmlUpdate",
    "FtrlUpdate",
    "GroupAdagradUpdate",
    "MpAdamwUpdate",
    "RmspropUpdate",
    "RmspropalexUpdate",
]

BETA1 = Param("float", 0.9, "The decay of the mean.")
BETA2 = Param("float", 0.999, "The decay of the variance.")
EPSILON = Param("float", 1e-8, "What keeps the divisor from 0.")
STEP = Param("int", doc="The number of the step, from 1.", dynamic=True)
MOMENTS = {"beta1": BETA1, "beta2": BETA2, "epsilon": EPSILON}
GAMMA1 = Param("float", 0.95, "The decay of the averages.")
CLIP_WEIGHTS = Param("float", -1.0, "The bound of the weight; none where negative.")


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
    states = ("mean", "var")
    params: ClassVar[Params] = {"lr": LR, **MOMENTS, **COMMON, **LAZY}


@register
class AdamwUpdate(Update):
    """A step of Adam whose weight decay is apart from the gradient.

    Formula: ``g = clip(rescale_grad * grad)``, ``mean = beta1 * mean + (1 - beta1) * g``,
    ``var = beta2 * var + (1 - beta2) * g ** 2``,
    ``out = weight - eta * (lr * mean / (sqrt(var) + epsilon) + wd * weight)``. Where
    ``rescale_grad``, an array, is 0, infinite or NaN, nothing changes.
    Shapes: ``rescale_grad`` is ``(1,)``, the others are alike. Types: floats, ``rescale_grad``
    float32, the others alike.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> weight, grad, scale = (mx.nd.array([x]) for x in (1, 4, 1))
    >>> mean, var = mx.nd.zeros((1,)), mx.nd.zeros((1,))
    >>> attrs = {"lr": 0.1, "eta": 0.5, "beta1": 0.5, "beta2": 0.75, "wd": 0.5}
    >>> print(mx.nd._adamw_update(weight, grad, mean, var, scale, **attrs, out=weight).asnumpy())
    [0.7]
    """

    name = "_adamw_update"
    arguments = ("weight", "grad", "mean", "var", "rescale_grad")
    states = ("mean", "var")
    scalars = ("rescale_grad",)
    single = ("rescale_grad",)
    params: ClassVar[Params] = {
        "lr": LR,
        **MOMENTS,
        "wd": WD,
        "eta": Param("float", doc="The factor of the schedule.", dynamic=True),
        "clip_gradient": CLIP,
    }


@register
class MpAdamwUpdate(AdamwUpdate):
    """A step of Adam with weight decay apart, through a copy of the weight in float32.

    Formula: ``weight32`` and the states as ``_adamw_update`` makes them of ``weight32``,
    ``out = weight32`` as the type of ``weight``. Shapes: ``rescale_grad`` is ``(1,)``, the others
    are alike. Types: floats, ``weight`` and ``grad`` alike, the others float32.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> weight, grad = (mx.nd.array([x], dtype="float16") for x in (1, 4))
    >>> mean, var, copy, scale = (mx.nd.array([x]) for x in (0, 0, 1, 1))
    >>> attrs = {"lr": 0.1, "eta": 0.5, "beta1": 0.5, "beta2": 0.75, "wd": 0.5}
    >>> arrays = (weight, grad, mean, var, copy, scale)
    >>> print(mx.nd._mp_adamw_update(*arrays, **attrs, out=weight).asnumpy(), copy.asnumpy())
    [0.7] [0.7]
    """

    name = "_mp_adamw_update"
    arguments = ("weight", "grad", "mean", "var", "weight32", "rescale_grad")
    states = ("mean", "var", "weight32")
    single = ("mean", "var", "weight32", "rescale_grad")


@register
class FtmlUpdate(Update):
    """A step of FTML, "follow the moving leader".

    Formula: ``g = clip(rescale_grad * grad + wd * weight)``,
    ``v = beta2 * v + (1 - beta2) * g ** 2``,
    ``new = (1 - beta1 ** t) / lr * (sqrt(v / (1 - beta2 ** t)) + epsilon)``,
    ``z = beta1 * z + (1 - beta1) * g - (new - beta1 * d) * weight``, ``d = new``,
    ``out = -z / d``. Shapes: all alike. Types: floats, all alike.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> weight, grad, d, v, z = (mx.nd.array([x]) for x in (1, 4, 0, 0, 0))
    >>> attrs = {"lr": 0.5, "t": 1, "beta1": 0.5}
    >>> out = mx.nd.ftml_update(weight, grad, d, v, z, **attrs, out=weight)
    >>> print(out.asnumpy().round(3))
    [0.5]
    """

    name = "ftml_update"
    arguments = ("weight", "grad", "d", "v", "z")
    states = ("d", "v", "z")
    params: ClassVar[Params] = {
        "lr": LR,
        "beta1": Param("float", 0.6, "The decay of `z`.", low=0, high=1),
        "beta2": Param("float", 0.999, "The decay of `v`.", low=0, high=1),
        "epsilon": EPSILON,
        "t": STEP,
        "wd": WD,
        "rescale_grad": RESCALE,
        "clip_grad": CLIP,
    }


@register
class FtrlUpdate(Update):
    """A step of FTRL, "follow the regularized leader", which makes small weights 0.

    Formula: ``g = clip(rescale_grad * grad)``,
    ``z = z + g - (sqrt(n + g ** 2) - sqrt(n)) * weight / lr``, ``n = n + g ** 2``,
    ``out = (lamda1 * sign(z) - z) / ((beta + sqrt(n)) / lr + wd)`` where ``abs(z) > lamda1``,
    else 0. Shapes: all alike. Types: floats, all alike.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> weight, grad, z, n = (mx.nd.array(x) for x in ([0, 1], [3, 0.25], [0, 0], [0, 0]))
    >>> attrs = {"lr": 1, "lamda1": 1, "beta": 1}
    >>> print(mx.nd.ftrl_update(weight, grad, z, n, **attrs, out=weight).asnumpy())
    [-0.5  0. ]
    """

    name = "ftrl_update"
    arguments = ("weight", "grad", "z", "n")
    states = ("z", "n")
    params: ClassVar[Params] = {
        "lr": LR,
        "lamda1": Param("float", 0.01, "The regularization by absolute values."),
        "beta": Param("float", 1.0, "What keeps the first rates finite."),
        **COMMON,
    }


@register
class RmspropUpdate(Update):
    """A step divided by the root of the average squared gradient.

    Formula: ``g = clip(rescale_grad * grad + wd * weight)``,
    ``n = gamma1 * n + (1 - gamma1) * g ** 2``, ``out = weight - lr * g / sqrt(n + epsilon)``,
    clipped at ``clip_weights``. Shapes: all alike. Types: floats, all alike.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> weight, grad, n = (mx.nd.array([x]) for x in (1, 4, 0))
    >>> print(mx.nd.rmsprop_update(weight, grad, n, lr=0.25, gamma1=0.75, out=weight).asnumpy())
    [0.5]
    """

    name = "rmsprop_update"
    arguments = ("weight", "grad", "n")
    states = ("n",)
    params: ClassVar[Params] = {
        "lr": LR,
        "gamma1": GAMMA1,
        "epsilon": EPSILON,
        **COMMON,
        "clip_weights": CLIP_WEIGHTS,
    }


@register
class RmspropalexUpdate(Update):
    """A step with momentum, divided by the deviation of the gradient.

    Formula: ``g1 = clip(rescale_grad * grad + wd * weight)``,
    ``n = gamma1 * n + (1 - gamma1) * g1 ** 2``, ``g = gamma1 * g + (1 - gamma1) * g1``,
    ``delta = gamma2 * delta - lr * g1 / sqrt(n - g ** 2 + epsilon)``, ``out = weight + delta``,
    clipped at ``clip_weights``. Shapes: all alike. Types: floats, all alike.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> weight, grad, n, g, delta = (mx.nd.array([x]) for x in (1, 4, 0, 0, 0.5))
    >>> attrs = {"lr": 0.5, "gamma1": 0.5, "gamma2": 0.5}
    >>> print(mx.nd.rmspropalex_update(weight, grad, n, g, delta, **attrs, out=weight).asnumpy())
    [0.25]
    """

    name = "rmspropalex_update"
    arguments = ("weight", "grad", "n", "g", "delta")
    states = ("n", "g", "delta")
    params: ClassVar[Params] = {
        "lr": LR,
        "gamma1": GAMMA1,
        "gamma2": Param("float", 0.9, "The decay of `delta`."),
        "epsilon": EPSILON,
        **COMMON,
        "clip_weights": CLIP_WEIGHTS,
    }


@register
class AdagradUpdate(Update):
    """A step of AdaGrad; of a row_sparse gradient, on its rows alone.

    Formula: ``g = clip(rescale_grad * grad)``, ``history = history + g ** 2``,
    ``out = weight - lr * g / sqrt(history + epsilon)``. Weight decay must be 0.
    Shapes: all alike. Types: floats, all alike.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> weight, grad, history = mx.nd.array([1]), mx.nd.array([4]), mx.nd.array([9])
    >>> print(mx.nd._sparse_adagrad_update(weight, grad, history, lr=0.5, out=weight).asnumpy())
    [0.6]
    """

    name = "_sparse_adagrad_update"
    arguments = ("weight", "grad", "history")
    states = ("history",)
    params: ClassVar[Params] = {
        "lr": LR,
        "epsilon": Param("float", 1e-7, "What keeps the divisor from 0."),
        "wd": Param("float", 0.0, "The weight decay, which must be 0.", low=0, high=0),
        "rescale_grad": RESCALE,
        "clip_gradient": CLIP,
    }


@register
class GroupAdagradUpdate(Update):
    """A step of AdaGrad with one state for each row; of a row_sparse gradient, on its rows alone.

    Formula: ``g = clip(rescale_grad * grad)``,
    ``history[i] = history[i] + mean(g[i] ** 2)``,
    ``out[i] = weight[i] - lr * g[i] / sqrt(history[i] + epsilon)``.
    Shapes: ``history`` is ``(n, 1)`` for a weight of ``n`` rows. Types: float32 or float64, all
    alike. Gradient: none, nothing flows back.

    Examples
    --------
    >>> weight, grad = mx.nd.array([[1, 1]]), mx.nd.array([[4, 4]])
    >>> attrs = {"lr": 0.5, "epsilon": 0.0, "out": weight}
    >>> history = mx.nd.array([[9]])
    >>> print(mx.nd.contrib.group_adagrad_update(weight, grad, history, **attrs).asnumpy())
    [[0.6 0.6]]
    """

    name = "_contrib_group_adagrad_update"
    arguments = ("weight", "grad", "history")
    states = ("history",)
    dtypes = REALS
    params: ClassVar[Params] = {
        "lr": LR,
        "rescale_grad": RESCALE,
        "clip_gradient": CLIP,
        "epsilon": Param("float", 1e-5, "What keeps the divisor from 0."),
    }

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """One state for each row."""
        weight, grad, history = in_shapes
        shape = merge_shapes(self.name, "grad", grad, weight)
        if shape is not None:
            rows = (shape[0], *(1,) * (len(shape) - 1)) if shape else ()
            history = merge_shapes(self.name, "history", history, rows)
        return [shape, shape, history], [shape], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The weight has the shape of the output."""
        weight, grad, history = in_shapes
        return [merge_shapes(self.name, "weight", weight, out_shapes[0]), grad, history]
