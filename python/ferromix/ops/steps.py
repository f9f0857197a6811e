"""The steps of AdamW as ``mx.nd.contrib`` and ``mx.sym.contrib`` have them: with MXNet's order of
the arguments, and a number or an array for the scale of the gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]


def adamw_steps(function: Function, scale: Function) -> tuple[Function, Function]:
    """``adamw_update`` and ``mp_adamw_update``, made of the operators below them.

    `function` gives the function of an operator by its name; ``scale(factor, weight)`` is the
    factor as such a function takes it.
    """

    def adamw_update(
        weight: Any,
        grad: Any,
        mean: Any,
        var: Any,
        rescale_grad: Any,
        lr: float,
        eta: float,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        wd: float = 0.0,
        clip_gradient: float = -1.0,
        out: Any = None,
        name: str | None = None,
        **attributes: Any,
    ) -> Any:
        """A step of AdamW, for which `rescale_grad` may be a number or an array of one.

        Where that factor is 0, infinite or NaN, nothing changes. `mean` and `var` change in place;
        the new weight is the result, for which ``out=weight`` gives the weight itself.

        >>> import ferromix as mx
        >>> w, g, m, v = mx.nd.ones(2), mx.nd.ones(2), mx.nd.zeros(2), mx.nd.zeros(2)
        >>> mx.nd.contrib.adamw_update(w, g, m, v, 1.0, lr=0.1, eta=1.0, out=w).shape
        (2,)
        """
        if out is not None:
            attributes["out"] = out
        return function("_adamw_update")(
            weight,
            grad,
            mean,
            var,
            scale(rescale_grad, weight),
            lr=lr,
            eta=eta,
            beta1=beta1,
            beta2=beta2,
            epsilon=epsilon,
            wd=wd,
            clip_gradient=clip_gradient,
            name=name,
            **attributes,
        )

    def mp_adamw_update(
        weight: Any,
        grad: Any,
        mean: Any,
        var: Any,
        weight32: Any,
        rescale_grad: Any,
        lr: float,
        eta: float,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        wd: float = 0.0,
        clip_gradient: float = -1.0,
        out: Any = None,
        name: str | None = None,
        **attributes: Any,
    ) -> Any:
        """As `adamw_update`, in float32 from the copy `weight32` of a weight in half precision."""
        if out is not None:
            attributes["out"] = out
        return function("_mp_adamw_update")(
            weight,
            grad,
            mean,
            var,
            weight32,
            scale(rescale_grad, weight),
            lr=lr,
            eta=eta,
            beta1=beta1,
            beta2=beta2,
            epsilon=epsilon,
            wd=wd,
            clip_gradient=clip_gradient,
            name=name,
            **attributes,
        )

    return adamw_update, mp_adamw_update
