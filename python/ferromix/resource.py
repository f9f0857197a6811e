"""What operations share besides arrays: temporary space, and random numbers of their own.

A resource belongs to no operation. Whoever uses one lists its `var` among the variables that
change, so that the engine runs its users one after another, in the order of their pushes. As in
MXNet, a process has few of them: `request` gives one that is there already.

Examples
--------
>>> import ferromix as mx
>>> space = mx.resource.request(mx.cpu(), "temp_space")
>>> a, total = mx.nd.ones((2, 3)), mx.nd.zeros((1,))
>>> def double_and_sum():
...     twice = space.get_space(a.shape)
...     twice[:] = a * 2
...     total[:] = twice.sum()
>>> mx.engine.push(double_and_sum, const_vars=[a], mutable_vars=[total, space.var])
>>> float(total.asscalar())
12.0
"""

from __future__ import annotations

import enum
import itertools
import os
from math import prod
from typing import Any, Literal, overload

import numpy as np

from . import _core
from .base import as_int, as_shape
from .context import Context, require_place
from .error import ArgumentTypeError, InvalidArgumentError
from .literal import brief
from .ndarray import NDArray
from .ndarray.random import normal, uniform
from .ops.param import dtype_name

__all__ = ["RandomResource", "Resource", "ResourceRequest", "TempSpace", "request", "reseed"]


class ResourceRequest(enum.IntEnum):
    """The kinds of resources, with MXNet's names and numbers."""

    kRandom = 0  # noqa: N815
    kTempSpace = 1  # noqa: N815
    kParallelRandom = 2  # noqa: N815


_KINDS = {
    "random": ResourceRequest.kRandom,
    "temp_space": ResourceRequest.kTempSpace,
    "parallel_random": ResourceRequest.kParallelRandom,
    **ResourceRequest.__members__,
}

_COPIES = 4
"""Temporary spaces that operations take in turn, unless ``MXNET_CPU_TEMP_COPY`` says how many."""


class Resource:
    """What all resources have.

    Attributes
    ----------
    ctx : Context
        The device that it was made for.
    req : ResourceRequest
        Its kind.
    var : Var
        Its variable: to be listed among the variables that an operation changes.
    """

    def __init__(self, ctx: Context, req: ResourceRequest) -> None:
        self.ctx = require_place(ctx)
        self.req = kind_of(req)
        self.var = _core.Variable()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.req.name} of {self.ctx}>"


class TempSpace(Resource):
    """Memory for intermediate values, which grows to what its users need and then stays."""

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx, ResourceRequest.kTempSpace)
        self._memory: _core.Array | None = None

    def get_space(self, shape: Any, dtype: Any = "float32") -> NDArray:
        """An array in the space, of arbitrary values.

        It begins where that of the last call began, so only the newest is of use. Operations on it
        are ordered as on any array.

        Parameters
        ----------
        shape
            The extents.
        dtype
            The element type.

        Raises
        ------
        InvalidArgumentError
            A shape that is none, or that no memory could hold.

        Examples
        --------
        >>> import ferromix as mx
        >>> space = mx.resource.request(mx.cpu(), "temp_space")
        >>> space.get_space((2, 3), dtype="int32").shape
        (2, 3)
        """
        extents, kind = as_shape(shape), dtype_name(dtype)
        item = 2 if kind == "bfloat16" else np.dtype(kind).itemsize
        needed = prod(extents) * item
        memory = self._memory
        if memory is None or memory.nbytes < needed:
            if needed >= 1 << 63:
                raise InvalidArgumentError(f"a space of shape {extents} does not fit into memory")
            memory = _core.Array((needed,), "uint8", self.ctx.device_typeid, self.ctx.device_id)
            memory.attach(self.var)  # who has the variable may look at the memory
            self._memory = memory
        return NDArray(memory.cast_view(kind, extents))

    @property
    def nbytes(self) -> int:
        """Bytes that it has now."""
        return 0 if self._memory is None else self._memory.nbytes

    def release(self) -> None:
        """Gives the memory back once its users are done; the next space takes new memory."""
        self._memory = None


class RandomResource(Resource):
    """Random numbers whose order is that of the resource's variable.

    Functions that run as operations may start in any order, and so would draw from
    ``mx.random`` in any order. Those that have this resource's variable among what they change draw
    in the order of their pushes: a seed gives the same numbers for any number of workers.
    ``mx.random.seed`` starts the numbers over, also in the order of pushes. Numbers are those of
    Philox4x32-10, as docs/random.md says.

    Outside of such a function, drawing waits for the functions that were pushed before.
    """

    def __init__(
        self, ctx: Context, req: ResourceRequest, stream: _core.RandomStream | None = None
    ) -> None:
        super().__init__(ctx, req)
        self._stream = _core.RandomStream(int(self.req)) if stream is None else stream

    def uniform(self, low: float, high: float, out: NDArray) -> NDArray:
        """Fills `out` with numbers drawn evenly from [low, high), and returns it.

        Parameters
        ----------
        low, high
            The interval.
        out
            An array of any floating type.

        Examples
        --------
        >>> import ferromix as mx
        >>> rng = mx.resource.request(mx.cpu(), "random")
        >>> mx.random.seed(1)
        >>> first = rng.uniform(-1, 1, mx.nd.zeros((3,))).asnumpy()
        >>> mx.random.seed(1)
        >>> bool((first == rng.uniform(-1, 1, mx.nd.zeros((3,))).asnumpy()).all())
        True
        """
        _require_array(out)
        self.var.wait_to_write()
        return self._stream.during(lambda: uniform(low, high, out=out))

    def normal(self, loc: float, scale: float, out: NDArray) -> NDArray:
        """Fills `out` with normal numbers of mean `loc` and deviation `scale`, and returns it."""
        _require_array(out)
        self.var.wait_to_write()
        return self._stream.during(lambda: normal(loc, scale, out=out))

    def split(self, count: int) -> list[RandomResource]:
        """`count` further resources, for threads or parts that draw at the same time.

        Their numbers depend on those of this one, not on each other. They have variables of their
        own, and no seed starts them over.

        Examples
        --------
        >>> import ferromix as mx
        >>> rng = mx.resource.request(mx.cpu(), "parallel_random")
        >>> parts = [r.normal(0, 1, mx.nd.zeros((2,))) for r in rng.split(3)]
        >>> len({float(p[0].asscalar()) for p in parts})
        3
        """
        count = as_int("count", count, 0, 2**20)
        self.var.wait_to_write()
        return [RandomResource(self.ctx, self.req, part) for part in self._stream.split(count)]

    def _reseed(self, seed: int) -> None:
        self._stream.reseed(self.var, seed)


def _require_array(out: object) -> None:
    if not isinstance(out, NDArray):
        raise ArgumentTypeError(f"out must be an NDArray to be filled, got {brief(out)}")


# Changed by single steps of dicts, so without a lock, which a child of a fork might find held.
_random: dict[ResourceRequest, RandomResource] = {}
_spaces: dict[Context, list[TempSpace]] = {}
_turn = itertools.count()


def _copies() -> int:
    text = os.environ.get("MXNET_CPU_TEMP_COPY", "").strip()
    return int(text) if text.isdecimal() and 1 <= int(text) <= 4096 else _COPIES


def kind_of(kind: object) -> ResourceRequest:
    """The kind of a resource, from its name or number.

    Raises
    ------
    InvalidArgumentError
        For another one; the message lists them.
    """
    found = _KINDS.get(kind) if isinstance(kind, str) else None
    if found is None and isinstance(kind, int) and kind in list(ResourceRequest):
        found = ResourceRequest(kind)
    if found is None:
        known = ", ".join(repr(name) for name in ("random", "temp_space", "parallel_random"))
        raise InvalidArgumentError(
            f"there is no resource {brief(kind)}; known: {known} and the members of ResourceRequest"
        )
    return found


@overload
def request(ctx: Context | str | None, kind: Literal["temp_space"]) -> TempSpace: ...
@overload
def request(
    ctx: Context | str | None, kind: Literal["random", "parallel_random"]
) -> RandomResource: ...
@overload
def request(ctx: Context | str | None, kind: str | ResourceRequest) -> Resource: ...
def request(ctx: Context | str | None, kind: str | ResourceRequest) -> Resource:
    """A resource of a device.

    Parameters
    ----------
    ctx
        The device; None for the current one. All CPUs share their random numbers.
    kind
        ``"temp_space"`` for a `TempSpace`, one of four in turn (``MXNET_CPU_TEMP_COPY`` says of how
        many); ``"random"`` or ``"parallel_random"`` for the `RandomResource` of that kind. Or a
        `ResourceRequest`.

    Raises
    ------
    InvalidArgumentError
        A GPU, as for arrays; an unknown kind.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.resource.request(mx.cpu(), "random")
    <RandomResource kRandom of cpu(0)>
    """
    found, ctx = kind_of(kind), require_place(ctx)
    if found is not ResourceRequest.kTempSpace:
        if found not in _random:
            _random.setdefault(found, RandomResource(Context("cpu", 0), found))
        return _random[found]
    if ctx not in _spaces:
        _spaces.setdefault(ctx, [TempSpace(ctx) for _ in range(_copies())])
    return _spaces[ctx][next(_turn) % len(_spaces[ctx])]


def reseed(seed: int) -> None:
    """Starts the numbers of all random resources over, once what was pushed before has drawn."""
    for resource in list(_random.values()):
        resource._reseed(seed)
