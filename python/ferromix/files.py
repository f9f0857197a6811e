"""Access to files: errors that are Ferromix's and the system's at once, and whole files or none."""

from __future__ import annotations

import errno
import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import count
from typing import BinaryIO

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

    A process that is killed meanwhile leaves a draft beside the file, whose name ends in ``.tmp``;
    whoever writes the file next on this machine removes it.
    """
    target = os.path.realpath(path)  # A link stays, and the file that it names is replaced.
    with access(path):
        _remove_abandoned(target)
        with _new_draft(target) as file:
            try:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
                os.replace(file.name, target)
            except BaseException:
                with suppress(OSError):  # What went wrong is what is said.
                    os.unlink(file.name)
                raise
        _sync_folder(os.path.dirname(target))


def _new_draft(target: str) -> BinaryIO:
    """A new file beside the target, which is locked while its writer has it open and lives.

    Where locks are not to be had its name has no word of the machine, and nobody removes it.
    """
    machine = _machine()
    while True:
        draft = f"{target}.{machine}{os.getpid()}-{next(_drafts)}.tmp"
        try:
            file = open(draft, "xb")  # noqa: SIM115 - the caller closes it
        except FileExistsError:  # of a process that had this number, perhaps in another container
            continue
        try:
            if machine:
                fcntl.flock(file, fcntl.LOCK_EX)
            # Before it was locked another writer may have taken it for abandoned.
            if _is_at(file, draft):
                return file
        except OSError:
            machine = ""
            with suppress(OSError):
                os.unlink(draft)
        file.close()


def _remove_abandoned(target: str) -> None:
    """Removes drafts of a file whose writers are gone: nobody has them locked any more.

    Only those of this machine, as on some file systems of a network others' locks do not count.
    """
    machine, (folder, name) = _machine(), os.path.split(target)
    if not machine:
        return
    draft = re.compile(re.escape(f"{name}.{machine}") + r"\d+-\d+\.tmp", re.ASCII)
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if draft.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                _remove_unlocked(entry.path)


def _remove_unlocked(draft: str) -> None:
    with suppress(OSError), open(draft, "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises where its writer lives
        if _is_at(file, draft):
            os.unlink(draft)


def _is_at(file: BinaryIO, path: str) -> bool:
    """Whether an open file is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.lstat(path))
    except FileNotFoundError:
        return False


@cache
def _machine() -> str:
    """What names the running kernel, for all of its containers, or nothing."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return f"{file.read(8)}-"
    except OSError:
        return ""


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
