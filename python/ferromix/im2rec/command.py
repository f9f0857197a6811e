"""What the command does: makes lists, or the records of each list, and says what was left out."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from tqdm import tqdm

from ..error import MXNetError
from ..workers import InOrder, ProcessWorkers
from .encode import Encoder
from .lists import Entry, make_lists, read_list
from .options import parse
from .output import Output

__all__ = ["main"]

_AHEAD = 8
"""Images under way for each process."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line.

    Returns
    -------
    int
        0 if everything is in the files, 1 if something was left out, 2 if nothing could be done,
        and 130 after Ctrl-C.
    """
    options = parse(arguments)
    try:
        if options.list:
            return 1 if make_lists(options, _say) else 0
        if not options.pass_through and not any(map(find_spec, ("cv2", "PIL"))):
            _say("OpenCV or Pillow must be installed (pip install pillow), or use --pass-through")
            return 2
        lists = _lists(options.prefix)
        if not lists:
            _say(f"no list begins with {options.prefix} and ends with .lst; make one by --list")
            return 2
        left_out = sum(_make_records(path, options) for path in lists)
        return 1 if left_out else 0
    except KeyboardInterrupt:
        _say("interrupted; the same command goes on from here")
        return 130
    except (MXNetError, OSError) as error:
        _say(f"{type(error).__name__}: {error}")
        return 2


def _say(text: str) -> None:
    # Names of files may have bytes that are no text.
    safe = f"im2rec: {text}".encode(errors="surrogateescape").decode(errors="replace")
    tqdm.write(safe, file=sys.stderr)


def _lists(prefix: str) -> list[str]:
    folder = prefix if os.path.isdir(prefix) else os.path.dirname(prefix)
    if not os.path.isdir(folder):
        return []
    paths = (os.path.join(folder, name) for name in sorted(os.listdir(folder)))
    return [p for p in paths if p.startswith(prefix) and p.endswith(".lst") and os.path.isfile(p)]


def _make_records(path: str, options: argparse.Namespace) -> int:
    """Makes the records of a list; how many of its lines are not in the files."""
    entries, left_out = read_list(path, _say)
    output = Output(os.path.splitext(path)[0], entries, options)
    if output.done:
        _say(f"going on with {path} at image {output.done + 1} of {len(entries)}")
    try:
        _fill(output, entries, options, os.path.basename(path))
        output.finish()
    finally:
        output.close()
    left_out += output.skipped
    if left_out:
        _say(f"{path}: {left_out} left out, {len(entries) - output.skipped} packed")
    return left_out


def _fill(output: Output, entries: list[Entry], options: argparse.Namespace, name: str) -> None:
    encode, rest = Encoder(options), entries[output.done :]
    workers, outcomes = None, map(encode, rest)
    if options.num_thread > 1 and rest:
        workers = ProcessWorkers(options.num_thread, encode, lambda entry: entry.path)
        outcomes = InOrder(workers, rest, _AHEAD * options.num_thread)
    try:
        with tqdm(total=len(entries), initial=output.done, desc=name, unit="image") as bar:
            for entry, (record, reason) in zip(rest, outcomes, strict=True):
                if record is None:
                    _say(f"{entry.path} is left out: {reason}")
                    output.skip()
                else:
                    output.write(entry, record)
                bar.update()
    finally:
        if workers is not None:
            workers.close()
