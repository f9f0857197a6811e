"""Random arrays: ``mx.nd.random.uniform`` and its kin."""

from __future__ import annotations

from functools import cache
from math import log
from typing import Any

from ..context import Context, as_context
from ..error import ArgumentTypeError
from ..literal import brief
from ..ops.namespaces import serve
from ..ops.sample import parameters, rate
from .function import function, member
from .ndarray import NDArray

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

Parameter = NDArray | float


def uniform(
    low: Parameter = 0,
    high: Parameter = 1,
    shape: Any = None,
    dtype: Any = None,
    ctx: Context | str | None = None,
    out: NDArray | None = None,
    **kwargs: Any,
) -> NDArray:
    """Numbers drawn evenly from [low, high).

    Parameters
    ----------
    low, high
        The interval: numbers, or arrays of one shape. Each of their elements then makes as many
        numbers as `shape` says.
    shape
        The extents. Where None: of numbers, those of `out`, or else ``(1,)``; of arrays, one number
        for each element.
    dtype
        The element type: that of `out`, or else float32, where None.
    ctx
        Where the result lives: a context, its name, or None for the current one; that of the
        arrays, where the parameters are arrays.
    out
        An array to fill instead of making one.
    **kwargs
        Further arguments of the operator ``random_uniform``, or of ``sample_uniform`` for arrays.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.nd.random.uniform(2, 3, shape=(4,), ctx=mx.cpu()).shape
    (4,)
    >>> low, high = mx.nd.array([0, 10]), mx.nd.array([1, 20])
    >>> mx.nd.random.uniform(low, high, shape=(4,)).shape
    (2, 4)
    """
    return _draw("uniform", {"low": low, "high": high}, shape, dtype, ctx, out, kwargs)


def normal(
    loc: Parameter = 0,
    scale: Parameter = 1,
    shape: Any = None,
    dtype: Any = None,
    ctx: Context | str | None = None,
    out: NDArray | None = None,
    **kwargs: Any,
) -> NDArray:
    """Numbers drawn from the normal distribution of mean `loc` and deviation `scale`.

    The other arguments are those of :func:`uniform`.
    """
    return _draw("normal", {"loc": loc, "scale": scale}, shape, dtype, ctx, out, kwargs)


def poisson(
    lam: Parameter = 1,
    shape: Any = None,
    dtype: Any = None,
    ctx: Context | str | None = None,
    out: NDArray | None = None,
    **kwargs: Any,
) -> NDArray:
    """Numbers drawn from Poisson's distribution of mean `lam`.

    The other arguments are those of :func:`uniform`.
    """
    return _draw("poisson", {"lam": lam}, shape, dtype, ctx, out, kwargs)


def exponential(
    scale: Parameter = 1,
    shape: Any = None,
    dtype: Any = None,
    ctx: Context | str | None = None,
    out: NDArray | None = None,
    **kwargs: Any,
) -> NDArray:
    """Numbers drawn from the exponential distribution of mean `scale`.

    The other arguments are those of :func:`uniform`.
    """
    return _draw("exponential", {"lam": rate(scale, NDArray)}, shape, dtype, ctx, out, kwargs)


def gamma(
    alpha: Parameter = 1,
    beta: Parameter = 1,
    shape: Any = None,
    dtype: Any = None,
    ctx: Context | str | None = None,
    out: NDArray | None = None,
    **kwargs: Any,
) -> NDArray:
    """Numbers drawn from the gamma distribution of shape `alpha` and scale `beta`.

    The other arguments are those of :func:`uniform`.
    """
    return _draw("gamma", {"alpha": alpha, "beta": beta}, shape, dtype, ctx, out, kwargs)


def negative_binomial(
    k: Parameter = 1,
    p: Parameter = 1,
    shape: Any = None,
    dtype: Any = None,
    ctx: Context | str | None = None,
    out: NDArray | None = None,
    **kwargs: Any,
) -> NDArray:
    """Numbers of failures before `k` successes, each of probability `p`.

    The other arguments are those of :func:`uniform`.
    """
    return _draw("negative_binomial", {"k": k, "p": p}, shape, dtype, ctx, out, kwargs)


def generalized_negative_binomial(
    mu: Parameter = 1,
    alpha: Parameter = 1,
    shape: Any = None,
    dtype: Any = None,
    ctx: Context | str | None = None,
    out: NDArray | None = None,
    **kwargs: Any,
) -> NDArray:
    """Numbers of the negative binomial distribution of mean `mu` and dispersion `alpha`.

    The other arguments are those of :func:`uniform`.
    """
    return _draw(
        "generalized_negative_binomial", {"mu": mu, "alpha": alpha}, shape, dtype, ctx, out, kwargs
    )


def randn(
    *shape: int,
    loc: Parameter = 0.0,
    scale: Parameter = 1.0,
    dtype: Any = None,
    ctx: Context | str | None = None,
    out: NDArray | None = None,
    **kwargs: Any,
) -> NDArray:
    """Numbers drawn from a normal distribution, with the extents as arguments.

    The other arguments are those of :func:`normal`.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.nd.random.randn(2, 3).shape
    (2, 3)
    """
    return normal(loc, scale, shape, dtype, ctx, out, **kwargs)


def randint(
    low: int,
    high: int,
    shape: Any = None,
    dtype: Any = None,
    ctx: Context | str | None = None,
    out: NDArray | None = None,
    **kwargs: Any,
) -> NDArray:
    """Whole numbers drawn evenly from [low, high).

    The other arguments are those of :func:`uniform`; `dtype` is int32 or int64.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.nd.random.randint(4, 5, shape=(3,)).asnumpy().tolist()
    [4, 4, 4]
    """
    parameters("randint", {"low": low, "high": high}, None)
    return _fixed("random_randint", {"low": low, "high": high}, shape, dtype, ctx, out, kwargs)


def multinomial(
    data: NDArray,
    shape: Any = (),
    get_prob: bool = False,
    out: Any = None,
    dtype: Any = "int32",
    **kwargs: Any,
) -> Any:
    """Classes drawn by their probabilities, which the last axis of `data` holds.

    Parameters
    ----------
    data
        The probabilities.
    shape
        The shape of what each distribution gives.
    get_prob
        Whether to give the logarithms of the probabilities of what was drawn, too. Through them
        gradients reach `data`, as REINFORCE needs it.
    out
        An array to fill, or two with `get_prob`.
    dtype
        The type of the classes.
    **kwargs
        Further arguments of the operator ``sample_multinomial``.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.nd.random.multinomial(mx.nd.array([0, 1, 0]), shape=(3,)).asnumpy().tolist()
    [1, 1, 1]
    """
    shape = () if shape is None else shape
    attrs = {"shape": shape, "get_prob": get_prob, "dtype": dtype}
    return _operator("sample_multinomial")(data, **attrs, out=out, **kwargs)


def shuffle(data: NDArray, **kwargs: Any) -> NDArray:
    """The slices of `data` along the first axis in a random order.

    Examples
    --------
    >>> import ferromix as mx
    >>> sorted(mx.nd.random.shuffle(mx.nd.array([1, 2])).asnumpy().tolist())
    [1.0, 2.0]
    """
    return _operator("shuffle")(data, **kwargs)


def rand_zipfian(
    true_classes: NDArray, num_sampled: int, range_max: int, ctx: Context | str | None = None
) -> tuple[NDArray, NDArray, NDArray]:
    """Classes drawn by a law in which small ones come more often, some perhaps twice.

    The class `i` has the probability ``log((i + 2) / (i + 1)) / log(range_max + 1)``.

    Parameters
    ----------
    true_classes
        Classes of which the caller wants to know how often they are expected.
    num_sampled
        How many classes to draw.
    range_max
        The number of classes.
    ctx
        Where to draw; the current context where None.

    Returns
    -------
    The classes drawn (int64), and how often each of `true_classes` and each of those drawn is
    expected among so many (float64).

    Examples
    --------
    >>> import ferromix as mx
    >>> drawn, _, _ = mx.nd.contrib.rand_zipfian(mx.nd.array([3]), 4, 5)
    >>> drawn.shape
    (4,)
    """
    if not isinstance(true_classes, NDArray):
        raise ArgumentTypeError(
            f"rand_zipfian: true_classes must be an NDArray, got {brief(true_classes)}"
        )
    end = log(range_max + 1)
    u = uniform(0, end, shape=(num_sampled,), dtype="float64", ctx=ctx)
    drawn = (u.exp() - 1).astype("int64") % range_max

    def expected(classes: NDArray) -> NDArray:
        exact = classes.as_in_context(drawn.context).astype("float64")
        return ((exact + 2.0) / (exact + 1.0)).log() / end * num_sampled

    return drawn, expected(true_classes), expected(drawn)


__getattr__, __dir__ = serve(__name__, member)


_operator = cache(function)


def _draw(
    name: str,
    params: dict[str, Any],
    shape: Any,
    dtype: Any,
    ctx: Context | str | None,
    out: NDArray | None,
    rest: dict[str, Any],
) -> NDArray:
    if not parameters(name, params, NDArray):
        return _fixed(f"random_{name}", params, shape, dtype, ctx, out, rest)
    attrs = {} if shape is None else {"shape": shape}
    return _operator(f"sample_{name}")(*params.values(), **attrs, dtype=dtype, out=out, **rest)


def _fixed(
    name: str,
    params: dict[str, Any],
    shape: Any,
    dtype: Any,
    ctx: Context | str | None,
    out: NDArray | None,
    rest: dict[str, Any],
) -> NDArray:
    if shape is None and out is None:
        shape = (1,)
    if ctx is not None:
        rest = {"ctx": as_context(ctx), **rest}
    return _operator(name)(**params, shape=shape, dtype=dtype, out=out, **rest)
