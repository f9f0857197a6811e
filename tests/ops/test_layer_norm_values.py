"""What LayerNorm makes of rows that are constant, or not finite."""

import numpy as np
import pytest

import ferromix as mx


def normed(rows):
    rows = np.atleast_2d(np.asarray(rows, "float32"))
    width = rows.shape[1]
    one, zero = mx.nd.ones((width,)), mx.nd.zeros((width,))
    found = mx.nd.LayerNorm(mx.nd.array(rows), one, zero, eps=1e-5, output_mean_var=True)
    return [x.asnumpy() for x in found]


@pytest.mark.parametrize("width", [1, 3, 7, 64, 100, 1000, 2100, 9000])
@pytest.mark.parametrize("value", [123456.7, 1000.1, -3e-5])
def test_constant_rows_become_zero(value, width):
    """The mean of so many is rounded; what is lost must not be taken for a distance."""
    out, mean, _ = normed(np.full((2, width), value))
    np.testing.assert_allclose(mean, value, rtol=2e-7)
    np.testing.assert_array_equal(np.abs(out) < 1e-2, True)


@pytest.mark.parametrize("width", [4, 5000])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_deviations_of_what_is_not_finite_are_nan(bad, width):
    rows = np.ones((2, width))
    rows[1, width // 2] = bad
    out, mean, std = normed(rows)
    assert np.isnan(std.ravel()).tolist() == [False, True]
    assert not np.isfinite(mean.ravel()[1])
    assert np.isnan(out[1]).all()
    np.testing.assert_array_equal(out[0], 0)
