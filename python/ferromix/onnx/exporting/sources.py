"""Operators without inputs, which are constants, and random numbers."""

from __future__ import annotations

import numpy as np

from .site import Site, translates

__all__: list[str] = []


@translates("_zeros", "_ones", "_full", "_zeros_without_dtype")
def _filled(at: Site) -> str:
    value = {"_ones": 1}.get(at.card.name, at.attrs.get("value", 0))
    start = np.array([value], at.out_dtype())
    shape = np.array(at.out_shape(), np.int64)
    return at.op("ConstantOfShape", shape, value=at.tensor(start))


@translates("_arange")
def _arange(at: Site) -> str:
    count = at.out_shape()[0] // at.attrs["repeat"]
    start = 0 if at.attrs["stop"] is None and not at.attrs["infer_range"] else at.attrs["start"]
    numbers = start + at.attrs["step"] * np.arange(count)
    return at.op("Identity", np.repeat(numbers, at.attrs["repeat"]).astype(at.out_dtype()))


@translates("_contrib_arange_like")
def _arange_like(at: Site) -> str:
    shape, repeat = at.out_shape(), at.attrs["repeat"]
    count = int(np.prod(shape))
    numbers = at.attrs["start"] + at.attrs["step"] * (np.arange(count) // repeat)
    return at.op("Identity", numbers.astype(at.out_dtype()).reshape(shape))


@translates("_linspace")
def _linspace(at: Site) -> str:
    ends = at.attrs["start"], at.attrs["stop"], at.attrs["num"]
    numbers = np.linspace(*ends, endpoint=at.attrs["endpoint"])
    return at.op("Identity", numbers.astype(at.out_dtype()))


@translates("_eye")
def _eye(at: Site) -> str:
    rows, columns = at.out_shape()
    return at.op("Identity", np.eye(rows, columns, at.attrs["k"]).astype(at.out_dtype()))


def _random(at: Site, kind: str, **attrs: float) -> str:
    shape, dtype = list(at.out_shape()), at.element_type(at.out_dtype())
    return at.op(kind, shape=shape, dtype=dtype, **attrs)


@translates("_random_uniform", "_random_uniform_like")
def _uniform(at: Site) -> str:
    return _random(at, "RandomUniform", low=at.attrs["low"], high=at.attrs["high"])


@translates("_random_normal", "_random_normal_like")
def _normal(at: Site) -> str:
    return _random(at, "RandomNormal", mean=at.attrs["loc"], scale=at.attrs["scale"])


@translates("_sample_multinomial")
def _multinomial(at: Site) -> list[str]:
    if at.attrs["get_prob"] or at.rank() != 2:
        raise at.error("get_prob, or probabilities of other than two axes")
    count = int(np.prod(at.attrs["shape"] or (1,)))
    dtype = at.element_type(at.out_dtype())
    found = at.op("Multinomial", at.op("Log", at.inputs[0]), sample_size=count, dtype=dtype)
    return [at.reshape(found, at.out_partial())]
