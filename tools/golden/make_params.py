"""Make the `.params` files that the tests compare with, in `tests/golden/params/`.

Needs MXNet 1.9.1 (and a NumPy that it can work with), which nothing else in this repository does:

    python tools/golden/make_params.py

MXNet writes the files of versions 2 and 3. It no longer writes versions 0 and 1, so those are put
together here, and MXNet must load them with the right values. Element i of every array is
``(i - 3) / 4`` for floats, ``i - 3`` for signed integers, ``i`` for unsigned ones, ``i % 2`` for
bool.
"""

from __future__ import annotations

import struct
from pathlib import Path

import mxnet as mx
import numpy as np

OUT = Path(__file__).resolve().parents[2] / "tests" / "golden" / "params"
CODES = {"float32": 0, "float64": 1, "float16": 2, "uint8": 3, "int32": 4, "int8": 5, "int64": 6}
V1, V2 = 0xF993FAC8, 0xF993FAC9


def values(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return the array of `shape` that the tests expect."""
    index = np.arange(np.prod(shape, dtype=int))
    if dtype == "bool":
        return (index % 2 == 1).reshape(shape)
    if dtype.startswith("uint"):
        return index.astype(dtype).reshape(shape)
    scale = 4 if dtype.startswith("float") else 1
    return ((index - 3) / scale).astype(dtype).reshape(shape)


def array(dtype: str, shape: tuple[int, ...]) -> mx.nd.NDArray:
    """Return the same as an array of MXNet."""
    return mx.nd.array(values(dtype, shape), dtype=dtype)


def listing(arrays: list[bytes], names: list[str]) -> bytes:
    """Return a file of `arrays`, as they are, and `names`."""
    parts = [struct.pack("<QQQ", 0x112, 0, len(arrays)), *arrays, struct.pack("<Q", len(names))]
    parts += [struct.pack("<Q", len(name)) + name.encode() for name in names]
    return b"".join(parts)


def body(dtype: str, shape: tuple[int, ...]) -> bytes:
    """Return what follows the shape in every version: device, dtype and elements."""
    return struct.pack("<iii", 1, 0, CODES[dtype]) + values(dtype, shape).tobytes()


def array_v0(dtype: str, shape: tuple[int, ...]) -> bytes:
    """Return an array as MXNet before 1.0 wrote it first."""
    return struct.pack(f"<I{len(shape)}I", len(shape), *shape) + body(dtype, shape)


def array_v1(dtype: str, shape: tuple[int, ...]) -> bytes:
    """Return an array as MXNet wrote it once extents had 64 bits."""
    return struct.pack(f"<Ii{len(shape)}q", V1, len(shape), *shape) + body(dtype, shape)


def write_by_mxnet() -> None:
    """Let MXNet write versions 2 and 3, dense and sparse."""

    def save(name: str, data: object) -> None:
        mx.nd.save(str(OUT / name), data)

    save("v2_list.params", [array("float32", (2, 3)), array("int64", (1,))])
    dtypes = [*CODES, "bool"]
    save("v2_dict.params", {f"arg:{d}": array(d, (2, 1, 4)) for d in dtypes})
    save("v2_empty.params", [])
    for stype in ("row_sparse", "csr"):
        sparse = array("float32", (4, 2)).tostype(stype)
        sparse.wait_to_read()  # saving looks at the shape of the stored values before it waits
        save(f"v2_{stype}.params", [sparse])
    with mx.util.np_shape(True):
        shapes = {"scalar": (), "none": (0, 3), "matrix": (2, 3)}
        save("v3_dict.params", {name: array("float32", s) for name, s in shapes.items()})


def check(name: str, dtypes: list[str], shape: tuple[int, ...]) -> None:
    """Make sure that MXNet loads a hand-made file."""
    loaded = mx.nd.load(str(OUT / name))
    arrays = list(loaded.values()) if isinstance(loaded, dict) else loaded
    assert len(arrays) == len(dtypes)
    for got, dtype in zip(arrays, dtypes):
        assert np.dtype(got.dtype) == np.dtype(dtype)
        np.testing.assert_array_equal(got.asnumpy(), values(dtype, shape))


def write_by_hand() -> None:
    """Write versions 0 and 1 and let MXNet load them."""
    dtypes = list(CODES)
    shape = (2, 3)
    v0 = listing([array_v0(d, shape) for d in dtypes], [f"arg:{d}" for d in dtypes])
    (OUT / "v0_dict.params").write_bytes(v0)
    check("v0_dict.params", dtypes, shape)
    v1 = listing([array_v1(d, shape) for d in dtypes], [])
    (OUT / "v1_list.params").write_bytes(v1)
    check("v1_list.params", dtypes, shape)


def write_bfloat16() -> None:
    """Write a bfloat16 array, whose type NumPy lacks, and let MXNet cast it on loading."""
    shape = (2, 3)
    halves = (values("float32", shape).view(np.uint32) >> 16).astype(np.uint16)
    header = struct.pack("<Iii2qiii", V2, 0, 2, *shape, 1, 0, 12)
    path = OUT / "v2_bfloat16.params"
    path.write_bytes(listing([header + halves.tobytes()], ["b"]))
    cast = mx.nd.amp_cast(mx.nd.load(str(path))["b"], dtype="float32")
    np.testing.assert_array_equal(cast.asnumpy(), values("float32", shape))


def main() -> None:
    """Make all files."""
    assert mx.__version__ == "1.9.1", f"MXNet 1.9.1 is needed, this is {mx.__version__}"
    OUT.mkdir(parents=True, exist_ok=True)
    write_by_mxnet()
    write_by_hand()
    write_bfloat16()


if __name__ == "__main__":
    main()
