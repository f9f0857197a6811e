"""Layers that normalise, and softmax."""

from __future__ import annotations

from .layers import mean
from .site import Site, ints, translates

__all__: list[str] = []


@translates("BatchNorm", "_contrib_BatchNormWithReLU", "_contrib_SyncBatchNorm")
def _batch_norm(at: Site) -> list[str]:
    x, gamma, *rest = at.inputs
    if at.attrs["fix_gamma"]:
        shape = at.shape(1)
        gamma = at.op("Expand", at.number(1, at.dtype(1)), ints(*shape))
    axis, rank = at.attrs.get("axis", 1), at.rank()
    axis += rank if axis < 0 else 0
    order = [*range(rank)]
    order.insert(1, order.pop(axis))
    if axis != 1:
        x = at.transpose(x, *order)
    found = at.op("BatchNormalization", x, gamma, *rest, epsilon=at.attrs["eps"])
    if axis != 1:
        found = at.transpose(found, *(order.index(i) for i in range(rank)))
    return [at.op("Relu", found) if at.card.name.endswith("ReLU") else found]


def _normal(at: Site, x: str, *axes: int) -> str:
    """With a mean of 0 and a variance of 1 along some axes."""
    centred = at.op("Sub", x, mean(at, x, *axes))
    variance = mean(at, at.op("Mul", centred, centred), *axes)
    return at.op("Div", centred, at.op("Sqrt", at.op("Add", variance, at.number(at.attrs["eps"]))))


@translates("LayerNorm")
def _layer_norm(at: Site) -> list[str]:
    x, gamma, beta = at.inputs
    axis, rank = at.axis(), at.rank()
    if axis == rank - 1:
        return [at.op("LayerNormalization", x, gamma, beta, axis=-1, epsilon=at.attrs["eps"])]
    shape = [1] * rank
    shape[axis] = -1
    scaled = at.op("Mul", _normal(at, x, axis), at.reshape(gamma, shape))
    return [at.op("Add", scaled, at.reshape(beta, shape))]


@translates("GroupNorm")
def _group_norm(at: Site) -> list[str]:
    x, gamma, beta = at.inputs
    apart = _normal(at, at.reshape(x, [0, at.attrs["num_groups"], -1]), 2)
    scaled = at.op("Mul", apart, at.reshape(gamma, [-1, 1]))
    moved = at.op("Add", scaled, at.reshape(beta, [-1, 1]))
    return [at.op("Reshape", moved, at.op("Shape", x))]


@translates("InstanceNorm")
def _instance_norm(at: Site) -> str:
    return at.op("InstanceNormalization", *at.inputs, epsilon=at.attrs["eps"])


@translates("L2Normalization")
def _l2_normalization(at: Site) -> str:
    x, rank, mode = at.inputs[0], at.rank(), at.attrs["mode"]
    axes = {"instance": range(1, rank), "channel": [1], "spatial": range(2, rank)}[mode]
    total = at.op("Mul", x, x)
    if axes:
        total = at.op("ReduceSum", total, ints(*axes), keepdims=1)
    return at.op("Div", x, at.op("Sqrt", at.op("Add", total, at.number(at.attrs["eps"]))))


@translates("LRN")
def _lrn(at: Site) -> list[str]:
    size, factor, power, bias = (at.attrs[n] for n in ("nsize", "alpha", "beta", "knorm"))
    return [at.op("LRN", at.inputs[0], size=size, alpha=factor, beta=power, bias=bias)]


def _softmax(at: Site, kind: str, sign: float = 1) -> str:
    x, axis = at.inputs[0], at.axis()
    scale = sign / (at.attrs["temperature"] or 1)
    if scale != 1:
        x = at.op("Mul", x, at.number(scale))
    if at.attrs["use_length"]:
        return _masked(at, x, axis)
    found = at.op(kind, x, axis=axis)
    return at.cast(found, at.out_dtype()) if at.out_dtype() != at.dtype() else found


def _masked(at: Site, x: str, axis: int) -> str:
    """Softmax over the first elements, zero behind them."""
    rank = at.rank()
    shape = [1] * rank
    shape[axis] = -1
    lengths = at.op("Unsqueeze", at.indices(1), ints(axis))
    places = at.op("Range", *(ints(n)[0] for n in (0, at.extent(axis), 1)))
    within = at.op("Less", at.reshape(places, shape), lengths)
    least = at.number(-1e30 if at.dtype() != "float16" else -6e4)
    found = at.op("Softmax", at.op("Where", within, x, least), axis=axis)
    return at.op("Where", within, found, at.number(0))


@translates("softmax")
def _plain_softmax(at: Site) -> str:
    return _softmax(at, "Softmax")


@translates("softmin")
def _softmin(at: Site) -> str:
    return _softmax(at, "Softmax", -1)


@translates("log_softmax")
def _log_softmax(at: Site) -> str:
    if at.attrs["use_length"]:
        raise at.error("a length for each row")
    return _softmax(at, "LogSoftmax")


@translates("SoftmaxOutput")
def _softmax_output(at: Site) -> str:
    if at.attrs["multi_output"]:
        return at.op("Softmax", at.inputs[0], axis=1)
    if at.attrs["preserve_shape"] or at.rank() == 2:
        return at.op("Softmax", at.inputs[0], axis=-1)
    flat = at.op("Softmax", at.op("Flatten", at.inputs[0], axis=1), axis=1)
    return at.op("Reshape", flat, at.op("Shape", at.inputs[0]))


@translates("LinearRegressionOutput", "MAERegressionOutput", "SVMOutput")
def _as_it_is(at: Site) -> str:
    return at.op("Identity", at.inputs[0])


@translates("LogisticRegressionOutput")
def _logistic(at: Site) -> str:
    return at.op("Sigmoid", at.inputs[0])
