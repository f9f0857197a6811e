"""Iterators whose batches come from a feed; those that are C++ in MXNet."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from ..error import ArgumentTypeError, FileFormatError, InvalidArgumentError, MXNetError
from ..files import access
from ..ndarray import NDArray
from ..ops.param import Param
from .iterator import DataBatch, DataDesc, DataIter, provided

__all__ = ["CONTEXT", "Feed", "MXDataIter", "files_of", "ignore", "reading", "required"]

_log = logging.getLogger(__name__)

CONTEXT = Param("str", choices=("cpu", "gpu"))
"""For which device batches are made; accepted as in MXNet."""


class Feed(Protocol):
    """What an :class:`MXDataIter` gets its batches from."""

    @property
    def batch_size(self) -> int:
        """Samples per batch."""
        ...

    @property
    def data_shape(self) -> tuple[int, ...]:
        """The shape of the data of a batch."""
        ...

    @property
    def label_shape(self) -> tuple[int, ...]:
        """The shape of the labels of a batch."""
        ...

    @property
    def dtype(self) -> Any:
        """The element type of both."""
        ...

    def next(self) -> DataBatch | None:
        """The next batch; None at the end of the epoch."""
        ...

    def reset(self) -> None:
        """Starts the next epoch; does nothing before the first batch of the present one."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """Where it stands."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes to where :meth:`state_dict` was taken."""
        ...


class MXDataIter(DataIter):
    """The class of CSVIter, LibSVMIter and MNISTIter, as in MXNet.

    Parameters
    ----------
    handle
        Where the batches come from.
    data_name, label_name
        The names of the variables to feed.
    """

    def __init__(
        self, handle: Feed, data_name: str = "data", label_name: str = "softmax_label", **_: Any
    ) -> None:
        if not hasattr(handle, "next") or not hasattr(handle, "batch_size"):
            raise ArgumentTypeError(
                f"MXDataIter: handle must be a feed of batches, got {type(handle).__name__}; "
                "CSVIter, LibSVMIter and MNISTIter make theirs"
            )
        super().__init__(handle.batch_size)
        self.handle = handle
        self._names = data_name, label_name
        self._batch: DataBatch | None = None
        self._skips_loading = False

    @provided
    def provide_data(self) -> list[DataDesc]:
        """Names and shapes of the data."""
        return [DataDesc(self._names[0], self.handle.data_shape, np.dtype(self.handle.dtype).type)]

    @provided
    def provide_label(self) -> list[DataDesc]:
        """Names and shapes of the labels."""
        kind = getattr(self.handle, "label_dtype", self.handle.dtype)
        return [DataDesc(self._names[1], self.handle.label_shape, np.dtype(kind).type)]

    def debug_skip_load(self) -> None:
        """Gives the first batch again and again from now on, to see what training alone costs."""
        self._skips_loading = True
        _log.info("%s: the first batch is given again and again", type(self).__name__)

    def reset(self) -> None:
        """Starts the next epoch; does nothing before the first batch of the present one."""
        self.handle.reset()
        self._batch = None

    def next(self) -> DataBatch:
        """The next batch.

        Raises
        ------
        StopIteration
            At the end of the epoch.
        FileFormatError
            For a file with an error there; the message names file and place, each time.
        """
        if not self.iter_next():
            raise StopIteration
        return self._current()

    def iter_next(self) -> bool:
        """Moves to the next batch; false at the end of the epoch."""
        if self._batch is None or not self._skips_loading:
            self._batch = self.handle.next()
        return self._batch is not None

    def getdata(self) -> NDArray:
        """The data of the current batch: one array, as in MXNet, where others give a list."""
        return self._current().data[0]

    def getlabel(self) -> NDArray:
        """The labels of the current batch: one array, as in MXNet, where others give a list."""
        return self._current().label[0]

    def getindex(self) -> np.ndarray | None:
        """The numbers of the current batch's samples."""
        return self._current().index

    def getpad(self) -> int | None:
        """How many samples at the end only fill the current batch up."""
        return self._current().pad

    def state_dict(self) -> dict[str, Any]:
        """Where the iterator stands, as numbers, lists and text, which JSON can hold.

        Returns
        -------
        dict
            For :meth:`load_state_dict` of an iterator over the same files with the same arguments,
            which then gives the batches that this one would give, also in later epochs.
        """
        return self.handle.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes to where :meth:`state_dict` was taken.

        Raises
        ------
        InvalidArgumentError
            For the state of an iterator with other arguments.
        """
        self.handle.load_state_dict(state)
        self._batch = None

    def _current(self) -> DataBatch:
        if self._batch is None:
            raise MXNetError(
                f"{type(self).__name__}: there is no batch yet; call iter_next() or next()"
            )
        return self._batch


@contextmanager
def reading(files: list[str]) -> Iterator[None]:
    """Turns what the system says about one of the files into Ferromix's errors, as `access`."""
    try:
        yield
    except FileFormatError as error:
        named = (path for path in files if str(error).startswith(f"{path}: "))
        with access(next(named, files[0])):
            raise


def required(iterator: str, **given: Any) -> None:
    """Raises ArgumentTypeError for what is None, by its name."""
    for name, value in given.items():
        if value is None:
            raise ArgumentTypeError(f"{iterator}: {name} must be given")


def ignore(iterator: str, others: Iterable[str]) -> None:
    """Logs which parameters an iterator does not have."""
    if others:
        _log.warning("%s: has no parameters %s, ignored", iterator, ", ".join(sorted(others)))


def files_of(iterator: str, uri: Any) -> list[str]:
    """The files that a parameter names.

    Parameters
    ----------
    iterator
        What errors call the iterator.
    uri
        Paths of files, or of folders, for all files in them in the order of their names, with ``;``
        in between. Files without a byte are left out.

    Raises
    ------
    MissingFileError
        For a path that is not there.
    FileFormatError
        If there is no file with a byte.
    """
    if not isinstance(uri, (str, os.PathLike)):
        raise ArgumentTypeError(f"{iterator}: a path must be text, got {type(uri).__name__}")
    found: list[str] = []
    for path in str(os.fspath(uri)).split(";"):
        if "://" in path and not path.startswith("file://"):
            raise InvalidArgumentError(
                f"{iterator}: {path}: only files can be read; copy it to a file first"
            )
        with access(path) as path:
            if os.path.isdir(path):
                names = sorted(os.listdir(path))
                paths = [os.path.join(path, name) for name in names]
                paths = [p for p in paths if os.path.isfile(p)]
            else:
                paths = [path]
            found += [p for p in paths if os.stat(p).st_size]
    if not found:
        raise FileFormatError(f"{iterator}: {uri}: expected rows, found no file with a byte")
    return found
