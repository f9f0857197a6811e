"""Sequences of different lengths, step by step."""

import numpy as np

from ..case import Case, Refused


def by_step(work):
    """An oracle with the steps in front, and lengths that count all where there are none."""

    def oracle_of(axis=0, use_sequence_length=False, **rest):
        def oracle(x, lengths=None):
            steps = np.moveaxis(x, axis, 0)
            if lengths is None:
                lengths = np.full(steps.shape[1], len(steps))
            found = work(steps, np.trunc(lengths).astype(int), **rest)
            return found if found.ndim < x.ndim else np.moveaxis(found, 0, axis)

        return oracle

    return oracle_of


@by_step
def mask(x, lengths, value=0.0):
    kept = np.arange(len(x))[:, None] < lengths
    return np.where(kept.reshape(kept.shape + (1,) * (x.ndim - 2)), x, value)


@by_step
def reverse(x, lengths):
    found = x.copy()
    for b, n in enumerate(lengths):
        found[:n, b] = x[:n, b][::-1]
    return found


@by_step
def last(x, lengths):
    return np.stack([x[n - 1, b] for b, n in enumerate(lengths)])


LONG = {"use_sequence_length": True}
ROWS = [
    ("SequenceMask", mask, (3, 4, 2), {**LONG, "value": -1.0}, "below5"),
    ("SequenceMask", mask, (4, 3), LONG, "below5"),
    ("SequenceMask", mask, (3, 4, 2), {**LONG, "axis": 1, "value": 2.0}, "small"),
    ("SequenceMask", mask, (3, 4), {}, None),
    ("SequenceMask", mask, (3, 0, 2), LONG, "below3"),
    ("SequenceReverse", reverse, (4, 3, 2), LONG, "below5"),
    ("SequenceReverse", reverse, (4, 5), LONG, "below5"),
    ("SequenceReverse", reverse, (4, 2, 3, 2), {}, None),
    ("SequenceLast", last, (4, 3, 2), LONG, "positive"),
    ("SequenceLast", last, (3, 4), {**LONG, "axis": 1}, "above1"),
    ("SequenceLast", last, (4, 3, 2), {}, None),
]
CASES = [
    Case(
        op,
        oracle(**a),
        (shape, *[(shape[1 - a.get("axis", 0)],)] * (domain is not None)),
        a,
        ("normal", *["above1" if op == "SequenceLast" else domain] * (domain is not None)),
        fixed=("sequence_length",) * (domain is not None),
        mixed=(None, own) if domain else (),
    )
    for (op, oracle, shape, a, domain), own in zip(ROWS, ["float32", "float16"] * 6, strict=False)
]
REFUSED = [
    *[
        Refused(op, ("'data'", "(3,)", "2"), ((3,), (3,)), LONG)
        for op in ("SequenceMask", "SequenceReverse", "SequenceLast")
    ],
    Refused("SequenceMask", ("'sequence_length'", "(3,)", "(2,)"), ((3, 2), (3,)), LONG),
    Refused("SequenceMask", ("axis", "2"), None, {"axis": 2}),
    Refused("SequenceReverse", ("axis", "1"), None, {"axis": 1}),
    Refused("SequenceLast", ("one step", "(0, 2)"), ((0, 2),)),
]
