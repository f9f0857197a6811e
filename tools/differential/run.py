"""Random calls of operators in Ferromix and in MXNet 1.9.1: how many agree, and which do not.

usage: python tools/differential/run.py --mxnet PYTHON [--count N] [--seed N] [--family NAME]
                                        [--way WAY]

PYTHON is an interpreter whose environment has MXNet 1.9.1. A seed decides the way of a call, too:
plain, with gradients, with one array for several inputs, into an input, or from views with gaps.
Prints a table by family in Markdown, then how many disagreements each decision of `decisions.py`
explains, and each kind that none does, with the seed of its first case, which `--seed S --count 1
--family F` repeats, and the operators that no call had. It is an error if a kind is unexplained.
"""

from __future__ import annotations

import argparse
import pickle
import select
import struct
import subprocess
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import basics
import cases
import decisions
import detection
import distributions
import linear
import networks
import numpy as np
import sampling
import spatial
import steps
import ways
from cases import Case, Draw, known
from layers import layers
from recurrent import recurrent

import ferromix as mx
from ferromix.ops import card

FAMILIES = {
    **cases.FAMILIES,
    **basics.FAMILIES,
    **distributions.FAMILIES,
    **networks.FAMILIES,
    **spatial.FAMILIES,
    **sampling.FAMILIES,
    **linear.FAMILIES,
    **steps.FAMILIES,
    **detection.FAMILIES,
    "layers": layers,
    "recurrent": recurrent,
}
# Of these one array cannot stand for two: states, labels, times, indices.
DIFFERENT = ("BatchNorm", "Output", "hawkes", "scatter_elemwise", "ctc", "CTC", "box_encode")
TOLERANCE = {"float16": 4e-3, "float32": 2e-5, "float64": 1e-10}
# Gradients add up more, in MXNet with factors in single precision.
GRADIENTS = {"float32": 1e-4, "float64": 1e-9}
# Seconds in which MXNet answers a call, or is taken to hang.
PATIENCE = 20


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

    def run(self, case: Case, way: str) -> tuple[str, Any]:
        """Outputs and gradients, or why there are none."""
        found = self.ask(case, way)
        if found[0] == "error" and "primitive" in found[1]:
            # After one such failure of oneDNN others follow, which say nothing.
            self.restart()
            return self.ask(case, way)
        # A call before this one may have written where a process dies only later.
        return self.ask(case, way) if found[0] == "crash" else found

    def restart(self) -> None:
        """A new process instead of this one, whether it is dead or hangs."""
        self.process.kill()
        self.process.wait()
        self.start()

    def ask(self, case: Case, way: str) -> tuple[str, Any]:
        """The same of the process as it is."""
        inputs = [(x.dtype.name, x.shape, np.ascontiguousarray(x).tobytes()) for x in case.inputs]
        data = pickle.dumps((case.name, inputs, case.attrs, way, arguments(case)), protocol=4)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(struct.pack("<I", len(data)) + data)
        self.process.stdin.flush()
        answers = select.select([self.process.stdout], [], [], PATIENCE)[0]
        head = self.process.stdout.read(4) if answers else b""
        if len(head) < 4:
            self.restart()
            return "crash", "the process ended" if answers else "the process hangs"
        kind, answer = pickle.loads(self.process.stdout.read(struct.unpack("<I", head)[0]))
        if kind == "ok":
            answer = [np.frombuffer(d, t).reshape(s) for t, s, d in answer]
        return kind, answer


def arguments(case: Case) -> int:
    """How many inputs may have a gradient: states have none."""
    found = card.find(case.name)
    return len(case.inputs) if found.variadic else len(found.arguments)


def way_of(draw: Draw, case: Case) -> str:
    """How the operator is called, where that makes sense."""
    way = draw.one(ways.WAYS)
    updates = "_update" in case.name or case.name == "reset_arrays"
    half = any(x.dtype == np.float16 for x in case.inputs)
    drawn = any(word in case.name for word in ("random", "sample", "shuffle"))
    if "gradient" in way and (updates or half or drawn):
        return "plain"
    if "shared" in way and (updates or drawn or any(w in case.name for w in DIFFERENT)):
        return way.removeprefix("shared").strip() or "plain"
    return way


def array_of(values: np.ndarray, way: str) -> mx.nd.NDArray:
    """The values, as every second element of a larger array if asked for."""
    if way != "views" or values.ndim == 0:
        return mx.nd.array(values, dtype=values.dtype.name)
    return mx.nd.array(values.repeat(2, -1), dtype=values.dtype.name)[..., ::2]


def here(case: Case, way: str) -> tuple[str, Any]:
    """The same in Ferromix."""
    try:
        arrays = [array_of(x, way) for x in case.inputs]
        function = getattr(mx.nd, case.name, None) or getattr(mx.nd._internal, case.name)
        arrays, outputs = ways.call(
            mx, case.name, function, arrays, case.attrs, way, arguments(case)
        )
        return "ok", outputs + ways.changed(case.name, arrays)
    except Exception as e:
        return "error", f"{type(e).__name__}: {e}"[:300]


def fits(case: Case, theirs: tuple[str, Any]) -> bool:
    """Whether the result can be written into the first input."""
    if theirs[0] != "ok" or len(theirs[1]) != 1 or not case.inputs:
        return False
    return all(getattr(theirs[1][0], k) == getattr(case.inputs[0], k) for k in ("shape", "dtype"))


def slack_of(case: Case, outputs: list[np.ndarray], way: str) -> float:
    """What reals may differ by: the least exact type of the call decides."""
    tolerance = GRADIENTS if "gradient" in way else TOLERANCE
    return max([tolerance.get(x.dtype.name, 0.0) for x in (*case.inputs, *outputs)], default=0.0)


def difference(
    case: Case, ours: tuple[str, Any], theirs: tuple[str, Any], way: str, least: float = 0.0
) -> str | None:
    """What is different by more than `least`, in a few words; None where the two agree."""
    if "crash" in theirs:
        return "MXNet's process dies"
    if ours[0] != theirs[0]:
        who = "Ferromix" if ours[0] == "error" else "MXNet"
        return f"{who} refuses: {(ours if who == 'Ferromix' else theirs)[1].splitlines()[0][:120]}"
    if ours[0] == "error":
        return None
    if len(ours[1]) != len(theirs[1]):
        return f"{len(ours[1])} outputs instead of {len(theirs[1])}"
    real = max(least, slack_of(case, theirs[1], way))
    for a, b in zip(ours[1], theirs[1], strict=True):
        if a.shape != b.shape:
            return f"shape {a.shape} instead of {b.shape}"
        if a.dtype != b.dtype:
            return f"{a.dtype} instead of {b.dtype}"
        slack = real if a.dtype.kind == "f" else 0.0
        if not np.allclose(a, b, rtol=slack, atol=slack, equal_nan=True):
            apart = ~np.isclose(a, b, rtol=slack, atol=slack, equal_nan=True)
            return f"value {a[apart][0]} instead of {b[apart][0]}"
    return None


def agree(
    case: Case, ours: tuple[str, Any], theirs: tuple[str, Any], way: str, least: float
) -> bool:
    """Whether reals that differ by at most `least` are all that is different."""
    return difference(case, ours, theirs, way, least) is None


class Counts:
    """What came of the cases of a family, or of all."""

    def __init__(self) -> None:
        self.cases, self.of = 0, Counter[str]()

    def add(self, ours: tuple[str, Any], wrong: str | None, why: str | None) -> None:
        """One more case."""
        self.cases += 1
        if wrong is None:
            self.of["agree"] += 1
            self.of["refuse"] += ours[0] == "error"
        elif why is None:
            self.of["unexplained"] += 1
        else:
            self.of["only MXNet refuses" if wrong.startswith("MXNet") else "documented"] += 1

    def row(self, name: str) -> str:
        """A row of the table."""
        return f"| {name} | {self.cases} | " + " | ".join(str(self.of[k]) for k in COLUMNS) + " |"


COLUMNS = ("agree", "refuse", "only MXNet refuses", "documented", "unexplained")


def heading(of: str) -> str:
    """What stands above the rows."""
    names = ("agree", "of these, both refuse", *COLUMNS[2:])
    return f"| {of} | cases | " + " | ".join(names) + " |\n" + "|---" * 7 + "|"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mxnet", required=True, help="an interpreter with MXNet 1.9.1")
    parser.add_argument("--count", type=int, default=500, help="cases of each family")
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    parser.add_argument("--family", choices=FAMILIES, action="append")
    parser.add_argument("--way", choices=sorted(set(ways.WAYS)), help="for all cases that may")
    parser.add_argument("--all", action="store_true", help="print each disagreement, not each kind")
    options = parser.parse_args()
    oracle, notes, seen = Oracle(options.mxnet), [], set[str]()
    by_way, reasons = dict[str, Counts](), Counter[str]()
    print(heading("family"))
    for family in options.family or FAMILIES:
        counts, kinds = Counts(), set[tuple[str, ...]]()
        for seed in range(options.seed, options.seed + options.count):
            draw = Draw(seed)
            case = FAMILIES[family](draw)
            way = way_of(draw, case)
            if options.way and way != options.way:
                continue
            seen.add(card.find(case.name).name if known(case) else case.name)
            theirs = oracle.run(case, way)
            if way == "out" and not fits(case, theirs):
                way = "plain"
            ours = here(case, way) if known(case) else ("error", "there is no such operator")
            wrong = difference(case, ours, theirs, way)
            why = None
            if wrong is not None:
                within = partial(agree, case, ours, theirs, way)
                why = decisions.reason(decisions.Found(case, way, wrong, within))
                reasons[why or "unexplained"] += 1
            for each in (counts, by_way.setdefault(way, Counts())):
                each.add(ours, wrong, why)
            kind = (case.name, way, (wrong or "").split(" ")[0])
            if wrong is not None and why is None and (options.all or kind not in kinds):
                kinds.add(kind)
                notes.append(f"* {family} {seed}, {way}: `{case}`: {wrong}")
        print(counts.row(family), flush=True)
    print("\n" + heading("way"))
    print("\n".join(counts.row(way) for way, counts in sorted(by_way.items())))
    print("\n" + "\n".join(f"* {count}: {why}" for why, count in reasons.most_common()))
    print("\n" + "\n".join(notes))
    if not options.family:
        missing = sorted({card.find(n).name for n in card.names()} - seen)
        print(f"\nin no case: {', '.join(missing)}")
    raise SystemExit(bool(reasons["unexplained"]))


if __name__ == "__main__":
    main()
