"""Random sparse arrays. They come from NumPy's own random numbers: ``np.random.seed``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..context import Context
from ..error import InvalidArgumentError
from ..ndarray import NDArray, array
from ..ndarray.sparse import CSRNDArray, csr_matrix, row_sparse_array
from .arrays import assign_each, random_arrays
from .tolerance import default_dtype

__all__ = [
    "create_sparse_array",
    "create_sparse_array_zd",
    "rand_ndarray",
    "rand_sparse_ndarray",
    "shuffle_csr_column_indices",
]

Modifier = Callable[[Any], Any] | None
Place = Context | str | None


def rand_ndarray(
    shape: Sequence[int],
    stype: str = "default",
    density: float | None = None,
    dtype: Any = None,
    modifier_func: Modifier = None,
    shuffle_csr_indices: bool = False,
    distribution: str | None = None,
    ctx: Place = None,
) -> NDArray:
    """A random array of any storage type: normally distributed where it is dense, and otherwise as
    :func:`rand_sparse_ndarray` makes it.

    >>> import ferromix as mx
    >>> mx.test_utils.rand_ndarray((2, 3), "csr", density=0.5).stype
    'csr'
    """
    if stype == "default":
        return array(random_arrays(tuple(shape)), dtype=dtype or default_dtype(), ctx=ctx)
    options = {
        "dtype": dtype,
        "modifier_func": modifier_func,
        "shuffle_csr_indices": shuffle_csr_indices,
        "distribution": distribution,
        "ctx": ctx,
    }
    return rand_sparse_ndarray(shape, stype, density, **options)[0]


def rand_sparse_ndarray(
    shape: Sequence[int],
    stype: str,
    density: float | None = None,
    dtype: Any = None,
    distribution: str | None = None,
    data_init: float | None = None,
    rsp_indices: Any = None,
    modifier_func: Modifier = None,
    shuffle_csr_indices: bool = False,
    ctx: Place = None,
) -> tuple[Any, tuple[Any, ...]]:
    """A random sparse array, and what it is made of.

    Parameters
    ----------
    shape
        The extents; two for ``csr``.
    stype
        ``"csr"`` or ``"row_sparse"``.
    density
        The part of the elements, or of the rows, that is stored; a random one where None.
    dtype
        The element type; float32 where None.
    distribution
        ``"uniform"``, or for ``csr`` ``"powerlaw"``: each row has twice the elements of the last.
    data_init
        The value of all stored elements; where None they are drawn evenly from [0, 1).
    rsp_indices
        The stored rows of a ``row_sparse`` array, instead of random ones.
    modifier_func
        What is made of each stored element.
    shuffle_csr_indices
        Whether the columns in a row of ``csr`` are in no order.
    ctx
        Where the array lives.

    Returns
    -------
    tuple
        The array, and the values and rows as NumPy arrays, or for ``csr`` the ends of the rows, the
        columns and the values as NDArrays.
    """
    density = np.random.rand() if density is None else density
    distribution = distribution or "uniform"
    if not 0 <= density <= 1:
        raise InvalidArgumentError(f"density must be between 0 and 1, got {density}")
    dtype = default_dtype() if dtype is None else dtype
    if stype == "row_sparse":
        if distribution != "uniform":
            raise InvalidArgumentError(f"no distribution {distribution!r} of row_sparse arrays")
        rows = _rows(shape[0], density) if rsp_indices is None else rsp_indices
        rows = np.asarray(rows, np.int64)
        values = _values((len(rows), *shape[1:]), data_init, dtype)
        values = assign_each(values, modifier_func)
        made = row_sparse_array((values, rows), shape=tuple(shape), dtype=dtype, ctx=ctx)
        return made, (values, rows)
    if stype != "csr":
        raise InvalidArgumentError(f"stype must be csr or row_sparse, got {stype!r}")
    if len(shape) != 2:
        raise InvalidArgumentError(f"csr matrices have two extents, got {tuple(shape)}")
    if distribution not in _DISTRIBUTIONS:
        raise InvalidArgumentError(
            f"distribution must be one of {', '.join(_DISTRIBUTIONS)}, got {distribution!r}"
        )
    counts, columns = _DISTRIBUTIONS[distribution](shape[0], shape[1], density)
    values = assign_each(_values((len(columns),), data_init, dtype), modifier_func)
    ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    if shuffle_csr_indices:
        columns = _shuffled(ends, columns)
    made = csr_matrix((values, columns, ends), shape=tuple(shape), dtype=dtype, ctx=ctx)
    return made, (made.indptr, made.indices, made.data)


def _rows(count: int, density: float) -> np.ndarray:
    return np.flatnonzero(np.random.rand(count) < density).astype(np.int64)


def _values(shape: Sequence[int], init: float | None, dtype: Any) -> np.ndarray:
    if init is not None:
        return np.full(shape, init, dtype)
    return np.asarray(np.random.rand(*shape)).astype(dtype)


def _uniform(rows: int, columns: int, density: float) -> tuple[np.ndarray, np.ndarray]:
    """How many elements each row has, and their columns: any places alike."""
    total = int(rows * columns * density)
    places = np.sort(np.random.permutation(rows * columns)[:total])
    return np.bincount(places // max(columns, 1), minlength=rows), places % max(columns, 1)


def _powerlaw(rows: int, columns: int, density: float) -> tuple[np.ndarray, np.ndarray]:
    """As :func:`_uniform`, where each row has twice the elements of the last, from the first column
    on: two in the first, and at least one in each, as long as there are any.
    """
    total = int(rows * columns * density)
    if total < 2 * rows:
        raise InvalidArgumentError(
            f"a powerlaw needs two elements for each row: density {density} of {rows} x {columns} "
            f"gives {total}"
        )
    counts, left = np.ones(rows, np.int64), total - rows
    for row in range(rows):
        more = min(2 ** (row + 1), columns) - 1
        counts[row] += min(more, left)
        left -= min(more, left)
    for row in range(rows):  # what no power of two took fills rows up
        more = min(columns - counts[row], left)
        counts[row] += more
        left -= more
    return counts, np.concatenate([np.arange(n) for n in counts])


_DISTRIBUTIONS = {"uniform": _uniform, "powerlaw": _powerlaw}


def _shuffled(ends: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The columns of each row in random order."""
    parts = np.split(columns, ends[1:-1])
    return np.concatenate([np.random.permutation(part) for part in parts])


def shuffle_csr_column_indices(csr: Any) -> None:
    """Puts the columns of each row into random order, in place; elements stay where they are.

    Parameters
    ----------
    csr
        A matrix of SciPy's, or what else has ``indptr`` and ``indices`` as NumPy arrays.
    """
    csr.indices[:] = _shuffled(np.asarray(csr.indptr), np.asarray(csr.indices))


def create_sparse_array(
    shape: Sequence[int],
    stype: str,
    data_init: float | None = None,
    rsp_indices: Any = None,
    dtype: Any = None,
    modifier_func: Modifier = None,
    density: float = 0.5,
    shuffle_csr_indices: bool = False,
) -> Any:
    """A random sparse array: the first that :func:`rand_sparse_ndarray` gives.

    Rows that `rsp_indices` leaves out, where it is given, are not stored.
    """
    return rand_sparse_ndarray(
        shape,
        stype,
        density,
        dtype,
        data_init=data_init,
        rsp_indices=rsp_indices,
        modifier_func=modifier_func,
        shuffle_csr_indices=shuffle_csr_indices,
    )[0]


def create_sparse_array_zd(
    shape: Sequence[int],
    stype: str,
    density: float,
    data_init: float | None = None,
    rsp_indices: Any = None,
    dtype: Any = None,
    modifier_func: Modifier = None,
    shuffle_csr_indices: bool = False,
) -> CSRNDArray | Any:
    """As :func:`create_sparse_array`, with a density that may be 0: a row_sparse array of that
    density and without `rsp_indices` has no rows.
    """
    return create_sparse_array(
        shape,
        stype,
        data_init,
        rsp_indices,
        dtype,
        modifier_func,
        density,
        shuffle_csr_indices,
    )
