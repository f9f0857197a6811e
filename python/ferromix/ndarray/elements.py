"""Functions that MXNet had before it had operators."""

from __future__ import annotations

from ..base import require_kind
from ..error import InvalidArgumentError
from ..ops.card import make
from .ndarray import NDArray, invoke

__all__ = ["onehot_encode"]


def onehot_encode(indices: NDArray, out: NDArray) -> NDArray:
    """Fills each row of a matrix with zeros but for a one at an index; deprecated, as in MXNet.

    Parameters
    ----------
    indices
        One for each row, cut to an integer; a row whose index is out of range has no one.
    out
        The matrix, which is returned.

    Raises
    ------
    InvalidArgumentError
        Where there is not one index for each row.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.nd.onehot_encode(mx.nd.array([1, 0]), mx.nd.zeros((2, 3))).asnumpy().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    """
    for name, array in {"indices": indices, "out": out}.items():
        require_kind(f"onehot_encode: {name}", array, NDArray, "an NDArray")
    if out.ndim != 2 or indices.shape != out.shape[:1]:
        raise InvalidArgumentError(
            f"onehot_encode: needs a matrix and an index for each of its rows, got out of shape "
            f"{out.shape} and indices of shape {indices.shape}"
        )
    attrs = {"depth": out.shape[1], "dtype": out.dtype_name}
    return invoke(make("one_hot", attrs), [indices], out)[0]


def _copyto(src: NDArray, out: NDArray) -> NDArray:
    """Copies `src` to `out`, which is returned, as ``src.copyto(out)`` does.

    Parameters
    ----------
    src
        What is copied.
    out
        Where to, converted to its type.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.nd._internal._copyto(mx.nd.ones((2,)), out=mx.nd.zeros((2,))).asnumpy().tolist()
    [1.0, 1.0]
    """
    for name, array in {"src": src, "out": out}.items():
        require_kind(f"_copyto: {name}", array, NDArray, "an NDArray")
    return src.copyto(out)


def _onehot_encode(lhs: NDArray, rhs: NDArray, out: NDArray | None = None) -> NDArray:
    """:func:`onehot_encode` of the indices `lhs`, into `out`, or a new matrix like `rhs`.

    Parameters
    ----------
    lhs
        The indices.
    rhs
        Gives shape and type.
    out
        The matrix, which is returned.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.nd._internal._onehot_encode(mx.nd.array([1]), mx.nd.zeros((1, 2))).asnumpy().tolist()
    [[0.0, 1.0]]
    """
    require_kind("_onehot_encode: rhs", rhs, NDArray, "an NDArray")
    return onehot_encode(lhs, rhs.copy() if out is None else out)


def _set_value(src: float, out: NDArray) -> NDArray:
    """Sets all elements of `out`, which is returned, to a number.

    Parameters
    ----------
    src
        The number.
    out
        The array.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.nd._internal._set_value(3.5, out=mx.nd.zeros((2,))).asnumpy().tolist()
    [3.5, 3.5]
    """
    require_kind("_set_value: out", out, NDArray, "an NDArray")
    out[:] = src
    return out
