"""What MXNet had before the operator `one_hot`."""

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
