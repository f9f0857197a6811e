"""Data sets: samples by their numbers, and what is made of them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

from ... import ndarray, recordio
from ...base import as_int, require_kind
from ...error import InvalidArgumentError, MXNetError
from .sampler import FilterSampler, Sampler, SequentialSampler

__all__ = ["ArrayDataset", "Dataset", "RecordFileDataset", "SimpleDataset"]


class Dataset:
    """The base of data sets, which have ``__getitem__``, the sample of a number, and ``__len__``.

    Whatever else has these two, such as a list or an array, may stand for one.
    """

    def __getitem__(self, idx: Any) -> Any:
        raise MXNetError(f"{type(self).__name__} must have __getitem__, the sample of a number")

    def __len__(self) -> int:
        raise MXNetError(f"{type(self).__name__} must have __len__, the number of samples")

    def filter(self, fn: Callable[[Any], Any]) -> Dataset:
        """The samples for which `fn` is true; it is called for each now.

        Examples
        --------
        >>> import ferromix as mx
        >>> list(mx.gluon.data.SimpleDataset([3, 0, 2]).filter(lambda x: x > 1))
        [3, 2]
        """
        return _SampledDataset(self, FilterSampler(fn, self))

    def shard(self, num_shards: int, index: int) -> Dataset:
        """One of several parts, which are as long as each other, or longer by one.

        Parameters
        ----------
        num_shards
            How many parts.
        index
            Which, from 0 on.

        Examples
        --------
        >>> import ferromix as mx
        >>> list(mx.gluon.data.SimpleDataset(range(5)).shard(2, 0))
        [0, 1, 2]
        """
        parts = as_int("shard: num_shards", num_shards, 1)
        number = as_int("shard: index", index, 0, parts - 1)
        size, longer = divmod(len(self), parts)
        start = size * number + min(number, longer)
        return _SampledDataset(self, SequentialSampler(size + (number < longer), start))

    def take(self, count: int | None) -> Dataset:
        """The first `count` samples; all, if there are fewer, or for None."""
        most = len(self)
        wanted = most if count is None else min(as_int("take: count", count, 0), most)
        return _SampledDataset(self, SequentialSampler(wanted))

    def sample(self, sampler: Sampler) -> Dataset:
        """The samples that a sampler names, which is asked now.

        Raises
        ------
        ArgumentTypeError
            For what is no :class:`Sampler`.
        """
        require_kind("sample: sampler", sampler, Sampler, "a gluon.data.Sampler")
        return _SampledDataset(self, sampler)

    def transform(self, fn: Callable[..., Any], lazy: bool = True) -> Dataset:
        """The samples as `fn` makes them.

        Parameters
        ----------
        fn
            Takes a sample; of one that is a tuple, its members.
        lazy
            Whether it is called each time a sample is asked for. Otherwise once for each now; so
            what is random in it is the same in all epochs.

        Examples
        --------
        >>> import ferromix as mx
        >>> data = mx.gluon.data.ArrayDataset([1, 2], [3, 4])
        >>> list(data.transform(lambda x, y: x * y))
        [3, 8]
        """
        made = _TransformedDataset(self, fn)
        return made if lazy else SimpleDataset([made[i] for i in range(len(made))])

    def transform_first(self, fn: Callable[[Any], Any], lazy: bool = True) -> Dataset:
        """The samples with the first member as `fn` makes it, and the others, such as labels.

        Examples
        --------
        >>> import ferromix as mx
        >>> data = mx.gluon.data.ArrayDataset([1, 2], [3, 4])
        >>> list(data.transform_first(lambda x: -x))
        [(-1, 3), (-2, 4)]
        """
        return self.transform(_First(fn), lazy)


class SimpleDataset(Dataset):
    """A data set of a list, an array, or whatever has a length and indices."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, idx: Any) -> Any:
        return self._data[idx]


class _TransformedDataset(SimpleDataset):
    def __init__(self, data: Any, fn: Callable[..., Any]) -> None:
        super().__init__(data)
        self._fn = fn

    def __getitem__(self, idx: Any) -> Any:
        item = self._data[idx]
        return self._fn(*item) if isinstance(item, tuple) else self._fn(item)


class _First:
    """A function of a whole sample; a class, so that it can be pickled."""

    def __init__(self, fn: Callable[[Any], Any]) -> None:
        self._fn = fn

    def __call__(self, first: Any, *others: Any) -> Any:
        made = self._fn(first)
        return (made, *others) if others else made


class _SampledDataset(SimpleDataset):
    def __init__(self, data: Any, sampler: Sampler) -> None:
        super().__init__(data)
        self._indices = list(sampler)

    def __len__(self) -> int:
        return len(self._indices)

    def __getitem__(self, idx: Any) -> Any:
        return self._data[self._indices[idx]]


class ArrayDataset(Dataset):
    """Samples with a member of each of several lists, arrays or data sets.

    Parameters
    ----------
    *args
        These, of the same length. A single one gives its members themselves, several give tuples.
        An NDArray of one dimension gives numbers of NumPy.

    Raises
    ------
    InvalidArgumentError
        For none, or different lengths.

    Examples
    --------
    >>> import ferromix as mx
    >>> data = mx.gluon.data.ArrayDataset(mx.nd.array([[1, 2], [3, 4]]), ["a", "b"])
    >>> x, name = data[1]
    >>> x.asnumpy().tolist(), name, len(data)
    ([3.0, 4.0], 'b', 2)
    """

    def __init__(self, *args: Any) -> None:
        if not args:
            raise InvalidArgumentError("ArrayDataset: it takes one array or more")
        lengths = [len(data) for data in args]
        if len(set(lengths)) > 1:
            raise InvalidArgumentError(
                f"ArrayDataset: arrays must have the same length, got {lengths}"
            )
        self._length = lengths[0]
        self._data = [_numbers(data) for data in args]

    def __getitem__(self, idx: Any) -> Any:
        if len(self._data) == 1:
            return self._data[0][idx]
        return tuple(data[idx] for data in self._data)

    def __len__(self) -> int:
        return self._length


def _numbers(data: Any) -> Any:
    is_line = isinstance(data, ndarray.NDArray) and len(data.shape) == 1
    return data.asnumpy() if is_line else data


class RecordFileDataset(Dataset):
    """The records of a RecordIO file, as bytes, in the order of its index.

    Threads may share it.

    Parameters
    ----------
    filename
        The path, such as ``some.rec``; the index ``some.idx`` is beside it.

    Raises
    ------
    FileAccessError
        If one of the two cannot be read.
    FileFormatError
        For an index that is none.

    Examples
    --------
    >>> import os, tempfile
    >>> import ferromix as mx
    >>> path = os.path.join(tempfile.mkdtemp(), "some")
    >>> with mx.recordio.MXIndexedRecordIO(f"{path}.idx", f"{path}.rec", "w") as record:
    ...     record.write_idx(0, b"first")
    >>> mx.gluon.data.RecordFileDataset(f"{path}.rec")[0]
    b'first'
    """

    def __init__(self, filename: str | os.PathLike[str]) -> None:
        self.filename = os.fspath(filename)
        self.idx_file = os.path.splitext(self.filename)[0] + ".idx"
        self._record = recordio.MXIndexedRecordIO(self.idx_file, self.filename, "r")
        self._guard()

    def __getitem__(self, idx: Any) -> Any:
        if self._pid != os.getpid():
            self._guard()  # a fork may have come while another thread read
        with self._lock:
            return self._record.read_idx(self._record.keys[idx])

    def __len__(self) -> int:
        return len(self._record.keys)

    def _guard(self) -> None:
        self._lock, self._pid = threading.Lock(), os.getpid()

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._guard()
