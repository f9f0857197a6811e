"""The CUDA sources of pooling, run on the host, give what the Rust kernels give."""

from __future__ import annotations

import ctypes

import ml_dtypes
import numpy as np
import pytest
from host import NEEDS_COMPILER, Kernels, build
from ops.run import Call, to_array
from test_cuda_values import numpy_dtype
from test_recipe_cases import Runner

import ferromix as mx
from ferromix import dispatch
from ferromix.dispatch.recipe import Limits
from ferromix.dispatch.recipes.pooling import quick
from ferromix.ops.card import make

pytestmark = [pytest.mark.slow, NEEDS_COMPILER]

FLOATS = ["float32", "float64", "float16", "bfloat16"]
KINDS = {
    "max": {"pool_type": "max"},
    "avg": {"pool_type": "avg"},
    "sum": {"pool_type": "sum"},
    "squares": {"pool_type": "lp", "p_value": 2},
    "cubes": {"pool_type": "lp", "p_value": 3},
}
CASES = [
    ((2, 3, 9), {"kernel": (3,), "stride": (2,), "pad": (1,)}),
    ((2, 2, 7, 6), {"kernel": (3, 2), "stride": (2, 1), "pad": (1, 1)}),
    ((1, 2, 8, 7), {"kernel": (2, 3), "stride": (3, 2), "pooling_convention": "full"}),
    ((2, 1, 4, 5, 3), {"kernel": (2, 2, 2), "pad": (1, 0, 1)}),
    ((2, 3, 4, 5), {"kernel": (2, 2), "global_pool": True}),
    ((2, 5, 6, 3), {"kernel": (3, 3), "stride": (2, 2), "layout": "NHWC"}),
    ((1, 2, 6, 6), {"kernel": (3, 3), "pad": (2, 2), "count_include_pad": False}),
]


@pytest.fixture(scope="module")
def kernels() -> Kernels:
    return build("pooling")


def pool_of(shape, out, attrs) -> ctypes.Structure:
    last = attrs.get("layout", "").endswith("C")
    rank = len(shape) - 2
    spatial = slice(1, 1 + rank) if last else slice(2, None)
    outer, inner = (shape[0], shape[-1]) if last else (shape[0] * shape[1], 1)
    whole = attrs.get("global_pool", False)
    kernel = shape[spatial] if whole else attrs["kernel"]
    stride = (1,) * rank if whole else attrs.get("stride", (1,) * rank)
    pad = (0,) * rank if whole else attrs.get("pad", (0,) * rank)
    axes = [(1, 1, 1, 1, 0)] * (3 - rank)
    axes += zip(shape[spatial], out[spatial], kernel, stride, pad, strict=True)
    words = [outer, inner, *(n for axis in axes for n in axis)]
    words.append(int(attrs.get("count_include_pad", True)))
    kind = type("Pool", (ctypes.Structure,), {"_fields_": [("at", ctypes.c_int64 * len(words))]})
    return kind((ctypes.c_int64 * len(words))(*words))


def on_the_cpu(card, arrays):
    handles = [a.handle for a in arrays]
    return [mx.nd.NDArray(out).asnumpy() for out in dispatch.invoke(card, handles)]


def like(found, wanted, dtype, name):
    eps = float(ml_dtypes.finfo(numpy_dtype(dtype)).eps)
    found, wanted = (a.astype(np.float64) for a in (found, wanted))
    np.testing.assert_allclose(found, wanted, rtol=8 * eps, atol=32 * eps, err_msg=name)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("kind", KINDS)
def test_values_and_gradients_are_those_of_the_cpu(kernels, kind, dtype):
    rng = np.random.default_rng(2)
    for shape, attrs in CASES:
        card = make("Pooling", {**KINDS[kind], **attrs})
        # Whole numbers, so that maxima are met more than once.
        x = rng.integers(-4, 5, shape).astype(numpy_dtype(dtype))
        data = mx.nd.array(x, dtype=dtype)
        (wanted,) = on_the_cpu(card, [data])
        out = np.zeros(wanted.shape, x.dtype)
        pool, write = pool_of(shape, wanted.shape, attrs), ctypes.c_int(1)
        kernels.launch(f"pooling_{kind}_{dtype}", (2,), (32,), x, out, pool, write)
        like(out, wanted, dtype, f"{kind} {shape} {attrs}")

        grad = rng.standard_normal(wanted.shape).astype(x.dtype)
        data.attach_grad()
        with mx.autograd.record():
            y = mx.nd.Pooling(data, **{**KINDS[kind], **attrs})
        y.backward(mx.nd.array(grad, dtype=dtype))
        result = np.ones(shape, x.dtype)
        given = grad, x, out, result, pool
        entry = f"pooling_{kind}_backward_{dtype}"
        kernels.launch(entry, (3,), (32,), *given, ctypes.c_int(3))
        like(result, 1 + data.grad.asnumpy().astype(np.float64), dtype, f"{entry} {shape} {attrs}")
        kernels.launch(entry, (3,), (32,), *given, ctypes.c_int(0))
        like(result, 1 + data.grad.asnumpy().astype(np.float64), dtype, f"{entry} {shape} {attrs}")


@pytest.mark.parametrize("dtype", FLOATS)
def test_what_stands_where_the_maxima_are(kernels, dtype):
    rng = np.random.default_rng(2)
    for shape, attrs in CASES:
        x = rng.integers(-4, 5, shape).astype(numpy_dtype(dtype))
        grad = rng.standard_normal(shape).astype(x.dtype)
        data, given = (mx.nd.array(a, dtype=dtype) for a in (x, grad))
        out = mx.nd.Pooling(data, pool_type="max", **attrs)
        card = make("_backward_backward_Pooling", {"pool_type": "max", **attrs})
        (wanted,) = on_the_cpu(card, [given, data, out])
        result = np.zeros(wanted.shape, x.dtype)
        pool, write = pool_of(shape, wanted.shape, attrs), ctypes.c_int(1)
        y = np.ascontiguousarray(out.asnumpy()).astype(x.dtype)
        kernels.launch(f"pooling_pick_{dtype}", (2,), (32,), grad, x, y, result, pool, write)
        np.testing.assert_array_equal(result, wanted.astype(x.dtype))


def test_windows_of_nan_and_of_padding_alone(kernels):
    x = np.array([[[np.nan, np.nan, 1, np.nan]]], np.float32)
    attrs = {"kernel": (2,), "stride": (2,), "pad": (1,)}
    wanted = mx.nd.Pooling(mx.nd.array(x), pool_type="max", **attrs).asnumpy()
    out = np.zeros_like(wanted)
    pool = pool_of(x.shape, wanted.shape, attrs)
    kernels.launch("pooling_max_float32", (1,), (4,), x, out, pool, ctypes.c_int(1))
    np.testing.assert_array_equal(out, wanted)


class Shifted(Runner):
    """Runs with arrays that start an element after 16 bytes."""

    def arrays(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        given, outs = super().arrays()
        return [*map(shifted, given)], [*map(shifted, outs)]


def shifted(x: np.ndarray) -> np.ndarray:
    memory = np.zeros(x.nbytes + 32, np.uint8)
    start = -memory.ctypes.data % 16 + x.itemsize
    placed = memory[start : start + x.nbytes].view(x.dtype).reshape(x.shape)
    placed[...] = x
    return placed


GPU, HOST = Limits(processors=132, threads=256), Limits(processors=1, threads=32)
RUNS = [(Runner, GPU), (Shifted, GPU), (Runner, HOST)]
MAX = {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1)}
FAST = [
    ("whole", (3, 5, 7, 7), {"global_pool": True, "kernel": (1, 1)}),
    ("whole", (2, 3, 16, 33), {"global_pool": True, "kernel": (1, 1)}),
    ("whole", (1, 2, 3, 40, 101), {"global_pool": True, "kernel": (1, 1, 1)}),
    ("whole", (2, 2, 9), {"kernel": (11,), "pad": (1,)}),
    ("whole", (2, 2, 6, 5), {"kernel": (7, 7), "stride": (8, 8), "pad": (1, 2)}),
    ("whole", (2, 7, 5, 3), {"kernel": (5, 3), "stride": (9, 9), "count_include_pad": False}),
    ("flat", (2, 3, 12, 16), MAX),
    ("flat", (2, 3, 11, 13), MAX),
    ("flat", (2, 2, 8, 24), {"kernel": (2, 2), "stride": (2, 2)}),
    ("flat", (2, 2, 7, 8), {"kernel": (5, 4), "pad": (2, 2), "count_include_pad": False}),
    ("flat", (1, 2, 8, 7), {"kernel": (2, 3), "stride": (3, 2), "pooling_convention": "full"}),
    ("flat", (2, 3, 33), {"kernel": (4,), "stride": (3,), "pad": (2,)}),
    ("flat", (3, 6, 8, 1), {**MAX, "layout": "NHWC"}),
]
"""What kernels take neighbours, and cases for them."""


def entries_of(runner: Runner) -> list[str]:
    _, made = runner.made(*runner.arrays())
    assert made is not None
    return [one.entry for one in made.launches]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("kind_of_run", "limits"), RUNS, ids=["gpu", "shifted", "host"])
@pytest.mark.parametrize(("word", "shape", "attrs"), FAST)
def test_planes_and_windows_of_neighbours(sources, word, shape, attrs, kind_of_run, limits, dtype):
    rng = np.random.default_rng(4)
    for kind in ["max", "avg", "sum", *["squares", "cubes"] * (word == "whole")]:
        given = {**KINDS[kind], **attrs}
        data = to_array(rng.integers(-4, 5, shape), dtype)
        call = Call(make("Pooling", given), [data], False)
        runner = kind_of_run(sources, call, limits)
        assert entries_of(runner) == [f"pooling_{word}_{kind}_{dtype}"]
        runner.check(4)
        (out,) = dispatch.invoke(make("Pooling", given), [data])
        grad = to_array(rng.standard_normal(out.shape), dtype)
        back = Call(make("_backward_Pooling", given), [grad, data, out], False)
        runner = kind_of_run(sources, back, limits)
        if kind == "max" and word == "flat":
            assert entries_of(runner) == [f"pooling_{w}_{dtype}" for w in ("places", "placed")]
        elif kind in ("avg", "sum") and word == "whole":
            assert entries_of(runner) == [f"pooling_whole_{kind}_backward_{dtype}"]
        runner.check(8)


@pytest.mark.parametrize("dtype", FLOATS)
def test_maxima_of_numbers_that_compare_as_none_or_as_the_least(sources, dtype):
    least = float(ml_dtypes.finfo(numpy_dtype(dtype)).min)
    x = np.array([np.nan, -np.inf, least, 1, np.inf, least, -np.inf, np.nan])
    rows = np.stack([np.roll(x, k)[:8] for k in range(8)])[None, None]
    whole = {"global_pool": True, "kernel": (1, 1)}
    for attrs in (MAX, whole, {"kernel": (2, 2)}, {"kernel": (1, 3)}):
        given = {**KINDS["max"], **attrs}
        data = to_array(rows, dtype)
        Runner(sources, Call(make("Pooling", given), [data], False)).check(1)
        (out,) = dispatch.invoke(make("Pooling", given), [data])
        grad = to_array(np.arange(1, 1 + out.size).reshape(out.shape), dtype)
        Runner(sources, Call(make("_backward_Pooling", given), [grad, data, out], False)).check(4)


def test_quotients_by_products():
    rng = np.random.default_rng(6)
    for divisor in [*range(1, 70), 2**30, 2**30 + 1, 2**31 - 1, *rng.integers(1, 2**31, 200)]:
        factor, shift = quick(int(divisor))
        most = 2**31 - 1
        edges = most - most % int(divisor)
        for n in [0, most, edges, edges - 1, *map(int, rng.integers(0, 2**31, 50))]:
            assert n * factor >> shift == n // int(divisor)
            assert n * factor < 2**64
