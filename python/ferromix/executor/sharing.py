"""Where the arrays of a simple bind come from: another executor, a buffer, or new memory.

Networks for sequences of several lengths are bound once for each. Their parameters are those of the
first executor (`shared_arg_names`); everything else lives in a buffer of the caller's, which all
use in turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..context import Context
from ..error import DTypeError, InvalidArgumentError
from ..ndarray import NDArray
from .arrays import Described, cleared, cleared_together, like, shrunk
from .executor import Executor
from .program import BufferPool

__all__ = ["Sources", "pool_of"]


def pool_of(shared_exec: Any) -> BufferPool:
    """The buffers for intermediate results: those of another executor, or new ones.

    Raises
    ------
    DTypeError
        For anything but an executor or None.
    """
    if shared_exec is None:
        return BufferPool()
    if not isinstance(shared_exec, Executor):
        raise DTypeError(f"shared_exec must be an Executor, got {type(shared_exec).__name__}")
    return shared_exec.handle.pool


class Sources:
    """What a simple bind may share; see :meth:`Symbol.simple_bind` for the parameters.

    Raises
    ------
    DTypeError
        For names that are no strings, or a buffer that holds something else than arrays.
    InvalidArgumentError
        For names that are no list, or a buffer that is no dict.
    """

    def __init__(
        self, shared_arg_names: Any, shared_exec: Executor | None, shared_buffer: Any
    ) -> None:
        names = () if shared_arg_names is None else shared_arg_names
        if not isinstance(names, (list, tuple)):
            raise InvalidArgumentError(
                f"shared_arg_names must be a list of names of arguments, got {names!r}"
            )
        for name in names:
            if not isinstance(name, str):
                raise DTypeError(f"shared_arg_names must hold strings, got {name!r}")
        if shared_buffer is not None:
            _check_buffer(shared_buffer)
        self._names = frozenset(names)
        self._executor = shared_exec
        self._buffer: dict[str, NDArray] | None = shared_buffer
        self._shares_nothing = shared_buffer is None and not (names and shared_exec)
        shares_states = shared_arg_names is not None or shared_buffer is not None
        self._states = shared_exec.aux_dict if shared_exec and shares_states else {}
        # Entered when all arrays are there, so that a bind that fails leaves the buffer alone.
        self._made: dict[str, NDArray] = {}

    def arguments(self, descs: Sequence[Described]) -> list[NDArray]:
        """The arrays of arguments.

        Raises
        ------
        InvalidArgumentError
            If one is to be shared and does not fit, or the other executor lacks it.
        """
        if self._shares_nothing:
            return cleared_together(descs)
        shared = self._executor.arg_dict if self._executor else {}
        return [self._parameter("argument", shared, desc, desc[0]) for desc in descs]

    def gradients(self, descs: Sequence[Described]) -> list[NDArray]:
        """The arrays of the gradients of arguments; as :meth:`arguments`."""
        if self._shares_nothing:
            return cleared_together(descs)
        shared = self._executor.grad_dict if self._executor else {}
        return [self._parameter("gradient", shared, desc, f"grad of {desc[0]}") for desc in descs]

    def states(self, descs: Sequence[Described]) -> list[NDArray]:
        """The arrays of auxiliary states."""
        if not self._states:
            return cleared_together(descs)
        return [
            like(shape, dtype, place, self._states.get(name)) for name, shape, dtype, place in descs
        ]

    def commit(self) -> None:
        """Enters the new arrays into the buffer."""
        if self._buffer is not None:
            self._buffer.update(self._made)

    def _parameter(
        self, kind: str, shared: Mapping[str, NDArray | None], desc: Described, key: str
    ) -> NDArray:
        name, shape, dtype, place = desc
        if name not in self._names:
            return self._buffered(key, shape, dtype, place)
        if self._executor is None:
            return cleared(shape, place, dtype)
        return _fitting(kind, shared, name, shape, dtype)

    def _buffered(self, name: str, shape: tuple[int, ...], dtype: str, place: Context) -> NDArray:
        if self._buffer is None:
            return cleared(shape, place, dtype)
        old = self._buffer.get(name)
        if old is not None and old.dtype_name != dtype:
            raise InvalidArgumentError(
                f"shared_buffer: '{name}' is {old.dtype_name}, but {dtype} is needed; take it out "
                "of the buffer, or use another buffer"
            )
        if old is not None and not old.handle.contiguous:
            raise InvalidArgumentError(
                f"shared_buffer: '{name}' is a view of shape {old.shape} whose elements do not lie "
                "in C order; copy it"
            )
        array = cleared(shape, place, dtype) if old is None else shrunk(old, shape)
        if old is None or array.size > old.size:
            self._made[name] = array
        return array


def _check_buffer(buffer: Any) -> None:
    if not isinstance(buffer, dict):
        raise InvalidArgumentError(
            f"shared_buffer must be a dict of arrays, got {type(buffer).__name__}"
        )
    for name, value in buffer.items():
        if not isinstance(name, str) or not isinstance(value, NDArray):
            raise DTypeError(
                f"shared_buffer must hold NDArrays by name, got {type(value).__name__} as {name!r}"
            )


def _fitting(
    kind: str, arrays: Mapping[str, NDArray | None], name: str, shape: tuple[int, ...], dtype: str
) -> NDArray:
    """The array of another executor that is to be used as it is."""
    array = arrays.get(name)
    if array is None:
        raise InvalidArgumentError(
            f"shared_arg_names: shared_exec has no {kind} '{name}'; leave the name out, or bind "
            "shared_exec with it"
        )
    if array.shape != shape or array.dtype_name != dtype:
        raise InvalidArgumentError(
            f"shared_arg_names: the {kind} '{name}' of shared_exec is {array.dtype_name} "
            f"{array.shape}, but {dtype} {shape} is needed; leave the name out, or make the shapes "
            "agree"
        )
    return array
