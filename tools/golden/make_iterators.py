"""Make the batches that the tests compare with, in `tests/golden/iterators/`.

Needs MXNet 1.9.1, which nothing else in this repository does:

    python tools/golden/make_iterators.py

Each case says what to make, with which arguments, and for how many epochs; files that it reads are
made, too, and are in the same folder. `batches.json` has the cases with what MXNet gave. Orders of
shuffling are not compared: they are those of other generators.
"""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

import mxnet as mx
import numpy as np

OUT = Path(__file__).resolve().parents[2] / "tests" / "golden" / "iterators"
Case = dict[str, object]


def array(dtype: str, *shape: int, kind: str = "numpy") -> Case:
    """Return what stands for an array with elements 0, 1, 2... in a case."""
    return {"array": kind, "dtype": dtype, "shape": shape}


def arrays() -> list[Case]:
    """Return cases of NDArrayIter."""
    cases: list[Case] = []
    for handle in ("pad", "discard", "roll_over"):
        for count, batch_size in ((7, 3), (6, 3), (7, 7), (10, 4), (1, 1), (5, 4)):
            args = {"batch_size": batch_size, "last_batch_handle": handle}
            args |= {"data": array("float32", count, 2), "label": array("float32", count)}
            cases.append({"make": "NDArrayIter", "args": args, "epochs": 5})
    x, y = array("float64", 5, 2), array("int32", 5, kind="nd")
    for args in (
        {"data": x, "label": y, "data_name": "a", "label_name": "b", "layout": "NC"},
        {"data": {"b": x, "a": y}, "label": {"y": x, "x": y}},
        {"data": [x, y], "label": [y, y]},
        {"data": [x], "label": None},
        {"data": array("uint8", 5, 1, 2), "label": []},
        {"data": array("float16", 5, 2, kind="nd"), "label": array("bool", 5)},
        {"data": {"m": array("float32", 5, 3, kind="csr")}, "last_batch_handle": "discard"},
        {"data": array("float32", 4, 4, 3), "label": None, "layout": "TNC"},
    ):
        cases.append({"make": "NDArrayIter", "args": {"batch_size": 2, **args}, "epochs": 2})
    return cases


def parts(*counts: int) -> list[Case]:
    """Return the arguments for each part, of so many."""
    return [{"num_parts": n, "part_index": i} for n in counts for i in range(n)]


def files() -> list[Case]:
    """Return cases of the iterators that read files."""
    cases: list[Case] = []
    csv = {"data_csv": "data.csv", "data_shape": [3], "label_csv": "label.csv"}
    for batch_size in (1, 2, 3, 5, 7, 10):
        for round_batch in (True, False):
            # What MXNet fills a single batch up with is not determined.
            if round_batch or batch_size <= 7:
                args = csv | {"batch_size": batch_size, "round_batch": round_batch}
                # It refuses batches that go round twice, as those of the third epoch would.
                epochs = 5 if batch_size <= 7 else 1
                cases.append({"make": "CSVIter", "args": args, "epochs": epochs})
    for args in (
        {"dtype": "int32"},
        {"dtype": "int64"},
        {"data_shape": [1, 3], "label_csv": "data.csv", "label_shape": [3, 1]},
        {"label_csv": "NULL", "label_shape": [2]},
        {"batch_size": "2", "data_shape": "(3,)", "round_batch": "False"},
        {"data_shape": 3, "data_name": "a", "label_name": "b", "ctx": "cpu", "prefetch_buffer": 1},
        {"data_csv": "data.csv;data.csv", "label_csv": "label.csv;label.csv"},
        {"data_csv": "odd.csv", "label_csv": "NULL"},
    ):
        args = csv | {"batch_size": 3, **args}
        cases.append({"make": "CSVIter", "args": args, "epochs": 3})
    svm = {"data_libsvm": "data.svm", "data_shape": [9], "batch_size": 4}
    for args in (
        {"batch_size": 3},
        {"batch_size": 11},
        {"label_libsvm": "label.svm", "label_shape": [3]},
        {"data_libsvm": "odd.svm", "batch_size": "2"},
        {"data_libsvm": "data.svm;odd.svm"},
        *(part | {"batch_size": 1} for part in parts(1, 2, 3, 4)),
    ):
        cases.append({"make": "LibSVMIter", "args": svm | args, "epochs": 3})
    mnist = {"image": "images", "label": "labels", "silent": True, "shuffle": False}
    for args in (
        {"batch_size": 3},
        {"batch_size": 11, "flat": True},
        {"batch_size": "5", "flat": "1", "shuffle": "0", "silent": "1", "prefetch_buffer": "2"},
        {"batch_size": 4, "round_batch": False, "data_name": "a", "label_name": "b"},
        *(part | {"batch_size": 1} for part in parts(2, 3, 4)),
    ):
        cases.append({"make": "MNISTIter", "args": mnist | args, "epochs": 2})
    return cases


def wrapped() -> list[Case]:
    """Return cases of iterators over others."""

    def inner(handle: str, **names: str) -> Case:
        args = {"data": array("float32", 7, 2), "label": array("float32", 7), "batch_size": 3}
        return {"make": "NDArrayIter", "args": args | {"last_batch_handle": handle} | names}

    cases: list[Case] = []
    for handle in ("pad", "discard", "roll_over"):
        for size in (2, 5, 3, 0):
            for reset_internal in (True, False):
                args = {"data_iter": inner(handle), "size": size, "reset_internal": reset_internal}
                cases.append({"make": "ResizeIter", "args": args, "epochs": 4})
        cases.append({"make": "PrefetchingIter", "args": {"iters": inner(handle)}, "epochs": 4})
    two = [inner("pad"), inner("pad", data_name="d", label_name="l")]
    names = {
        "rename_data": [{"data": "a"}, {"d": "b"}],
        "rename_label": [{"softmax_label": "x"}, {"l": "y"}],
    }
    for more in ({}, names):
        args = {"iters": two, **more}
        cases.append({"make": "PrefetchingIter", "args": args, "epochs": 2})
    return cases


def write_files() -> None:
    """Write what the cases read."""
    rng = np.random.RandomState(0)
    rows = np.arange(21).reshape(7, 3)
    (OUT / "data.csv").write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    (OUT / "label.csv").write_text("".join(f"{i}\n" for i in range(7)))
    odd = "\r\n 1.5, -2 ,3e2\r\n\r\n.5,5.,+7,\rnan,inf,-INF\n1e-3,0.1,16777217"
    (OUT / "odd.csv").write_bytes(odd.encode())
    lines = [
        f"{i / 4} " + " ".join(f"{j}:{i + j / 8}" for j in range(9) if rng.rand() < 0.3)
        for i in range(11)
    ]
    (OUT / "data.svm").write_text("\n".join(lines) + "\n")
    (OUT / "label.svm").write_text("".join(f"{i} {i % 3}:{i}\n" for i in range(11)))
    odd = "# nothing\n1  0:1\t 3:2.5  # a comment 4:1\r\n\n-2 qid:7 1:1e1\n+3\n4:2 8:.5"
    (OUT / "odd.svm").write_bytes(odd.encode())
    pixels, labels = np.arange(66, dtype="u1").reshape(11, 2, 3), np.arange(11, dtype="u1")
    for name, values in (("images", pixels), ("labels", labels)):
        head = struct.pack(f">I{values.ndim}I", 0x800 + values.ndim, *values.shape)
        (OUT / name).write_bytes(head + values.tobytes())


def made(value: object) -> object:
    """Return what a part of a case stands for."""
    if isinstance(value, list):
        return [made(v) for v in value]
    if not isinstance(value, dict):
        return value
    if "make" in value:
        return getattr(mx.io, str(value["make"]))(**made(value["args"]))
    if "array" not in value:
        return {name: made(v) for name, v in value.items()}
    values = np.arange(np.prod(value["shape"])).reshape(value["shape"]).astype(value["dtype"])
    if value["array"] == "numpy":
        return values
    dense = mx.nd.array(values, dtype=value["dtype"])
    return dense.tostype("csr") if value["array"] == "csr" else dense


def described(descriptions: list) -> list:
    """Return name, shape, type and layout of each."""
    return [[d.name, list(d.shape), np.dtype(d.dtype).name, d.layout] for d in descriptions]


def shown(values: mx.nd.NDArray) -> dict:
    """Return an array as JSON."""
    plain = values.asnumpy()
    return {"stype": values.stype, "dtype": plain.dtype.name, "values": plain.tolist()}


def run(case: Case) -> Case:
    """Return a case with what MXNet makes of it."""
    iterator = made({"make": case["make"], "args": case["args"]})
    found = {"data": described(iterator.provide_data), "label": described(iterator.provide_label)}
    epochs = []
    for epoch in range(case["epochs"]):
        if epoch:
            iterator.reset()
        batches = [
            {
                "data": [shown(d) for d in batch.data],
                "label": [shown(d) for d in batch.label],
                "pad": batch.pad,
                "index": None if batch.index is None else batch.index.tolist(),
            }
            for batch in iterator
        ]
        epochs.append(batches)
    return {**case, "provides": found, "found": epochs}


def main() -> None:
    """Make all files."""
    assert mx.__version__ == "1.9.1", f"MXNet 1.9.1 is needed, this is {mx.__version__}"
    OUT.mkdir(parents=True, exist_ok=True)
    os.chdir(OUT)
    write_files()
    cases = [run(case) for case in (*arrays(), *files(), *wrapped())]
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    (OUT / "batches.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
