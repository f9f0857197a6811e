"""Operators by name: MXNet's ``CustomOp``, ``CustomOpProp`` and their registry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from .. import ndarray

__all__ = ["CustomOp", "CustomOpProp", "assign"]

Shapes = Sequence[Sequence[int]]
_Method = TypeVar("_Method", bound=Callable[..., Any])


class CustomOp:
    """What computes a custom operator; made by :meth:`CustomOpProp.create_operator`.

    There is one object for each call of ``mx.nd.Custom``, and one for each use in a bound symbol,
    so what ``forward`` keeps in it is there for ``backward``. Both run on threads of the engine for
    Python functions, one at a time for each object. They may call anything of Ferromix; what they
    do is not recorded unless they ask for it by ``autograd.record()``.
    """

    def forward(
        self,
        is_train: bool,
        req: list[str],
        in_data: list[Any],
        out_data: list[Any],
        aux: list[Any],
    ) -> None:
        """Computes `out_data` from `in_data`.

        Parameters
        ----------
        is_train
            Whether to train or to predict.
        req
            For each output ``"null"``, ``"write"``, ``"inplace"`` or ``"add"``; see :meth:`assign`.
        in_data, out_data, aux
            NDArrays: inputs, which must not be written, outputs, and auxiliary states.
        """

    def backward(
        self,
        req: list[str],
        out_grad: list[Any],
        in_data: list[Any],
        out_data: list[Any],
        in_grad: list[Any],
        aux: list[Any],
    ) -> None:
        """Computes `in_grad`, the gradients of the inputs, from `out_grad`, those of the outputs.

        Parameters
        ----------
        req
            For each input what to do with its gradient, as for :meth:`forward`.
        out_grad, in_data, out_data, in_grad, aux
            NDArrays. What :meth:`CustomOpProp.declare_backward_dependency` leaves out has a shape
            and a type, but no values: reading them raises.
        """

    def assign(self, dst: Any, req: str, src: Any) -> None:
        """Writes `src` into `dst` as a request says: not at all, or adding to what is there.

        Parameters
        ----------
        dst
            An NDArray.
        req
            ``"null"``, ``"write"``, ``"inplace"`` or ``"add"``.
        src
            An NDArray, a NumPy array or a number.

        Examples
        --------
        >>> import ferromix as mx
        >>> total = mx.nd.ones((2,))
        >>> mx.operator.CustomOp().assign(total, "add", 2)
        >>> total.asnumpy()
        array([3., 3.], dtype=float32)
        """
        assign(dst, req, src)


def assign(dst: Any, req: str, src: Any) -> None:
    """Writes `src` into `dst` as a request says; see :meth:`CustomOp.assign`."""
    if req in ("write", "inplace"):
        dst[_all_of(dst)] = src
    elif req == "add":
        if isinstance(src, np.ndarray):
            src = ndarray.array(src, ctx=dst.context, dtype=dst.dtype)
        dst[_all_of(dst)] += src


def _all_of(array: Any) -> Any:
    """The index that means all elements; of an array without axes no slice does."""
    return slice(None) if array.shape else ()


def _dense_only(method: _Method) -> _Method:
    """Marks what takes dense arrays alone, so that nobody need ask it where there are no others."""
    setattr(method, "dense_only", True)  # noqa: B010 - functions have no such member
    return method


class CustomOpProp:
    """What there is to know of a custom operator; its subclasses are registered by name.

    The keywords of ``Custom`` are passed to the constructor, all as strings.

    Parameters
    ----------
    need_top_grad
        Whether ``backward`` reads the gradients of the outputs, unless
        :meth:`declare_backward_dependency` says something else. A loss does not.
    """

    def __init__(self, need_top_grad: bool = True) -> None:
        self.need_top_grad_ = need_top_grad

    def infer_shape(self, in_shape: Shapes) -> tuple[Any, ...]:
        """The shapes of inputs, outputs and auxiliary states (which may be left out).

        Parameters
        ----------
        in_shape
            A list for each input; an empty one is not known yet, and neither is an extent of -1.
            While that is so, the method may raise.
        """
        return in_shape, (in_shape[0],) * len(self.list_outputs()), ()

    def infer_type(self, in_type: Sequence[Any]) -> tuple[Any, ...]:
        """The element types of inputs, outputs and auxiliary states (which may be left out).

        Parameters
        ----------
        in_type
            NumPy types; None where not known yet.
        """
        first = [in_type[0]]
        states = len(self.list_auxiliary_states())
        return in_type, first * len(self.list_outputs()), first * states

    @_dense_only
    def infer_storage_type(self, in_stype: Sequence[str]) -> tuple[Any, ...]:
        """The storage types of inputs, outputs and auxiliary states; all dense by default.

        Raises
        ------
        AssertionError
            For an input that is not dense, unless the method is overridden.
        """
        _require_dense("infer_storage_type", "in_stype", in_stype)
        dense = ["default"]
        states = len(self.list_auxiliary_states())
        return in_stype, dense * len(self.list_outputs()), dense * states

    @_dense_only
    def infer_storage_type_backward(
        self,
        ograd_stype: list[str],
        in_stype: list[str],
        out_stype: list[str],
        igrad_stype: list[str],
        aux_stype: list[str],
    ) -> tuple[Any, ...]:
        """The storage types of all arrays of a backward pass; all dense by default."""
        _require_dense("infer_storage_type_backward", "ograd_stype", ograd_stype)
        known = [stype for stype in igrad_stype if stype != "undefined"]
        _require_dense("infer_storage_type_backward", "igrad_stype", known)
        groups = (ograd_stype, in_stype, out_stype, igrad_stype, aux_stype)
        return tuple(["default"] * len(group) for group in groups)

    def list_outputs(self) -> list[str]:
        """The names of the outputs."""
        return ["output"]

    def list_arguments(self) -> list[str]:
        """The names of the inputs, without the auxiliary states."""
        return ["data"]

    def list_auxiliary_states(self) -> list[str]:
        """The names of the inputs that the operator may change, and that have no gradient."""
        return []

    def declare_backward_dependency(
        self, out_grad: Sequence[int], in_data: Sequence[int], out_data: Sequence[int]
    ) -> list[int]:
        """Which arrays ``backward`` reads, so that others need not be kept.

        Parameters
        ----------
        out_grad, in_data, out_data
            A number for each array.

        Returns
        -------
        The numbers of those that it reads.
        """
        return [*(out_grad if self.need_top_grad_ else ()), *in_data, *out_data]

    def create_operator(self, ctx: Any, in_shapes: Shapes, in_dtypes: Sequence[int]) -> Any:
        """A new operator.

        Parameters
        ----------
        ctx
            The device, as a Context.
        in_shapes, in_dtypes
            Shapes and types (MXNet's numbers of them) of inputs and auxiliary states.
        """
        return CustomOp()


def _require_dense(method: str, what: str, stypes: Sequence[str]) -> None:
    for i, stype in enumerate(stypes):
        assert stype == "default", (
            f"{method} is not overridden, and takes dense arrays alone, but {what}[{i}] is {stype}"
        )
