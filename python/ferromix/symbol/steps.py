"""The steps of AdamW of ``mx.sym.contrib``, for which the scale of the gradient may be a number."""

from __future__ import annotations

from typing import Any

from ..ops.steps import adamw_steps
from .functions import full, function
from .symbol import Symbol

__all__ = ["adamw_update", "mp_adamw_update"]


def scale(rescale_grad: Any, _like: Symbol) -> Symbol:
    """The factor of the gradient as a symbol of one float32."""
    if isinstance(rescale_grad, Symbol):
        return rescale_grad
    return full((1,), rescale_grad)


adamw_update, mp_adamw_update = adamw_steps(function, scale)
