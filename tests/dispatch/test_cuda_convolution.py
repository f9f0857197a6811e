"""The CUDA sources of convolution, run on the host, give what the Rust kernels give."""

from __future__ import annotations

import numpy as np
import pytest
from host import NEEDS_COMPILER
from products import check, numbers, rounded

from ferromix.dispatch import infer
from ferromix.ops.card import make

pytestmark = [pytest.mark.slow, NEEDS_COMPILER]

CASES = [
    ((2, 3, 9), {"kernel": (3,), "num_filter": 6}),
    ((2, 6, 11), {"kernel": (4,), "num_filter": 10, "stride": (3,), "pad": (2,), "num_group": 2}),
    ((2, 3, 7, 6), {"kernel": (3, 2), "num_filter": 7, "stride": (2, 1), "pad": (1, 1)}),
    ((2, 5, 9, 8), {"kernel": (3, 3), "num_filter": 5, "dilate": (2, 1), "stride": (2, 2)}),
    ((1, 6, 8, 9), {"kernel": (2, 3), "num_filter": 6, "dilate": (2, 4), "stride": (4, 2)}),
    ((2, 8, 5, 5), {"kernel": (1, 1), "num_filter": 9}),
    ((2, 8, 5, 5), {"kernel": (1, 1), "num_filter": 6, "stride": (2, 3), "pad": (1, 0)}),
    ((2, 6, 6, 7), {"kernel": (3, 3), "num_filter": 6, "pad": (1, 1), "num_group": 6}),
    ((2, 3, 6, 7), {"kernel": (5, 5), "num_filter": 6, "pad": (2, 2), "num_group": 3}),
    (
        (1, 5, 4, 5, 6),
        {"kernel": (2, 3, 2), "num_filter": 5, "pad": (1, 0, 1), "stride": (1, 2, 2)},
    ),
    ((0, 5, 4, 4), {"kernel": (3, 3), "num_filter": 5}),
    ((1, 70, 9, 9), {"kernel": (2, 2), "num_filter": 40}),
]
ASKED = [(0, 0, 0), (1, 1, 1), (3, 3, 3), (1, 0, 3)]


def arrays(shape, attrs, dtype):
    rng = np.random.default_rng(shape)
    channels = shape[1] // attrs.get("num_group", 1)
    filters = attrs["num_filter"]
    given = [shape, (filters, channels, *attrs["kernel"]), (filters,)]
    ((out, _),) = infer(make("Convolution", attrs), tuple((s, dtype) for s in given))
    return [numbers(rng, s, dtype) for s in (*given, out)]


TYPES = ["float32", *(pytest.param(t, marks=pytest.mark.nightly) for t in ("float64", "bfloat16"))]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("processors", [1, 20])
@pytest.mark.parametrize("case", range(len(CASES)))
def test_values_and_gradients(sources, dtype, bias, processors, case):
    shape, attrs = CASES[case]
    data, weight, shift, grad = arrays(shape, attrs, dtype)
    attrs = {**attrs, "no_bias": not bias}
    for req in (0, 1, 3):
        given = [data, weight, *[shift] * bias]
        check(sources, "Convolution", attrs, given, [req], processors, 80)
    for reqs in ASKED:
        given = [grad, data, weight]
        check(sources, "_backward_Convolution", attrs, given, reqs[: 2 + bias], processors, 80)


def on_tiles(sources, dtype, tf32=False):
    """Runs of convolutions and gradients that take tiles of all sizes; gives the entry points.

    With `tf32` all numbers are such, as small tiles do not round them.
    """
    ran = set()
    cases = [
        ((2, 70, 9, 8), (3, 3), 66, 1),
        ((2, 40, 9, 9), (3, 3), 40, 1),
        ((1, 8, 6), (3,), 8, 1),
    ]
    cases.append(((2, 2, 40, 40), (3, 3), 2, 2))
    for shape, kernel, filters, groups in cases:
        attrs = {"kernel": kernel, "num_filter": filters, "num_group": groups}
        made = arrays(shape, attrs, dtype)
        data, weight, shift, grad = map(rounded, made) if tf32 else made
        for processors in (1, 20):
            given = [data, weight, shift]
            ran |= check(sources, "Convolution", attrs, given, [1], processors, 200, tf32)
            given = [grad, data, weight]
            ran |= check(
                sources, "_backward_Convolution", attrs, given, [3] * 3, processors, 200, tf32
            )
    return ran


def entries_of(dtype, *sizes):
    tiles = {f"convolution_{n}{s}_{dtype}" for n in ("", "data_", "weight_") for s in sizes}
    sums = {f"reduce_sum_{dtype}", f"reduce_sum_{dtype}_finish"}
    return tiles | sums | {f"convolution_{dtype}_finish"}


OF_TILES = ["float32", "float64", "float16", pytest.param("bfloat16", marks=pytest.mark.nightly)]


@pytest.mark.parametrize("dtype", OF_TILES)
def test_tiles_of_all_sizes(sources, dtype):
    """Halves go to tensor cores where tiles are not small."""
    sizes = ["medium", "small", "few", *["large"] * (dtype != "float64")]
    assert on_tiles(sources, dtype) == entries_of(dtype, *sizes)


@pytest.mark.nightly  # minutes; products of matrices are compared every time
def test_float32_on_tensor_cores(sources):
    sizes = ["tf32_large", "tf32_medium", "small", "few"]
    assert on_tiles(sources, "float32", tf32=True) == entries_of("float32", *sizes)
