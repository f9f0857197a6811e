"""Operators that draw: distributions, seeds, and dropout's mask."""

import numpy as np
import pytest
from scipy import stats

import ferromix as mx
from ferromix import dispatch
from ferromix.error import InvalidArgumentError
from ferromix.ops.card import make

from .run import Graph, to_array, to_numpy

FLOATS = ["float32", "float64", "float16", "bfloat16"]


def draw(op, dtype="float64", seed=1, **attrs):
    mx.random.seed(seed)
    return to_numpy(dispatch.invoke(make(op, {"dtype": dtype, **attrs}), [])[0])


@pytest.mark.parametrize("dtype", FLOATS[:2])
def test_uniform_numbers_are_uniform(dtype):
    x = draw("_random_uniform", dtype, low=-1.0, high=3.0, shape=(100_000,))
    assert x.min() >= -1
    assert x.max() < 3
    assert stats.kstest(x, stats.uniform(-1, 4).cdf).pvalue > 1e-3


@pytest.mark.parametrize("dtype", FLOATS[:2])
def test_normal_numbers_are_normal(dtype):
    x = draw("_random_normal", dtype, loc=2.0, scale=0.5, shape=(100_000,))
    assert stats.kstest(x, stats.norm(2, 0.5).cdf).pvalue > 1e-3
    # Neighbours come from one pair of random words.
    assert abs(np.corrcoef(x[::2], x[1::2])[0, 1]) < 0.02


@pytest.mark.parametrize("dtype", FLOATS[2:])
def test_halves_have_the_moments(dtype):
    x = draw("_random_normal", dtype, shape=(50_000,))
    assert abs(x.mean()) < 0.03
    assert abs(x.std() - 1) < 0.03
    x = draw("_random_uniform", dtype, shape=(50_000,))
    assert x.min() >= 0
    assert x.max() < 1
    assert abs(x.mean() - 0.5) < 0.01


@pytest.mark.parametrize("op", ["_random_uniform", "_random_normal"])
def test_seeds_decide(op):
    a, b, c = (draw(op, seed=s, shape=(100,)) for s in (1, 1, 2))
    np.testing.assert_array_equal(a, b)
    assert (a != c).any()
    mx.random.seed(1)
    first, second = (
        to_numpy(dispatch.invoke(make(op, {"shape": (100,)}), [])[0]) for _ in range(2)
    )
    assert (first != second).any()


@pytest.mark.parametrize("shape", [(), (0, 3), (1,), (5, 7)])
def test_shapes(shape):
    assert draw("_random_uniform", shape=shape).shape == shape


@pytest.mark.parametrize("attrs", [{}, {"shape": None}])
def test_without_a_shape_others_decide(attrs):
    with pytest.raises(InvalidArgumentError, match="give it as an attribute"):
        draw("_random_normal", **attrs)
    total = mx.sym.random_normal(**attrs) + mx.sym.Variable("a")
    assert total.infer_shape(a=(2, 3))[1] == [(2, 3)]


@pytest.mark.parametrize("dtype", FLOATS)
def test_dropout(dtype):
    data = np.full((300, 200), 2.0)
    card = make("Dropout", {"p": 0.25})
    mx.random.seed(3)
    arrays = [to_array(data, dtype)]
    out, mask = dispatch.invoke(card, arrays, None, True)
    values = to_numpy(out)
    kept = to_numpy(to_array(1 / 0.75, dtype))
    assert set(np.unique(to_numpy(mask))) == {0.0, float(kept)}
    assert abs((values == 0).mean() - 0.25) < 0.01
    np.testing.assert_allclose(values, data * to_numpy(mask), rtol=1e-2)
    for axis in (0, 1):
        assert abs((values == 0).mean(axis) - 0.25).max() < 0.2
    head = np.arange(data.size, dtype=float).reshape(data.shape) % 7 + 1
    graph = Graph(card_case(True), arrays, [out, mask], [to_array(head, dtype)])
    grad = to_numpy(card.gradient(graph)[0])
    np.testing.assert_array_equal(grad == 0, values == 0)


def card_case(train):
    class Mode:
        pass

    mode = Mode()
    mode.train = train
    return mode


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 2), (-1,)])
def test_dropout_of_whole_axes(axes):
    data = np.ones((20, 30, 10))
    out, mask = dispatch.invoke(
        make("Dropout", {"p": 0.5, "axes": axes}), [to_array(data, "float32")], None, True
    )
    values = to_numpy(out)
    mean = values.mean(axes, keepdims=True)
    np.testing.assert_array_equal(values, np.broadcast_to(mean, values.shape))
    assert mask.shape == mean.shape
    assert {0.0, 2.0} == set(np.unique(values))
