"""``python -m ferromix``: looks at checkpoints, and writes them anew."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from .checkpoints import convert, describe
from .error import MXNetError

__all__ = ["main"]


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    """A name and a shape, from ``data=1,3,224,224``."""
    name, equals, extents = text.partition("=")
    numbers = extents.split(",")
    if not equals or not name or not all(n.strip().isdigit() for n in numbers):
        raise argparse.ArgumentTypeError(f"expected NAME=EXTENT,EXTENT,..., got {text!r}")
    return name, tuple(int(n) for n in numbers)


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m ferromix", description=__doc__)
    commands = made.add_subparsers(dest="command", required=True)
    looks = commands.add_parser("inspect", help="print what a checkpoint is")
    writes = commands.add_parser("convert", help="write a checkpoint anew")
    for one in (looks, writes):
        one.add_argument("prefix", help="the beginning of the files' names")
        one.add_argument("epoch", type=int, help="the number of the parameters' file")
    looks.add_argument(
        "--shape",
        type=_shape,
        action="append",
        default=[],
        metavar="NAME=EXTENTS",
        help="the shape of an input, such as data=1,3,224,224",
    )
    writes.add_argument("target", help="the beginning of the new files' names")
    writes.add_argument("--format", choices=("mxnet", "safetensors"), default="mxnet")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Does what the command line asks for; the exit status."""
    given = _parser().parse_args(arguments)
    try:
        if given.command == "inspect":
            print(describe(given.prefix, given.epoch, dict(given.shape)))
        else:
            for path in convert(given.prefix, given.epoch, given.target, given.format):
                print(path)
    except (MXNetError, OSError) as error:
        print(f"python -m ferromix: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
