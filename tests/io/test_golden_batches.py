"""Iterators batch for batch beside MXNet 1.9.1 (tools/golden/make_iterators.py)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import ferromix as mx

FOLDER = Path(__file__).resolve().parents[1] / "golden" / "iterators"
CASES = json.loads((FOLDER / "batches.json").read_text())


def made(value):
    """What a part of a case stands for."""
    if isinstance(value, list):
        return [made(v) for v in value]
    if not isinstance(value, dict):
        return value
    if "make" in value:
        return getattr(mx.io, value["make"])(**made(value["args"]))
    if "array" not in value:
        return {name: made(v) for name, v in value.items()}
    values = np.arange(np.prod(value["shape"])).reshape(value["shape"]).astype(value["dtype"])
    if value["array"] == "numpy":
        return values
    dense = mx.nd.array(values, dtype=value["dtype"])
    return dense.tostype("csr") if value["array"] == "csr" else dense


def described(descriptions):
    return [[d.name, list(d.shape), np.dtype(d.dtype).name, d.layout] for d in descriptions]


def assert_same(found, expected, case):
    assert len(found) == len(expected)
    for array, wanted in zip(found, expected, strict=True):
        values = array.asnumpy()
        # Of a csr array, MXNet's NDArrayIter gives dense batches.
        assert array.stype == wanted["stype"] or "csr" in str(case["args"])
        assert values.dtype.name == wanted["dtype"]
        np.testing.assert_array_equal(values, np.array(wanted["values"], wanted["dtype"]))


def name_of(case):
    args = case["args"].items()
    plain = [f"{k}={v}" for k, v in args if not isinstance(v, (dict, list))]
    return f"{CASES.index(case)}-{case['make']}-{'-'.join(plain)}"[:90]


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_batches_are_mxnets(case, monkeypatch):
    monkeypatch.chdir(FOLDER)
    iterator = made({"make": case["make"], "args": case["args"]})
    assert described(iterator.provide_data) == case["provides"]["data"]
    assert described(iterator.provide_label) == case["provides"]["label"]
    for batches in case["found"]:
        found = list(iterator)
        assert [b.pad for b in found] == [b["pad"] for b in batches]
        for batch, wanted in zip(found, batches, strict=True):
            assert_same(batch.data, wanted["data"], case)
            assert_same(batch.label, wanted["label"], case)
            # MXNet's MNISTIter numbers nothing, and NDArrayIter has no numbers.
            if case["make"] in ("CSVIter", "LibSVMIter"):
                assert batch.index.tolist() == wanted["index"]
        iterator.reset()
