"""RecordIO files, one record after the other or by keys; the format itself is read in the core."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TextIO

from .. import _core
from ..error import ArgumentTypeError, FileFormatError, InvalidArgumentError, MXNetError
from ..files import access, resolve

__all__ = ["MXIndexedRecordIO", "MXRecordIO"]


class MXRecordIO:
    """Reads or writes a RecordIO file, one record after the other.

    It belongs to the process that opened it. In the child of a fork, reading raises until
    :meth:`reset` opens the file anew, and writing always does. A copy made by pickling starts with
    the first record; an open writer cannot be pickled, as a second one would empty the file.

    Parameters
    ----------
    uri
        The path of the file, or ``file://`` and the path.
    flag
        ``"r"`` for reading, ``"w"`` for writing, which empties a file that is there.

    Raises
    ------
    InvalidArgumentError
        For another flag, or a place that is no file.
    MissingFileError
        For a file, or a folder for one, that is not there.
    FileAccessError
        If the system refuses the file for another reason.

    Examples
    --------
    >>> import os, tempfile
    >>> import ferromix as mx
    >>> path = os.path.join(tempfile.mkdtemp(), "some.rec")
    >>> with mx.recordio.MXRecordIO(path, "w") as record:
    ...     record.write(b"first")
    ...     record.write(b"second")
    >>> with mx.recordio.MXRecordIO(path, "r") as record:
    ...     print(record.read(), record.read(), record.read())
    b'first' b'second' None
    """

    def __init__(self, uri: str | os.PathLike[str], flag: str) -> None:
        self.is_open = False
        self.handle: _core.RecordReader | _core.RecordWriter | None = None
        self.pid: int | None = None
        self.uri = _path(uri)
        if flag not in ("r", "w"):
            raise InvalidArgumentError(
                f"{type(self).__name__}: flag must be 'r' or 'w', got {flag!r}"
            )
        self.flag = flag
        self.open()

    @property
    def writable(self) -> bool:
        """Whether the file was opened for writing."""
        return self.flag == "w"

    def open(self) -> None:
        """Opens the file, at its beginning; for writing, it is emptied.

        Raises
        ------
        FileAccessError
            If the system refuses the file.
        """
        self.close()
        with access(self.uri):
            make = _core.RecordWriter if self.writable else _core.RecordReader
            self.handle = make(self.uri)
        self.pid = os.getpid()
        self.is_open = True

    def close(self) -> None:
        """Closes the file; a writer's records are in it then, or an error says that they are not.

        Raises
        ------
        FileAccessError
            If not everything could be written, as on a full disk.
        """
        if not self.is_open:
            return
        handle, self.handle = self.handle, None
        self.is_open = False
        self.pid = None
        if isinstance(handle, _core.RecordWriter):
            with access(self.uri):
                handle.close()

    def reset(self) -> None:
        """Goes back to the first record; a writer's file is emptied.

        Raises
        ------
        MXNetError
            In a child process, for a writer: the file is the parent's.
        """
        if self.writable and self.is_open and self.pid != os.getpid():
            raise self._foreign()
        self.close()
        self.open()

    def write(self, buf: bytes) -> None:
        """Appends a record.

        Parameters
        ----------
        buf
            Its bytes, fewer than 2^29.

        Raises
        ------
        ArgumentTypeError
            For what is no bytes.
        InvalidArgumentError
            For a record that is too long.
        FileAccessError
            If it cannot be written; then nothing more can, until :meth:`reset`.
        MXNetError
            For a file that is closed, opened for reading, or another process's.
        """
        handle = self._writer("write")
        if isinstance(buf, (bytearray, memoryview)):
            buf = bytes(buf)
        if not isinstance(buf, bytes):
            raise ArgumentTypeError(
                f"{type(self).__name__}.write: a record must be bytes, got {type(buf).__name__}"
            )
        try:
            handle.write(buf)
        except (FileFormatError, OSError):
            with access(self.uri):
                raise

    def read(self) -> bytes | None:
        """The next record; None at the end of the file.

        Raises
        ------
        FileFormatError
            Where there is no whole record; the message names file and offset, each time.
        MXNetError
            For a file that is closed, opened for writing, or another process's.
        """
        handle = self._reader("read")
        try:
            return handle.read()
        except (FileFormatError, OSError):
            # Only now, as this is called for each record.
            with access(self.uri):
                raise

    def _writer(self, method: str) -> _core.RecordWriter:
        self._check_open(method)
        if not isinstance(self.handle, _core.RecordWriter):
            raise MXNetError(f"{self._what(method)} was opened for reading, with flag 'r'")
        return self.handle

    def _reader(self, method: str, may_reset: bool = False) -> _core.RecordReader:
        self._check_open(method, may_reset and not self.writable)
        if not isinstance(self.handle, _core.RecordReader):
            raise MXNetError(f"{self._what(method)} was opened for writing, with flag 'w'")
        return self.handle

    def _check_open(self, method: str, may_reset: bool = False) -> None:
        if not self.is_open:
            raise MXNetError(f"{self._what(method)} is closed; reset() opens it again")
        if self.pid != os.getpid():
            if not may_reset:
                raise self._foreign()
            self.reset()

    def _what(self, method: str) -> str:
        return f"{type(self).__name__}.{method}: {self.uri}"

    def _foreign(self) -> MXNetError:
        do = "write to a file of its own" if self.writable else "call reset() in this one"
        return MXNetError(
            f"{type(self).__name__}: {self.uri} was opened by another process ({self.pid}); {do}"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        # What was not made whole has no such attribute.
        if getattr(self, "is_open", False):
            self.close()

    def __getstate__(self) -> dict[str, Any]:
        if self.writable and self.is_open:
            raise MXNetError(
                f"{type(self).__name__}: {self.uri} is open for writing, and a second writer would "
                "empty it; close() it before it is pickled"
            )
        return {**self.__dict__, "handle": None, "pid": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        is_open, self.is_open = self.is_open, False
        if is_open:
            self.open()


class MXIndexedRecordIO(MXRecordIO):
    """Reads or writes a RecordIO file whose records have keys.

    Keys and offsets are in a second file, which is read when the first is opened. In the child of a
    fork, reading by key opens the file anew.

    Parameters
    ----------
    idx_path
        The path of the index: lines of key, tab and offset.
    uri
        The path of the file of records.
    flag
        ``"r"`` or ``"w"``.
    key_type
        What makes a key of text, and of what :meth:`write_idx` gets: ``int``, ``str``...

    Attributes
    ----------
    keys : list
        All keys, in the order of the index.
    idx : dict
        The offset for each key; of keys that are there twice, the last.

    Raises
    ------
    FileFormatError
        For a line of the index that is no key and offset; the message names file and line.
    FileAccessError
        If the system refuses one of the files.

    Examples
    --------
    >>> import os, tempfile
    >>> import ferromix as mx
    >>> paths = [os.path.join(tempfile.mkdtemp(), name) for name in ("some.idx", "some.rec")]
    >>> with mx.recordio.MXIndexedRecordIO(*paths, "w") as record:
    ...     for i in range(5):
    ...         record.write_idx(i, b"record %d" % i)
    >>> with mx.recordio.MXIndexedRecordIO(*paths, "r") as record:
    ...     print(record.keys, record.read_idx(3), record.read())
    [0, 1, 2, 3, 4] b'record 3' b'record 4'
    """

    def __init__(
        self,
        idx_path: str | os.PathLike[str],
        uri: str | os.PathLike[str],
        flag: str,
        key_type: Callable[[Any], Any] = int,
    ) -> None:
        self.idx_path = _path(idx_path)
        self.idx: dict[Any, int] = {}
        self.keys: list[Any] = []
        self.key_type = key_type
        self.fidx: TextIO | None = None
        super().__init__(uri, flag)

    def open(self) -> None:
        """Opens both files, and reads the index, or empties it.

        Raises
        ------
        FileFormatError
            For a line of the index that is no key and offset.
        FileAccessError
            If the system refuses one of the files.
        """
        super().open()
        self.idx, self.keys = {}, []
        try:
            if self.writable:
                with access(self.idx_path):
                    # Line by line, so that nothing is left for a child process to write again.
                    self.fidx = open(  # noqa: SIM115
                        self.idx_path, "w", buffering=1, encoding="utf-8"
                    )
            else:
                self._load()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Closes both files; raises as :meth:`MXRecordIO.close`."""
        fidx, self.fidx = self.fidx, None
        try:
            super().close()
        finally:
            if fidx is not None:
                with access(self.idx_path):
                    fidx.close()

    def seek(self, idx: Any) -> None:
        """Moves to the record of a key.

        Raises
        ------
        KeyError
            For a key that the index lacks.
        FileFormatError
            For an offset beyond the file.
        MXNetError
            For a file that is closed, or opened for writing.
        """
        handle = self._reader("seek", may_reset=True)
        offset = self.idx[idx]
        try:
            handle.seek(offset)
        except (FileFormatError, OSError):
            with access(self.uri):
                raise

    def tell(self) -> int:
        """The offset of the next record."""
        self._check_open("tell")
        assert self.handle is not None
        return self.handle.tell()

    def read_idx(self, idx: Any) -> bytes | None:
        """The record of a key; raises as :meth:`seek` and :meth:`MXRecordIO.read`."""
        self.seek(idx)
        return self.read()

    def write_idx(self, idx: Any, buf: bytes) -> None:
        """Appends a record with a key.

        Parameters
        ----------
        idx
            The key, or what `key_type` makes one of.
        buf
            The bytes of the record.

        Raises
        ------
        InvalidArgumentError
            For a key that `key_type` refuses, or that does not fit in a line.
        FileAccessError
            If it cannot be written.
        """
        handle = self._writer("write_idx")
        try:
            key = self.key_type(idx)
        except (TypeError, ValueError) as error:
            raise InvalidArgumentError(f"{self._what('write_idx')}: key {idx!r}: {error}") from None
        line = str(key)
        if line.strip() != line or not line or any(c in line for c in "\t\r\n"):
            raise InvalidArgumentError(
                f"{self._what('write_idx')}: key {key!r} must be text without tabs, ends of lines, "
                "and spaces around it"
            )
        offset = handle.tell()
        self.write(buf)
        assert self.fidx is not None
        with access(self.idx_path):
            self.fidx.write(f"{line}\t{offset}\n")
        self.idx[key] = offset
        self.keys.append(key)

    def _load(self) -> None:
        with access(self.idx_path):
            entries = _core.read_record_index(self.idx_path)
        for text, offset in entries:
            try:
                key = self.key_type(text)
            except (TypeError, ValueError) as error:
                raise FileFormatError(f"{self.idx_path}: key {text!r}: {error}") from None
            self.idx[key] = offset
            self.keys.append(key)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "fidx": None}


def _path(uri: str | os.PathLike[str]) -> str:
    try:
        path = os.fspath(uri)
    except TypeError:
        path = None
    if not isinstance(path, str):
        raise ArgumentTypeError(f"a path must be text or a path, got {type(uri).__name__}")
    scheme, colon, _ = path.partition("://")
    if colon and scheme != "file":
        raise InvalidArgumentError(
            f"{path}: only files can be opened, by a path or file://; copy it to a file first"
        )
    return resolve(path)
