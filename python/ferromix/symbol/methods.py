"""Methods of a symbol whose arguments differ from those of the operators of their names."""

from __future__ import annotations

from typing import Any

from ..error import NotImplementedForSymbol
from ..ops import join
from .operators import Operators

__all__ = ["Methods", "split_v2_attrs"]


def split_v2_attrs(
    indices_or_sections: Any, axis: int = 0, squeeze_axis: bool = False
) -> dict[str, Any]:
    """The attributes of ``_split_v2``, with indices as the list that MXNet makes of them."""
    attrs = join.split_v2_attrs(indices_or_sections, axis, squeeze_axis)
    return {**attrs, "indices": list(attrs["indices"])}


class Methods(Operators):
    """Operators as methods, with MXNet's arguments."""

    __slots__ = ()

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

    def flatten(self, inplace: bool = False, **attrs: Any) -> Any:
        """``mx.sym.Flatten``; `inplace` changes nothing."""
        return self._call("Flatten", (), attrs)

    def expand_dims(self, axis: int, inplace: bool = False, **attrs: Any) -> Any:
        """``mx.sym.expand_dims``; `inplace` changes nothing."""
        return self._call("expand_dims", (), {"axis": axis, **attrs})

    def squeeze(self, axis: Any = None, inplace: bool = False, **attrs: Any) -> Any:
        """``mx.sym.squeeze``; `inplace` changes nothing."""
        return self._call("squeeze", (), {"axis": axis, **attrs})

    def astype(self, dtype: Any, **attrs: Any) -> Any:
        """``mx.sym.Cast`` to an element type."""
        return self._call("Cast", (), {"dtype": dtype, **attrs})

    def abs(self, **attrs: Any) -> Any:
        """``mx.sym.abs``."""
        return self._call("abs", (), attrs)

    def as_nd_ndarray(self) -> Any:
        """This symbol, which is one of ``mx.sym`` already."""
        return self

    # What MXNet's symbols have only to say what to use instead.

    def asnumpy(self) -> Any:
        """Raises NotImplementedForSymbol: a symbol has no values."""
        raise NotImplementedForSymbol("asnumpy", None)

    def asscalar(self) -> Any:
        """Raises NotImplementedForSymbol: a symbol has no values."""
        raise NotImplementedForSymbol("asscalar", None)

    def wait_to_read(self) -> Any:
        """Raises NotImplementedForSymbol: a symbol has no values."""
        raise NotImplementedForSymbol("wait_to_read", None)

    def copy(self) -> Any:
        """Raises NotImplementedForSymbol: a symbol has no values."""
        raise NotImplementedForSymbol("copy", None)

    def as_in_context(self, context: Any = None) -> Any:
        """Raises NotImplementedForSymbol: a symbol has no values."""
        raise NotImplementedForSymbol("as_in_context", None)

    def detach(self) -> Any:
        """Raises NotImplementedForSymbol: ``mx.sym.BlockGrad`` stops a gradient."""
        raise NotImplementedForSymbol("detach", None)

    def backward(self) -> Any:
        """Raises NotImplementedForSymbol: a symbol has no values."""
        raise NotImplementedForSymbol("backward", None)
