"""The random numbers of the process: one seed, and draws that follow program order.

Numbers come from Philox4x32-10, keyed by the seed and counted by operation and element, so they
are the same for any number of threads. docs/random.md describes which number goes where.
"""

from __future__ import annotations

from . import _core, resource
from .base import as_int
from .context import Context, as_context
from .ndarray.random import (
    exponential,
    gamma,
    generalized_negative_binomial,
    multinomial,
    negative_binomial,
    normal,
    poisson,
    randint,
    randn,
    shuffle,
    uniform,
)

__all__ = [
    "exponential",
    "gamma",
    "generalized_negative_binomial",
    "multinomial",
    "negative_binomial",
    "normal",
    "poisson",
    "randint",
    "randn",
    "seed",
    "shuffle",
    "uniform",
]


def seed(seed_state: int, ctx: Context | str = "all") -> None:
    """Starts the random numbers over.

    Parameters
    ----------
    seed_state
        Any int. The lowest 64 bits count: -1 is the same as 2**64 - 1.
    ctx
        The device to seed. All memory of the CPU has one generator, as in MXNet; each GPU has its
        own. With ``"all"`` every device starts over with numbers of its own (the first GPU with
        those of the CPU); a device seeded alone has numbers that depend on the seed only.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.random.seed(7)
    >>> a = mx.random.uniform(shape=(3,)).asnumpy()
    >>> mx.random.seed(7)
    >>> bool((a == mx.random.uniform(shape=(3,)).asnumpy()).all())
    True
    """
    value = as_int("seed_state", seed_state) % 2**64
    if isinstance(ctx, str) and ctx == "all":
        _core.seed(value)
        resource.reseed(value)
        return
    device = as_context(ctx)
    number = device.device_id if device.device_type == "gpu" else 0
    if device.device_type != "gpu":
        resource.reseed(value)
    _core.seed(value, (device.device_typeid, as_int("the number of a GPU", number, 0, 2**16 - 1)))
