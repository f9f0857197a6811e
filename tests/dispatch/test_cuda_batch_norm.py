"""The CUDA sources of BatchNorm, run on the host, give what the CPU gives."""

from __future__ import annotations

import ctypes
from itertools import product

import numpy as np
import pytest
from host import NEEDS_COMPILER, Kernels, build

from ferromix import _core
from ferromix.ndarray import NDArray
from ferromix.ops.card import make

pytestmark = [pytest.mark.slow, NEEDS_COMPILER]

CASES = [((4, 3, 5), 1), ((6, 7), 1), ((2, 5, 3, 4), 1), ((3, 4, 6), 2), ((5, 2), 0), ((1, 1), 1)]
LAUNCHES = [((1,), (1, 1)), ((2,), (4, 8)), ((1,), (1, 32))]
ATTRS = {"eps": 0.01, "momentum": 0.75}


@pytest.fixture(scope="module")
def kernels() -> Kernels:
    return build("batch_norm")


def words(kind, *values):
    made = type("Words", (ctypes.Structure,), {"_fields_": [("at", kind * len(values))]})
    return made((kind * len(values))(*values))


class Norm(ctypes.Structure):
    _fields_ = (("whole", ctypes.c_int64 * 6), ("real", ctypes.c_double * 2))


def norm_of(shape, axis, batch, fix_gamma):
    outer, inner = (int(np.prod(s)) for s in (shape[:axis], shape[axis + 1 :]))
    whole = (ctypes.c_int64 * 6)(outer, shape[axis], inner, batch, fix_gamma, 0)
    return Norm(whole, (ctypes.c_double * 2)(ATTRS["eps"], ATTRS["momentum"]))


def on_the_cpu(name, inputs, dtype, count, reqs, olds, attrs, train):
    """All outputs of a card, states included, for requests and what was there."""
    arrays = []
    for values in (*inputs, *olds):
        arrays.append(_core.Array(values.shape, dtype))
        arrays[-1].write_from(values.view(np.uint8).reshape(-1))
    card = make(name, attrs)
    descs = [(a.shape, dtype) for a in arrays[: len(inputs)]]
    given = card.kernel_attrs(train)
    outs = [(a.shape, dtype) for a in arrays[len(inputs) :]]
    prepared = _core.Prepared(name, card.kernel_name(), given, descs, outs)
    prepared.invoke(arrays[: len(inputs)], arrays[len(inputs) :], reqs)
    assert len(outs) == count
    return [NDArray(a).asnumpy() for a in arrays[len(inputs) :]]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("fix_gamma", [False, True])
def test_forward_and_backward(kernels, dtype, train, fix_gamma):
    rng = np.random.default_rng(4)
    close = {"rtol": 1e-5, "atol": 1e-5} if dtype == "float32" else {"rtol": 1e-12, "atol": 1e-12}
    for (shape, axis), (grid, block), reqs in product(
        CASES, LAUNCHES, ([1] * 5, [3, 0, 1, 3, 0], [0, 3, 3, 1, 1])
    ):
        attrs = {**ATTRS, "axis": axis, "fix_gamma": fix_gamma}
        channels = (shape[axis],)
        x, grad = (rng.standard_normal(shape).astype(dtype) for _ in range(2))
        small = [rng.standard_normal(channels).astype(dtype) for _ in range(3)]
        small.append(rng.random(channels).astype(dtype))
        olds = [rng.standard_normal(s).astype(dtype) for s in (shape, *[channels] * 4)]
        norm = norm_of(shape, axis, train, fix_gamma)
        wanted = on_the_cpu("BatchNorm", [x, *small], dtype, 3, reqs[:3], olds[:3], attrs, train)
        found = [a.copy() for a in olds[:3]]
        by = words(ctypes.c_uint64, *(a.ctypes.data for a in (*small, *found[1:])))
        rest = norm, words(ctypes.c_int64, *reqs)
        kernels.launch(f"batch_norm_forward_{dtype}", grid, block, by, x, found[0], *rest)
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a, b, err_msg=f"{shape} {axis} {block} {reqs}", **close)

        mean, inverse = small[1], 1 + small[3]
        inputs = [grad, x, small[0], mean, inverse, *small[2:]]
        wanted = on_the_cpu("_backward_BatchNorm", inputs, dtype, 5, reqs, olds, attrs, train)
        found = [a.copy() for a in olds]
        places = (small[0], mean, inverse, *found[1:3], *small[2:], *found[3:])
        by = words(ctypes.c_uint64, *(a.ctypes.data for a in places))
        entry = f"batch_norm_backward_{dtype}"
        kernels.launch(entry, grid, block, by, grad, x, found[0], *rest)
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a, b, err_msg=f"{shape} {axis} {block} {reqs}", **close)


def test_moving_statistics_may_be_changed_where_they_are(kernels):
    shape, dtype = (4, 6, 5), "float64"
    x = np.random.default_rng(0).standard_normal(shape)
    grad, gamma, mean, var = x + 1, np.ones(6), np.zeros(6), np.ones(6)
    of_batch = x.mean((0, 2)), 1 / np.sqrt(x.var((0, 2)) + ATTRS["eps"])
    outs = [np.zeros(shape), np.zeros(6), np.zeros(6)]
    places = (gamma, *of_batch, *outs[1:], mean, var, mean, var)
    by = words(ctypes.c_uint64, *(a.ctypes.data for a in places))
    entry, inputs = f"batch_norm_backward_{dtype}", (grad, x, outs[0])
    for batch, rest in ((False, 0.0), (True, 0.25)):
        norm, reqs = norm_of(shape, 1, batch, False), words(ctypes.c_int64, 1, 1, 1, 2, 2)
        kernels.launch(entry, (2,), (2, 16), by, *inputs, norm, reqs)
        np.testing.assert_allclose(mean, rest * x.mean((0, 2)), rtol=1e-12)
        np.testing.assert_allclose(var, 1 - rest + rest * x.var((0, 2)), rtol=1e-12)
