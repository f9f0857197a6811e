"""Keeps what compilers made on disk, so that it is made once, whoever asks."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

__all__ = ["once", "place"]


def place(folder: str, name: str, made_from: Iterable[bytes]) -> Path:
    """Where a file lies that is made from these parts: in ``FERROMIX_CACHE``, by default
    ``~/.cache/ferromix``.

    Parameters
    ----------
    folder
        One of its folders.
    name
        How the file's name starts and ends, such as ``"driver.so"``.
    made_from
        All that it depends on.

    Examples
    --------
    >>> from ferromix.dispatch.disk import place
    >>> place("cuda", "copy.cubin", [b"text"]) == place("cuda", "copy.cubin", [b"another"])
    False
    """
    key = hashlib.sha256()
    for part in made_from:
        key.update(part + b"\0")
    top = Path(os.environ.get("FERROMIX_CACHE") or Path.home() / ".cache" / "ferromix")
    start, end = Path(name).stem, Path(name).suffix
    return top / folder / f"{start}-{key.hexdigest()[:32]}{end}"


def once(made: Path, make: Callable[[Path], Path]) -> Path:
    """A file, made if it is not there; who else asks for it meanwhile waits.

    Parameters
    ----------
    made
        Its path, by :func:`place`.
    make
        Makes it in a folder that it gets; gives where it is there.

    Examples
    --------
    >>> from pathlib import Path
    >>> from ferromix.dispatch.disk import once
    >>> once(Path("/bin/sh"), lambda folder: folder / "sh").name
    'sh'
    """
    if made.exists():
        return made
    made.parent.mkdir(parents=True, exist_ok=True)
    with made.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # until the file is closed, also by the end of the process
        if not made.exists():
            with tempfile.TemporaryDirectory() as folder:
                _publish(make(Path(folder)), made)
    return made


def _publish(done: Path, made: Path) -> None:
    """Puts a file there at once: others find all of it or nothing."""
    handle, temporary = tempfile.mkstemp(dir=made.parent, suffix=".tmp")
    os.close(handle)
    try:
        shutil.copy(done, temporary)
        os.replace(temporary, made)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
