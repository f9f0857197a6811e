"""The first operators in Python, which MXNet has deprecated: objects that make symbols."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import symbol
from ..ndarray import NDArray
from ..ops import custom
from .custom import CustomOp, CustomOpProp, assign
from .views import numpy_view

__all__ = ["NDArrayOp", "NumpyOp", "PythonOp"]

_numbers = itertools.count()


class PythonOp:
    """An operator that is its own property: the base of :class:`NumpyOp` and :class:`NDArrayOp`.

    Deprecated: use :class:`~ferromix.operator.CustomOp`.

    Parameters
    ----------
    need_top_grad
        Whether ``backward`` reads the gradients of the outputs.
    """

    def __init__(self, need_top_grad: bool = True) -> None:
        self.info_: str | None = None
        self.need_top_grad_ = need_top_grad
        warnings.warn(f"{type(self).__name__} has been deprecated; use CustomOp", stacklevel=2)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The same as :meth:`get_symbol`."""
        return self.get_symbol(*args, **kwargs)

    def get_symbol(self, *args: Any, **kwargs: Any) -> Any:
        """A symbol of this operator.

        Parameters
        ----------
        *args, **kwargs
            The inputs, as symbols, and ``name=``.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define get_symbol")

    def forward(self, in_data: Sequence[Any], out_data: Sequence[Any]) -> None:
        """Computes `out_data`; by default a copy of the first input."""
        out_data[0][:] = in_data[0]

    def backward(
        self,
        out_grad: Sequence[Any],
        in_data: Sequence[Any],
        out_data: Sequence[Any],
        in_grad: Sequence[Any],
    ) -> None:
        """Computes `in_grad`; by default ones for the first input."""
        in_grad[0][:] = 1.0

    def infer_shape(self, in_shape: Sequence[Any]) -> tuple[Any, Any]:
        """The shapes of the inputs and of the outputs."""
        return in_shape, [in_shape[0]]

    def list_outputs(self) -> list[str]:
        """The names of the outputs."""
        return ["output"]

    def list_arguments(self) -> list[str]:
        """The names of the inputs."""
        return ["data"]

    def need_top_grad(self) -> bool:
        """Whether ``backward`` reads the gradients of the outputs."""
        return self.need_top_grad_

    def declare_backward_dependency(
        self, out_grad: Sequence[int], in_data: Sequence[int], out_data: Sequence[int]
    ) -> list[int]:
        """The numbers of the arrays that ``backward`` reads."""
        return [*(out_grad if self.need_top_grad() else ()), *in_data, *out_data]


class NumpyOp(PythonOp):
    """An operator of functions over NumPy arrays, which are the memory of the operator's own.

    Deprecated: use :class:`~ferromix.operator.CustomOp`.
    """

    def get_symbol(self, *args: Any, **kwargs: Any) -> Any:
        """A symbol of this operator."""
        return _symbol(self, True, args, kwargs)


class NDArrayOp(PythonOp):
    """An operator of functions over NDArrays.

    Deprecated: use :class:`~ferromix.operator.CustomOp`.
    """

    def get_symbol(self, *args: Any, **kwargs: Any) -> Any:
        """A symbol of this operator."""
        return _symbol(self, False, args, kwargs)


def _symbol(op: PythonOp, views: bool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Registers the object, once, under a name that nobody else has."""
    if op.info_ is None:
        op.info_ = f"_{type(op).__name__}_{next(_numbers)}"
        custom.enter(op.info_, lambda: _Property(op, views))
    return symbol.Custom(*args, op_type=op.info_, **kwargs)


class _Property(CustomOpProp):
    """What an object says of itself."""

    def __init__(self, op: PythonOp, views: bool) -> None:
        super().__init__(op.need_top_grad())
        self.op, self.views = op, views

    def list_arguments(self) -> list[str]:
        return self.op.list_arguments()

    def list_outputs(self) -> list[str]:
        return self.op.list_outputs()

    def infer_shape(self, in_shape: Sequence[Any]) -> tuple[Any, ...]:
        return self.op.infer_shape([tuple(shape) for shape in in_shape])

    def infer_type(self, in_type: Sequence[Any]) -> tuple[Any, ...]:
        known = next((t for t in in_type if t is not None), None)
        return [known] * len(in_type), [known] * len(self.list_outputs())

    def declare_backward_dependency(
        self, out_grad: Sequence[int], in_data: Sequence[int], out_data: Sequence[int]
    ) -> list[int]:
        return self.op.declare_backward_dependency(out_grad, in_data, out_data)

    def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> CustomOp:
        return _Operator(self.op, self.views)


class _Operator(CustomOp):
    """Calls an object, which knows no requests: what is not simply written goes through a copy."""

    def __init__(self, op: PythonOp, views: bool) -> None:
        self.op, self.views = op, views

    def forward(
        self,
        is_train: bool,
        req: list[str],
        in_data: list[Any],
        out_data: list[Any],
        aux: list[Any],
    ) -> None:
        results = [self._target(d, r) for d, r in zip(out_data, req, strict=True)]
        self.op.forward(in_data=self._given(in_data), out_data=results)
        self._deliver(out_data, req, results)

    def backward(
        self,
        req: list[str],
        out_grad: list[Any],
        in_data: list[Any],
        out_data: list[Any],
        in_grad: list[Any],
        aux: list[Any],
    ) -> None:
        results = [self._target(d, r) for d, r in zip(in_grad, req, strict=True)]
        self.op.backward(
            out_grad=self._given(out_grad),
            in_data=self._given(in_data),
            out_data=self._given(out_data),
            in_grad=results,
        )
        self._deliver(in_grad, req, results)

    def _given(self, arrays: Sequence[Any]) -> list[Any]:
        """What is declared as read, in the kind of arrays that the object knows."""
        if not self.views:
            return list(arrays)
        return [_readable(a) if isinstance(a, NDArray) else a for a in arrays]

    def _target(self, array: Any, req: str) -> Any:
        if req in ("null", "add") or (self.views and _is_far(array)):
            zeros = array.zeros_like()
            return zeros.asnumpy() if self.views else zeros
        return numpy_view(array) if self.views else array

    def _deliver(self, arrays: Sequence[Any], reqs: Sequence[str], results: Sequence[Any]) -> None:
        for array, req, result in zip(arrays, reqs, results, strict=True):
            if req == "add" or (self.views and _is_far(array)):
                assign(array, req, result if isinstance(result, np.ndarray) else result.copy())


def _is_far(array: NDArray) -> bool:
    """Whether NumPy does not reach the memory."""
    return array.context.device_type == "gpu"


def _readable(array: NDArray) -> np.ndarray:
    return array.asnumpy() if _is_far(array) else numpy_view(array)
