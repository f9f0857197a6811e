"""Access to files: errors that are Ferromix's and the system's at once, and whole files or none."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import count
from typing import BinaryIO

from .error import FileAccessError, FileFormatError, MissingFileError

__all__ = ["access", "read", "resolve", "write"]

_drafts = count()
_CODE = re.compile(r"\(os error (\d+)\)")
_FILE_URI = re.compile("file://(localhost(?=/))?")
_LONG, _KEPT = 200, 190
"""Bytes of a name beyond which its drafts have a shorter one, and what is then left of it: names
have 255 bytes at most, and what follows in a draft's name has 45."""


def resolve(path: str | os.PathLike[str]) -> str:
    """The path of a file that is named by it or, as MXNet takes it, by ``file://`` and the path."""
    path = os.fsdecode(path)
    uri = _FILE_URI.match(path)
    return path[uri.end() :] if uri else path


@contextmanager
def access(path: str | os.PathLike[str]) -> Iterator[str]:
    """Gives the path as :func:`resolve`, and turns what the system says into Ferromix's errors.

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
    resolved = resolve(path)
    try:
        yield resolved
    except (FileFormatError, OSError) as error:
        code = getattr(error, "errno", None) or _code(str(error))
        if code is None and isinstance(error, FileFormatError):
            raise
        raise _failure(code or errno.EIO, path) from None


def read(path: str | os.PathLike[str]) -> bytes:
    """All of a file; raises as :func:`access`."""
    with access(path) as path, open(path, "rb") as file:
        return file.read()


def write(path: str | os.PathLike[str], data: bytes) -> None:
    """Writes a file, which is either complete or not changed at all; raises as :func:`access`.

    It keeps its mode, and its owner where the system allows it. What is no regular file, as a
    device or a pipe, is written into.

    A process that is killed meanwhile leaves a draft beside the file, whose name ends in ``.tmp``;
    whoever writes the file next on this machine removes it.
    """
    with access(path) as path:
        try:
            old = os.stat(path)
        except FileNotFoundError:
            if not path:  # which is no name, and would stand for the working directory
                raise
            old = None
        target = os.path.realpath(path)  # A link stays, and the file that it names is replaced.
        # A regular file may have no name, as one that was removed and is at /dev/stdout.
        if old is None or (stat.S_ISREG(old.st_mode) and _is_at(old, target)):
            _replace(target, data, old)
        else:
            with open(os.open(path, os.O_WRONLY | os.O_TRUNC), "wb") as file:
                file.write(data)


def _replace(target: str, data: bytes, old: os.stat_result | None) -> None:
    _remove_abandoned(target)
    # What others may not read they may not read meanwhile.
    with _new_draft(target, 0o666 if old is None else 0o600) as file:
        try:
            file.write(data)
            file.flush()
            if old is not None:
                _keep_access(file.fileno(), old)
            os.fsync(file.fileno())
            os.replace(file.name, target)
        except BaseException:
            with suppress(OSError):  # What went wrong is what is said.
                os.unlink(file.name)
            raise
    _sync_folder(os.path.dirname(target))


def _keep_access(file: int, old: os.stat_result) -> None:
    """Gives a new file the owner, the group and the mode of the old one, as far as is allowed.

    Only root can give another owner, and some file systems have none.
    """
    try:
        os.fchown(file, old.st_uid, old.st_gid)
    except OSError:
        with suppress(OSError):
            os.fchown(file, -1, old.st_gid)
    with suppress(OSError):
        # Without the bits that lend rights, which writing into a file takes from it, too.
        os.fchmod(file, old.st_mode & 0o777)


def _new_draft(target: str, mode: int) -> BinaryIO:
    """A new file beside the target, which is locked while its writer has it open and lives.

    Where locks are not to be had its name has no word of the machine, and nobody removes it.
    """
    machine, (folder, name) = _machine(), os.path.split(target)
    begin = os.path.join(folder, _beginning(name))
    while True:
        draft = f"{begin}{machine}{os.getpid()}-{next(_drafts)}.tmp"
        try:
            file = open(  # noqa: SIM115 - the caller closes it
                draft, "xb", opener=lambda path, how: os.open(path, how, mode)
            )
        except FileExistsError:  # of a process that had this number, perhaps in another container
            continue
        try:
            if machine:
                fcntl.flock(file, fcntl.LOCK_EX)
            # Before it was locked another writer may have taken it for abandoned.
            if _is_at(os.fstat(file.fileno()), draft):
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
    draft = re.compile(re.escape(_beginning(name) + machine) + r"\d+-\d+\.tmp", re.ASCII)
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if draft.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                _remove_unlocked(entry.path)


def _remove_unlocked(draft: str) -> None:
    with suppress(OSError), open(draft, "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises where its writer lives
        if _is_at(os.fstat(file.fileno()), draft):
            os.unlink(draft)


def _beginning(name: str) -> str:
    """What all drafts of a file begin with: its name, or what is left of a long one.

    The core's writer has the same names; each removes what the other left.
    """
    whole = os.fsencode(name)
    if len(whole) <= _LONG:
        return f"{name}."
    # Before a byte that begins a character, in UTF-8.
    cut = next((n for n in range(_KEPT, 0, -1) if whole[n] & 0xC0 != 0x80), _KEPT)
    return f"{os.fsdecode(whole[:cut])}~{zlib.crc32(whole):08x}."


def _is_at(file: os.stat_result, path: str) -> bool:
    """Whether a file is still, or just, the one of that name."""
    try:
        return os.path.samestat(file, os.lstat(path))
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
