"""Comparisons of arrays and of graphs, and what is said where they differ."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base import require_kind
from ..error import ArgumentTypeError, InvalidArgumentError
from ..ndarray import NDArray
from ..symbol import Symbol
from .tolerance import Tolerance, get_etol, get_tols

__all__ = [
    "almost_equal",
    "almost_equal_ignore_nan",
    "assert_allclose",
    "assert_almost_equal",
    "assert_almost_equal_ignore_nan",
    "assert_almost_equal_with_err",
    "assert_exception",
    "checkShapes",
    "compare_ndarray_tuple",
    "find_max_violation",
    "locationError",
    "same",
    "same_array",
    "same_symbol_structure",
]

Names = tuple[str, str]
_TINY = 1e-20
"""Keeps errors finite where the tolerance is 0."""


def _numpy(array: Any) -> np.ndarray:
    return array.asnumpy() if isinstance(array, NDArray) else np.asarray(array)


def _wide(array: np.ndarray) -> np.ndarray:
    """The same numbers in a type in which differences neither wrap around nor overflow."""
    kind = array.dtype.kind
    return array if kind == "c" else array.astype(np.float64)


def same(a: Any, b: Any) -> bool:
    """Whether two arrays have one shape and equal elements.

    >>> from ferromix.test_utils import same
    >>> same([1, 2], [1, 2]), same([1, 2], [1, 3])
    (True, False)
    """
    return np.array_equal(_numpy(a), _numpy(b))


def same_array(array1: NDArray, array2: NDArray) -> bool:
    """Whether two NDArrays share their memory: what is added to the one shows in the other."""
    for array in (array1, array2):
        require_kind("same_array: an argument", array, NDArray, "an NDArray")
    if not same(array1, array2):
        return False
    array1[:] += 1
    shared = same(array1, array2)
    array1[:] -= 1
    return shared


def checkShapes(a: Any, b: Any) -> None:  # noqa: N802 - MXNet's name
    """Raises AssertionError where two arrays have different shapes, with both."""
    for array in (a, b):
        require_kind("checkShapes: an argument", array, (NDArray, np.ndarray), "an array")
    if a.shape != b.shape:
        raise AssertionError(
            f"\nItems are not equal: a.shape = {a.shape} and b.shape = {b.shape} are not equal"
            f"\n{_shown(a, b)}"
        )


def _shown(a: Any, b: Any) -> str:
    return "\n".join(f" {name}: {_first(x)}" for name, x in (("ACTUAL", a), ("DESIRED", b)))


def _first(array: Any) -> str:
    """The first lines of an array."""
    lines = repr(array).splitlines()
    return "\n".join(lines[:3]) + ("..." if len(lines) > 3 else "")


def _together(a: Any, b: Any, use_broadcast: bool) -> tuple[np.ndarray, np.ndarray]:
    """Two arrays in one shape; they may be broadcast to each other where that is allowed."""
    for array in (a, b):
        if array.dtype.kind not in "biufc":
            raise ArgumentTypeError(f"only numbers are compared, got elements of {array.dtype}")
    if not use_broadcast:
        checkShapes(a, b)
    most = max(a.ndim, b.ndim)
    if most > 32:
        raise InvalidArgumentError(f"arrays have at most 32 dimensions, got {most}")
    try:
        pair = np.broadcast_arrays(a, b)
    except ValueError:
        checkShapes(a, b)
        raise
    return pair[0], pair[1]


def _differ(a: np.ndarray, b: np.ndarray, rtol: float, atol: float, equal_nan: bool) -> Any:
    """Where two arrays of one shape differ by more than the tolerance."""
    if a.dtype.kind == b.dtype.kind == "b" or (a.dtype.kind in "iu" and not (rtol or atol)):
        return a != b
    a, b = _wide(a), _wide(b)
    with np.errstate(invalid="ignore"):
        near = np.abs(a - b) <= atol + rtol * np.abs(b)
    # A bound is as infinite as what it bounds: infinities are near themselves alone.
    close = np.where(np.isfinite(a) & np.isfinite(b), near, a == b)
    if equal_nan:
        close |= np.isnan(a) & np.isnan(b)
    return ~close


def _violations(a: np.ndarray, b: np.ndarray, rtol: float, atol: float) -> np.ndarray:
    """How many times the tolerance each element is off; NaN where that cannot be said."""
    a, b = _wide(a), _wide(b)
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(np.abs(a - b) / (atol + rtol * np.abs(b) + _TINY))


def find_max_violation(a: Any, b: Any, rtol: float, atol: float) -> tuple[tuple[int, ...], float]:
    """The place of the largest error, and how many times the tolerance it is.

    >>> from ferromix.test_utils import find_max_violation
    >>> find_max_violation([1.0, 2.0], [1.0, 4.0], 0.25, 1.0)
    ((1,), 1.0)
    """
    found = _violations(*_together(_numpy(a), _numpy(b), True), rtol, atol)
    place = np.unravel_index(int(np.argmax(found)), found.shape)
    return tuple(map(int, place)), float(found[place])


def locationError(  # noqa: N802 - MXNet's name
    a: Any,
    b: Any,
    index: tuple[int, ...],
    names: Names,
    maxError: bool = False,  # noqa: N803 - MXNet's name
) -> str:
    """What is said of the elements of two arrays at a place."""
    require_kind("locationError: index", index, tuple, "a tuple")
    require_kind("locationError: names", names, (tuple, list), "two names")
    what = "Location of maximum error" if maxError else "Location of error"
    place = "(" + ", ".join(str(i) for i in index) + ("," if len(index) == 1 else "") + ")"
    return f"{what}: {place}, {names[0]}={a[index]:.8f}, {names[1]}={b[index]:.8f}"


def almost_equal(
    a: Any,
    b: Any,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    equal_nan: bool = False,
    use_broadcast: bool = True,
) -> bool:
    """Whether two arrays are equal up to a tolerance.

    Parameters
    ----------
    a, b
        NumPy arrays, NDArrays or numbers.
    rtol, atol
        The tolerance: ``atol + rtol * abs(b)``. Either is a number, numbers by element type, or
        None for what the element types of both tolerate.
    equal_nan
        Whether NaN equals NaN.
    use_broadcast
        Whether shapes may differ where one array can be broadcast to the other.
    """
    rtol, atol = get_tols(a, b, rtol, atol)
    left, right = _together(_numpy(a), _numpy(b), use_broadcast)
    return not _differ(left, right, rtol, atol, equal_nan).any()


def almost_equal_ignore_nan(a: Any, b: Any, rtol: Tolerance = None, atol: Tolerance = None) -> bool:
    """As :func:`almost_equal`, but elements that are NaN in either array do not count."""
    return almost_equal(*_without_nan(a, b), rtol, atol)


def _without_nan(a: Any, b: Any) -> tuple[np.ndarray, np.ndarray]:
    """Copies of two arrays with 0 where either is NaN."""
    left, right = (np.array(x) for x in _together(_numpy(a), _numpy(b), True))
    lost = np.isnan(left) | np.isnan(right)
    left[lost] = right[lost] = 0
    return left, right


def assert_almost_equal(
    a: Any,
    b: Any,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    names: Names = ("a", "b"),
    equal_nan: bool = False,
    use_broadcast: bool = True,
    mismatches: tuple[int, int] = (10, 10),
) -> None:
    """Raises AssertionError where two arrays differ by more than a tolerance.

    The message has the places and the values of the largest errors. Parameters are those of
    :func:`almost_equal`, and:

    Parameters
    ----------
    names
        What the message calls the arrays.
    mismatches
        How many errors the message lists, and how many are looked for beyond the largest one.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.test_utils.assert_almost_equal(mx.nd.array([1, 2]), mx.nd.array([1, 2.0001]))
    """
    rtol, atol = get_tols(a, b, rtol, atol)
    left, right = _together(_numpy(a), _numpy(b), use_broadcast)
    wrong = _differ(left, right, rtol, atol, equal_nan)
    if wrong.any():
        raise AssertionError(_told(left, right, wrong, rtol, atol, names, mismatches))


def _told(
    a: np.ndarray,
    b: np.ndarray,
    wrong: np.ndarray,
    rtol: float,
    atol: float,
    names: Names,
    mismatches: tuple[int, int],
) -> str:
    """The message about two arrays that differ where `wrong` says so."""
    tolerance = f"rtol={rtol:e}, atol={atol:e}"
    errors = np.where(wrong, _violations(a, b, rtol, atol), -1.0)
    if not a.shape:
        told = f"Error {errors:f} exceeds tolerance {tolerance}."
        return f"\nItems are not equal:\n{told}\n{_shown(a, b)}"
    # NaN comes before all errors that can be measured.
    order = np.argsort(-np.where(np.isnan(errors), np.inf, errors), axis=None, kind="stable")
    count = int(wrong.sum())
    places = [
        tuple(map(int, np.unravel_index(i, a.shape)))
        for i in order[: min(count, max(mismatches[0], 1))]
    ]
    found = min(count, mismatches[1] + 1)
    part = f"{'at least ' if found < count else ''}{100 * found / a.size:f}%"
    lines = [
        "",
        "Items are not equal:",
        f"Error {errors[places[0]]:f} exceeds tolerance {tolerance} (mismatch {part}).",
        locationError(a, b, places[0], names, maxError=True),
        _shown(a, b),
    ]
    if len(places) > 1:
        lines.append(f" The largest errors of {a.size} elements:")
        for rank, place in enumerate(places, 1):
            lines.append(f" {rank:2}: Error {errors[place]:f}  {locationError(a, b, place, names)}")
    return "\n".join(lines)


def assert_allclose(
    a: Any, b: Any, rtol: Tolerance = 1e-07, atol: Tolerance = 0, equal_nan: bool = True
) -> None:
    """As :func:`assert_almost_equal`, with the tolerance of NumPy's function of this name."""
    assert_almost_equal(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)


def assert_almost_equal_with_err(
    a: Any,
    b: Any,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    etol: float | None = None,
    names: Names = ("a", "b"),
    equal_nan: bool = False,
    mismatches: tuple[int, int] = (10, 10),
) -> None:
    """As :func:`assert_almost_equal`, but a part `etol` of the elements may be wrong."""
    tolerances = get_tols(a, b, rtol, atol)
    left, right = _together(_numpy(a), _numpy(b), True)
    wrong = _differ(left, right, *tolerances, equal_nan)
    if wrong.any() and wrong.mean() > get_etol(etol):
        raise AssertionError(_told(left, right, wrong, *tolerances, names, mismatches))


def assert_almost_equal_ignore_nan(
    a: Any, b: Any, rtol: Tolerance = None, atol: Tolerance = None, names: Names = ("a", "b")
) -> None:
    """As :func:`assert_almost_equal`, but elements that are NaN in either array do not count."""
    assert_almost_equal(*_without_nan(a, b), rtol, atol, names)


def assert_exception(f: Callable[..., Any], exception_type: Any, *args: Any, **kwargs: Any) -> None:
    """Raises AssertionError where ``f(*args, **kwargs)`` does not raise such an exception."""
    kinds = exception_type if isinstance(exception_type, tuple) else (exception_type,)
    if not all(isinstance(kind, type) and issubclass(kind, BaseException) for kind in kinds):
        raise ArgumentTypeError(f"exception_type must be a class of exceptions: {exception_type!r}")
    try:
        f(*args, **kwargs)
    except exception_type:
        return
    raise AssertionError(f"{f!r} did not raise {exception_type!r}")


def compare_ndarray_tuple(t1: Any, t2: Any, rtol: Tolerance = None, atol: Tolerance = None) -> None:
    """Raises AssertionError where arrays, or arrays in tuples at any depth, differ.

    Where either is None nothing is compared, as a state that only one optimizer has.
    """
    if t1 is None or t2 is None:
        return
    if not isinstance(t1, (tuple, list)):
        assert_almost_equal(t1, t2, rtol=rtol, atol=atol)
        return
    if len(t1) != len(t2):
        raise AssertionError(f"{len(t1)} arrays are compared with {len(t2)}")
    for left, right in zip(t1, t2, strict=True):
        compare_ndarray_tuple(left, right, rtol, atol)


def same_symbol_structure(sym1: Symbol, sym2: Symbol) -> bool:
    """Whether two symbols have the same operators in the same order, with the same inputs.

    Names and attributes may differ.

    >>> import ferromix as mx
    >>> a, b = mx.sym.var("a"), mx.sym.var("b")
    >>> same = mx.test_utils.same_symbol_structure
    >>> same(a + b, b + a), same(a, -a)
    (True, False)
    """
    for symbol in (sym1, sym2):
        require_kind("same_symbol_structure: an argument", symbol, Symbol, "a symbol")
    graphs = [json.loads(symbol.tojson()) for symbol in (sym1, sym2)]
    shapes = [
        ([(node["op"], node["inputs"]) for node in graph["nodes"]], graph["heads"])
        for graph in graphs
    ]
    return shapes[0] == shapes[1]
