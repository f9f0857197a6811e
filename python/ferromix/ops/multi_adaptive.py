"""Steps of AdamW and LAMB for several weights at once, each with rates of its own."""

from __future__ import annotations

from typing import ClassVar

from ..literal import MOST
from .adaptive import BETA1, BETA2, MOMENTS
from .card import register
from .multi_sgd import COUNT, LRS, WDS, MultiUpdate
from .optimizer import CLIP, RESCALE
from .param import Param, Params

__all__ = ["MultiAdamwUpdate", "MultiLambUpdate", "MultiMpAdamwUpdate", "MultiMpLambUpdate"]


@register
class MultiAdamwUpdate(MultiUpdate):
    """A step of ``_adamw_update`` for each of several weights.

    Formula: ``output_i = _adamw_update(weight_i, grad_i, mean_i, var_i, rescale_grad)`` with
    ``lr = lrs[i]``, ``wd = wds[i]`` and ``eta = etas[i]``, which changes ``mean_i`` and ``var_i``.
    Shapes: what belongs to a weight is alike; ``rescale_grad`` is ``(1,)``. Types: floats,
    ``rescale_grad`` float32, the others alike.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> w, g, m, v, scale = (mx.nd.array([x]) for x in (1, 4, 0, 0, 1))
    >>> attrs = {"lrs": 0.1, "etas": 0.5, "beta1": 0.5, "beta2": 0.75, "wds": 0.5}
    >>> print(mx.nd._multi_adamw_update(w, g, m, v, scale, **attrs, out=w).asnumpy())
    [0.7]
    """

    name = "_multi_adamw_update"
    each = ("weight", "grad", "mean", "var")
    states = ("mean", "var")
    scalars = ("rescale_grad",)
    tuples = ("lrs", "wds", "etas")
    params: ClassVar[Params] = {
        "lrs": LRS,
        **MOMENTS,
        "wds": WDS,
        "etas": Param("floats", doc="The factor of the schedule for each weight.", most=MOST),
        "clip_gradient": CLIP,
        "num_weights": COUNT,
    }


@register
class MultiMpAdamwUpdate(MultiAdamwUpdate):
    """A step of ``_mp_adamw_update`` for each of several weights.

    Formula: as ``_multi_adamw_update`` for ``weight32_i``, which are changed;
    ``output_i = weight32_i`` as the type of ``weight_i``. Shapes: what belongs to a weight is
    alike; ``rescale_grad`` is ``(1,)``. Types: floats, ``weight_i`` and ``grad_i`` alike, the
    others float32.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> w, g = (mx.nd.array([x], dtype="float16") for x in (1, 4))
    >>> m, v, copy, scale = (mx.nd.array([x]) for x in (0, 0, 1, 1))
    >>> attrs = {"lrs": 0.1, "etas": 0.5, "beta1": 0.5, "beta2": 0.75, "wds": 0.5}
    >>> print(mx.nd._multi_mp_adamw_update(w, g, m, v, copy, scale, **attrs, out=w).asnumpy())
    [0.7]
    """

    name = "_multi_mp_adamw_update"
    each = ("weight", "grad", "mean", "var", "weight32")
    states = ("mean", "var", "weight32")
    single = ("mean", "var", "weight32")


@register
class MultiLambUpdate(MultiUpdate):
    """A whole step of LAMB for each of several weights.

    Formula: ``g_i`` as the output of ``lamb_update_phase1`` for weight ``i`` with ``wd = wds[i]``
    and ``t = step_count[i]``; ``output_i`` as that of ``lamb_update_phase2`` with
    ``lr = learning_rates[i]`` and the norms of ``weight_i`` and ``g_i``. Shapes: what belongs to a
    weight is alike. Types: floats, all alike.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> w, g, m, v = (mx.nd.array([x]) for x in (1, 4, 0, 0))
    >>> attrs = {"learning_rates": 0.25, "wds": 0.5, "step_count": 1}
    >>> print(mx.nd._multi_lamb_update(w, g, m, v, **attrs, out=w).asnumpy())
    [0.75]
    """

    name = "_multi_lamb_update"
    variadic = "num_tensors"
    each = ("weight", "grad", "mean", "var")
    states = ("mean", "var")
    tuples = ("learning_rates", "wds", "step_count")
    params: ClassVar[Params] = {
        "learning_rates": LRS,
        "beta1": BETA1,
        "beta2": BETA2,
        "epsilon": Param("float", 1e-6, "What keeps the divisor from 0."),
        "wds": WDS,
        "rescale_grad": RESCALE,
        "lower_bound": Param("float", -1.0, "The least norm of a weight; none where negative."),
        "upper_bound": Param("float", -1.0, "The largest norm of a weight; none where negative."),
        "clip_gradient": CLIP,
        "bias_correction": Param("bool", True, "Whether the moments are corrected."),
        "step_count": Param(
            "shape", doc="The number of the step of each weight, from 1.", most=MOST
        ),
        "num_tensors": COUNT,
    }


@register
class MultiMpLambUpdate(MultiLambUpdate):
    """A whole step of LAMB for each of several weights, through copies of them in float32.

    Formula: as ``_multi_lamb_update`` for ``weight32_i``, which are changed, but with the norms of
    ``weight_i``; ``output_i = weight32_i`` as the type of ``weight_i``. Shapes: what belongs to a
    weight is alike. Types: floats, ``weight_i`` and ``grad_i`` alike, the others float32.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> w, g = (mx.nd.array([x], dtype="float16") for x in (1, 4))
    >>> m, v, copy = (mx.nd.array([x]) for x in (0, 0, 1))
    >>> attrs = {"learning_rates": 0.25, "wds": 0.5, "step_count": 1}
    >>> print(mx.nd._multi_mp_lamb_update(w, g, m, v, copy, **attrs, out=w).asnumpy())
    [0.75]
    """

    name = "_multi_mp_lamb_update"
    each = ("weight", "grad", "mean", "var", "weight32")
    states = ("mean", "var", "weight32")
    single = ("mean", "var", "weight32")
