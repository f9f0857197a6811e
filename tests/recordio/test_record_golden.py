"""Files of records beside those that MXNet 1.9.1 wrote (tools/golden/make_recordio.py)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ferromix as mx
from ferromix.recordio import IRHeader, MXIndexedRecordIO, MXRecordIO

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "recordio"
MAGIC = (0xCED7230A).to_bytes(4, "little")
LABELS = [4, 2.5, [1, 2, 3], np.arange(5) / 4, (7,), True, np.float64(0.1), []]


def records():
    index = np.arange(40, dtype=np.uint8)
    pieces = [b"", b"a", b"abcd", b"abcdefg"]
    return [
        *(index[:n].tobytes() for n in range(10)),
        *(a + MAGIC + b for a in pieces for b in pieces),
        MAGIC * 3,
        b"abcd".join([MAGIC] * 4),
        index.tobytes(),
    ]


def write(folder):
    """The files that MXNet wrote, by Ferromix."""
    folder = Path(folder)
    folder.mkdir(exist_ok=True)
    with MXRecordIO(folder / "plain.rec", "w") as plain:
        for record in records():
            plain.write(record)
    with MXIndexedRecordIO(folder / "keys.idx", folder / "keys.rec", "w") as keys:
        for i, label in enumerate(LABELS):
            header = IRHeader(9, label, 2**40 + i, i)
            keys.write_idx(3 * i, mx.recordio.pack(header, b"data%d" % i))


def test_mxnets_records_are_read():
    with MXRecordIO(GOLDEN / "plain.rec", "r") as plain:
        assert [plain.read() for _ in range(len(records()) + 2)] == [*records(), None, None]


def test_mxnets_keys_and_headers_are_read():
    with MXIndexedRecordIO(GOLDEN / "keys.idx", GOLDEN / "keys.rec", "r") as keys:
        assert keys.keys == list(range(0, 3 * len(LABELS), 3))
        for i, label in reversed(list(enumerate(LABELS))):
            header, data = mx.recordio.unpack(keys.read_idx(3 * i))
            assert (header.id, header.id2, data) == (2**40 + i, i, b"data%d" % i)
            is_array = np.ndim(label) == 1 and len(label)
            assert header.flag == (len(label) if is_array else 0)
            np.testing.assert_array_equal(header.label, np.float32(label) if np.size(label) else 0)


@pytest.mark.parametrize("name", ["plain.rec", "keys.rec", "keys.idx"])
def test_the_bytes_are_mxnets(tmp_path, name):
    write(tmp_path)
    assert (tmp_path / name).read_bytes() == (GOLDEN / name).read_bytes()
