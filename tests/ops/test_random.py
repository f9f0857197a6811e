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


IMAGE = np.arange(24.0).reshape(2, 4, 3)


def images(name, count=60, image=IMAGE, **attrs):
    mx.random.seed(5)
    data = mx.nd.array(image)
    return [getattr(mx.nd.image, name)(data, **attrs).asnumpy() for _ in range(count)]


@pytest.mark.parametrize(("name", "axis"), [("left_right", 1), ("top_bottom", 0)])
def test_half_of_the_images_are_flipped(name, axis):
    found = [not np.array_equal(x, IMAGE) for x in images(f"random_flip_{name}")]
    assert 15 < sum(found) < 45
    for x, flipped in zip(images(f"random_flip_{name}"), found, strict=True):
        np.testing.assert_array_equal(x, np.flip(IMAGE, axis) if flipped else IMAGE)


def test_amounts_of_colours_are_drawn_from_their_range():
    found = images("random_brightness", min_factor=0.5, max_factor=2.0)
    factors = [x[1, 3, 2] / IMAGE[1, 3, 2] for x in found]
    assert 0.5 <= min(factors) < 0.7
    assert 1.8 < max(factors) < 2


def test_jitter_is_made_of_the_four_changes_in_any_order():
    gray = np.full((1, 2, 1), 100.0)
    gray[0, 1] = 50
    both = {"brightness": 0.25, "contrast": 0.25, "saturation": 0.5, "hue": 0.5}
    found = np.array(images("random_color_jitter", 300, gray, **both))
    # The mean is changed by the brightness alone, distances by both.
    means = found.mean((1, 2, 3)) / 75
    assert 0.74 < means.min() < 0.8
    assert 1.2 < means.max() < 1.26
    ratios = (found[:, 0, 0, 0] - found[:, 0, 1, 0]) / 50 / means
    assert 0.74 < ratios.min() < 0.8
    assert 1.2 < ratios.max() < 1.26


def test_lighting_has_its_deviation():
    found = np.array(images("random_lighting", 500, np.zeros((1, 1, 3)), alpha_std=0.5))
    expected = 0.5 * np.sqrt((55.46 * 0.5675) ** 2 + (4.794 * 0.7192) ** 2 + (1.148 * 0.4009) ** 2)
    assert abs(found[:, 0, 0, 0].std() / expected - 1) < 0.1
