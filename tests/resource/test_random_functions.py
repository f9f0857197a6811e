"""``mx.random`` and its kin in ``nd`` and ``sym``: numbers, arrays and symbols as parameters."""

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import ArgumentTypeError

NAMES = {
    *("uniform", "normal", "randn", "poisson", "exponential", "gamma", "multinomial"),
    *("negative_binomial", "generalized_negative_binomial", "shuffle", "randint"),
}
LIKE = {f"{n}_like" for n in NAMES - {"randn", "multinomial", "shuffle", "randint"}}
PARAMETERS = {
    "uniform": (2, 3),
    "normal": (1, 2),
    "poisson": (4,),
    "exponential": (2,),
    "gamma": (2, 3),
    "negative_binomial": (3, 0.5),
    "generalized_negative_binomial": (3, 0.5),
}


def test_there_is_what_mxnet_has():
    assert set(mx.random.__all__) == NAMES | {"seed"}
    for module in (mx.nd.random, mx.sym.random):
        assert set(dir(module)) >= NAMES | LIKE
        assert all(callable(getattr(module, name)) for name in NAMES | LIKE)
        with pytest.raises(AttributeError, match="beta"):
            module.beta  # noqa: B018


@pytest.mark.parametrize("name", PARAMETERS)
def test_arrays_and_symbols_draw_what_numbers_do(name):
    params, draw, symbol = (
        PARAMETERS[name],
        *(getattr(m, name) for m in (mx.nd.random, mx.sym.random)),
    )
    drawn = []
    for call in (
        lambda: draw(*params, shape=(1, 6)),
        lambda: draw(*[mx.nd.array([p]) for p in params], shape=6),
        lambda: symbol(*params, shape=(1, 6)).eval()[0],
        lambda: symbol(*[mx.sym.Variable(f"p{i}") for i in range(len(params))], shape=6).eval(
            **{f"p{i}": mx.nd.array([p]) for i, p in enumerate(params)}
        )[0],
        lambda: draw(*params, out=mx.nd.empty((1, 6))),
    ):
        mx.random.seed(1)
        drawn.append(call().asnumpy())
    assert drawn[0].shape == (1, 6)
    for other in drawn[1:]:
        np.testing.assert_array_equal(other, drawn[0])
    assert draw(*params).shape == (1,)
    assert draw(*[mx.nd.array([p, p]) for p in params]).shape == (2,)
    assert draw(*params, dtype="float64", shape=2).dtype == np.float64


def test_exponential_takes_the_mean():
    mx.random.seed(1)
    assert abs(mx.nd.random.exponential(5, shape=(20_000,)).asnumpy().mean() - 5) < 0.2
    mx.random.seed(1)
    x = mx.nd.random.exponential(mx.nd.array([5]), shape=(20_000,)).asnumpy()
    assert abs(x.mean() - 5) < 0.2


def test_other_functions():
    assert mx.nd.random.randn(2, 3, loc=1, scale=2, dtype="float64").shape == (2, 3)
    assert mx.sym.random.randn(2, 3).eval()[0].shape == (2, 3)
    assert mx.nd.random.randint(0, 9).shape == (1,)
    assert mx.sym.random.randint(0, 9, shape=(2,)).eval()[0].dtype == np.int32
    (only,) = mx.nd.random.multinomial(mx.nd.array([0, 1]), shape=(3,), get_prob=True)[:1]
    assert only.asnumpy().tolist() == [1, 1, 1]
    assert len(mx.sym.random.multinomial(mx.sym.Variable("p")).list_outputs()) == 2
    out = mx.sym.random.shuffle(mx.sym.Variable("a")).eval(a=mx.nd.array([1, 2]))[0]
    assert sorted(out.asnumpy()) == [1, 2]
    like = mx.sym.random.gamma_like(mx.sym.Variable("a"), alpha=2.0)
    assert like.eval(a=mx.nd.zeros((2, 3)))[0].shape == (2, 3)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: mx.nd.random.normal(mx.nd.ones((2,)), 3), "only loc is a tensor"),
        (lambda: mx.nd.random.normal("a", 3), "loc must be a number or an NDArray, got 'a'"),
        (lambda: mx.sym.random.normal(mx.sym.Variable("a"), 3), "only loc is a tensor"),
        (lambda: mx.nd.random.gamma(np.ones(2), 1), "alpha must be a number"),
        (lambda: mx.nd.random.randint(mx.nd.ones((1,)), 3), "low must be a number"),
    ],
)
def test_parameters_of_other_kinds(call, words):
    with pytest.raises(ArgumentTypeError, match=words):
        call()
