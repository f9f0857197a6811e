"""Finds the CUDA sources of the package, as single texts for a compiler without include paths.

What was compiled is kept by its text, so headers are part of it: a changed one is noticed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from ..error import FileFormatError, InvalidArgumentError

__all__ = ["CODES", "OPTIONS", "expressions", "inlined", "names", "only", "source"]

OPTIONS = ("--std=c++17",)
"""What the sources ask of NVRTC; they need no headers of the CUDA toolkit."""

INCLUDE = re.compile(r'\s*#\s*include\s+"([^"]*)"')
ONCE = re.compile(r"\s*#\s*pragma\s+once\b")
ROW = re.compile(r"^FM_\w+\((?:FM_(\w*)ENTRY, )?([a-z]\w*), (.+)\)$", re.MULTILINE)
"""A row that is one expression: the kind of its entry points, its word, the expression."""


CODES = {
    "float32": 0,
    "float64": 1,
    "float16": 2,
    "uint8": 3,
    "int32": 4,
    "int8": 5,
    "int64": 6,
    "bool": 7,
    "bfloat16": 12,
}
"""Element types as the sources number them."""
ELEMENT = re.compile(rf"_({'|'.join(CODES)})(_finish)?$")
"""The type at the end of an entry point's name."""


def only(entry: str) -> tuple[str, ...]:
    """What has a compiler make the entry points of one type, in a part of the time.

    Examples
    --------
    >>> from ferromix.dispatch.source import only
    >>> only("dot_large_float16")
    ('-DFM_ONLY=2',)
    """
    found, rounded = ELEMENT.search(entry), "_tf32_" in entry
    return (f"-DFM_ONLY={CODES[found[1]]}", *["-DFM_TF32"] * rounded) if found else ()


def folder() -> Traversable:
    """Where the sources lie: in the installed package, or at the top of a checkout.

    A checkout's own come first: the package in it has only a copy, as old as the last build.
    """
    package = files("ferromix")
    top = Path(str(package)).parent.parent
    installed, checkout = package / "kernels", top / "kernels"
    if checkout.is_dir() and (top / "pyproject.toml").is_file():
        return checkout
    if installed.is_dir():
        return installed
    raise FileFormatError(
        f"the CUDA sources are missing from this installation: {installed} is not a folder; "
        "install Ferromix again"
    )


def names(root: Traversable | None = None) -> list[str]:
    """The stems of all CUDA sources, sorted.

    Parameters
    ----------
    root
        The folder of the sources; by default the package's own.

    Examples
    --------
    >>> from ferromix.dispatch.source import names
    >>> "elemwise" in names()
    True
    """
    entries = (root or folder()).iterdir()
    return sorted(e.name.removesuffix(".cu") for e in entries if e.name.endswith(".cu"))


def source(stem: str, root: Traversable | None = None) -> str:
    """The text of a CUDA source, with its own headers in place of their ``#include "..."``.

    Every header comes once, from the folder ``include``; ``#line`` directives keep a compiler's
    messages true. Compile it with :data:`OPTIONS`.

    Parameters
    ----------
    stem
        One of :func:`names`.
    root
        The folder of the sources; by default the package's own.

    Raises
    ------
    InvalidArgumentError
        There is no such source.
    FileFormatError
        A header is missing, or includes itself; names the file and the line.
    """
    root = root or folder()
    known = names(root)
    if stem not in known:
        raise InvalidArgumentError(
            f"there is no CUDA source '{stem}'; there are: {', '.join(known) or 'none'}"
        )
    return "".join(_inline(root, f"{stem}.cu", (root / f"{stem}.cu").read_text("utf-8"), (), set()))


def inlined(text: str) -> str:
    """A text with the package's headers in place of its includes, as in :func:`source`."""
    return "".join(_inline(folder(), "generated", text, (), set()))


@cache
def expressions(stem: str) -> Mapping[str, str]:
    """What the rows of a CUDA source compute that are one expression, by the words of their names.

    Examples
    --------
    >>> from ferromix.dispatch.source import expressions
    >>> expressions("math")["exp"]
    'fm::exponential(x)'
    """
    text = (folder() / f"{stem}.cu").read_text(encoding="utf-8")
    return {
        f"{word}_backward" if kind == "BACK_" else word: expression
        for kind, word, expression in ROW.findall(text)
    }


def _inline(
    root: Traversable, name: str, text: str, above: Sequence[str], done: set[str]
) -> list[str]:
    """The lines of a text and of what it includes; `above` are the files that it came from."""
    lines = [f'#line 1 "{name}"\n']
    for number, line in enumerate(text.splitlines(), 1):
        found = INCLUDE.match(line)
        if found is None:
            # In the text that a compiler gets, the pragma would stand in the main file.
            lines.append("\n" if ONCE.match(line) else f"{line}\n")
            continue
        header = found[1]
        chain = (*above, name)
        if header in chain:
            ring = " -> ".join((*chain[chain.index(header) :], header))
            raise FileFormatError(f"{name}, line {number}: the header includes itself: {ring}")
        # Headers lie in one folder, under plain names.
        if "/" in header or not (root / "include" / header).is_file():
            raise FileFormatError(
                f"{name}, line {number}: expected a header of the folder 'include', "
                f"found '{header}', which is not there"
            )
        if header not in done:
            done.add(header)
            text = (root / "include" / header).read_text(encoding="utf-8")
            lines += _inline(root, header, text, chain, done)
        lines.append(f'#line {number + 1} "{name}"\n')
    return lines
