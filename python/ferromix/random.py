"""The random numbers of the process: one seed, and draws that follow program order.

Numbers come from Philox4x32-10, keyed by the seed and counted by operation and element, so they
are the same for any number of threads. docs/random.md describes which number goes where.
"""

from __future__ import annotations

from . import _core
from .context import Context
from .error import InvalidArgumentError
from .ndarray.random import normal, uniform

__all__ = ["normal", "seed", "uniform"]


def seed(seed_state: int, ctx: Context | str = "all") -> None:
    """Starts the random numbers over.

    Parameters
    ----------
    seed_state
        Any non-negative int below 2**64.
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
    if not 0 <= int(seed_state) < 2**64:
        raise InvalidArgumentError(f"a seed must be in [0, 2**64), got {seed_state}")
    if ctx == "all":
        _core.seed(int(seed_state))
        return
    device = Context(ctx)
    _core.seed(int(seed_state), (device.device_typeid, device.device_id))
