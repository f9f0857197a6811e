"""What docs/not-there.txt says is not there, is not, and it says why."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import ferromix as mx

FILE = Path(__file__).resolve().parent.parent / "docs" / "not-there.txt"
ROWS = [line.split(maxsplit=1) for line in FILE.read_text().splitlines() if line[:1] not in "#"]


def reached(path):
    """What a dotted path under ``mxnet`` is here; None where there is nothing."""
    found = mx
    for depth, name in enumerate(parts := path.split(".")[1:]):
        if not hasattr(found, name):
            try:
                found = importlib.import_module(".".join(["ferromix", *parts[: depth + 1]]))
            except ImportError:
                return None
        else:
            found = getattr(found, name)
    return found


def test_paths_are_found_where_they_are():
    assert reached("mxnet.engine.push") is mx.engine.push
    assert reached("mxnet.engine.nothing.here") is None


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_each_line_is_true(row):
    path, reason = row
    assert path.startswith("mxnet.")
    assert len(reason.split()) >= 4
    assert reached(path) is None
