"""Random inputs, shapes and matrices, from NumPy's own random numbers: ``np.random.seed``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..error import InvalidArgumentError
from ..ndarray import NDArray, array
from .tolerance import default_dtype

__all__ = [
    "assign_each",
    "assign_each2",
    "collapse_sum_like",
    "create_2d_tensor",
    "create_vector",
    "get_identity_mat",
    "get_identity_mat_batch",
    "new_matrix_with_real_eigvals_2d",
    "new_matrix_with_real_eigvals_nd",
    "new_orthonormal_matrix_2d",
    "new_sym_matrix_with_real_eigvals_2d",
    "new_sym_matrix_with_real_eigvals_nd",
    "np_reduce",
    "rand_coord_2d",
    "rand_shape_2d",
    "rand_shape_3d",
    "rand_shape_nd",
    "random_arrays",
    "random_sample",
    "random_uniform_arrays",
]


def random_arrays(*shapes: Sequence[int]) -> Any:
    """NumPy arrays of normally distributed float32, one for each shape; for one shape its array.

    >>> from ferromix.test_utils import random_arrays
    >>> [a.shape for a in random_arrays((2, 3), (4,))], random_arrays((5,)).dtype
    ([(2, 3), (4,)], dtype('float32'))
    """
    dtype = default_dtype()
    made = [np.asarray(np.random.randn(*shape), dtype)[()] for shape in shapes]
    return made[0] if len(made) == 1 else made


def random_uniform_arrays(
    *shapes: Sequence[int], low: float = 0.0, high: float = 1.0, dtype: Any = None
) -> list[np.ndarray]:
    """NumPy arrays of numbers drawn evenly from [low, high), one for each shape."""
    kind = default_dtype() if dtype is None else dtype
    return [np.asarray(np.random.uniform(low, high, shape)).astype(kind) for shape in shapes]


def random_sample(population: Sequence[Any], k: int) -> list[Any]:
    """`k` different elements of a sequence, in random order."""
    items = list(population)
    if not 0 <= k <= len(items):
        raise InvalidArgumentError(f"random_sample: {k} of {len(items)} elements")
    return [items[i] for i in np.random.permutation(len(items))[:k]]


def rand_shape_2d(dim0: int = 10, dim1: int = 10, allow_zero_size: bool = False) -> tuple[int, ...]:
    """A random shape of two extents, up to those given."""
    return _shape((dim0, dim1), allow_zero_size)


def rand_shape_3d(
    dim0: int = 10, dim1: int = 10, dim2: int = 10, allow_zero_size: bool = False
) -> tuple[int, ...]:
    """A random shape of three extents, up to those given."""
    return _shape((dim0, dim1, dim2), allow_zero_size)


def rand_shape_nd(num_dim: int, dim: int = 10, allow_zero_size: bool = False) -> tuple[int, ...]:
    """A random shape of `num_dim` extents, each up to `dim`."""
    return _shape((dim,) * num_dim, allow_zero_size)


def _shape(most: Sequence[int], allow_zero_size: bool) -> tuple[int, ...]:
    least = 0 if allow_zero_size else 1
    return tuple(int(np.random.randint(least, extent + 1)) for extent in most)


def rand_coord_2d(x_low: int, x_high: int, y_low: int, y_high: int) -> tuple[int, int]:
    """A random place: x from [x_low, x_high), y from [y_low, y_high)."""
    return int(np.random.randint(x_low, x_high)), int(np.random.randint(y_low, y_high))


def create_vector(size: int, dtype: Any = np.int64) -> NDArray:
    """The numbers from 0 on."""
    return array(np.arange(size), dtype=dtype)


def create_2d_tensor(rows: int, columns: int, dtype: Any = np.int64) -> NDArray:
    """A matrix each of whose elements is the number of its row."""
    return array(np.broadcast_to(np.arange(rows)[:, None], (rows, columns)), dtype=dtype)


def assign_each(the_input: np.ndarray, function: Callable[[Any], Any] | None) -> np.ndarray:
    """A copy of an array with each element passed through a function, if there is one."""
    made = np.array(the_input)
    if function is not None:
        for place in np.ndindex(made.shape):
            made[place] = function(the_input[place])
    return made


def assign_each2(
    input1: np.ndarray, input2: np.ndarray, function: Callable[[Any, Any], Any] | None
) -> np.ndarray:
    """What a function makes of the elements of two arrays; without one, a copy of the first."""
    if input1.shape != input2.shape:
        raise InvalidArgumentError(f"assign_each2: shapes {input1.shape} and {input2.shape}")
    made = np.array(input1)
    if function is not None:
        for place in np.ndindex(made.shape):
            made[place] = function(input1[place], input2[place])
    return made


def np_reduce(
    dat: np.ndarray,
    axis: int | Sequence[int] | None,
    keepdims: bool,
    numpy_reduce_func: Callable[..., Any],
) -> Any:
    """A reduction such as ``np.sum`` along one axis after the other.

    >>> import numpy as np
    >>> from ferromix.test_utils import np_reduce
    >>> np_reduce(np.ones((2, 3)), (0, 1), True, np.sum)
    array([[6.]])
    """
    if axis is None:
        axes = list(range(dat.ndim))
    else:
        axes = [axis] if isinstance(axis, int) else list(axis)
    found = dat
    for place in sorted((a % dat.ndim for a in axes), reverse=True):
        found = numpy_reduce_func(found, axis=place)
    if keepdims:
        lost = {a % dat.ndim for a in axes}
        found = np.reshape(found, [1 if i in lost else n for i, n in enumerate(dat.shape)])
    return found


def collapse_sum_like(a: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """The sum of an array to a shape that can be broadcast to its own: what is the gradient of
    broadcasting.

    >>> import numpy as np
    >>> from ferromix.test_utils import collapse_sum_like
    >>> collapse_sum_like(np.ones((2, 3)), (3,))
    array([2., 2., 2.])
    """
    extra = a.ndim - len(shape)
    pairs = list(zip(a.shape[extra:], shape, strict=True)) if extra >= 0 else []
    if extra < 0 or any(small not in (1, large) for large, small in pairs):
        raise InvalidArgumentError(f"collapse_sum_like: {a.shape} is not {tuple(shape)}, broadcast")
    axes = [*range(extra), *(extra + i for i, (n, m) in enumerate(pairs) if n != m)]
    return np.sum(a, axis=tuple(axes)).reshape(tuple(shape))


def get_identity_mat(size: int) -> NDArray:
    """The matrix of ones on the diagonal, as an NDArray."""
    return array(np.eye(size))


def get_identity_mat_batch(size: int) -> NDArray:
    """Two matrices of ones on the diagonal, as one NDArray."""
    return array(np.stack([np.eye(size)] * 2))


def new_orthonormal_matrix_2d(n: int) -> np.ndarray:
    """A random matrix whose inverse is its transpose."""
    return np.linalg.qr(np.random.randn(n, n))[0]


def new_matrix_with_real_eigvals_2d(n: int) -> np.ndarray:
    """A random matrix, far from singular, whose eigenvalues are real numbers."""
    shear = np.triu(np.random.uniform(-1.0, 1.0, (n, n)), 1) + np.diag(_eigenvalues(n))
    turn = new_orthonormal_matrix_2d(n)
    return turn @ shear @ turn.T


def new_sym_matrix_with_real_eigvals_2d(n: int) -> np.ndarray:
    """A random symmetric matrix, far from singular."""
    turn = new_orthonormal_matrix_2d(n)
    return turn @ np.diag(_eigenvalues(n)) @ turn.T


def _eigenvalues(n: int) -> np.ndarray:
    """Numbers between 0.5 and 2 in size, of both signs."""
    return np.random.uniform(0.5, 2.0, n) * np.random.choice([-1.0, 1.0], n)


def new_matrix_with_real_eigvals_nd(shape: Sequence[int]) -> np.ndarray:
    """Random matrices, far from singular, whose eigenvalues are real numbers."""
    return _batch(shape, new_matrix_with_real_eigvals_2d)


def new_sym_matrix_with_real_eigvals_nd(shape: Sequence[int]) -> np.ndarray:
    """Random symmetric matrices, far from singular."""
    return _batch(shape, new_sym_matrix_with_real_eigvals_2d)


def _batch(shape: Sequence[int], make: Callable[[int], np.ndarray]) -> np.ndarray:
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise InvalidArgumentError(f"matrices must be square, got shape {tuple(shape)}")
    made = [make(shape[-1]) for _ in range(int(np.prod(shape[:-2])))]
    return np.array(made).reshape(tuple(shape))
