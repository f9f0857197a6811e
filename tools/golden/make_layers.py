"""Writes tests/golden/ops/layers.npz: what MXNet 1.9.1 computes in layers that normalize, in
sequences and in losses, forward and back.

Run it once with a Python that has MXNet 1.9.1; nothing else in Ferromix needs MXNet. The file is as
`make_ops.py` describes.
"""

import numpy as np
from make_ops import Recorder


def norms(r: Recorder) -> None:
    """Axes, groups, sizes of windows."""
    for axis in (-1, 0, 1):
        data = r.normal(3, 4, 5)
        scales = {"gamma": r.normal(data.shape[axis]), "beta": r.normal(data.shape[axis])}
        r.symbolic("LayerNorm", {"axis": axis, "eps": 0.01}, {"data": data, **scales})
    scales = {"gamma": r.normal(4), "beta": r.normal(4)}
    r.symbolic("InstanceNorm", {}, {"data": r.normal(2, 4, 3, 2), **scales})
    for groups in (1, 2):
        scales = {"gamma": r.normal(groups), "beta": r.normal(groups)}
        inputs = {"data": r.normal(2, 4, 3), **scales}
        r.symbolic("GroupNorm", {"num_groups": groups}, inputs)
    for attrs in (
        {"nsize": 3},
        {"nsize": 4, "alpha": 0.5},
        {"nsize": 5, "alpha": 1.0, "beta": 0.6},
    ):
        r.symbolic("LRN", attrs, {"data": r.normal(2, 6, 3, 2)})


def sequences(r: Recorder) -> None:
    """With lengths along both axes."""
    lengths = np.array([2, 4, 1], np.float32)
    for op in ("SequenceMask", "SequenceLast", "SequenceReverse"):
        inputs = {"data": r.normal(4, 3, 2), "sequence_length": lengths}
        r.symbolic(op, {"use_sequence_length": True}, inputs)
    for op in ("SequenceMask", "SequenceLast"):
        inputs = {"data": r.normal(3, 4, 2), "sequence_length": lengths}
        r.symbolic(op, {"use_sequence_length": True, "axis": 1}, inputs)


def losses(r: Recorder) -> None:
    """Blanks at both ends, lengths, hinges."""
    first, last = [[1, 2, 0], [3, 3, 1]], [[1, 0, -1], [2, 2, 0]]
    for blank, label in (("first", first), ("last", last)):
        inputs = {"data": r.normal(6, 2, 4), "label": np.array(label, np.float32)}
        r.symbolic("CTCLoss", {"blank_label": blank}, inputs)
        lengths = {
            "data_lengths": np.array([5, 4], np.float32),
            "label_lengths": np.array([2, 1], np.float32),
        }
        attrs = {"blank_label": blank, "use_data_lengths": True, "use_label_lengths": True}
        r.symbolic("CTCLoss", attrs, {**inputs, **lengths})
    for linear in (True, False):
        attrs = {"margin": 0.7, "regularization_coefficient": 0.5, "use_linear": linear}
        label = np.array([0, 2, 1.9, -1], np.float32)
        r.symbolic("SVMOutput", attrs, {"data": r.normal(4, 3), "label": label})


def main() -> None:
    recorder = Recorder("layers")
    for part in (norms, sequences, losses):
        part(recorder)
    recorder.save()


if __name__ == "__main__":
    main()
