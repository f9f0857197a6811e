"""Random calls of operators in Ferromix and in MXNet 1.9.1: how many agree, and which do not.

usage: python tools/differential/run.py --mxnet PYTHON [--count N] [--seed N] [--family NAME]

PYTHON is an interpreter whose environment has MXNet 1.9.1. Prints a table by family in Markdown,
then each kind of disagreement once, with the seed of its first case, which
`--seed S --count 1 --family F` repeats.
"""

from __future__ import annotations

import argparse
import pickle
import struct
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import distributions
import numpy as np
import sampling
from cases import FAMILIES as PLAIN
from cases import Case, Draw, known
from detection import DETECTION
from layers import layers
from linear import FAMILIES as LINEAR
from recurrent import recurrent
from spatial import FAMILIES as SPATIAL

import ferromix as mx

FAMILIES = {
    **PLAIN,
    **distributions.FAMILIES,
    **SPATIAL,
    **sampling.FAMILIES,
    **LINEAR,
    **DETECTION,
    "layers": layers,
    "recurrent": recurrent,
}
TOLERANCE = {"float16": 4e-3, "float32": 2e-5, "float64": 1e-10}


class Oracle:
    """MXNet in its own process, started anew where it dies."""

    def __init__(self, python: str) -> None:
        self.command = [python, str(Path(__file__).with_name("oracle.py"))]
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def run(self, case: Case) -> tuple[str, Any]:
        inputs = [(x.dtype.name, x.shape, np.ascontiguousarray(x).tobytes()) for x in case.inputs]
        data = pickle.dumps((case.name, inputs, case.attrs), protocol=4)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(struct.pack("<I", len(data)) + data)
        self.process.stdin.flush()
        head = self.process.stdout.read(4)
        if len(head) < 4:
            self.process.wait()
            self.start()
            return "crash", "the process ended"
        kind, answer = pickle.loads(self.process.stdout.read(struct.unpack("<I", head)[0]))
        if kind == "ok":
            answer = [np.frombuffer(d, t).reshape(s) for t, s, d in answer]
        return kind, answer


def here(case: Case) -> tuple[str, Any]:
    """The same in Ferromix."""
    try:
        arrays = [mx.nd.array(x, dtype=x.dtype.name) for x in case.inputs]
        found = getattr(mx.nd, case.name)(*arrays, **case.attrs)
        found = found if isinstance(found, list | tuple) else [found]
        outputs = [a.asnumpy() for a in found]
        outputs += [a.asnumpy() for a in arrays] if "_update" in case.name else []
        return "ok", outputs
    except Exception as e:
        return "error", f"{type(e).__name__}: {e}"[:300]


def difference(ours: tuple[str, Any], theirs: tuple[str, Any]) -> str | None:
    """What is different, in a few words; None where the two agree."""
    if "crash" in theirs:
        return "MXNet's process dies"
    if ours[0] != theirs[0]:
        who = "Ferromix" if ours[0] == "error" else "MXNet"
        return f"{who} refuses: {(ours if who == 'Ferromix' else theirs)[1].splitlines()[0][:120]}"
    if ours[0] == "error":
        return None
    if len(ours[1]) != len(theirs[1]):
        return f"{len(ours[1])} outputs instead of {len(theirs[1])}"
    for a, b in zip(ours[1], theirs[1], strict=True):
        if a.shape != b.shape:
            return f"shape {a.shape} instead of {b.shape}"
        if a.dtype != b.dtype:
            return f"{a.dtype} instead of {b.dtype}"
        slack = TOLERANCE.get(a.dtype.name, 0.0)
        if not np.allclose(a, b, rtol=slack, atol=slack, equal_nan=True):
            worst = np.nanargmax(np.abs(a.astype(float) - b.astype(float)))
            return f"value {a.flat[worst]} instead of {b.flat[worst]}"
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mxnet", required=True, help="an interpreter with MXNet 1.9.1")
    parser.add_argument("--count", type=int, default=500, help="cases of each family")
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    parser.add_argument("--family", choices=FAMILIES, action="append")
    options = parser.parse_args()
    oracle, notes = Oracle(options.mxnet), []
    print("| family | cases | agree | both refuse |\n|---|---|---|---|")
    for family in options.family or FAMILIES:
        counts, kinds = Counter[str](), Counter[tuple[str, str]]()
        for seed in range(options.seed, options.seed + options.count):
            case = FAMILIES[family](Draw(seed))
            ours = here(case) if known(case) else ("error", "there is no such operator")
            theirs = oracle.run(case)
            wrong = difference(ours, theirs)
            counts["refuse"] += wrong is None and ours[0] == "error"
            counts["agree"] += wrong is None
            if wrong is not None:
                kind = (case.name, wrong.split(" ")[0])
                kinds[kind] += 1
                if kinds[kind] == 1:
                    notes.append(f"* {family} {seed}: `{case}`: {wrong}")
        print(
            f"| {family} | {options.count} | {counts['agree']} | {counts['refuse']} |", flush=True
        )
    print("\n" + "\n".join(notes))


if __name__ == "__main__":
    main()
