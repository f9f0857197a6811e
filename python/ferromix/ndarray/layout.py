"""Where MXNet has names that are in other modules here, for scripts that import them from there."""

from __future__ import annotations

from .. import _core
from ..context import current_context
from ..util import is_np_array
from . import arithmetic, creation, dlpack, elements, ndarray, serialize

__all__ = ["install"]

_OTHERS = {
    "NDArrayBase": _core.Dense,
    "current_context": current_context,
    "is_np_array": is_np_array,
}
_HOMES = (arithmetic, creation, dlpack, elements, serialize)


def install() -> None:
    """Puts what makes and combines arrays into ``mx.nd.ndarray``, too."""
    for home in _HOMES:
        for name in home.__all__:
            setattr(ndarray, name, getattr(home, name))
    for name, value in _OTHERS.items():
        setattr(ndarray, name, value)
