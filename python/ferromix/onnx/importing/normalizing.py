"""Layers that normalise, and softmax."""

from __future__ import annotations

import numpy as np

from ...symbol import Symbol
from .use import Use, reads

__all__: list[str] = []


@reads("BatchNormalization")
def _batch_norm(at: Use) -> list[Symbol]:
    if at.attrs.get("spatial", 1) != 1:
        raise at.error("spatial=0")
    eps, momentum = at.attrs.get("epsilon", 1e-5), at.attrs.get("momentum", 0.9)
    options = {"eps": eps, "momentum": momentum, "fix_gamma": False}
    return [at.last("BatchNorm", *(at.symbol(i) for i in range(5)), **options)]


@reads("InstanceNormalization")
def _instance_norm(at: Use) -> Symbol:
    return at.last("InstanceNorm", *at.symbols(), eps=at.attrs.get("epsilon", 1e-5))


@reads("LayerNormalization")
def _layer_norm(at: Use) -> list[Symbol]:
    axis, options = at.axis(-1), {"axis": -1, "eps": at.attrs.get("epsilon", 1e-5)}
    if at.outputs > 1:
        raise at.error("mean and deviation as outputs")
    x, gamma = at.symbol(0), at.symbol(1)
    beta = at.symbol(2) if at.has(2) else at.op("zeros_like", gamma)
    if axis == at.rank() - 1:
        return [at.last("LayerNorm", x, gamma, beta, **options)]
    # Over several axes, as one.
    flat = at.op("Reshape", x, shape=(*[0] * axis, -1))
    factors = [at.op("Reshape", v, shape=(-1,)) for v in (gamma, beta)]
    return [at.last("reshape_like", at.op("LayerNorm", flat, *factors, **options), x)]


@reads("GroupNormalization")
def _group_norm(at: Use) -> Symbol:
    groups = at.attrs["num_groups"]
    ones = at.parameter(1, np.ones(groups, at.constant(1).dtype))
    zeros = at.parameter(2, np.zeros(groups, at.constant(2).dtype))
    eps = at.attrs.get("epsilon", 1e-5)
    found = at.op("GroupNorm", at.symbol(), ones, zeros, num_groups=groups, eps=eps)
    each = at.extents()[1] // groups if at.opset < 21 else 1
    shape = (1, -1, *[1] * (at.rank() - 2))
    scale, shift = (at.parameter(i, np.repeat(at.constant(i), each).reshape(shape)) for i in (1, 2))
    return at.last("broadcast_add", at.op("broadcast_mul", found, scale), shift)


@reads("LRN")
def _lrn(at: Use) -> list[Symbol]:
    alpha, beta = at.attrs.get("alpha", 1e-4), at.attrs.get("beta", 0.75)
    options = {"alpha": alpha, "beta": beta, "knorm": at.attrs.get("bias", 1.0)}
    return [at.last("LRN", at.symbol(), nsize=at.attrs["size"], **options)]


@reads("LpNormalization")
def _lp_normalization(at: Use) -> Symbol:
    axis, power = at.axis(-1), at.attrs.get("p", 2)
    length = at.op("norm", at.symbol(), ord=power, axis=axis, keepdims=True)
    return at.last("broadcast_div", at.symbol(), length)


@reads("Softmax", "LogSoftmax")
def _softmax(at: Use) -> Symbol:
    operator = "softmax" if at.kind == "Softmax" else "log_softmax"
    axis = at.axis(-1 if at.opset >= 13 else 1)
    if at.opset >= 13 or axis == at.rank() - 1:
        return at.last(operator, at.symbol(), axis=axis)
    # Before version 13: over all axes from this one on.
    shape = at.shape()
    flat = at.op("Reshape", at.symbol(), shape=(*[0] * axis, -1))
    return at.last("reshape_like", at.op(operator, flat, axis=axis), at.symbol()) if shape else flat
