"""Operators that draw, against SciPy's distributions; all at fixed seeds."""

import numpy as np
import pytest
from scipy import stats

import ferromix as mx
from ferromix.error import ArgumentTypeError, InvalidArgumentError

MANY = 40_000
EXTREMES = {"float32": 1e-30, "float64": 1e-250}
"""Below this numbers underflow, and are left out."""


def fits_curve(x, law, least=0.0):
    """Kolmogorov and Smirnov's test of the numbers above `least`."""
    x = np.asarray(x, "float64")
    below = law.cdf(least)
    assert abs((x <= least).mean() - below) < 0.02
    x = x[x > least]
    test = stats.kstest(x, lambda t: (law.cdf(t) - below) / (1 - below))
    assert test.pvalue > 1e-3


def fits_counts(x, law):
    """Pearson's test, of classes with enough numbers in each."""
    x = np.asarray(x, "float64")
    assert (x == np.floor(x)).all()
    low, high = law.ppf(1e-3), law.ppf(1 - 1e-3)
    edges = np.arange(low, high + 1, max(1, (high - low) // 40)) + 0.5
    found = np.histogram(x, [-np.inf, *edges, np.inf])[0]
    expected = np.diff([0, *law.cdf(edges), 1]) * len(x)
    few = expected < 5
    if few.any():
        found = np.array([*found[~few], found[few].sum()])
        expected = np.array([*expected[~few], expected[few].sum()])
    assert stats.chisquare(found[expected > 0], expected[expected > 0]).pvalue > 1e-3


def negative(mu, alpha):
    return stats.nbinom(1 / alpha, 1 / (1 + alpha * mu))


CURVES = [
    ("uniform", (-1, 3), stats.uniform(-1, 4)),
    ("normal", (2, 0.5), stats.norm(2, 0.5)),
    ("exponential", (4,), stats.expon(scale=1 / 4)),
    *[("gamma", (a, 2), stats.gamma(a, scale=2)) for a in (0.02, 0.3, 1, 1.5, 30, 1e4, 1e9)],
]
COUNTS = [
    *[("poisson", (m,), stats.poisson(m)) for m in (0.01, 1, 9.99, 10, 11, 1000, 1e6)],
    *[
        ("negative_binomial", (k, p), stats.nbinom(k, p))
        for k, p in ((1, 0.5), (3, 0.99), (100, 0.01), (2, 1e-4))
    ],
    ("generalized_negative_binomial", (5, 0.5), negative(5, 0.5)),
    ("generalized_negative_binomial", (0.1, 3), negative(0.1, 3)),
    ("generalized_negative_binomial", (5, 0), stats.poisson(5)),
]
LAWS = [*((*row, fits_curve) for row in CURVES), *((*row, fits_counts) for row in COUNTS)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "params", "law", "fits"), LAWS)
def test_numbers_have_the_distribution(name, params, law, fits, dtype):
    mx.random.seed(17)
    x = getattr(mx.nd, f"random_{name}")(*params, shape=(MANY,), dtype=dtype).asnumpy()
    if name == "gamma" and params[0] < 0.1:
        fits(x, law, EXTREMES[dtype])
    elif fits is fits_curve:
        fits(x, law, -np.inf)
    else:
        fits(x, law)
    # What one number tells of the next.
    assert abs(stats.spearmanr(x[1:], x[:-1])[0]) < 0.03


@pytest.mark.parametrize(("name", "params", "law", "fits"), LAWS)
def test_all_three_ways_draw_the_same_numbers(name, params, law, fits):
    """From attributes, in the likeness of a tensor, and from a tensor with one element."""
    draws = []
    for draw in (
        lambda: getattr(mx.nd, f"random_{name}")(*params, shape=(1, 700)),
        lambda: getattr(mx.nd.random, f"{name}_like")(mx.nd.zeros((1, 700)), *params),
        lambda: getattr(mx.nd, f"sample_{name}")(
            *[mx.nd.array([p], dtype="float64") for p in params], shape=(700,)
        ),
    ):
        mx.random.seed(3)
        draws.append(draw().asnumpy())
    np.testing.assert_array_equal(draws[0], draws[1])
    np.testing.assert_array_equal(draws[0], draws[2])


@pytest.mark.parametrize("name", ["uniform", "normal", "gamma", "poisson"])
def test_rows_have_parameters_of_their_own(name):
    params = np.array([[1.0, 40.0, 0.5], [2.0, 3.0, 700.0]])
    second = np.full_like(params, 0.25) if name != "uniform" else params + 1
    arrays = [mx.nd.array(p) for p in ([params, second][: 1 if name == "poisson" else 2])]
    mx.random.seed(5)
    x = getattr(mx.nd, f"sample_{name}")(*arrays, shape=(50, 60)).asnumpy()
    assert x.shape == (2, 3, 50, 60)
    laws = {
        "uniform": lambda a, b: stats.uniform(a, b - a),
        "normal": stats.norm,
        "gamma": lambda a, b: stats.gamma(a, scale=b),
        "poisson": lambda a, _: stats.poisson(a),
    }
    for row in np.ndindex(params.shape):
        law = laws[name](params[row], second[row])
        (fits_counts if name == "poisson" else lambda x, law: fits_curve(x, law, -np.inf))(
            x[row].reshape(-1), law
        )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_are_the_numbers_of_single_precision_rounded(dtype):
    for name, params in (("gamma", (3, 2)), ("poisson", (20,)), ("exponential", (2,))):
        drawn = []
        for kind in ("float32", dtype):
            mx.random.seed(1)
            draw = getattr(mx.nd, f"random_{name}")
            drawn.append(draw(*params, shape=(500,), dtype=kind).astype(dtype).asnumpy())
        np.testing.assert_array_equal(*drawn)


NAN = float("nan")
INVALID = [
    # From tensors: what MXNet gives where it gives something, otherwise NaN.
    ("poisson", ([-1, 0, NAN, np.inf],), [0, 0, NAN, np.inf]),
    ("gamma", ([-1, 0, NAN, 2], [1, 1, 1, NAN]), [NAN] * 4),
    ("negative_binomial", ([0, 3, 3, -1, 2], [0.5, 1, 0, 0.5, NAN]), [0, 0, NAN, NAN, NAN]),
    ("generalized_negative_binomial", ([0, -2, 3, NAN], [1, 1, -1, 1]), [0, 0, NAN, NAN]),
    ("exponential", ([np.inf, NAN],), [0, NAN]),
    ("normal", ([3, NAN], [0, 1]), [3, NAN]),
    ("uniform", ([3, NAN], [3, 1]), [3, NAN]),
]


@pytest.mark.parametrize(("name", "params", "expected"), INVALID)
def test_parameters_that_make_no_distribution(name, params, expected):
    arrays = [mx.nd.array(p) for p in params]
    found = getattr(mx.nd, f"sample_{name}")(*arrays, shape=(3,)).asnumpy()
    np.testing.assert_array_equal(found, np.repeat(np.array(expected)[:, None], 3, 1))


def test_intervals_the_wrong_way_round_are_taken_from_tensors():
    low, high = mx.nd.array([3]), mx.nd.array([1])
    x = mx.nd.sample_uniform(low, high, shape=(1000,)).asnumpy()
    assert x.min() > 1
    assert x.max() <= 3
    with pytest.raises(InvalidArgumentError, match="low must not be above high"):
        mx.nd.random_uniform(low=3, high=1, shape=(2,))


@pytest.mark.parametrize(
    ("low", "high", "dtype"),
    [(-3, 4, "int32"), (0, 2**31 - 1, "int32"), (-(2**62), 2**62 + 2**61, "int64")],
)
def test_whole_numbers_are_even(low, high, dtype):
    mx.random.seed(8)
    x = mx.nd.random.randint(low, high, shape=(MANY,), dtype=dtype).asnumpy()
    assert x.dtype == dtype
    assert x.min() >= low
    assert x.max() < high
    for classes in (7,) if high == 4 else (3, 7):
        found = np.bincount((x.astype(object) % classes).astype("int64"), minlength=classes)
        assert stats.chisquare(found).pvalue > 1e-3
    if high > 100:
        x = x.astype("float64")
        assert stats.kstest(x, stats.uniform(low, float(high) - low).cdf).pvalue > 1e-3


def test_all_whole_numbers_of_a_type():
    x = mx.nd.random.randint(-(2**63), 2**63 - 1, shape=(1000,), dtype="int64").asnumpy()
    assert x.min() < -(2**62)
    assert x.max() > 2**62
    with pytest.raises(InvalidArgumentError, match="do not fit into int32"):
        mx.nd.random.randint(0, 2**31 + 1, shape=(2,))


def test_classes_have_their_probabilities():
    weights = np.array([[0.1, 0, 0.4, 0.2, 0.3], [0, 0, 1, 0, 0], [3, 1, 0, 0, 4]])
    mx.random.seed(2)
    data = mx.nd.array(weights, dtype="float64")
    found, logs = mx.nd.sample_multinomial(data, shape=(MANY // 4, 4), get_prob=True)
    found, logs = found.asnumpy().reshape(3, -1), logs.asnumpy().reshape(3, -1)
    for row, p in enumerate(weights):
        counts = np.bincount(found[row], minlength=5)
        assert (counts[p == 0] == 0).all()
        expected = MANY * (p / p.sum())[p > 0]
        assert len(expected) == 1 or stats.chisquare(counts[p > 0], expected).pvalue > 1e-3
        np.testing.assert_allclose(logs[row], np.log(p[found[row]]), rtol=1e-14)
    one = mx.nd.sample_multinomial(mx.nd.array(weights[0]))
    assert one.shape == (1,)
    assert one.dtype == np.int32


def test_the_gradient_of_classes_is_that_of_the_logarithms():
    data = mx.nd.array([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
    data.attach_grad()
    head = np.arange(8.0).reshape(2, 4)
    with mx.autograd.record():
        found, logs = mx.nd.sample_multinomial(data, shape=(4,), get_prob=True)
    logs.backward(mx.nd.array(head))
    expected = np.zeros((2, 3))
    for i, j in np.ndindex(2, 4):
        k = int(found[i, j].asscalar())
        expected[i, k] += head[i, j] / data.asnumpy()[i, k]
    np.testing.assert_allclose(data.grad.asnumpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("row", [[0, 0], [-1, 2], [NAN, 1], [np.inf, 1]])
def test_what_is_no_probability_is_refused(row):
    with pytest.raises(InvalidArgumentError, match="row 1 of data holds no probabilities"):
        mx.nd.sample_multinomial(mx.nd.array([[1, 1], row])).asnumpy()


def test_too_many_classes_for_a_type():
    with pytest.raises(InvalidArgumentError, match="257 classes do not fit into uint8"):
        mx.nd.sample_multinomial(mx.nd.ones((257,)), dtype="uint8").asnumpy()


def test_orders_are_as_likely_as_each_other():
    mx.random.seed(4)
    seen = {}
    for _ in range(2400):
        order = tuple(mx.nd.shuffle(mx.nd.arange(4)).asnumpy())
        seen[order] = seen.get(order, 0) + 1
    assert len(seen) == 24
    assert stats.chisquare(list(seen.values())).pvalue > 1e-3


@pytest.mark.parametrize("n", [1, 2, 1000, 32_769, 200_003])
def test_nothing_is_lost_in_a_shuffle(n):
    mx.random.seed(n)
    order = mx.nd.shuffle(mx.nd.arange(n, dtype="int32")).asnumpy()
    np.testing.assert_array_equal(np.sort(order), np.arange(n))
    if n > 100:
        assert abs(stats.spearmanr(order, np.arange(n))[0]) < 5 / n**0.5
        assert abs(stats.spearmanr(order[1:], order[:-1])[0]) < 5 / n**0.5
        first = order[: n // 2] < n // 2
        assert stats.binomtest(int(first.sum()), len(first)).pvalue > 1e-3


def test_shuffled_rows_stay_whole_and_gradients_find_back():
    data = mx.nd.arange(30).reshape((10, 3))
    data.attach_grad()
    with mx.autograd.record():
        out = mx.nd.random.shuffle(data)
    head = mx.nd.arange(30, 60).reshape((10, 3))
    out.backward(head)
    places = out.asnumpy()[:, 0].astype(int) // 3
    np.testing.assert_array_equal(out.asnumpy(), data.asnumpy()[places])
    np.testing.assert_array_equal(data.grad.asnumpy()[places], head.asnumpy())


def test_unique_classes_follow_zipf():
    mx.random.seed(6)
    classes, tries = mx.nd._sample_unique_zipfian(range_max=6, shape=(20_000, 3))
    classes, tries = classes.asnumpy(), tries.asnumpy()
    assert (np.diff(np.sort(classes, 1), axis=1) > 0).all()
    assert (tries >= 3).all()
    ends = np.log([1, *np.arange(1.5, 6), 6]) / np.log(6)
    expected = np.diff(ends)
    counts = np.bincount(classes[:, 0], minlength=6)
    assert stats.chisquare(counts, expected * 20_000).pvalue > 1e-3


def test_rand_zipfian():
    mx.random.seed(9)
    drawn, true, sampled = mx.nd.contrib.rand_zipfian(mx.nd.array([0, 3]), MANY, 20)
    share = np.log((np.arange(20) + 2) / (np.arange(20) + 1)) / np.log(21)
    found = np.bincount(drawn.asnumpy(), minlength=20)
    assert stats.chisquare(found, share * MANY).pvalue > 1e-3
    np.testing.assert_allclose(true.asnumpy(), share[[0, 3]] * MANY)
    np.testing.assert_allclose(sampled.asnumpy(), share[drawn.asnumpy()] * MANY)
    assert [a.dtype for a in (drawn, true, sampled)] == [np.int64, np.float64, np.float64]
    mx.random.seed(9)
    symbols = mx.sym.contrib.rand_zipfian(mx.sym.Variable("a"), 5, 20)
    again = mx.sym.Group(list(symbols)).eval(a=mx.nd.array([0, 3]))
    np.testing.assert_array_equal(again[0].asnumpy(), drawn.asnumpy()[:5])
    with pytest.raises(ArgumentTypeError, match="true_classes must be an NDArray, got 3"):
        mx.nd.contrib.rand_zipfian(3, 5, 20)


@pytest.mark.parametrize("scale", [0, -0.0, np.float64(0)])
def test_an_exponential_mean_of_nothing(scale):
    for draw in (mx.nd.random.exponential, mx.sym.random.exponential):
        with pytest.raises(InvalidArgumentError, match="scale must be above 0"):
            draw(scale, shape=(2,))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_random_slopes(dtype):
    bounds = {"act_type": "rrelu", "lower_bound": 0.25, "upper_bound": 0.75}
    data = mx.nd.array([[-2.0, 3.0]] * 5000, dtype=dtype)
    data.attach_grad()
    mx.random.seed(1)
    with mx.autograd.record():
        out, mask = mx.nd.LeakyReLU(data, **bounds)
    out.backward(mx.nd.full(data.shape, 4, dtype=dtype))
    mask = mask.asnumpy().astype("float64")
    assert (mask[:, 1] == 1).all()
    if dtype != "float16":
        assert stats.kstest(mask[:, 0], stats.uniform(0.25, 0.5).cdf).pvalue > 1e-3
    np.testing.assert_array_equal(out.asnumpy(), data.asnumpy() * mask)
    np.testing.assert_array_equal(data.grad.asnumpy(), 4 * mask)
    predicted = mx.nd.LeakyReLU(data, **bounds)[0].asnumpy()
    np.testing.assert_array_equal(predicted[0], [-1, 3])
