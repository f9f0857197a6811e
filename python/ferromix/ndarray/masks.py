"""Runs of operators whose results have shapes that depend on values; they wait for these."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import dispatch
from ..ops.card import OperatorProperty, make
from .creation import array
from .ndarray import NDArray, invoke

__all__ = ["by_values"]


def by_values(
    card: OperatorProperty, inputs: Sequence[NDArray], out: Sequence[NDArray] = ()
) -> list[NDArray]:
    """What the operators of :mod:`ferromix.ops.boolean_mask` give; slices are recorded as `take`.

    Raises
    ------
    InvalidArgumentError
        Shapes or types that do not fit.
    """
    dispatch.require_fit(card, [(a.shape, a.dtype_name) for a in inputs])
    *data, mask = inputs
    places = array(np.flatnonzero(mask.asnumpy()), mask.context, "int64")
    return invoke(make("take", {"axis": 0}), [*data, places], out) if data else [places]
