"""How far results may be from what they should be, by element type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..error import ArgumentTypeError
from ..literal import brief

__all__ = [
    "default_atols",
    "default_dtype",
    "default_numeric_eps",
    "default_rtols",
    "effective_dtype",
    "get_atol",
    "get_etol",
    "get_rtol",
    "get_tolerance",
    "get_tols",
]

Tolerance = float | Mapping[Any, float] | None

_EXACT = ("bool", "int8", "uint8", "int32", "uint32", "int64", "uint64")
_RTOLS = {"float16": 1e-2, "float32": 1e-4, "float64": 1e-5}
_ATOLS = {"float16": 1e-1, "float32": 1e-3, "float64": 1e-20}
_STEPS = {"float16": 2.0**-6, "float32": 2.0**-9, "float64": 2.0**-14}


def _by_type(floats: Mapping[str, float]) -> dict[np.dtype, float]:
    return {np.dtype(name): value for name, value in {**floats, **dict.fromkeys(_EXACT, 0)}.items()}


def default_dtype() -> type:
    """The element type of random arrays where none is given: float32."""
    return np.float32


def default_rtols() -> dict[np.dtype, float]:
    """The relative tolerances by element type; integers must be equal."""
    return _by_type(_RTOLS)


def default_atols() -> dict[np.dtype, float]:
    """The absolute tolerances by element type; integers must be equal."""
    return _by_type(_ATOLS)


def default_numeric_eps() -> dict[np.dtype, float]:
    """The steps of finite differences by element type."""
    return {np.dtype(name): step for name, step in _STEPS.items()}


def _dtype(given: Any) -> np.dtype:
    """What NumPy takes for an element type; of texts it reads anything may come."""
    try:
        return np.dtype(given)
    except (SyntaxError, RecursionError) as error:
        raise ArgumentTypeError(f"not an element type: {brief(given)}") from error


def get_rtol(rtol: Tolerance = None, dtype: Any = np.float64) -> Any:
    """`rtol`, or the relative tolerance of an element type where it is None."""
    return _of_type(_dtype(dtype), rtol, default_rtols())


def get_atol(atol: Tolerance = None, dtype: Any = np.float64) -> Any:
    """`atol`, or the absolute tolerance of an element type where it is None."""
    return _of_type(_dtype(dtype), atol, default_atols())


def get_etol(etol: float | None = None) -> float:
    """`etol`, the part of the elements that may be wrong; none where it is None."""
    return 0 if etol is None else etol


def effective_dtype(dat: Any) -> np.dtype:
    """The element type that decides how precise an array is.

    Raises
    ------
    ArgumentTypeError
        For what has none.
    """
    if not hasattr(dat, "dtype"):
        raise ArgumentTypeError(f"effective_dtype: no array: {brief(dat)}")
    return np.dtype(dat.dtype)


def get_tolerance(dat: Any, tol: Tolerance, default_tol: Mapping[Any, float]) -> float:
    """The tolerance for an array.

    Parameters
    ----------
    dat
        The array, of which the element type counts; a number counts as float64.
    tol
        The tolerance, or tolerances by element type, or None.
    default_tol
        The tolerances by element type that are used where `tol` says nothing.
    """
    dtype = effective_dtype(dat) if hasattr(dat, "dtype") else np.dtype(np.float64)
    return _of_type(dtype, tol, default_tol)


def get_tols(x: Any, y: Any, rtol: Tolerance, atol: Tolerance) -> tuple[float, float]:
    """The relative and the absolute tolerance for two arrays: those of the less precise one."""
    found = [get_tolerance(a, rtol, default_rtols()) for a in (x, y)]
    return max(found), max(get_tolerance(a, atol, default_atols()) for a in (x, y))


def _of_type(dtype: np.dtype, tol: Tolerance, default: Mapping[Any, float]) -> Any:
    if tol is not None and not isinstance(tol, Mapping):
        return tol
    table = default if tol is None else {np.dtype(key): value for key, value in tol.items()}
    if dtype in table:
        return table[dtype]
    # Halves of another kind are as precise as float16; all else must be equal.
    half = "bfloat16" in (dtype.name, *(dtype.names or ()))
    return table.get(np.dtype("float16"), 0) if half else 0
