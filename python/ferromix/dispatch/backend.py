"""The door between operators and devices: what runs a card on a device is decided here alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from .. import _core
from ..context import Context, placement
from ..error import InvalidArgumentError
from ..ops.card import OperatorProperty, Shape

__all__ = ["CPU", "Backend", "Desc", "Device", "backend_of", "device_of", "install"]

Desc = tuple[Shape, str]
"""Shape and name of the element type of one array."""
Device = tuple[int, int]
"""The kind of a device, as MXNet numbers kinds, and its number."""
CPU: Device = (Context.devstr2type["cpu"], 0)
"""The device of operators on any memory that the CPU reaches, whatever its number."""


class Backend(Protocol):
    """What runs operators on the devices of a kind.

    Calls, bound graphs and backward passes all come to :meth:`prepare`, once for each combination
    of card, shapes, types and mode, and push what it gives again and again. So a backend for
    another kind of device is a class with these methods, and one call of :func:`install`.
    """

    def maker(self, card: OperatorProperty, is_train: bool) -> _core.Maker | None:
        """What gives the kernels of a card for any arrays without running Python, if there is such
        a thing; bound graphs ask it in place of :meth:`prepare`."""
        ...

    def prepare(
        self,
        card: OperatorProperty,
        inputs: Sequence[Desc],
        outputs: Sequence[Desc],
        is_train: bool,
        device: Device,
    ) -> _core.Prepared:
        """The kernel for a card and the arrays described; see :func:`.operators.prepare`."""
        ...


_BACKENDS: dict[int, Backend] = {}


def device_of(context: Context) -> Device:
    """The device on which operators run whose arrays are on `context`."""
    kind, number = placement(context)
    return CPU if context.compute.device_type == "cpu" else (kind, number)


def install(kind: str, backend: Backend) -> None:
    """Has `backend` run the operators of all devices of a kind, such as ``"cpu"``."""
    _BACKENDS[Context.devstr2type[kind]] = backend


def backend_of(device: Device) -> Backend:
    """What runs operators on `device`.

    Raises
    ------
    InvalidArgumentError
        For a kind of device that this version does not run on.
    """
    kind, number = device
    backend = _BACKENDS.get(kind)
    if backend is None:
        name = Context.devtype2str.get(kind, kind)
        raise InvalidArgumentError(
            f"no operators run on {name}({number}) in this version of Ferromix; use ferromix.cpu()"
        )
    return backend
