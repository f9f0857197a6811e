"""Lists of images: a line has a number, labels and the path from the root, between tabs."""

from __future__ import annotations

import argparse
import os
import random
from collections.abc import Callable, Iterator
from typing import NamedTuple

from .. import files

__all__ = ["Entry", "make_lists", "read_list"]

_SEED = 100
"""That of MXNet, so that lists have its order."""


class Entry(NamedTuple):
    """A line of a list."""

    number: int
    path: str
    labels: tuple[float, ...]


def make_lists(options: argparse.Namespace, say: Callable[[str], None]) -> int:
    """Writes the lists of a folder's images.

    Parameters
    ----------
    options
        Those of the command line.
    say
        Is told of names that no list can hold.

    Returns
    -------
    int
        How many images were left out.
    """
    found, left_out = [], 0
    folders: dict[str, int] = {}
    for path in _images(options):
        if any(c in path for c in "\t\r\n") or path.strip() != path:
            say(f"{path!r} is left out: its name has tabs, ends of lines or spaces around it")
            left_out += 1
            continue
        label = folders.setdefault(os.path.dirname(path), len(folders))
        found.append(Entry(len(found), path, (label,)))
    if options.recursive:
        for folder, label in folders.items():
            print(os.fsencode(folder or ".").decode(errors="replace"), label)
    if options.shuffle:
        random.Random(_SEED).shuffle(found)
    size = -(-len(found) // options.chunks)
    for number in range(options.chunks):
        name = options.prefix + (f"_{number}" if options.chunks > 1 else "")
        _split(name, found[number * size : (number + 1) * size], size, options)
    return left_out


def _images(options: argparse.Namespace) -> Iterator[str]:
    """Paths from the root, in the order of folders and names."""
    for folder, below, names in os.walk(options.root, followlinks=True):
        below.sort()
        for name in sorted(names):
            path = os.path.join(folder, name)
            if os.path.splitext(name)[1].lower() in options.exts and os.path.isfile(path):
                yield os.path.relpath(path, options.root)
        if not options.recursive:
            return


def _split(name: str, entries: list[Entry], size: int, options: argparse.Namespace) -> None:
    """Writes a list, or those for training, for tests and of the rest."""
    train, test = options.train_ratio, options.test_ratio
    if train == 1:
        _write(f"{name}.lst", entries)
        return
    first = int(size * test)
    last = first + int(size * train)
    if test:
        _write(f"{name}_test.lst", entries[:first])
    if train + test < 1:
        _write(f"{name}_val.lst", entries[last:])
    _write(f"{name}_train.lst", entries[first:last])


def _write(path: str, entries: list[Entry]) -> None:
    lines = ("\t".join([f"{n}", *(f"{x:f}" for x in labels), p]) for n, p, labels in entries)
    files.write(path, os.fsencode("".join(f"{line}\n" for line in lines)))


def read_list(path: str, say: Callable[[str], None]) -> tuple[list[Entry], int]:
    """The entries of a list.

    Parameters
    ----------
    path
        The file.
    say
        Is told of lines that are no entries.

    Returns
    -------
    entries : list of Entry
    left_out : int
        How many lines are no entries.
    """
    entries, left_out = [], 0
    for number, line in enumerate(os.fsdecode(files.read(path)).split("\n"), 1):
        if not line.strip():
            continue
        parts = [part.strip() for part in line.strip().split("\t")]
        try:
            if len(parts) < 3:
                raise ValueError(f"it has {len(parts)} parts, not number, label and path")
            first, *labels, last = parts
            entries.append(Entry(int(first), last, tuple(map(float, labels))))
        except ValueError as error:
            say(f"{path}, line {number} is left out: {error}")
            left_out += 1
    return entries, left_out
