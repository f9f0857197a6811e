"""Random calls of layers that normalize, of sequences and of losses."""

from __future__ import annotations

import numpy as np
from cases import NUMBERS, Case, Draw

__all__ = ["layers"]

REALS = ("float32", "float64")


def layers(draw: Draw) -> Case:
    """One of them."""
    return draw.one((normalization, batch_norm, sequence, loss, internal))(draw)


def normalization(draw: Draw) -> Case:
    """Rows, instances, groups, neighbours."""
    shape, dtype = draw.shape(3, 4, 5), draw.one(REALS)
    axis, groups = draw.int(-len(shape), len(shape) - 1), draw.one((1, 2, 3))
    eps = {"eps": draw.one((2.0**-17, 2.0**-10, 0.125))}  # MXNet rounds it to float32
    shown = {"output_mean_var": draw.maybe(), **eps}

    def of(n: int, dtype: str) -> list[np.ndarray]:
        return [draw.array((n,), dtype), draw.array((n,), dtype)]

    grouped = (shape[0], groups * draw.int(1, 3), *shape[2:])
    image = (*draw.shape(2, 2, 6), 3, 2)
    lrn = {"nsize": draw.int(1, 7), "alpha": draw.one((1e-4, 1.0)), "beta": draw.one((0.75, 0.5))}
    return draw.one(
        [
            Case(
                "LayerNorm",
                [draw.array(shape, dtype), *of(shape[axis], dtype)],
                {"axis": axis, **shown},
            ),
            Case("InstanceNorm", [draw.array(shape, "float32"), *of(shape[1], "float32")], eps),
            Case(
                "GroupNorm",
                [draw.array(grouped, dtype), *of(groups, dtype)],
                {"num_groups": groups, **shown},
            ),
            Case("LRN", [draw.array(image, "float32")], {"knorm": draw.one((1.0, 2.0)), **lrn}),
        ]
    )


def batch_norm(draw: Draw) -> Case:
    """Relatives of BatchNorm, in prediction."""
    shape = draw.shape(2, 4, 5)
    channels = shape[1:2]
    small = [draw.array(channels, "float32") for _ in range(3)]
    inputs = [draw.array(shape, "float32"), *small, draw.array(channels, "float32", 0.1, 2)]
    attrs = {"fix_gamma": draw.maybe(), "eps": draw.one((1e-3, 0.1))}
    if len(shape) == 4 and draw.maybe():  # MXNet's needs oneDNN, which takes images.
        return Case("_contrib_BatchNormWithReLU", inputs, attrs)
    return Case("_contrib_SyncBatchNorm", inputs, {"key": f"of {draw.int(0, 2**40)}", **attrs})


def sequence(draw: Draw) -> Case:
    """Masks, ends and turns, with lengths that MXNet can stand."""
    shape, dtype = draw.shape(2, 4, 5), draw.one(NUMBERS)
    name = draw.one(("SequenceMask", "SequenceLast", "SequenceReverse"))
    axis = 0 if name == "SequenceReverse" else draw.int(0, 1)
    data, attrs = draw.array(shape, dtype), {"axis": axis}
    if name == "SequenceMask":
        attrs["value"] = draw.int(-2, 2)
    if draw.maybe(0.3):
        return Case(name, [data], attrs)
    more = 2 if name == "SequenceMask" else 0
    lengths = draw.random.integers(1, shape[axis] + 1 + more, shape[1 - axis])
    own = draw.one(NUMBERS)
    return Case(name, [data, lengths.astype(own)], {**attrs, "use_sequence_length": True})


def loss(draw: Draw) -> Case:
    """CTCLoss with labels that fit, and two other outputs of networks."""
    batch, classes, count = draw.int(1, 4), draw.int(2, 6), draw.int(1, 4)
    steps = 2 * count + draw.int(0, 4)
    first = draw.maybe()
    labels = draw.random.integers(int(first), classes - 1 + int(first), (batch, count))
    lengths = draw.random.integers(1, count + 1, batch).astype("float32")
    padded = np.where(np.arange(count) < lengths[:, None], labels, 0 if first else -1)
    data = draw.array((steps, batch, classes), "float32")
    times = draw.random.integers(2 * count, steps + 1, batch).astype("float32")
    attrs = {"blank_label": "first" if first else "last"}
    both = {"use_data_lengths": True, "use_label_lengths": True, **attrs}
    shape = draw.shape(2, 4, 5)
    margin = {"margin": 0.5, "use_linear": draw.maybe()}
    wide = draw.array(shape, "float32")
    return draw.one(
        [
            Case("CTCLoss", [data, padded.astype("float32")], attrs),
            Case("ctc_loss", [data, labels.astype("float32"), times, lengths], both),
            Case("SVMOutput", [wide, np.zeros(shape[:-1], "float32")], margin),
            Case("SoftmaxActivation", [wide], {"mode": draw.one(("instance", "channel"))}),
        ]
    )


def internal(draw: Draw) -> Case:
    """Operators behind the front."""
    shape, dtype = draw.shape(), draw.one(NUMBERS)
    data, other = draw.array(shape, dtype), draw.array(shape, dtype)
    number = {"scalar": draw.int(-3, 3)}
    return draw.one(
        [
            Case("_identity_with_attr_like_rhs", [data, other]),
            Case("_scatter_elemwise_div", [data, np.abs(other) + 1]),
            Case("_scatter_plus_scalar", [data], number),
            Case("_scatter_minus_scalar", [data], number),
            Case("_rnn_param_concat", [data, other], {"dim": draw.int(0, len(shape) - 1)}),
        ]
    )
