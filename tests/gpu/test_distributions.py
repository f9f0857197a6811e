"""Numbers of distributions on a GPU are those of the CPU with the same seed."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import ferromix as mx

from .device import races

GPU = mx.gpu(0)
LAWS = {
    "exponential": [(0.5,), (3.0,)],
    "gamma": [(0.3, 2.0), (1.0, 1.0), (7.5, 0.1)],
    "poisson": [(0.0,), (0.7,), (9.9,), (10.0,), (300.0,)],
    "negative_binomial": [(0, 0.5), (3, 0.4), (40, 0.05)],
    "generalized_negative_binomial": [(2.0, 0.0), (0.0, 1.0), (3.0, 0.7), (50.0, 0.1)],
}
TYPES = ["float32", "float64", "float16", "bfloat16"]


def close(found, expected, dtype):
    """Counts are whole, and others differ by the last bits of a logarithm or a power."""
    found, expected = (x.astype("float64").asnumpy() for x in (found, expected))
    eps = float(ml_dtypes.finfo(dtype).eps)
    wrong = ~np.isclose(found, expected, rtol=40 * eps, atol=1e-6, equal_nan=True)
    assert wrong.mean() <= 0.002, (found[wrong], expected[wrong])


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("law", LAWS)
def test_attributes(law, dtype):
    draw = getattr(mx.nd, f"random_{law}")
    for params in LAWS[law]:
        pairs = []
        for ctx in (GPU, mx.cpu()):
            mx.random.seed(5)
            pairs.append(draw(*params, shape=(37, 14), dtype=dtype, ctx=ctx))
        assert pairs[0].context == GPU
        close(*pairs, dtype)
    assert races() == ""


@pytest.mark.parametrize(
    ("low", "high", "dtype"),
    [
        (0, 6, "int32"),
        (-(2**31), 2**31 - 1, "int32"),
        (-5, 2**40, "int64"),
        (-(2**63), 2**63 - 1, "int64"),
    ],
)
def test_whole_numbers(low, high, dtype):
    pairs = []
    for ctx in (GPU, mx.cpu()):
        mx.random.seed(7)
        pairs.append(mx.nd.random.randint(low, high, shape=(501,), dtype=dtype, ctx=ctx).asnumpy())
    np.testing.assert_array_equal(*pairs)
    assert len(set(pairs[0])) > 5
    assert races() == ""


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("law", ["normal", *LAWS])
def test_tensors_of_parameters(law, dtype):
    """Also those that make no distribution."""
    rows = [*LAWS.get(law, [(0.0, 1.0), (-3.0, 0.5)]), (-1.0, 0.5), (np.nan, np.nan)]
    width = len(rows[0])
    columns = np.array([row[:width] for row in rows]).T
    pairs = []
    for ctx in (GPU, mx.cpu()):
        mx.random.seed(6)
        given = [mx.nd.array(c, ctx=ctx) for c in columns]
        pairs.append(getattr(mx.nd, f"sample_{law}")(*given, shape=(5, 13), dtype=dtype))
    close(*pairs, dtype)
    assert races() == ""


@pytest.mark.parametrize("dtype", TYPES)
def test_uniform_numbers_of_tensors(dtype):
    """Also where no number of the type lies within, and of ends that make no interval."""
    ends = [(0, 1), (-1, 0), (2.1, 2.9), (0, 1e9), (2.0001, 2.0002), (3, 3), (1e-9, 1e-8)]
    ends += [(-1e9, 1e-30), (5, -5), (np.nan, 1), (0, np.inf), (-1e39, 1e39), (np.inf, np.inf)]
    low, high = np.array(ends, np.float64).T
    pairs = []
    for ctx in (GPU, mx.cpu()):
        mx.random.seed(6)
        given = [mx.nd.array(x, ctx=ctx, dtype="float64") for x in (low, high)]
        drawn = mx.nd.sample_uniform(*given, shape=(61,), dtype=dtype)
        pairs.append(drawn.astype("float64").asnumpy())
    np.testing.assert_array_equal(*pairs)
    assert races() == ""
