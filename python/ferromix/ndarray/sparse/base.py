"""The base of sparse arrays.

The handle of a sparse array stands for it on autograd's tape and says its shape, element type and
device; it never has memory. What is stored is in its parts.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from ... import _core
from ...context import Context, as_context, placement
from ...error import ArgumentTypeError, InvalidArgumentError, NotSupportedForSparseNDArray
from ...ops.param import dtype_name
from ...ops.storage import DENSE
from ..ndarray import NDArray
from .parts import Place

__all__ = ["BaseSparseNDArray", "make"]


class BaseSparseNDArray(NDArray):
    """The base of sparse arrays; made by :func:`~ferromix.nd.sparse.csr_matrix` and the like.

    Parameters
    ----------
    handle
        The core's array, for shape, element type and device.
    writable
        Accepted as in MXNet.
    stored
        The parts; those of zeros where None.
    """

    __slots__ = ("_parts",)
    storage: ClassVar[str]
    in_place: ClassVar[bool]
    """Whether steps of optimizers write to the stored values; otherwise copies share them."""
    _of: ClassVar[Callable[..., Any]]
    """The parts from NumPy arrays."""
    _parts: Any

    def __new__(cls, handle: _core.Array, writable: bool = True, stored: Any = None) -> Self:
        """See the class."""
        self = NDArray.__new__(cls, handle, cls.storage)
        if stored is None:
            stored = cls._empty(handle.shape, handle.dtype, handle.context)
        self._parts = stored
        return self

    @staticmethod
    def _empty(shape: tuple[int, ...], dtype: str, place: Place) -> Any:
        raise NotImplementedError

    @property
    def parts(self) -> Any:
        """What is stored."""
        return self._parts

    def replace(self, stored: Any) -> None:
        """Gives the array other contents."""
        self.handle.require_unrecorded("_copyto")
        self._parts = stored

    def _arrays(self) -> tuple[NDArray, ...]:
        return tuple(p for p in self._parts if isinstance(p, NDArray))

    def _mapped(self, change: Any) -> Any:
        """The parts with their stored values, and nothing else, changed."""
        return type(self._parts)(change(self._parts[0]), *self._parts[1:])

    def __repr__(self) -> str:
        shape = "x".join(map(str, self.shape))
        return f"\n<{type(self).__name__} {shape} @{self.context}>"

    @property
    def data(self) -> NDArray:
        """A copy of the stored values."""
        return self._parts.exact()[0].copy()

    @property
    def indices(self) -> NDArray:
        """A copy of where the stored values belong: columns, or numbers of rows, in int64."""
        return self._parts.exact()[1].copy()

    @property
    def _num_aux(self) -> int:
        return len(self._parts.exact()) - 1

    @property
    def _aux_types(self) -> list[type]:
        return [np.int64] * self._num_aux

    # -- values --------------------------------------------------------------------------------

    def asnumpy(self) -> np.ndarray:
        """Waits for the array and gives it, zeros included, as a NumPy array."""
        return self.tostype(DENSE).asnumpy()

    def asscalar(self) -> Any:
        """The only element as a NumPy scalar."""
        return self.tostype(DENSE).asscalar()

    def item(self) -> int | float | bool:
        """The only element as a Python number."""
        return self.tostype(DENSE).item()

    def __float__(self) -> float:
        raise ArgumentTypeError(
            "float() takes no sparse array; use asnumpy() or tostype('default')"
        )

    def wait_to_read(self) -> None:
        """Waits until the writes pushed before are done; raises their error."""
        for part in self._arrays():
            part.wait_to_read()

    # -- copies --------------------------------------------------------------------------------

    def copy(self) -> Self:
        """A new array with the same values."""
        return self.astype(self.dtype_name)

    def detach(self) -> Self:
        """The same contents as a constant, through which no gradient flows."""
        return type(self)(self.handle.detach(), stored=self._parts)

    def astype(self, dtype: Any, copy: bool = True) -> Self:
        """The values in another element type; a copy, unless `copy` is False and none is needed."""
        name = dtype_name(dtype)
        if not copy and name == self.dtype_name:
            return self
        stored = self._parts
        if self.in_place or name != self.dtype_name:
            stored = self._mapped(lambda data: data.astype(name))
        return make(type(self), self.shape, name, self.handle.context, stored)

    def as_in_context(self, context: Context | str) -> Any:
        """This array, if it lives on `context`, or a copy there."""
        if placement(context) == self.handle.context:
            return self
        return self.copyto(as_context(context))

    def copyto(self, other: Any) -> Any:
        """Copies the values into `other`, or into a new array on the device `other`.

        Raises
        ------
        ArgumentTypeError
            For another `other`, or an array of another sparse storage type.
        InvalidArgumentError
            For an array of another shape.
        """
        if isinstance(other, (Context, str)):
            place = placement(other)
            stored = [p.copyto(other) if isinstance(p, NDArray) else p for p in self._parts]
            made = type(self._parts)(*stored)
            return make(type(self), self.shape, self.dtype_name, place, made)
        if not isinstance(other, NDArray):
            raise ArgumentTypeError(
                f"copyto does not support type {type(other).__name__}: the target must be an "
                "NDArray or a Context"
            )
        if other is self:
            warnings.warn("You are attempting to copy an array to itself", RuntimeWarning, 2)
            return other
        if other.stype not in (DENSE, self.stype):
            raise ArgumentTypeError(
                f"copyto does not support destination NDArray stype {other.stype}"
            )
        if other.shape != self.shape:
            raise InvalidArgumentError(
                f"copyto: the target has shape {other.shape}, the source {self.shape}"
            )
        if isinstance(other, BaseSparseNDArray):
            copied = self.astype(other.dtype_name).as_in_context(other.context)
            other.replace(copied.parts)
        else:
            self.tostype(DENSE).copyto(other)
        return other

    def tostype(self, stype: str) -> Any:
        """A copy in another storage type.

        Raises
        ------
        InvalidArgumentError
            From csr to row_sparse, or the other way.
        """
        from ...ops.card import make as card
        from ..ndarray import invoke

        return invoke(card("cast_storage", {"stype": stype}), [self])[0]

    def reshape(self, *shape: Any, **attrs: Any) -> Any:
        """Not for sparse arrays: always raises."""
        raise NotSupportedForSparseNDArray(self.reshape, None, *shape)

    def _at(self, idx: int) -> Any:
        raise NotSupportedForSparseNDArray(self._at, "[idx]", idx)

    def _slice(self, start: int | None, stop: int | None) -> Any:
        raise NotSupportedForSparseNDArray(self._slice, None, start, stop)

    # -- indexing ------------------------------------------------------------------------------

    def __setitem__(self, key: Any, value: Any) -> None:
        if not isinstance(key, slice):
            raise ArgumentTypeError(f"{type(self).__name__} only supports [:] for assignment")
        if key != slice(None):
            raise InvalidArgumentError(
                f"Assignment with slice for {type(self).__name__} is not implemented; use [:]"
            )
        if isinstance(value, NDArray):
            if value is not self:
                value.copyto(self)
            return
        if np.isscalar(value):
            self._fill(value)
            return
        if value is None:
            raise ArgumentTypeError(f"{type(self).__name__}: None is no value to assign")
        warnings.warn(
            f"Assigning non-NDArray object to {type(self).__name__} is not efficient",
            RuntimeWarning,
            stacklevel=2,
        )
        from ..creation import array

        array(np.broadcast_to(value, self.shape), self.context, self.dtype).copyto(self)

    def _fill(self, number: Any) -> None:
        raise NotImplementedError

    # -- structure -----------------------------------------------------------------------------

    def check_format(self, full_check: bool = True) -> None:
        """Checks that the structure is right; waits for it.

        Parameters
        ----------
        full_check
            Whether to look at every index, and not only at extents.

        Raises
        ------
        InvalidArgumentError
            Names what is wrong.
        """
        raise NotImplementedError

    def __reduce__(self) -> tuple[Any, ...]:
        stored = [p.asnumpy() for p in self._parts.exact()]
        return _restored, (type(self), self.shape, self.dtype_name, stored)


def make(cls: Any, shape: tuple[int, ...], dtype: str, place: Place, stored: Any = None) -> Any:
    """A sparse array of a class with these parts."""
    return cls(_core.Array(shape, dtype, *place), stored=stored)


def _restored(cls: Any, shape: tuple[int, ...], dtype: str, stored: list[Any]) -> Any:
    """The array that was pickled."""
    place = (1, 0)
    return make(cls, shape, dtype, place, cls._of(*stored, dtype, place))
