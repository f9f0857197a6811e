"""The methods of a symbol that are operators: ``x.sum()`` is ``mx.sym.sum(x)``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..ops.card import exists, names
from ..ops.join import split_v2_attrs

__all__ = ["Methods"]


class Methods:
    """Operators as methods: every public operator whose name is in lower case, found by name."""

    __slots__ = ()

    def _call(self, op: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """An operator of this symbol and what else it takes."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        if _is_method(name):
            return lambda *args, **kwargs: self._call(name, args, kwargs)
        raise AttributeError(f"a symbol has no attribute '{name}'")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *filter(_is_method, names())]

    def reshape(self, *shape: Any, **attrs: Any) -> Any:
        """``mx.sym.reshape``; extents come as one tuple or one by one."""
        if shape:
            attrs["shape"] = shape[0] if isinstance(shape[0], (tuple, list)) else shape
        return self._call("Reshape", (), attrs)

    def transpose(self, *axes: Any, **attrs: Any) -> Any:
        """``mx.sym.transpose``; axes come as one tuple or one by one."""
        if axes:
            attrs["axes"] = axes[0] if isinstance(axes[0], (tuple, list)) else axes
        return self._call("transpose", (), attrs)

    def broadcast_to(self, *shape: Any, **attrs: Any) -> Any:
        """``mx.sym.broadcast_to``; extents come as one tuple or one by one."""
        if shape:
            attrs["shape"] = shape[0] if isinstance(shape[0], (tuple, list)) else shape
        return self._call("broadcast_to", (), attrs)

    def split_v2(self, indices_or_sections: Any, axis: int = 0, squeeze_axis: bool = False) -> Any:
        """``mx.sym.split_v2``."""
        return self._call("_split_v2", (), split_v2_attrs(indices_or_sections, axis, squeeze_axis))

    @property
    def T(self) -> Any:  # noqa: N802 - MXNet's name
        """The transpose."""
        return self._call("transpose", (), {})

    def flatten(self, **attrs: Any) -> Any:
        """``mx.sym.Flatten``."""
        return self._call("Flatten", (), attrs)

    def astype(self, dtype: Any, **attrs: Any) -> Any:
        """``mx.sym.Cast`` to an element type."""
        return self._call("Cast", (), {"dtype": dtype, **attrs})

    def abs(self, **attrs: Any) -> Any:
        """``mx.sym.abs``."""
        return self._call("abs", (), attrs)


def _is_method(name: str) -> bool:
    return name[0].isalpha() and name.islower() and exists(name)
