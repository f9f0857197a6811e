"""Tests of random numbers: their mean, their variance, and how they fall into buckets."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..base import as_int, require_kind
from ..error import ArgumentTypeError, InvalidArgumentError
from ..literal import brief
from ..ndarray import NDArray

__all__ = [
    "chi_square_check",
    "gen_buckets_probs_with_ppf",
    "mean_check",
    "var_check",
    "verify_generator",
]

Generator = Callable[[int], Any]


def _draw(generator: Generator, count: int) -> np.ndarray:
    if not callable(generator):
        raise ArgumentTypeError(f"generator must be a function, got {brief(generator)}")
    found = generator(count)
    found = found.asnumpy() if isinstance(found, NDArray) else np.asarray(found)
    return found.reshape(-1)


def mean_check(generator: Generator, mu: float, sigma: float, nsamples: int = 1000000) -> bool:
    """Whether the mean of many numbers is within three of its standard deviations of `mu`.

    Parameters
    ----------
    generator
        Gives as many independent numbers as it is asked for.
    mu, sigma
        The mean and the standard deviation of their distribution.
    nsamples
        How many are drawn.
    """
    mean = _draw(generator, nsamples).astype(np.float64).mean()
    return bool(abs(mean - mu) < 3 * sigma / math.sqrt(nsamples))


def var_check(generator: Generator, sigma: float, nsamples: int = 1000000) -> bool:
    """Whether the variance of many numbers is within three of its standard deviations of
    ``sigma ** 2``, where they are normally distributed; see :func:`mean_check`.
    """
    variance = _draw(generator, nsamples).astype(np.float64).var(ddof=1)
    return bool(abs(variance - sigma**2) < 3 * math.sqrt(2 * sigma**4 / (nsamples - 1)))


def gen_buckets_probs_with_ppf(
    ppf: Callable[[float], float], nbuckets: int
) -> tuple[list[tuple[float, float]], list[float]]:
    """Intervals into which numbers fall equally often, and how often.

    Parameters
    ----------
    ppf
        The quantile function: the number below which a given part lies.
    nbuckets
        How many intervals.

    Examples
    --------
    >>> from ferromix.test_utils import gen_buckets_probs_with_ppf
    >>> gen_buckets_probs_with_ppf(lambda part: 10 * part, 2)
    ([(0.0, 5.0), (5.0, 10.0)], [0.5, 0.5])
    """
    nbuckets = as_int("nbuckets", nbuckets, 1)
    if not callable(ppf):
        raise ArgumentTypeError(f"ppf must be a function, got {brief(ppf)}")
    ends = [ppf(i / nbuckets) for i in range(nbuckets + 1)]
    return list(pairwise(ends)), [1.0 / nbuckets] * nbuckets


def chi_square_check(
    generator: Generator,
    buckets: Sequence[Any],
    probs: Sequence[float],
    nsamples: int = 1000000,
) -> tuple[float, np.ndarray, np.ndarray]:
    """How likely numbers are to fall into buckets as they do, or worse, by Pearson's test.

    Parameters
    ----------
    generator
        Gives as many independent numbers as it is asked for.
    buckets
        Intervals ``(low, high)`` in ascending order that cover the distribution, or single values.
    probs
        How likely each bucket is.
    nsamples
        How many numbers are drawn.

    Returns
    -------
    tuple
        The probability, how many numbers are in each bucket, and how many should be.
    """
    require_kind("buckets", buckets, (list, tuple), "a list")
    require_kind("probs", probs, (list, tuple), "a list")
    if not buckets or len(buckets) != len(probs):
        raise InvalidArgumentError(f"{len(buckets)} buckets with {len(probs)} probabilities")
    if abs(sum(probs) - 1) > 1e-3:
        raise InvalidArgumentError(f"probabilities must add up to 1, not {sum(probs)}")
    drawn = _draw(generator, nsamples)
    if isinstance(buckets[0], (list, tuple)):
        lows = np.array([low for low, _ in buckets], np.float64)
        highs = np.array([high for _, high in buckets], np.float64)
        if (lows >= highs).any() or (highs[:-1] > lows[1:]).any():
            raise InvalidArgumentError("buckets must be intervals in ascending order")
        values = np.sort(drawn.astype(np.float64))
        seen = np.searchsorted(values, highs) - np.searchsorted(values, lows)
    else:
        seen = np.array([int((drawn == value).sum()) for value in buckets])
    wanted = (nsamples * np.asarray(probs, np.float64)).astype(np.int32)
    expected = nsamples * np.asarray(probs, np.float64)
    statistic = float((np.square(seen - expected) / expected).sum())
    return _chi_square_tail(statistic, len(probs) - 1), seen, wanted


def _chi_square_tail(statistic: float, degrees: int) -> float:
    """How likely a chi-square variable is to be larger: sums with as many terms as half of the
    degrees of freedom.
    """
    if degrees == 0:
        return 1.0 if statistic <= 0 else 0.0
    half, odd = statistic / 2, degrees % 2
    if half <= 0:
        return 1.0
    total = math.erfc(math.sqrt(half)) if odd else 0.0
    for i in range(degrees // 2):
        power = i + odd / 2
        total += math.exp(-half + power * math.log(half) - math.lgamma(power + 1))
    return min(total, 1.0)


def verify_generator(
    generator: Generator,
    buckets: Sequence[Any],
    probs: Sequence[float],
    nsamples: int = 1000000,
    nrepeat: int = 5,
    success_rate: float = 0.2,
    alpha: float = 0.05,
) -> list[float]:
    """Raises AssertionError where too few of several runs of :func:`chi_square_check` succeed.

    Parameters
    ----------
    generator, buckets, probs, nsamples
        Those of :func:`chi_square_check`.
    nrepeat
        How many runs.
    success_rate
        The part of the runs that must succeed.
    alpha
        A run succeeds where it was at least so likely.

    Returns
    -------
    list
        How likely each run was.
    """
    runs = [chi_square_check(generator, buckets, probs, nsamples) for _ in range(nrepeat)]
    found = [run[0] for run in runs]
    good = sum(p > alpha for p in found)
    if good < nrepeat * success_rate:
        counts = "\n".join(f"  {seen} where {wanted} should be" for _, seen, wanted in runs)
        raise AssertionError(
            f"{good} of {nrepeat} runs are likely enough: {found} (above {alpha})\n{counts}"
        )
    return found
