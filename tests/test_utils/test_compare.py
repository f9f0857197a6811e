"""Comparisons of arrays: what is equal, and what is said of what is not."""

import numpy as np
import pytest

import ferromix as mx
from ferromix import test_utils as t

A = np.arange(12.0).reshape(3, 4)
B = A.copy()
B[1, 2] += 0.5
B[2, 0] -= 1


def test_tolerances_are_those_of_the_less_precise_type():
    assert t.get_rtol() == 1e-5
    assert t.get_atol() == 1e-20
    assert t.get_rtol(dtype=np.float32) == 1e-4
    assert t.get_atol(dtype="float16") == 0.1
    assert t.get_rtol(0.5) == 0.5
    assert t.get_atol(dtype=np.int32) == 0
    assert t.get_tols(np.ones(2, np.float16), np.ones(2), None, None) == (0.01, 0.1)
    assert t.get_tols(A, 1.0, {np.float64: 0.25}, 3) == (0.25, 3)
    assert t.get_tolerance(mx.nd.ones(2), None, t.default_rtols()) == 1e-4
    assert t.effective_dtype(mx.nd.ones(2)) == t.default_dtype()
    assert t.default_atols()[np.dtype("float32")] == 1e-3
    assert t.default_numeric_eps()[np.dtype("float32")] == 2.0**-9
    assert (t.get_etol(), t.get_etol(0.5)) == (0, 0.5)
    half = mx.nd.ones(2, dtype="bfloat16")
    assert t.get_tols(half, half, None, None) == (0.01, 0.1)


def test_the_message_has_the_place_and_the_values_of_the_largest_error():
    with pytest.raises(AssertionError) as error:
        t.assert_almost_equal(A, B, names=("out", "wanted"))
    text = str(error.value)
    # 1 / (1e-5 * 7) times the tolerance
    assert "Error 14285.714286 exceeds tolerance rtol=1.000000e-05, atol=1.000000e-20" in text
    assert "(mismatch 16.666667%)" in text
    assert "maximum error: (2, 0), out=8.00000000, wanted=7.00000000" in text
    assert "Location of error: (1, 2), out=6.00000000, wanted=6.50000000" in text


def test_few_mismatches_are_listed():
    with pytest.raises(AssertionError) as error:
        t.assert_almost_equal(np.zeros((40, 50)), np.ones((40, 50)))
    assert "at least 0.550000%" in str(error.value)
    assert str(error.value).count("Location of error") == 10
    with pytest.raises(AssertionError, match=r"Error 50000.0"):
        t.assert_almost_equal(1.0, 2.0)


@pytest.mark.parametrize("wrap", [np.asarray, mx.nd.array], ids=["numpy", "ndarray"])
def test_arrays_of_both_kinds_are_compared(wrap):
    a, b = wrap(A), wrap(B)
    assert t.same(a, wrap(A))
    assert not t.same(a, b)
    assert t.almost_equal(a, wrap(A))
    assert not t.almost_equal(a, b)
    assert t.almost_equal(a, b, rtol=0.2)
    assert t.almost_equal(a, b, atol=1)
    t.assert_almost_equal(a, A)
    t.assert_allclose(a, wrap(A))
    with pytest.raises(AssertionError, match=r"rtol=1.000000e-07"):
        t.assert_allclose(a, b)


def test_nan_and_infinities():
    nan = A.copy()
    nan[0, 0] = np.nan
    inf = np.array([np.inf, 1])
    assert not t.almost_equal(nan, nan)
    assert t.almost_equal(nan, nan, equal_nan=True)
    assert not t.almost_equal(nan, A, equal_nan=True)
    assert t.almost_equal_ignore_nan(nan, A)
    assert t.almost_equal(inf, inf)
    assert not t.almost_equal(inf, -inf)
    assert not t.almost_equal(np.array([1e30]), np.array([np.inf]))
    t.assert_almost_equal_ignore_nan(nan, A)
    with pytest.raises(AssertionError, match=r"\(2, 0\)"):
        t.assert_almost_equal_ignore_nan(nan, B)
    with pytest.raises(AssertionError, match=r"Error nan .*\n.*\(0, 0\), a=nan, b=0.0"):
        t.assert_almost_equal(nan, A)


def test_integers_and_truth_values_must_be_equal():
    assert not t.almost_equal(np.array([1, 2]), np.array([1, 3]))
    assert not t.almost_equal(np.array([255], np.uint8), np.array([0], np.uint8))
    assert not t.almost_equal(np.array([True]), np.array([False]))
    assert t.almost_equal(np.array([1, 2]), np.array([1, 3]), rtol=0.5)


def test_shapes():
    assert t.almost_equal(np.ones((2, 3)), np.ones(3))
    assert t.almost_equal(np.ones((0, 3)), np.ones((0, 3)))
    with pytest.raises(AssertionError, match=r"a.shape = \(2, 3\) and b.shape = \(3,\)"):
        t.almost_equal(np.ones((2, 3)), np.ones(3), use_broadcast=False)
    with pytest.raises(AssertionError, match=r"a.shape = \(3, 4\) and b.shape = \(2, 4\)"):
        t.assert_almost_equal(A, B[:2])
    with pytest.raises(AssertionError, match="shape"):
        t.checkShapes(A, B[0])


def test_only_numbers_are_compared():
    for wrong in ("text", [None], np.zeros((1,) * 40)):
        with pytest.raises(ValueError, match=r"numbers|32 dimensions"):
            t.almost_equal(A[0, 0], wrong)
    assert t.same(["a"], ["a"])


def test_a_part_may_be_wrong():
    t.assert_almost_equal_with_err(A, B, etol=0.2)
    with pytest.raises(AssertionError, match=r"16.6"):
        t.assert_almost_equal_with_err(A, B, etol=0.1)


def test_places_of_errors():
    assert t.find_max_violation(A, B, 1e-5, 1e-5) == ((2, 0), pytest.approx(12500))
    said = t.locationError(A, B, (1, 2), ("x", "y"))
    assert said == "Location of error: (1, 2), x=6.00000000, y=6.50000000"


def test_states_in_tuples():
    one, two = mx.nd.ones(2), mx.nd.ones(2) * 2
    t.compare_ndarray_tuple((one, (None, two)), (one, (one, two)))
    t.compare_ndarray_tuple(None, one)
    with pytest.raises(AssertionError, match="b=2"):
        t.compare_ndarray_tuple((one, (one,)), (one, (two,)))
    with pytest.raises(AssertionError, match="2 arrays are compared with 1"):
        t.compare_ndarray_tuple((one, one), (one,))


def test_exceptions():
    t.assert_exception(int, ValueError, "x")
    with pytest.raises(AssertionError, match=r"did not raise .*ValueError"):
        t.assert_exception(int, ValueError, "1")
    with pytest.raises(ValueError):
        t.assert_exception(int, KeyError, "x")
    with pytest.raises(TypeError, match="class of exceptions"):
        t.assert_exception(int, 3)


def test_memory_and_structure():
    a = mx.nd.ones((2, 2))
    assert t.same_array(a, a[0:2])
    assert not t.same_array(a, a.copy())
    assert not t.same_array(a, a + 1)
    assert a.asnumpy().tolist() == [[1, 1], [1, 1]]
    x, y = mx.sym.Variable("x"), mx.sym.Variable("y")
    assert t.same_symbol_structure(x * y + x, y * x + y)
    assert not t.same_symbol_structure(x * y, x * y + 1)
    assert not t.same_symbol_structure(x * y, x + y)
