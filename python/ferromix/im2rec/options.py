"""The options of the command line, which are those of MXNet's ``tools/im2rec.py``."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

__all__ = ["parse", "parser"]

_EPILOG = """\
Interrupted, by Ctrl-C or worse, it goes on when the same command is given again: while a .rec is
made, PREFIX.rec.unfinished is beside it, with the options and checksums of list and records. The
last record of .rec that is whole and in .idx is found, what is behind it is cut off, and work goes
on with the image after it; the files are those of an uninterrupted run. With other options or
another list, or without that file, it starts over.

Exit status: 0 if everything is in the files; 1 if images or lines of a list were skipped, each with
a line that says why; 2 if nothing could be done; 130 after Ctrl-C."""


class _Formatter(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
    """With defaults, and the last text as it is."""


def parser() -> argparse.ArgumentParser:
    """The options of the command line."""
    made = argparse.ArgumentParser(
        prog="python -m ferromix.im2rec",
        description="Make a list of images, or files of records from lists.",
        epilog=_EPILOG,
        formatter_class=_Formatter,
    )
    made.add_argument(
        "prefix", help="what the names of .lst, .idx and .rec begin with, or a folder"
    )
    made.add_argument("root", help="the folder of the images")
    _add_list_options(made.add_argument_group("lists"))
    _add_record_options(made.add_argument_group("records"))
    return made


def _add_list_options(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--list", action="store_true", help="make PREFIX.lst; without, read it and make records")
    add(
        "--exts",
        nargs="+",
        default=[".jpeg", ".jpg", ".png"],
        metavar="EXT",
        help="endings of images, in lower case",
    )
    add("--chunks", type=_positive, default=1, help="into how many lists")
    add("--train-ratio", type=_ratio, default=1.0, help="which part is for PREFIX_train.lst")
    add("--test-ratio", type=_ratio, default=0.0, help="which part is for PREFIX_test.lst")
    add(
        "--recursive",
        action="store_true",
        help="folders below, too, each with a label of its own; without, the label is 0",
    )
    add(
        "--no-shuffle",
        dest="shuffle",
        action="store_false",
        help="keep the order of the names",
    )


def _add_record_options(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--pass-through", action="store_true", help="take the files as they are")
    add("--resize", type=_natural, default=0, help="length of the shorter side; 0 keeps the size")
    add("--center-crop", action="store_true", help="cut out the square in the middle")
    add("--quality", type=int, default=95, help="1-100 for JPEG; compression, 0-9, for PNG")
    add("--num-thread", type=_natural, default=1, help="processes that read and encode")
    add(
        "--color",
        type=int,
        default=1,
        choices=(-1, 0, 1),
        help="1: colours; 0: gray; -1: as the image is, with opacity",
    )
    add("--encoding", default=".jpg", choices=(".jpg", ".png"), help="format of the records")
    add("--pack-label", action="store_true", help="keep labels of several numbers whole")


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options that were given.

    Raises
    ------
    SystemExit
        For options that make no sense, with status 2.
    """
    made = parser()
    options = made.parse_args(arguments)
    options.prefix = os.path.abspath(options.prefix)
    options.root = os.path.abspath(options.root)
    if not os.path.isdir(options.root):
        made.error(f"there is no folder {options.root}")
    return options


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {text}")
    return number


def _natural(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"must be at least 0, got {text}")
    return number


def _ratio(text: str) -> float:
    number = float(text)
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f"must be 0 to 1, got {text}")
    return number
