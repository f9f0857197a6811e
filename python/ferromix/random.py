"""The random numbers of the process: one seed, and draws that follow program order.

Numbers come from Philox4x32-10, keyed by the seed and counted by operation and element, so they
are the same for any number of threads.
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
        Accepted as in MXNet; all devices share one state.

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
    _core.seed(int(seed_state))
