"""safetensors files beside those of the reference implementation, and damaged ones."""

from __future__ import annotations

import json
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import ferromix as mx
from ferromix import nd
from ferromix.error import FileFormatError
from ferromix.ops.param import DTYPES

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "safetensors" / "reference.safetensors"


def expected(dtype: str, shape: tuple[int, ...] = (2, 3)) -> np.ndarray:
    index = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    if dtype == "bool":
        return index % 2 == 1
    return (index - 3) / 4 if "float" in dtype else index


def test_a_file_of_the_reference_implementation():
    found = nd.load(GOLDEN)
    for dtype in DTYPES:
        array = found[f"layer.{dtype}"]
        assert array.dtype_name == dtype
        np.testing.assert_array_equal(array.asnumpy(), expected(dtype))
    assert (found["scalar"].shape, found["scalar"].asscalar()) == ((), -0.75)
    assert (found["none"].shape, found["none"].dtype) == ((0, 4), np.int32)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0, 2), (3,), (2, 3, 4)], ids=str)
def test_every_type_there_and_back(tmp_path, dtype, shape):
    path = tmp_path / "a.safetensors"
    source = nd.array(expected(dtype, shape), dtype=dtype)
    nd.save(path, {"x": source, "y": nd.ones((2,))})
    found = nd.load(str(path))
    assert list(found) == ["x", "y"]
    assert (found["x"].dtype_name, found["x"].shape) == (dtype, shape)
    np.testing.assert_array_equal(found["x"].asnumpy(), source.asnumpy())


def test_lists_stay_lists_and_names_what_they_are(tmp_path):
    path = tmp_path / "A.SafeTensors"
    nd.save(path, [nd.ones((2,)), nd.zeros((1, 3))])
    assert [a.shape for a in nd.load(path)] == [(2,), (1, 3)]
    assert list(nd.load_safetensors(path)) == ["0", "1"]
    nd.save(path, nd.ones((4,))[::2])
    assert nd.load(path)[0].asnumpy().tolist() == [1, 1]
    names = {'q"\\\n\t': nd.ones((1,)), "ünï𝄞": nd.zeros((2,)), "": nd.ones((3,))}
    nd.save_safetensors(path, names, {"step": "7"})
    assert {k: a.shape for k, a in nd.load(path).items()} == {k: a.shape for k, a in names.items()}
    header = path.read_bytes()[8:]
    assert json.loads(header[: header.index(b"}}") + 2])["__metadata__"] == {"step": "7"}


def test_what_cannot_be_written_is_refused_and_nothing_is_lost(tmp_path):
    path = tmp_path / "a.safetensors"
    nd.save(path, {"w": nd.ones((2,))})
    with pytest.raises(ValueError, match="reserved"):
        nd.save(path, {"__metadata__": nd.ones((2,))})
    with pytest.raises(TypeError, match="NDArray"):
        nd.save_safetensors(path, {"x": np.ones(2)})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="strings"):
        nd.save_safetensors(path, {"x": nd.ones((2,))}, {"step": 7})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="a name must be a string"):
        nd.save(path, {3: nd.ones((2,))})  # type: ignore[dict-item]
    with pytest.raises(FileNotFoundError):
        nd.save(tmp_path / "none" / "a.safetensors", {"w": nd.ones((2,))})
    with pytest.raises(FileNotFoundError):
        nd.load(tmp_path / "b.safetensors")
    assert list(nd.load(path)) == ["w"]
    assert [p.name for p in tmp_path.iterdir()] == ["a.safetensors"]


def test_every_truncation_is_reported(tmp_path):
    whole, cut = GOLDEN.read_bytes(), tmp_path / "cut.safetensors"
    for length in [*range(0, len(whole), 7), len(whole) - 1]:
        cut.write_bytes(whole[:length])
        with pytest.raises(FileFormatError, match=r"cut\.safetensors.*expected.*found"):
            nd.load(cut)


def test_a_header_that_lies_costs_no_memory(tmp_path):
    path = tmp_path / "lie.safetensors"
    for row in [
        {"dtype": "F32", "shape": [1 << 40], "data_offsets": [0, 1 << 42]},
        {"dtype": "U8", "shape": [0, 1 << 62], "data_offsets": [0, 0]},
        {"dtype": "F32", "shape": [1 << 62, 4], "data_offsets": [0, 0]},
    ]:
        header = json.dumps({"w": row}).encode()
        path.write_bytes(struct.pack("<Q", len(header)) + header)
        tracemalloc.start()
        with pytest.raises(FileFormatError, match=r"lie\.safetensors"):
            nd.load(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
        tracemalloc.stop()


def test_params_in_memory():
    golden = GOLDEN.parents[1] / "params"
    for name in ("v0_dict", "v1_list", "v2_dict", "v2_list", "v2_empty", "v3_dict"):
        path = golden / f"{name}.params"
        found, wanted = nd.load_frombuffer(path.read_bytes()), nd.load(path)
        assert type(found) is type(wanted)
        pairs = (
            zip(found.values(), wanted.values()) if isinstance(found, dict) else zip(found, wanted)
        )
        for a, b in pairs:
            np.testing.assert_array_equal(a.asnumpy(), b.asnumpy())
    for wrong in ("text", 3, None, nd.ones((2,))):
        with pytest.raises(TypeError, match="load_frombuffer takes bytes"):
            nd.load_frombuffer(wrong)  # type: ignore[arg-type]
    with pytest.raises(mx.MXNetError, match="buffer: at byte 0"):
        nd.load_frombuffer(b"no params at all")
