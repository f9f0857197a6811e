"""Typed parameters of the iterators that are C++ in MXNet, where each may be given as a string."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..ops.param import Param, Params

__all__ = ["INT", "SIZE", "read"]

INT = Param("int", low=-(2**31), high=2**31 - 1)
"""Any int of 32 bits."""

SIZE = Param("int", low=1, high=2**31 - 1)
"""A number of things, at least one."""


def read(iterator: str, params: Params, given: Mapping[str, Any]) -> dict[str, Any]:
    """The values of all parameters, of their types.

    Parameters
    ----------
    iterator
        What errors call the iterator.
    params
        The types; what has none here stays as it is.
    given
        Values, or MXNet's spelling of them: ``batch_size="100"``, ``flat="0"``.

    Raises
    ------
    InvalidArgumentError
        Names the iterator, the parameter, its value and what is allowed.
    """
    typed = dict(given)
    for name, param in params.items():
        value = given[name]
        plain = value.tolist() if isinstance(value, np.ndarray) else value
        typed[name] = param.parse(iterator, name, plain)
    return typed
