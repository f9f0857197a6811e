"""Random inputs, and tests of random numbers."""

import numpy as np
import pytest
import scipy.stats

import ferromix as mx
from ferromix import test_utils as t


@pytest.fixture(autouse=True)
def seeded():
    np.random.seed(3)


def test_arrays():
    one, two = t.random_arrays((2, 3), ())
    assert one.shape == (2, 3)
    assert one.dtype == two.dtype == np.float32
    assert t.random_arrays((50, 50)).std() == pytest.approx(1, abs=0.1)
    (even,) = t.random_uniform_arrays((100,), low=2, high=3, dtype="float64")
    assert even.dtype == np.float64
    assert even.min() >= 2
    assert even.max() < 3
    assert sorted(t.random_sample("abc", 3)) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="4 of 3"):
        t.random_sample("abc", 4)


def test_shapes():
    shapes = [t.rand_shape_nd(3, 2, allow_zero_size=True) for _ in range(40)]
    assert {n for shape in shapes for n in shape} == {0, 1, 2}
    found = {t.rand_shape_2d(2, 1) for _ in range(20)}
    assert found == {(1, 1), (2, 1)}
    assert len(t.rand_shape_3d()) == 3
    assert {t.rand_coord_2d(1, 3, 5, 6) for _ in range(20)} == {(1, 5), (2, 5)}


@pytest.mark.parametrize("stype", ["default", "csr", "row_sparse"])
def test_every_storage_type(stype):
    made = t.rand_ndarray((20, 30), stype, density=0.3, dtype="float64")
    assert (made.stype, made.shape, made.dtype) == (stype, (20, 30), np.float64)
    if stype != "default":
        part = (made.asnumpy() != 0).mean()
        assert 0.1 < part < 0.5
        assert made.asnumpy().max() < 1
        ones, _ = t.rand_sparse_ndarray((3, 4), stype, 1.0, modifier_func=lambda _: 7)
        assert t.same(ones, np.full((3, 4), 7))
        none, _ = t.rand_sparse_ndarray((3, 4), stype, 0.0)
        assert t.same(none, np.zeros((3, 4)))
        assert t.create_sparse_array_zd((3, 4), stype, 0.0).stype == stype


def test_rows_and_columns_that_are_stored():
    made, (values, rows) = t.rand_sparse_ndarray(
        (3, 2), "row_sparse", data_init=2.5, rsp_indices=[0, 2]
    )
    assert made.asnumpy().tolist() == [[2.5, 2.5], [0, 0], [2.5, 2.5]]
    assert values.shape == (2, 2)
    assert rows.tolist() == [0, 2]
    law, (ends, columns, data) = t.rand_sparse_ndarray(
        (5, 16), "csr", density=0.5, distribution="powerlaw"
    )
    assert ends.asnumpy().tolist() == [0, 2, 6, 14, 30, 40]
    assert columns.shape == data.shape == (40,)
    assert law.shape == (5, 16)
    csr = t.create_sparse_array((4, 40), "csr", density=0.5).asscipy()
    before = csr.copy()
    t.shuffle_csr_column_indices(csr)
    assert (csr.indices != before.indices).any()
    csr.sort_indices()
    assert (csr.indices == before.indices).all()


@pytest.mark.parametrize(
    ("what", "args", "options"),
    [
        ("density must be", ((2, 2), "csr", 2.0), {}),
        ("two elements for each row", ((5, 16), "csr", 0.01), {"distribution": "powerlaw"}),
        ("no distribution", ((5, 16), "row_sparse", 0.5), {"distribution": "powerlaw"}),
        ("distribution must be", ((5, 16), "csr", 0.5), {"distribution": "normal"}),
        ("two extents", ((5, 16, 2), "csr", 0.5), {}),
        ("stype must be", ((5, 16), "default", 0.5), {}),
    ],
)
def test_what_no_sparse_array_is(what, args, options):
    with pytest.raises(ValueError, match=what):
        t.rand_sparse_ndarray(*args, **options)


def test_element_by_element():
    a, b = np.array([[1.0, 2.0]]), np.array([[4.0, 5.0]])
    assert t.assign_each(a, lambda v: v * 2).tolist() == [[2, 4]]
    assert t.assign_each(a, None) is not a
    assert t.assign_each(a, None).tolist() == a.tolist()
    assert t.assign_each2(a, b, lambda v, w: v * w).tolist() == [[4, 10]]
    with pytest.raises(ValueError, match="shapes"):
        t.assign_each2(a, b[0], None)


def test_reductions():
    x = np.arange(24).reshape(2, 3, 4)
    for axis in (None, 1, (0, 2), (-1, 0)):
        for keep in (True, False):
            assert t.same(t.np_reduce(x, axis, keep, np.max), np.max(x, axis=axis, keepdims=keep))
    assert t.collapse_sum_like(x, (3, 1)).tolist() == x.sum((0, 2)).reshape(3, 1).tolist()
    with pytest.raises(ValueError, match="broadcast"):
        t.collapse_sum_like(x, (5, 1))


def test_matrices():
    turn = t.new_orthonormal_matrix_2d(4)
    np.testing.assert_allclose(turn @ turn.T, np.eye(4), atol=1e-12)
    assert np.abs(np.linalg.eigvals(t.new_matrix_with_real_eigvals_nd((2, 3, 3))).imag).max() < 1e-6
    even = t.new_sym_matrix_with_real_eigvals_nd((2, 3, 3))
    np.testing.assert_allclose(even, even.transpose(0, 2, 1), atol=1e-12)
    assert t.new_matrix_with_real_eigvals_2d(3).shape == (3, 3)
    with pytest.raises(ValueError, match="square"):
        t.new_sym_matrix_with_real_eigvals_nd((2, 3))
    assert t.get_identity_mat_batch(2).asnumpy().tolist() == [[[1, 0], [0, 1]]] * 2
    assert t.create_2d_tensor(2, 3).asnumpy().tolist() == [[0, 0, 0], [1, 1, 1]]
    assert t.create_vector(3, dtype="int32").asnumpy().tolist() == [0, 1, 2]


def normal(count):
    return np.random.normal(0, 1, count)


def test_means_and_variances():
    assert t.mean_check(normal, 0, 1.0, 10000)
    assert not t.mean_check(normal, 0.5, 1.0, 10000)
    assert t.var_check(normal, 1.0, 10000)
    assert not t.var_check(normal, 1.2, 10000)


@pytest.mark.parametrize("buckets", [2, 5, 6])
def test_buckets(buckets):
    found = t.gen_buckets_probs_with_ppf(scipy.stats.norm.ppf, buckets)
    p, seen, wanted = t.chi_square_check(normal, *found, 5000)
    statistic = scipy.stats.chisquare(seen, 5000 * np.array(found[1]))
    assert p == pytest.approx(statistic.pvalue)
    assert seen.sum() == 5000
    assert wanted.tolist() == [int(5000 / buckets)] * buckets
    assert len(t.verify_generator(normal, *found, nsamples=5000)) == 5
    with pytest.raises(AssertionError, match="0 of 5 runs"):
        t.verify_generator(lambda n: normal(n) + 0.3, *found, nsamples=5000)


def test_single_values_as_buckets():
    def dice(count):
        return mx.nd.array(np.random.randint(0, 3, count))

    p, seen, _ = t.chi_square_check(dice, [0, 1, 2], [1 / 3] * 3, 3000)
    assert 0 < p <= 1
    assert seen.sum() == 3000
    for buckets, probs in [([], []), ([0, 1], [1.0]), ([0, 1], [0.2, 0.2]), ([(1, 0)], [1.0])]:
        with pytest.raises(ValueError, match=r"buckets|probabilities"):
            t.chi_square_check(dice, buckets, probs, 10)
