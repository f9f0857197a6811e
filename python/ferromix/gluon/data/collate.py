"""How samples become a batch where the user does not say."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import ndarray as nd
from ...context import Context, cpu_shared
from ...error import InvalidArgumentError, MXNetError

__all__ = ["default_batchify_fn", "default_mp_batchify_fn"]


def default_batchify_fn(data: list[Any]) -> Any:
    """Joins samples along a new first axis.

    Parameters
    ----------
    data
        Samples: NDArrays, numbers, NumPy arrays or lists of one shape, or tuples of such.

    Returns
    -------
    NDArray or list
        An NDArray of the samples' type; of tuples, a list with one for each member.

    Raises
    ------
    InvalidArgumentError
        For samples that do not fit together.

    Examples
    --------
    >>> import ferromix as mx
    >>> samples = [(mx.nd.ones(2), 3), (mx.nd.zeros(2), 4)]
    >>> batch = mx.gluon.data.dataloader.default_batchify_fn(samples)
    >>> [array.asnumpy().tolist() for array in batch]
    [[[1.0, 1.0], [0.0, 0.0]], [3, 4]]
    """
    return _joined(data, None)


def default_mp_batchify_fn(data: list[Any]) -> Any:
    """As :func:`default_batchify_fn`, in memory that processes share."""
    return _joined(data, cpu_shared(0))


def _joined(data: list[Any], ctx: Context | None) -> Any:
    first = data[0]
    if isinstance(first, tuple):
        try:
            columns = list(zip(*data, strict=True))
        except (TypeError, ValueError):
            raise _misfits(data, "not all are tuples of as many members") from None
        return [_joined(list(column), ctx) for column in columns]
    try:
        if isinstance(first, nd.NDArray):
            if ctx is None:
                return nd.stack(*data)
            shape = (len(data), *first.shape)
            return nd.stack(*data, out=nd.empty(shape, dtype=first.dtype, ctx=ctx))
        values = np.asarray(data)
        return nd.array(values, dtype=values.dtype, ctx=ctx)
    except (MXNetError, TypeError, ValueError) as error:
        raise _misfits(data, str(error)) from error


def _misfits(data: list[Any], why: str) -> InvalidArgumentError:
    kinds = {f"{type(x).__name__}{getattr(x, 'shape', '')}": None for x in data}
    return InvalidArgumentError(
        f"DataLoader: samples do not make a batch: {', '.join(list(kinds)[:8])}: {why}; bring them "
        "to one shape and type by a transform, or give batchify_fn"
    )
