"""The .rec and .idx of a list, written so that an interrupted run can be gone on with.

Beside them is a journal while they are made: first what is made of what, then a line for each entry
of the list, which is the checksum of its record, or says that there is none. Each line goes to the
system at once, so what is lost, if anything, is at the end.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import zlib
from typing import IO

from .. import _core, files
from ..error import FileAccessError
from .lists import Entry

__all__ = ["Output"]

_SKIPPED = "-"
_OPTIONS = ("root", "pass_through", "resize", "center_crop", "quality", "color", "encoding")


class Output:
    """The files of one list.

    Parameters
    ----------
    base
        Their path, without the ending.
    entries
        Those of the list.
    options
        Those of the command line.

    Attributes
    ----------
    done : int
        How many of the entries need not be looked at any more.
    skipped : int
        How many of these are not in the files.
    """

    def __init__(self, base: str, entries: list[Entry], options: argparse.Namespace) -> None:
        self._rec_path, self._idx_path = f"{base}.rec", f"{base}.idx"
        self._journal_path = f"{base}.rec.unfinished"
        self.done = self.skipped = 0
        purpose = _purpose(entries, options)
        # The writer of the core writes whole files, so each record goes by way of one in memory.
        self._draft = os.memfd_create("ferromix-record")
        self._files: list[IO[bytes]] = []
        try:
            if not self._go_on(entries, purpose):
                self._start(purpose)
            paths = self._rec_path, self._idx_path, self._journal_path
            self._rec, self._idx, self._journal = map(self._open, paths)
        except BaseException:
            self.close()
            raise

    def write(self, entry: Entry, record: bytes) -> None:
        """Appends the record of the next entry; raises FileAccessError if that fails."""
        with files.access(self._rec_path):
            offset = self._rec.tell()
            self._rec.write(self._framed(record))
            self._rec.flush()
        with files.access(self._idx_path):
            self._idx.write(f"{entry.number}\t{offset}\n".encode())
            self._idx.flush()
        self._note(f"{zlib.crc32(record):08x}")

    def skip(self) -> None:
        """Notes that the next entry is no image."""
        self._note(_SKIPPED)
        self.skipped += 1

    def _note(self, outcome: str) -> None:
        with files.access(self._journal_path):
            self._journal.write(f"{outcome}\n".encode())
            self._journal.flush()
        self.done += 1

    def finish(self) -> None:
        """Closes the files; the .rec is complete, and nothing says otherwise any more."""
        for file in self._files:
            os.fsync(file.fileno())
        self.close()
        with files.access(self._journal_path):
            os.unlink(self._journal_path)

    def close(self) -> None:
        """Closes the files; the next run goes on with them."""
        while self._files:
            self._files.pop().close()
        if self._draft >= 0:
            os.close(self._draft)
            self._draft = -1

    def _open(self, path: str) -> IO[bytes]:
        with files.access(path):
            file = open(path, "ab")  # noqa: SIM115
        self._files.append(file)
        return file

    def _framed(self, record: bytes) -> bytes:
        """What a record is in a file."""
        writer = _core.RecordWriter(f"/proc/self/fd/{self._draft}")
        writer.write(record)
        writer.close()
        return os.pread(self._draft, os.fstat(self._draft).st_size, 0)

    def _start(self, purpose: str) -> None:
        self.done = self.skipped = 0
        # Without it, old files never pass for the beginning of new ones.
        if os.path.exists(self._journal_path):
            with files.access(self._journal_path):
                os.unlink(self._journal_path)
        files.write(self._rec_path, b"")
        files.write(self._idx_path, b"")
        files.write(self._journal_path, _text([purpose]))

    def _go_on(self, entries: list[Entry], purpose: str) -> bool:
        """Cuts the files off behind what is whole; false if there is nothing to go on with."""
        try:
            first, *outcomes = files.read(self._journal_path).decode().split("\n")[:-1]
            lines = files.read(self._idx_path).split(b"\n")[:-1]
            with files.access(self._rec_path):
                reader = _core.RecordReader(self._rec_path)
        except (FileAccessError, ValueError):
            return False
        if first != purpose:
            return False
        packed = [i for i, outcome in enumerate(outcomes[: len(entries)]) if outcome != _SKIPPED]
        count, end = min(len(packed), len(lines)), 0
        while count:
            last = packed[count - 1]
            end = _end_of(reader, lines[count - 1], entries[last].number, outcomes[last])
            if end:
                self.done = last + 1
                break
            count -= 1
        self.skipped = self.done - count
        os.truncate(self._rec_path, end)
        os.truncate(self._idx_path, sum(len(line) + 1 for line in lines[:count]))
        files.write(self._journal_path, _text([purpose, *outcomes[: self.done]]))
        return True


def _end_of(reader: _core.RecordReader, line: bytes, number: int, checksum: str) -> int:
    """Where the record of a line ends; 0 if it is not what was written."""
    try:
        key, offset = line.split(b"\t")
        reader.seek(int(offset))
        record = reader.read()
        if record is None or int(key) != number or int(checksum, 16) != zlib.crc32(record):
            return 0
        return reader.tell()
    except (ValueError, OverflowError, OSError):  # a FileFormatError is a ValueError
        return 0


def _text(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _purpose(entries: list[Entry], options: argparse.Namespace) -> str:
    """What a .rec is made of: it must be the same for the run that goes on."""
    listed = hashlib.sha256(repr(entries).encode(errors="surrogateescape")).hexdigest()
    chosen = {name: getattr(options, name) for name in (*_OPTIONS, "pack_label")}
    return json.dumps({"list": listed, **chosen})
