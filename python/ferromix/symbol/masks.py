"""``mx.sym.contrib.boolean_mask``, which there is to say what to do instead."""

from __future__ import annotations

from typing import Any

from ..error import InvalidArgumentError

__all__ = ["boolean_mask"]


def boolean_mask(data: Any, index: Any, axis: int = 0, **kwargs: Any) -> Any:
    """Refuses: a graph is planned by shapes before it runs, and this one depends on values.

    Raises
    ------
    InvalidArgumentError
        Always; it says what may take its place.
    """
    raise InvalidArgumentError(
        "boolean_mask: the shape of the result depends on the values of 'index', and a graph needs "
        "all shapes before it runs; call mx.nd.contrib.boolean_mask on arrays, take slices at "
        "known places by mx.sym.take, or keep the shape by mx.sym.where"
    )
