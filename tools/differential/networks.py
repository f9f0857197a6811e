"""Random calls of the layers that most networks are made of, of their outputs and of tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from cases import FLOATS, NUMBERS, Case, Draw

REALS = ("float32", "float64")


def dense(draw: Draw) -> Case:
    """FullyConnected, dropout that drops nothing, activations."""
    dtype, shape = draw.one(REALS), draw.shape(2, 4)
    data, hidden, flat = draw.array(shape, dtype), draw.int(1, 9), draw.maybe(0.7)
    features = int(np.prod(shape[1:])) if flat else shape[-1]
    attrs = {"num_hidden": hidden, "flatten": flat, "no_bias": draw.maybe()}
    arrays = [data, draw.array((hidden, features), dtype), draw.array((hidden,), dtype)]
    plain = draw.array(draw.shape(), dtype)
    act = draw.one(("relu", "sigmoid", "softrelu", "softsign", "tanh"))
    leaky = {"act_type": draw.one(("leaky", "elu", "selu", "gelu")), "slope": draw.int(1, 7) / 8}
    slopes = draw.array(draw.one(((1,), shape[1:2])), dtype)
    zeros = {"p": 0.0, "mode": draw.one(("training", "always"))}
    return draw.one(
        [
            Case("FullyConnected", arrays[: 3 - attrs["no_bias"]], attrs),
            Case("Activation", [plain], {"act_type": act}),
            Case("LeakyReLU", [plain], leaky),
            Case("LeakyReLU", [data, slopes], {"act_type": "prelu"}),
            Case("Dropout", [plain], zeros),
        ]
    )


def convolved(draw: Draw) -> Case:
    """Convolutions and pooling in one to three dimensions."""
    rank, groups, dtype = draw.int(1, 3), draw.int(1, 2), draw.one(REALS)
    names = {"kernel": (1, 3), "stride": (1, 3), "dilate": (1, 2), "pad": (0, 2)}
    attrs: dict[str, Any] = {
        k: tuple(draw.int(*ends) for _ in range(rank)) for k, ends in names.items()
    }
    channels, filters = groups * draw.int(1, 3), groups * draw.int(1, 3)
    shape = (draw.int(1, 2), channels, *(draw.int(5, 8) for _ in range(rank)))
    weight = (filters, channels // groups, *attrs["kernel"])
    more = {"num_filter": filters, "num_group": groups, "no_bias": draw.maybe()}
    arrays = [draw.array(s, dtype) for s in [shape, weight, (filters,)][: 3 - more["no_bias"]]]
    pooled = {k: attrs[k] for k in ("kernel", "stride")}
    pooled["pad"] = tuple(min(p, k - 1) for p, k in zip(attrs["pad"], attrs["kernel"], strict=True))
    pooled["pool_type"] = draw.one(("max", "avg", "sum", "lp"))
    if pooled["pool_type"] == "lp":
        pooled["p_value"] = draw.int(1, 2)
    else:
        pooled["count_include_pad"] = draw.maybe()
    pooled["pooling_convention"] = draw.one(("valid", "full"))
    whole = {"kernel": (1,) * rank, "global_pool": True, "pool_type": draw.one(("max", "avg"))}
    return draw.one(
        [
            Case("Convolution", arrays, {**attrs, **more}),
            Case("Pooling", [arrays[0]], pooled),
            Case("Pooling", [arrays[0]], whole),
        ]
    )


def batch_norm(draw: Draw) -> Case:
    """BatchNorm on any axis, whose statistics are states."""
    shape, dtype = draw.shape(2, 4, 5), draw.one(REALS)
    axis = draw.int(-len(shape), len(shape) - 1) if draw.maybe() else 1
    small = [draw.array(shape[axis : axis + 1 or None], dtype) for _ in range(3)]
    state = draw.array(small[0].shape, dtype, 0.1, 2)
    attrs = {"axis": axis, "fix_gamma": False, "eps": 0.125, "momentum": draw.one((0.5, 0.75))}
    if draw.maybe(0.3):
        attrs["use_global_stats"] = True
    return Case("BatchNorm", [draw.array(shape, dtype), *small, state], attrs)


def softmaxes(draw: Draw) -> Case:
    """Softmax and its relatives along any axis."""
    shape, dtype = draw.shape(1, 4), draw.one(FLOATS)
    data, axis = draw.array(shape, dtype), draw.int(-len(shape), len(shape) - 1)
    attrs: dict[str, Any] = {"axis": axis}
    if draw.maybe(0.3):
        attrs["temperature"] = draw.one((0.5, 2.0))
    if draw.maybe(0.2):
        attrs["dtype"] = draw.one(REALS)
    rest = tuple(n for a, n in enumerate(shape) if a != axis % len(shape))
    lengths = draw.random.integers(1, shape[axis] + 1, rest).astype("int32")
    matrix = draw.array(draw.shape(2, 2), draw.one(REALS))
    labels = draw.random.integers(0, matrix.shape[1], len(matrix)).astype(matrix.dtype)
    masked = Case("softmax", [data, lengths], {**attrs, "use_length": True})
    return draw.one(
        [
            Case(draw.one(("softmax", "log_softmax", "softmin")), [data], attrs),
            masked if rest else Case("softmax", [data], attrs),
            Case("softmax_cross_entropy", [matrix, labels]),
        ]
    )


def outputs(draw: Draw) -> Case:
    """Outputs of networks, whose gradients are those of their losses."""
    shape, dtype = draw.shape(2, 4, 5), draw.one(REALS)
    data, label = draw.array(shape, dtype), draw.array(shape, dtype)
    scale = {"grad_scale": draw.one((1.0, 0.5))}
    name = draw.one(("Linear", "Logistic", "MAE")) + "RegressionOutput"
    attrs: dict[str, Any] = {"normalization": draw.one(("null", "batch", "valid")), **scale}
    kept, classes = shape[:1], shape[1]
    kind = draw.int(0, 2)
    if kind == 1:
        attrs["multi_output"], kept = True, (shape[0], *shape[2:])
    elif kind == 2:
        attrs["preserve_shape"], kept, classes = True, shape[:-1], shape[-1]
    else:
        data = data.reshape(shape[0], -1)
        classes = data.shape[1]
    if draw.maybe(0.3):
        attrs |= {"use_ignore": True, "ignore_label": float(draw.int(0, 1))}
    if draw.maybe(0.2) and kind != 1:
        attrs["smooth_alpha"] = 0.25
    labels = draw.random.integers(0, classes, kept).astype(dtype)
    valid = {"normalization": draw.one(("null", "batch", "valid")), "valid_thresh": 0.5, **scale}
    return draw.one(
        [
            Case(name, [data, label.reshape(data.shape)], scale),
            Case("SoftmaxOutput", [data, labels], attrs),
            Case("MakeLoss", [data], valid),
            Case("make_loss", [data]),
        ]
    )


def tables(draw: Draw) -> Case:
    """Rows of tables, places by several indices, parts of images."""
    dtype, index = draw.one(NUMBERS), draw.one(("int32", "int64", "float32", "float64"))
    rows, size = draw.int(1, 6), draw.int(1, 5)
    ids = draw.random.integers(-2, rows + 2, draw.shape(1, 3)).astype(index)
    table = draw.array((rows, size), dtype)
    attrs = {"input_dim": rows, "output_dim": size, "dtype": dtype}
    depth = draw.int(1, 2)
    shape, count = draw.shape(depth, depth + 2), draw.int(1, 3)
    flat = draw.random.permutation(int(np.prod(shape[:depth])))[:count]
    places = np.array(np.unravel_index(flat, shape[:depth]))  # which differ
    new = draw.array((len(flat), *shape[depth:]), dtype)
    twice = np.repeat(places, 2, 1)
    chosen = draw.random.integers(0, size, rows)
    images = [draw.array((1, 2, draw.int(4, 6), draw.int(4, 6)), "float32") for _ in range(2)]
    images[1] = images[1][:, :, : draw.int(1, 4), : draw.int(1, 4)]
    crop = {"center_crop": draw.maybe(), "num_args": 2}
    corner = {"offset": (draw.int(0, 1), draw.int(0, 1)), "h_w": (draw.int(1, 3), draw.int(1, 3))}
    single = table.astype("float32")
    return draw.one(
        [
            Case("Embedding", [ids, table], attrs),
            Case("batch_take", [table, chosen.astype("int32")]),
            Case("scatter_nd", [new, places.astype(index)], {"shape": shape}),
            Case("_backward_gather_nd", [new.repeat(2, 0), twice.astype(index)], {"shape": shape}),
            Case("argmax_channel", [single]),
            Case("fill_element_0index", [single, single[:, 0], chosen.astype("float32")]),
            Case("Crop", images, crop),
            Case("Crop", images[:1], {**corner, "num_args": 1}),
            Case("khatri_rao", [draw.array((draw.int(1, 4), size), "float32") for _ in range(2)]),
        ]
    )


FAMILIES: dict[str, Callable[[Draw], Case]] = {
    "dense": dense,
    "convolved": convolved,
    "batch_norm": batch_norm,
    "softmaxes": softmaxes,
    "outputs": outputs,
    "tables": tables,
}
