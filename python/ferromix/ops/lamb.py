"""Steps of LAMB and LARS, whose rates depend on the norms of weight and gradient."""

from __future__ import annotations

from typing import ClassVar

from .adaptive import BETA1, BETA2, STEP
from .card import register
from .family import FLOATS, Elementwise
from .optimizer import CLIP, LR, RESCALE, Update
from .param import Param, Params

__all__ = [
    "LambUpdatePhase1",
    "LambUpdatePhase2",
    "MpLambUpdatePhase1",
    "MpLambUpdatePhase2",
    "MultiLars",
]


@register
class LambUpdatePhase1(Update):
    """The direction of a step of LAMB.

    Formula: ``g = clip(rescale_grad * grad)``, ``mean = beta1 * mean + (1 - beta1) * g``,
    ``var = beta2 * var + (1 - beta2) * g ** 2``,
    ``out = m / (sqrt(v) + epsilon) + wd * weight`` where ``m = mean / (1 - beta1 ** t)`` and
    ``v = var / (1 - beta2 ** t)`` with ``bias_correction``, else ``mean`` and ``var``.
    Shapes: all alike. Types: floats, all alike.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> weight, grad, mean, var = (mx.nd.array([x]) for x in (1, 4, 0, 0))
    >>> print(mx.nd.lamb_update_phase1(weight, grad, mean, var, t=1, wd=0.5).asnumpy().round(4))
    [1.5]
    """

    name = "lamb_update_phase1"
    arguments = ("weight", "grad", "mean", "var")
    states = ("mean", "var")
    params: ClassVar[Params] = {
        "beta1": BETA1,
        "beta2": BETA2,
        "epsilon": Param("float", 1e-6, "What keeps the divisor from 0."),
        "t": STEP,
        "bias_correction": Param("bool", True, "Whether the moments are corrected."),
        "wd": Param("float", doc="The weight decay.", dynamic=True),
        "rescale_grad": RESCALE,
        "clip_gradient": CLIP,
    }


@register
class MpLambUpdatePhase1(LambUpdatePhase1):
    """The direction of a step of LAMB from a copy of the weight in float32.

    Formula: as ``lamb_update_phase1`` of ``weight32``. Shapes: all alike. Types: floats,
    ``weight`` and ``grad`` alike, the others and ``out`` float32.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> weight, grad = (mx.nd.array([x], dtype="float16") for x in (1, 4))
    >>> arrays = (weight, grad, mx.nd.zeros((1,)), mx.nd.zeros((1,)), mx.nd.ones((1,)))
    >>> print(mx.nd.mp_lamb_update_phase1(*arrays, t=1, wd=0.5).asnumpy().round(4))
    [1.5]
    """

    name = "mp_lamb_update_phase1"
    arguments = ("weight", "grad", "mean", "var", "weight32")
    single = ("mean", "var", "weight32", "output")


@register
class LambUpdatePhase2(Update):
    """A step of LAMB along a direction.

    Formula: ``out = weight - lr * r1 / r2 * g``, where ``r1`` is raised to ``lower_bound`` and
    lowered to ``upper_bound`` if these are not negative; ``out = weight - lr * g`` where ``r1`` or
    ``r2`` is 0. Callers give the norms of ``weight`` and of ``g`` as ``r1`` and ``r2``.
    Shapes: ``r1`` and ``r2`` are ``(1,)``, the others are alike. Types: floats, all alike.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> weight, g, r1, r2 = (mx.nd.array([x]) for x in (2, 4, 2, 4))
    >>> print(mx.nd.lamb_update_phase2(weight, g, r1, r2, lr=0.5, out=weight).asnumpy())
    [1.]
    """

    name = "lamb_update_phase2"
    arguments = ("weight", "g", "r1", "r2")
    scalars = ("r1", "r2")
    params: ClassVar[Params] = {
        "lr": LR,
        "lower_bound": Param("float", -1.0, "The least `r1`; none where negative."),
        "upper_bound": Param("float", -1.0, "The largest `r1`; none where negative."),
    }


@register
class MpLambUpdatePhase2(LambUpdatePhase2):
    """A step of LAMB along a direction, through a copy of the weight in float32.

    Formula: ``weight32`` as the output of ``lamb_update_phase2`` for ``weight32``,
    ``out = weight32`` as the type of ``weight``. Shapes: ``r1`` and ``r2`` are ``(1,)``, the
    others are alike. Types: floats, all but ``weight`` float32.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> weight = mx.nd.array([2], dtype="float16")
    >>> g, r1, r2, weight32 = (mx.nd.array([x]) for x in (4, 2, 4, 2))
    >>> arrays = (weight, g, r1, r2, weight32)
    >>> print(mx.nd.mp_lamb_update_phase2(*arrays, lr=0.5, out=weight).asnumpy())
    [1.]
    """

    name = "mp_lamb_update_phase2"
    arguments = ("weight", "g", "r1", "r2", "weight32")
    states = ("weight32",)
    single = ("g", "r1", "r2", "weight32")


@register
class MultiLars(Elementwise):
    """The learning rates of layers, scaled by the norms of their weights and gradients.

    Formula: ``w = sqrt(weights_sum_sq)``, ``g = rescale_grad * sqrt(grads_sum_sq)``,
    ``out = lrs * eta * w / (g + wds * w + eps)``, and ``out = lrs`` where a norm is 0.
    Shapes: all alike. Types: floats, all alike.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> lrs, weights, grads, wds = (mx.nd.array(x) for x in ([1, 2], [4, 0], [9, 1], [0.5, 0]))
    >>> print(mx.nd.multi_lars(lrs, weights, grads, wds, eta=0.5, eps=0).asnumpy())
    [0.25 2.  ]
    """

    name = "multi_lars"
    arguments = ("lrs", "weights_sum_sq", "grads_sum_sq", "wds")
    dtypes: ClassVar[tuple[str, ...]] = FLOATS
    differentiable: ClassVar[bool] = False
    params: ClassVar[Params] = {
        "eta": Param("float", doc="The factor of the rates."),
        "eps": Param("float", doc="What keeps the divisor from 0."),
        "rescale_grad": RESCALE,
    }
