"""What iterators over data give and have in common."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..error import ArgumentTypeError, InvalidArgumentError
from ..ndarray import NDArray

__all__ = ["DataBatch", "DataDesc", "DataIter", "provided"]


class _NameAndShape(NamedTuple):
    name: str
    shape: tuple[int, ...]


class DataDesc(_NameAndShape):
    """Name, shape, element type and layout of one array of a batch; unpacks to name and shape.

    Parameters
    ----------
    name
        The name of the variable that it feeds.
    shape
        The shape, batch included.
    dtype
        The element type.
    layout
        One letter per axis; ``N`` is the batch.
    """

    dtype: Any
    layout: str | None

    def __new__(
        cls, name: str, shape: Any, dtype: Any = np.float32, layout: str | None = "NCHW"
    ) -> DataDesc:
        """A pair of name and shape, with the rest beside."""
        desc = super().__new__(cls, name, tuple(shape) if isinstance(shape, list) else shape)
        desc.dtype = dtype
        desc.layout = layout
        return desc

    def __repr__(self) -> str:
        return f"DataDesc[{self.name},{self.shape},{self.dtype},{self.layout}]"

    @staticmethod
    def get_batch_axis(layout: str | None) -> int:
        """Which axis is the batch: that of ``N``, or the first where there is no layout."""
        if layout is None:
            return 0
        if not isinstance(layout, str):
            raise ArgumentTypeError(f"layout must be a string, got {reprlib.repr(layout)}")
        return layout.find("N")

    @staticmethod
    def get_list(
        shapes: Sequence[tuple[str, Sequence[int]]], types: Sequence[tuple[str, Any]] | None
    ) -> list[DataDesc]:
        """Descriptions from pairs of name and shape, and pairs of name and type, if there are."""
        if types is None:
            return [DataDesc(name, shape) for name, shape in shapes]
        dtypes = dict(types)
        missing = [name for name, _ in shapes if name not in dtypes]
        if missing:
            raise InvalidArgumentError(f"get_list: types has none for {missing[0]!r}")
        return [DataDesc(name, shape, dtypes[name]) for name, shape in shapes]


class DataBatch:
    """The arrays of one batch.

    Parameters
    ----------
    data, label
        Lists of arrays, or None.
    pad
        How many samples at the end only fill the batch up.
    index
        The numbers of the samples.
    bucket_key
        Which bucket the batch belongs to.
    provide_data, provide_label
        Descriptions, where they differ from the iterator's.
    """

    def __init__(
        self,
        data: list[NDArray] | None,
        label: list[NDArray] | None = None,
        pad: int | None = None,
        index: np.ndarray | None = None,
        bucket_key: Any = None,
        provide_data: list[DataDesc] | None = None,
        provide_label: list[DataDesc] | None = None,
    ) -> None:
        for what, arrays in (("data", data), ("label", label)):
            if not isinstance(arrays, (list, tuple, type(None))):
                raise InvalidArgumentError(
                    f"DataBatch: {what} must be a list of arrays, got {type(arrays).__name__}"
                )
        # None is rare, and users need not ask for it.
        self.data: Any = data
        self.label: Any = label
        self.pad = pad
        self.index = index
        self.bucket_key = bucket_key
        self.provide_data = provide_data
        self.provide_label = provide_label

    def __str__(self) -> str:
        data, label = (
            None if arrays is None else [a.shape for a in arrays]
            for arrays in (self.data, self.label)
        )
        return f"DataBatch: data shapes: {data} label shapes: {label}"


class _Provided:
    """What :func:`provided` makes: instances' own attributes come before it."""

    def __init__(self, get: Callable[[Any], Any]) -> None:
        self._get = get
        self.__doc__ = get.__doc__

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else self._get(instance)


def provided(get: Callable[[Any], Any]) -> Any:
    """A property that an instance may be given another value for, as iterators of scripts do."""
    return _Provided(get)


class DataIter:
    """The base of all iterators over batches.

    A subclass overrides :meth:`next`, or :meth:`iter_next` and :meth:`getdata` with those of the
    others that it needs, and gives ``provide_data`` and ``provide_label``.

    Parameters
    ----------
    batch_size
        Samples per batch.
    """

    def __init__(self, batch_size: int = 0) -> None:
        self.batch_size = batch_size

    def __iter__(self) -> DataIter:
        return self

    def __next__(self) -> DataBatch:
        return self.next()

    @provided
    def provide_data(self) -> list[DataDesc]:
        """Names and shapes of the data."""
        raise NotImplementedError(f"{type(self).__name__} must give provide_data")

    @provided
    def provide_label(self) -> list[DataDesc]:
        """Names and shapes of the labels."""
        raise NotImplementedError(f"{type(self).__name__} must give provide_label")

    def reset(self) -> None:
        """Starts the next epoch."""

    def next(self) -> DataBatch:
        """The next batch.

        Raises
        ------
        StopIteration
            At the end of the epoch.
        """
        if not self.iter_next():
            raise StopIteration
        return DataBatch(self.getdata(), self.getlabel(), self.getpad(), self.getindex())

    def iter_next(self) -> bool:
        """Moves to the next batch; false at the end of the epoch."""
        raise NotImplementedError(f"{type(self).__name__} must override next or iter_next")

    def getdata(self) -> Any:
        """The data of the current batch, a list of arrays."""
        raise NotImplementedError(f"{type(self).__name__} must override getdata")

    def getlabel(self) -> Any:
        """The labels of the current batch, a list of arrays; None where there are none."""
        return None

    def getindex(self) -> np.ndarray | None:
        """The numbers of the current batch's samples."""
        return None

    def getpad(self) -> int | None:
        """How many samples at the end only fill the current batch up."""
        return 0
