"""CTCLoss against the sum over all paths, written out; MXNet's numbers are in test_golden.py."""

import itertools

import numpy as np
from scipy import special

from ..case import Case, Refused


def collapsed(path, blank):
    return [c for c, _ in itertools.groupby(path) if c != blank]


def loss_of(scores, labels, blank):
    """Minus the logarithm of the probability of the labels, over all paths."""
    logs = special.log_softmax(scores, axis=-1)
    steps, classes = scores.shape
    paths = itertools.product(range(classes), repeat=steps)
    found = [
        logs[np.arange(steps), list(path)].sum()
        for path in paths
        if collapsed(path, blank) == labels
    ]
    return -special.logsumexp(found) if found else 0.0


def ctc(use_data_lengths=False, use_label_lengths=False, blank_label="first"):
    def oracle(data, label, *lengths):
        steps, batch, classes = data.shape
        first = blank_label == "first"
        more = list(lengths)
        counts = more.pop(0) if use_data_lengths else [steps] * batch
        found = []
        for b in range(batch):
            labels = [int(c) for c in label[b]]
            if use_label_lengths:
                labels = labels[: int(more[0][b])]
            else:
                labels = list(itertools.takewhile(lambda c: c != (0 if first else -1), labels))
            found.append(loss_of(data[: int(counts[b]), b], labels, 0 if first else classes - 1))
        return np.array(found)

    return oracle


BOTH = {"use_data_lengths": True, "use_label_lengths": True}
CASES = [
    Case(
        "CTCLoss",
        ctc(**a),
        ((steps, batch, 4), (batch, labels), *[(batch,)] * lengths),
        a,
        ("normal", f"below{classes}", *["below3"] * lengths),
        steps=32,
        orders=1,
        fixed=("label", "data_lengths", "label_lengths")[: 1 + lengths],
        mixed=(None, "int32", *["float32"] * lengths),
    )
    for steps, batch, labels, classes, lengths, a in [
        (5, 3, 2, 4, 0, {}),
        (4, 2, 2, 3, 0, {"blank_label": "last"}),
        (4, 3, 3, 3, 2, {**BOTH, "blank_label": "last"}),
        (3, 0, 2, 3, 0, {}),
    ]
] + [
    Case(
        "CTCLoss",
        ctc(use_label_lengths=True, blank_label="last"),
        ((4, 2, 4), (2, 2), (2,)),
        {"use_label_lengths": True, "blank_label": "last"},
        ("normal", "below3", "below3"),
        steps=32,
        orders=1,
        fixed=("label", "label_lengths"),
        mixed=(None, None, None),
    )
]
REFUSED = [
    Refused("CTCLoss", ("'label'", "(3, 2)", "(2, -1)"), ((4, 2, 3), (3, 2))),
    Refused("CTCLoss", ("'label'", "more labels", "2 steps"), ((2, 1, 3), (1, 3))),
    Refused("CTCLoss", ("no classes",), ((2, 1, 0), (1, 1))),
    Refused("CTCLoss", ("blank_label", "first"), None, {"blank_label": "middle"}),
]
