"""Make the RecordIO files that the tests compare with, in `tests/golden/recordio/`.

Needs MXNet 1.9.1, which nothing else in this repository does:

    python tools/golden/make_recordio.py

`records` says what is in the files: MXNet must write those bytes, and Ferromix the same. That
MXNet reads what Ferromix writes is checked by hand:

    cd tests/recordio && python -c "import test_record_golden as t; t.write('/tmp/records')"
    python tools/golden/make_recordio.py --check /tmp/records
"""

from __future__ import annotations

import sys
from pathlib import Path

import mxnet as mx
import numpy as np

OUT = Path(__file__).resolve().parents[2] / "tests" / "golden" / "recordio"
MAGIC = (0xCED7230A).to_bytes(4, "little")


def records() -> list[bytes]:
    """Return the records: all small lengths, and the magic where it is cut out and where not."""
    index = np.arange(40, dtype=np.uint8)
    plain = [index[:n].tobytes() for n in range(10)]
    pieces = [b"", b"a", b"abcd", b"abcdefg"]
    magics = [MAGIC.join(pair) for pair in ((a, b) for a in pieces for b in pieces)]
    return [*plain, *magics, MAGIC * 3, b"abcd".join([MAGIC] * 4), index.tobytes()]


def headers() -> list[mx.recordio.IRHeader]:
    """Return headers with all kinds of labels."""
    labels = [4, 2.5, [1, 2, 3], np.arange(5) / 4, (7,), True, np.float64(0.1), []]
    return [mx.recordio.IRHeader(9, label, 2**40 + i, i) for i, label in enumerate(labels)]


def write(folder: Path) -> None:
    """Write plain records, records with keys, and records with headers."""
    plain = mx.recordio.MXRecordIO(str(folder / "plain.rec"), "w")
    for record in records():
        plain.write(record)
    plain.close()
    paths = [str(folder / name) for name in ("keys.idx", "keys.rec")]
    keys = mx.recordio.MXIndexedRecordIO(*paths, "w")
    for i, header in enumerate(headers()):
        keys.write_idx(3 * i, mx.recordio.pack(header, b"data%d" % i))
    keys.close()


def check(folder: Path) -> None:
    """Make sure that MXNet finds the records in files of `folder`."""
    plain = mx.recordio.MXRecordIO(str(folder / "plain.rec"), "r")
    for record in [*records(), None]:
        assert plain.read() == record
    keys = mx.recordio.MXIndexedRecordIO(*(str(folder / f"keys.{e}") for e in ("idx", "rec")), "r")
    for i, header in reversed(list(enumerate(headers()))):
        found, data = mx.recordio.unpack(keys.read_idx(3 * i))
        assert (found.id, found.id2, data) == (header.id, header.id2, b"data%d" % i)
        expected = np.float32(header.label) if np.size(header.label) else 0
        np.testing.assert_array_equal(found.label, expected)
    print("MXNet reads all of it")


def main() -> None:
    """Make all files, or check those of a folder."""
    assert mx.__version__ == "1.9.1", f"MXNet 1.9.1 is needed, this is {mx.__version__}"
    if sys.argv[1:2] == ["--check"]:
        check(Path(sys.argv[2]))
        return
    OUT.mkdir(parents=True, exist_ok=True)
    write(OUT)
    check(OUT)


if __name__ == "__main__":
    main()
