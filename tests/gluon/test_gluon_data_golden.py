"""Samplers, data sets and loaders beside MXNet's, by the same expressions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import ferromix as mx

ROWS = json.loads((Path(__file__).resolve().parents[1] / "golden/gluon_data.json").read_text())


def epochs(source, count):
    return [(len(source), list(source)) for _ in range(count)]


def plain(value):
    if isinstance(value, mx.nd.NDArray):
        return {"nd": str(np.dtype(value.dtype)), "values": value.asnumpy().tolist()}
    if isinstance(value, (np.ndarray, np.generic)):
        return {"np": str(value.dtype), "values": value.tolist()}
    if isinstance(value, (list, tuple)):
        return {type(value).__name__: [plain(member) for member in value]}
    return value


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_gives_what_mxnet_gives(row):
    expression, expected = row
    np.random.seed(7)
    names = {"data": mx.gluon.data, "nd": mx.nd, "np": np, "epochs": epochs}
    assert plain(eval(expression, names)) == expected


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("row", [r for r in ROWS if "DataLoader" in r[0]], ids=lambda row: row[0])
def test_threads_give_the_same(row, workers):
    expression, expected = row
    np.random.seed(7)

    class Data:
        def __getattr__(self, name):
            return getattr(mx.gluon.data, name)

        def DataLoader(self, *args, **kwargs):
            return mx.gluon.data.DataLoader(*args, **kwargs, num_workers=workers)

    names = {"data": Data(), "nd": mx.nd, "np": np, "epochs": epochs}
    assert plain(eval(expression, names)) == expected
