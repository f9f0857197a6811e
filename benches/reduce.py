"""Reductions and rearrangements of Ferromix beside NumPy, in turn and in one run.

usage: python benches/reduce.py [--rounds N] [--threads 1 2] [--sizes BYTES ...] [--only WORD]

Kernels run prepared, into memory that is there (`out=`), for both. For each number of threads there
is a process; in it the two packages take turns, and the table holds for each row the ratio of the
best times, NumPy's over Ferromix's: above 1 Ferromix is faster. Prints Markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

SIZES = (1 << 10, 1 << 15, 1 << 20, 1 << 26)
SECONDS = 0.02


def square(size: int) -> tuple[int, int]:
    """A matrix of `size` elements, as square as powers of two allow."""
    rows = 1 << (size.bit_length() // 2)
    return rows, size // rows


def cube(size: int) -> tuple[int, int, int]:
    """Rows of a matrix split in four."""
    rows, columns = square(size)
    return 4, rows // 4, columns


def reduction(name: str, axis: Any) -> tuple[Any, ...]:
    function = getattr(np, name)
    keys: dict[str, Any] = {} if axis is None else {"axis": axis}
    return name, keys, square, lambda x, out: function(x, axis=axis, out=out)


def norm(x: np.ndarray, out: np.ndarray) -> None:
    flat = x.reshape(-1)
    np.sqrt(np.dot(flat, flat), out=out)


def repeat(x: np.ndarray, out: np.ndarray) -> None:
    np.copyto(out.reshape(*x.shape, 2), x[:, :, None])


def rearrangement(view: Callable[[np.ndarray], np.ndarray]) -> Callable[..., None]:
    return lambda x, out: np.copyto(out, view(x))


ROWS: dict[str, tuple[Any, ...]] = {
    **{f"{n} all": reduction(n, None) for n in ("sum", "max", "mean", "argmax")},
    **{f"{n} axis 0": reduction(n, 0) for n in ("sum", "max", "mean", "argmax", "prod")},
    **{f"{n} axis 1": reduction(n, 1) for n in ("sum", "max", "mean", "argmax", "prod")},
    "norm all": ("norm", {}, square, norm),
    "transpose": ("transpose", {}, square, rearrangement(lambda x: x.T)),
    "transpose 0 2 1": (
        "transpose",
        {"axes": (0, 2, 1)},
        cube,
        rearrangement(lambda x: x.transpose(0, 2, 1)),
    ),
    "transpose 1 0 2": (
        "transpose",
        {"axes": (1, 0, 2)},
        cube,
        rearrangement(lambda x: x.transpose(1, 0, 2)),
    ),
    "transpose 2 0 1": (
        "transpose",
        {"axes": (2, 0, 1)},
        cube,
        rearrangement(lambda x: x.transpose(2, 0, 1)),
    ),
    "flip axis 1": ("reverse", {"axis": 1}, square, rearrangement(lambda x: x[:, ::-1])),
    "slice step 2": (
        "slice",
        {"begin": (None, None), "end": (None, None), "step": (1, 2)},
        square,
        rearrangement(lambda x: x[:, ::2]),
    ),
    "repeat axis 1": ("repeat", {"repeats": 2, "axis": 1}, square, repeat),
}


def best(run: Callable[[], None], rounds: int) -> float:
    """Seconds of one call, the least of some rounds of many."""
    run()
    start = time.perf_counter()
    run()
    calls = max(1, int(SECONDS / max(time.perf_counter() - start, 1e-7)))
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            run()
        times.append((time.perf_counter() - start) / calls)
    return min(times)


def pair(row: tuple[Any, ...], dtype: str, size: int) -> tuple[Callable[[], None], ...]:
    """One call of Ferromix, and the same of NumPy."""
    import ferromix as mx
    from ferromix.dispatch import cpu
    from ferromix.ops.card import make

    op, attrs, shaped, reference = row
    shape = shaped(size // np.dtype(dtype).itemsize)
    x = np.random.default_rng(0).uniform(0.5, 1.5, shape).astype(dtype)
    a = mx.nd.array(x, dtype=dtype).handle
    card = make(op, attrs)
    descs = ((a.shape, a.dtype),)
    outs = cpu.infer(card, descs)
    prepared = cpu.prepare(card, descs, outs, False)
    out = mx.nd.zeros(outs[0][0], dtype=outs[0][1]).handle
    if op in ("transpose", "reverse", "slice", "repeat"):
        target = np.empty(out.shape, dtype)
    else:
        target = np.empty_like(x.sum() if op == "norm" else reference(x, None))

    def ours() -> None:
        prepared.invoke([a], [out], [1])
        out.wait_to_read()

    return ours, lambda: reference(x, target)


def measure(sizes: list[int], dtypes: list[str], rounds: int, only: str) -> None:
    """Prints one line of JSON for each row."""
    for name, row in ROWS.items():
        for dtype in dtypes if only in name else []:
            for size in sizes:
                calls = pair(row, dtype, size)
                turns = [[best(call, rounds) for call in calls] for _ in range(2)]
                found = [min(turn[i] for turn in turns) for i in (0, 1)]
                print(json.dumps([name, dtype, size, *found]), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--dtypes", nargs="+", default=["float32"])
    parser.add_argument("--only", default="")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        return measure(args.sizes, args.dtypes, args.rounds, args.only)
    table: dict[tuple[str, str], list[str]] = {}
    for threads in args.threads:
        env = {**os.environ, "FERROMIX_NUM_THREADS": str(threads)}
        command = [sys.executable, __file__, "--measure", *sys.argv[1:]]
        done = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
        for line in done.stdout.splitlines():
            name, dtype, _, ours, theirs = json.loads(line)
            cell = f"{theirs / ours:.2f} ({ours * 1e6:.1f} us)"
            table.setdefault((name, dtype), []).append(cell)
    heads = [f"{s >> 10} KiB, {t}" for t in args.threads for s in args.sizes]
    print("| operator | type |", " | ".join(heads), "|")
    print("|---|---|" + "---|" * len(heads))
    for (name, dtype), cells in table.items():
        print(f"| {name} | {dtype} |", " | ".join(cells), "|")


if __name__ == "__main__":
    main()
