"""Access to files: errors that are Ferromix's and the system's at once, and whole files or none."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count

from .error import FileAccessError, FileFormatError, MissingFileError

__all__ = ["access", "read", "write"]

_drafts = count()
_CODE = re.compile(r"\(os error (\d+)\)")


@contextmanager
def access(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turns what the system says about a file into Ferromix's errors.

    The core reports these with the text and the number of the system's error, in the message only.

    Raises
    ------
    MissingFileError
        If the file, or its folder, is not there.
    FileAccessError
        If it cannot be read or written for another reason.
    TypeError
        For what is no path; numbers of open files are none.
    """
    path = os.fspath(path)
    try:
        yield
    except (FileFormatError, OSError) as error:
        code = getattr(error, "errno", None) or _code(str(error))
        if code is None and isinstance(error, FileFormatError):
            raise
        raise _failure(code or errno.EIO, path) from None


def read(path: str | os.PathLike[str]) -> bytes:
    """All of a file; raises as :func:`access`."""
    with access(path), open(path, "rb") as file:
        return file.read()


def write(path: str | os.PathLike[str], data: bytes) -> None:
    """Writes a file, which is either complete or not changed at all; raises as :func:`access`.

    A process that is killed meanwhile leaves a draft beside the file, whose name ends in ``.tmp``.
    """
    target = os.path.realpath(path)  # A link stays, and the file that it names is replaced.
    draft = f"{target}.{os.getpid()}-{next(_drafts)}.tmp"
    with access(path):
        try:
            with open(draft, "xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, target)
        finally:
            if os.path.exists(draft):
                os.unlink(draft)
        _sync_folder(os.path.dirname(target))


def _sync_folder(folder: str) -> None:
    """Makes a new name last; some file systems cannot, and need not."""
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def _code(message: str) -> int | None:
    found = _CODE.search(message)
    return None if found is None else int(found[1])


def _failure(code: int, path: str | os.PathLike[str]) -> FileAccessError:
    kind = MissingFileError if code in (errno.ENOENT, errno.ENOTDIR) else FileAccessError
    return kind(code, os.strerror(code), os.fspath(path))
