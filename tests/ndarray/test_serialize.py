"""Saving and loading arrays; a damaged file is reported, not believed."""

from __future__ import annotations

import struct

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import FileFormatError, InvalidArgumentError
from ferromix.ops.param import DTYPES


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", [(), (0, 2), (3,), (2, 3, 4)], ids=str)
def test_round_trip_of_every_type(tmp_path, name, shape):
    values = np.random.default_rng(0).integers(0, 2, shape)
    path = tmp_path / "a.params"
    mx.nd.save(path, {"x": mx.nd.array(values, dtype=name)})
    found = mx.nd.load(path)
    assert list(found) == ["x"]
    assert found["x"].dtype_name == name
    assert found["x"].shape == shape
    np.testing.assert_array_equal(found["x"].asnumpy(), values)


def test_lists_and_single_arrays(tmp_path):
    path = tmp_path / "list.params"
    mx.nd.save(path, [mx.nd.ones((2,)), mx.nd.zeros((1, 3))])
    assert [a.shape for a in mx.nd.load(path)] == [(2,), (1, 3)]
    mx.nd.save(path, mx.nd.ones((4,)))
    assert [a.shape for a in mx.nd.load(path)] == [(4,)]


def test_a_view_is_saved_as_what_it_shows(tmp_path):
    base = np.arange(12, dtype="float32").reshape(3, 4)
    path = tmp_path / "view.params"
    mx.nd.save(path, [mx.nd.array(base)[:, ::2]])
    np.testing.assert_array_equal(mx.nd.load(path)[0].asnumpy(), base[:, ::2])


def test_every_truncation_is_reported(tmp_path):
    path = tmp_path / "whole.params"
    mx.nd.save(path, {"weight": mx.nd.ones((2, 3))})
    whole = path.read_bytes()
    cut = tmp_path / "cut.params"
    for length in range(len(whole)):
        cut.write_bytes(whole[:length])
        with pytest.raises(FileFormatError, match=r"cut\.params.*expected.*found"):
            mx.nd.load(cut)
    assert mx.nd.load(path)["weight"].shape == (2, 3)


def test_misuse(tmp_path):
    with pytest.raises(InvalidArgumentError, match="save takes NDArrays, got ndarray as 'x'"):
        mx.nd.save(tmp_path / "x", {"x": np.ones(3)})


def test_extents_that_no_array_can_have(tmp_path):
    path = tmp_path / "huge.params"
    mx.nd.save(path, [mx.nd.zeros((0, 7, 5))])
    whole = path.read_bytes()
    for extent in (7, 5):
        whole = whole.replace(struct.pack("<q", extent), struct.pack("<q", 2**40))
    path.write_bytes(whole)
    with pytest.raises(FileFormatError, match=r"huge\.params: array 0 has extents"):
        mx.nd.load(path)
