"""Make what samplers, data sets and loaders give, for the tests: `tests/golden/gluon_data.json`.

Needs MXNet 1.9.1, which nothing else in this repository does:

    python tools/golden/make_gluon_data.py

Each row has an expression and what it gives in MXNet, with the kinds of arrays. An expression is
evaluated after `np.random.seed(7)`, with the names `data` (of Gluon), `nd`, `np` and `epochs`.
"""

from __future__ import annotations

import json
from pathlib import Path

import mxnet as mx
import numpy as np

OUT = Path(__file__).resolve().parents[2] / "tests" / "golden" / "gluon_data.json"

SAMPLERS = [
    "list(data.SequentialSampler(5, 2))",
    "epochs(data.RandomSampler(20), 3)",
    "epochs(data.RandomSampler(1), 2)",
    "list(data.FilterSampler(lambda x: x % 3, data.SimpleDataset([3, 4, 5, 6, 7])))",
    *(
        f"epochs(data.BatchSampler(data.{kind}Sampler({count}), {size}, '{last}'), 4)"
        for kind in ("Sequential", "Random")
        for count, size in ((10, 3), (9, 3), (2, 5), (0, 2))
        for last in ("keep", "discard", "rollover")
    ),
]
DATASETS = [
    *(
        f"[list(data.SimpleDataset(range({n})).shard({k}, i)) for i in range({k})]"
        for n, k in ((10, 3), (2, 4), (6, 2), (0, 2))
    ),
    "[list(data.SimpleDataset(range(4)).take(n)) for n in (None, 0, 3, 9)]",
    "list(data.SimpleDataset(range(6)).filter(lambda x: x > 2).transform(lambda x: -x))",
    "list(data.SimpleDataset(range(6)).sample(data.SequentialSampler(3, 1)).take(2))",
    "list(data.ArrayDataset([1, 2], [3, 4]).transform(lambda x, y: (y, x)))",
    "list(data.ArrayDataset([1, 2], [3, 4]).transform_first(lambda x: -x, lazy=False))",
    "list(data.ArrayDataset([1, 2]).transform_first(lambda x: -x))",
    "[data.ArrayDataset(nd.arange(3))[1], data.ArrayDataset(nd.ones((2, 2)))[1]]",
    "data.ArrayDataset(nd.arange(3), np.arange(6).reshape(3, 2))[2]",
    "data.ArrayDataset(np.arange(4))[1:3]",
    "list(data.ArrayDataset(np.arange(6).reshape(3, 2), [1, 2, 3]).filter(lambda s: s[1] > 1))",
]
SOURCES = {
    "np.arange(10).reshape(5, 2)": "int64 array",
    "np.arange(5) / 2": "float64 array",
    "np.arange(5, dtype='uint8')": "uint8 array",
    "nd.arange(10).reshape((5, 2))": "NDArray",
    "[1, 2, 3, 4, 5]": "ints",
    "[1.5, 2, 3, 4, 5]": "floats",
    "[[1, 2], [3, 4], [5, 6]]": "lists",
    "data.ArrayDataset(nd.arange(5), np.arange(5))": "two",
    "data.ArrayDataset(nd.ones((5, 2)), [0, 1, 2, 3, 4])": "NDArray and ints",
    "data.SimpleDataset([(1, (2, 3.5)), (4, (5, 6.5)), (7, (8, 9.5))])": "tuples in tuples",
}
LOADERS = [
    *(f"epochs(data.DataLoader({source}, 2), 1)" for source in SOURCES),
    *(
        f"epochs(data.DataLoader(list(range(7)), 3, last_batch={last!r}, shuffle=True), 3)"
        for last in (None, "keep", "discard", "rollover")
    ),
    "epochs(data.DataLoader([1, 2, 3], batch_sampler=[[2, 0], [1]]), 2)",
    "epochs(data.DataLoader([1, 2, 3], 2, sampler=data.SequentialSampler(2, 1)), 2)",
    "epochs(data.DataLoader([1, 2, 3], 2, batchify_fn=lambda rows: tuple(rows)), 1)",
]


def epochs(source: object, count: int) -> list[object]:
    """Return, for each epoch, the length before it and what comes."""
    return [(len(source), list(source)) for _ in range(count)]


def plain(value: object) -> object:
    """Return a value as JSON has it, with the kinds of arrays."""
    if isinstance(value, mx.nd.NDArray):
        return {"nd": str(np.dtype(value.dtype)), "values": value.asnumpy().tolist()}
    if isinstance(value, (np.ndarray, np.generic)):
        return {"np": str(value.dtype), "values": value.tolist()}
    if isinstance(value, (list, tuple)):
        return {type(value).__name__: [plain(member) for member in value]}
    return value


def main() -> None:
    """Evaluate all expressions."""
    names = {"data": mx.gluon.data, "nd": mx.nd, "np": np, "epochs": epochs}
    rows = []
    for expression in (*SAMPLERS, *DATASETS, *LOADERS):
        np.random.seed(7)
        rows.append([expression, plain(eval(expression, names))])
    OUT.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


if __name__ == "__main__":
    main()
