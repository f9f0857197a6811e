"""Builds what stands in for CUDA where no GPU is: a driver, and kernels, compiled for the host.

The driver has libcuda's own functions, so the runtime opens one or the other; the kernels come from
the same CUDA sources. Both are built once, into a cache, whoever asks.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from ..error import FileFormatError, MissingFileError
from . import source
from .disk import once, place

__all__ = ["COMPILER", "build", "kernel_library", "library", "text_library"]

COMPILER = shutil.which("g++") or shutil.which("clang++")
"""The C++ compiler, or None where there is none."""

FLAGS = ("-std=c++17", "-O1", "-Wall", "-Wno-unknown-pragmas", "-ffp-contract=off")
"""What kernels are compiled with: their own arithmetic, nothing merged."""

DRIVER_FLAGS = ("-std=c++17", "-O2", "-Wall", "-fvisibility=hidden", "-pthread")

ENTRY = re.compile(r'extern "C" __global__ void (\w+)\(')


def library() -> Path:
    """The shared library that stands in for libcuda, built if need be.

    Returns
    -------
    Path
        The library, in the folder ``FERROMIX_CACHE``, by default ``~/.cache/ferromix``.

    Raises
    ------
    MissingFileError
        There is no C++ compiler; says what to install.
    FileFormatError
        The compiler refuses the sources; with its message.

    Examples
    --------
    >>> from ferromix.dispatch import host_driver
    >>> host_driver.COMPILER is None or host_driver.library().is_file()
    True
    """

    def make(folder: Path) -> Path:
        done = folder / "driver.so"
        _compile(DRIVER_FLAGS, _host() / "driver.cpp", done, "-ldl")
        return done

    return once(_cached("driver", "", DRIVER_FLAGS), make)


def kernel_library(stem: str) -> Path:
    """The shared library of a CUDA source's kernels for the host, built if need be.

    Parameters
    ----------
    stem
        One of :func:`ferromix.dispatch.source.names`.

    Raises
    ------
    InvalidArgumentError
        There is no such source.
    MissingFileError
        There is no C++ compiler; says what to install.
    FileFormatError
        The compiler refuses the source; with its message.
    """
    return _text_library(stem, source.source(stem))


def text_library(text: str) -> Path:
    """The shared library of the kernels of a text of CUDA for the host, built if need be.

    Parameters
    ----------
    text
        The source, without includes of its own.

    Raises
    ------
    MissingFileError
        There is no C++ compiler; says what to install.
    FileFormatError
        The compiler refuses the text; with its message.
    """
    return _text_library("text", text)


def _text_library(name: str, text: str) -> Path:
    return once(_cached(name, text, FLAGS), lambda folder: build(text, folder)[0])


def build(text: str, folder: Path) -> tuple[Path, list[str], str]:
    """Compiles a text of CUDA for the host.

    Parameters
    ----------
    text
        The source, without includes of its own.
    folder
        Where it may write.

    Returns
    -------
    tuple
        The library, the names of its kernels, sorted, and the compiler's warnings.

    Raises
    ------
    MissingFileError
        There is no C++ compiler; says what to install.
    FileFormatError
        The compiler refuses the text; with its message.
    """
    file, made = folder / "kernels.cpp", folder / "kernels.so"
    # Messages of the compiler count the lines of the text.
    start = f'#include "{_host() / "cuda.h"}"\n#line 1 "kernels.cu"\n'
    file.write_text(f"{start}{text}\n", encoding="utf-8")
    expanded = _run(*FLAGS, "-E", "-P", "-D__global__=__global__", file)
    entries = sorted(set(ENTRY.findall(expanded.stdout)))
    with file.open("a", encoding="utf-8") as more:
        more.writelines(f"FM_HOST_ENTRY({name})\n" for name in entries)
    return made, entries, _compile(FLAGS, file, made)


def _host() -> Path:
    return Path(str(source.folder())) / "host"


def _compiler() -> str:
    if COMPILER is None:
        raise MissingFileError(
            "kernels for the host need a C++ compiler, and there is neither g++ nor clang++ on "
            "PATH; install one of them, such as Debian's package 'g++'"
        )
    return COMPILER


def _run(*options: str | Path) -> subprocess.CompletedProcess[str]:
    command = [_compiler(), *map(str, options)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise FileFormatError(
            f"{command[0]} refuses a source for the host, exit status {done.returncode}:\n"
            f"{done.stderr}"
        )
    return done


def _compile(flags: tuple[str, ...], file: Path, made: Path, *more: str) -> str:
    return _run(*flags, "-shared", "-fPIC", "-o", made, file, *more).stderr


@cache
def _version() -> str:
    return _run("--version").stdout


def _cached(name: str, text: str, flags: tuple[str, ...]) -> Path:
    """Where a library lies that is made from this text, the headers, the compiler and its flags."""
    headers = [file.read_bytes() for file in sorted(_host().iterdir())]
    parts = map(str.encode, (_version(), _compiler(), *flags, text))
    return place("host", f"{name}.so", [*parts, *headers])
