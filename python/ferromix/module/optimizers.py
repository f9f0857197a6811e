"""The optimizer of a module, from what :meth:`Module.init_optimizer` is given."""

from __future__ import annotations

import warnings
from typing import Any

from .. import optimizer as opt
from ..error import ArgumentTypeError
from ..symbol import Symbol

__all__ = ["make_optimizer"]


def make_optimizer(
    given: Any,
    params: dict[str, Any],
    rescale: float,
    symbol: Symbol,
    names: dict[int, str],
    logger: Any,
) -> opt.Optimizer:
    """An optimizer by its name with attributes, or the one that is given."""
    if isinstance(given, str):
        params.setdefault("rescale_grad", rescale)
        return opt.create(given, sym=symbol, param_idx2name=names, **params)
    if not isinstance(given, opt.Optimizer):
        raise ArgumentTypeError(f"optimizer must be an Optimizer or its name, got {given!r}")
    if given.rescale_grad != rescale:
        warnings.warn(
            f"the optimizer multiplies gradients by {given.rescale_grad}, not by {rescale}, which "
            "is 1 / batch size; is this intended?",
            stacklevel=3,
        )
    if not given.idx2name:
        given.idx2name = dict(names)
    return given
