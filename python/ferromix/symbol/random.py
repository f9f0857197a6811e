"""Random symbols: ``mx.sym.random.uniform`` and its kin."""

from __future__ import annotations

from math import log
from typing import Any

from ..ops.namespaces import serve
from ..ops.sample import parameters, rate
from .functions import function, member
from .symbol import Symbol

__all__ = [
    "exponential",
    "gamma",
    "generalized_negative_binomial",
    "multinomial",
    "negative_binomial",
    "normal",
    "poisson",
    "rand_zipfian",
    "randint",
    "randn",
    "shuffle",
    "uniform",
]

Parameter = Symbol | float


def uniform(
    low: Parameter = 0,
    high: Parameter = 1,
    shape: Any = None,
    dtype: Any = None,
    **kwargs: Any,
) -> Symbol:
    """Numbers drawn evenly from [low, high).

    Parameters
    ----------
    low, high
        The interval: numbers, or symbols of one shape. Each of their elements then makes as many
        numbers as `shape` says.
    shape
        The extents; what others decide where None, or one number for each element of symbols.
    dtype
        The element type; float32 where None.
    **kwargs
        Further arguments of the operator ``random_uniform``, or of ``sample_uniform`` for symbols,
        such as ``name``.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.sym.random.uniform(2, 3, shape=(4,)).eval()[0].shape
    (4,)
    """
    return _draw("uniform", {"low": low, "high": high}, shape, dtype, kwargs)


def normal(
    loc: Parameter = 0,
    scale: Parameter = 1,
    shape: Any = None,
    dtype: Any = None,
    **kwargs: Any,
) -> Symbol:
    """Numbers drawn from the normal distribution of mean `loc` and deviation `scale`.

    The other arguments are those of :func:`uniform`.
    """
    return _draw("normal", {"loc": loc, "scale": scale}, shape, dtype, kwargs)


def poisson(
    lam: Parameter = 1,
    shape: Any = None,
    dtype: Any = None,
    **kwargs: Any,
) -> Symbol:
    """Numbers drawn from Poisson's distribution of mean `lam`.

    The other arguments are those of :func:`uniform`.
    """
    return _draw("poisson", {"lam": lam}, shape, dtype, kwargs)


def exponential(
    scale: Parameter = 1,
    shape: Any = None,
    dtype: Any = None,
    **kwargs: Any,
) -> Symbol:
    """Numbers drawn from the exponential distribution of mean `scale`.

    The other arguments are those of :func:`uniform`.
    """
    return _draw("exponential", {"lam": rate(scale, Symbol)}, shape, dtype, kwargs)


def gamma(
    alpha: Parameter = 1,
    beta: Parameter = 1,
    shape: Any = None,
    dtype: Any = None,
    **kwargs: Any,
) -> Symbol:
    """Numbers drawn from the gamma distribution of shape `alpha` and scale `beta`.

    The other arguments are those of :func:`uniform`.
    """
    return _draw("gamma", {"alpha": alpha, "beta": beta}, shape, dtype, kwargs)


def negative_binomial(
    k: Parameter = 1,
    p: Parameter = 1,
    shape: Any = None,
    dtype: Any = None,
    **kwargs: Any,
) -> Symbol:
    """Numbers of failures before `k` successes, each of probability `p`.

    The other arguments are those of :func:`uniform`.
    """
    return _draw("negative_binomial", {"k": k, "p": p}, shape, dtype, kwargs)


def generalized_negative_binomial(
    mu: Parameter = 1,
    alpha: Parameter = 1,
    shape: Any = None,
    dtype: Any = None,
    **kwargs: Any,
) -> Symbol:
    """Numbers of the negative binomial distribution of mean `mu` and dispersion `alpha`.

    The other arguments are those of :func:`uniform`.
    """
    return _draw("generalized_negative_binomial", {"mu": mu, "alpha": alpha}, shape, dtype, kwargs)


def randn(
    *shape: int, loc: Parameter = 0.0, scale: Parameter = 1.0, dtype: Any = None, **kwargs: Any
) -> Symbol:
    """Numbers drawn from a normal distribution, with the extents as arguments.

    The other arguments are those of :func:`normal`.
    """
    return normal(loc, scale, shape, dtype, **kwargs)


def randint(low: int, high: int, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Whole numbers drawn evenly from [low, high).

    The other arguments are those of :func:`uniform`; `dtype` is int32 or int64.
    """
    parameters("randint", {"low": low, "high": high}, None)
    given = _given(shape=shape, dtype=dtype)
    return function("_random_randint")(low=low, high=high, **given, **kwargs)


def multinomial(
    data: Symbol, shape: Any = (), get_prob: bool = True, dtype: Any = "int32", **kwargs: Any
) -> Symbol:
    """Classes drawn by their probabilities, which the last axis of `data` holds, and with
    `get_prob` the logarithms of the probabilities of what was drawn.

    Unlike the function of arrays, this one gives the logarithms by default, as in MXNet.
    """
    given = _given(shape=None if shape == () else shape)
    attrs = {**given, "get_prob": get_prob, "dtype": dtype}
    return function("_sample_multinomial")(data, **attrs, **kwargs)


def shuffle(data: Symbol, **kwargs: Any) -> Symbol:
    """The slices of `data` along the first axis in a random order."""
    return function("_shuffle")(data, **kwargs)


def rand_zipfian(
    true_classes: Symbol, num_sampled: int, range_max: int
) -> tuple[Symbol, Symbol, Symbol]:
    """Symbols of classes drawn by a law in which small ones come more often, and of how often
    `true_classes` and those drawn are expected; see ``mx.nd.contrib.rand_zipfian``.
    """
    end = log(range_max + 1)
    u = uniform(0, end, shape=(num_sampled,), dtype="float64")
    drawn = (u.exp() - 1).astype("int64") % range_max

    def expected(classes: Symbol) -> Symbol:
        exact = classes.astype("float64")
        return ((exact + 2.0) / (exact + 1.0)).log() / end * num_sampled

    return drawn, expected(true_classes), expected(drawn)


__getattr__, __dir__ = serve(__name__, member)


def _draw(
    name: str, params: dict[str, Any], shape: Any, dtype: Any, rest: dict[str, Any]
) -> Symbol:
    given = _given(shape=shape, dtype=dtype)
    if not parameters(name, params, Symbol):
        return function(f"_random_{name}")(**params, **given, **rest)
    return function(f"_sample_{name}")(*params.values(), **given, **rest)


def _given(**attrs: Any) -> dict[str, Any]:
    """Those that are not None: the graph has no word of others, as in MXNet."""
    return {key: value for key, value in attrs.items() if value is not None}
