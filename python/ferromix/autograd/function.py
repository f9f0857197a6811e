"""Functions whose gradients users write themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import Array
from ..dispatch.python_operator import PythonOperator
from ..dispatch.tape import modes
from ..error import DTypeError, InvalidArgumentError
from ..ndarray import NDArray
from ..ops.card import Entry, GradientGraph

__all__ = ["Function"]


class Function:
    """A function of arrays with a gradient of its own; subclasses give both.

    ``forward(*inputs)`` computes one array, or several as a tuple or list, unrecorded.
    ``backward(*output_grads)`` gets the gradient of every output and gives that of every input, or
    None for one that has none. What backward needs, forward keeps by :meth:`save_for_backward`.
    An object serves one call. Its gradients cannot be differentiated again.

    Examples
    --------
    >>> import ferromix as mx
    >>> class Sigmoid(mx.autograd.Function):
    ...     def forward(self, x):
    ...         y = 1 / (1 + mx.nd.exp(-x))
    ...         self.save_for_backward(y)
    ...         return y
    ...
    ...     def backward(self, dy):
    ...         (y,) = self.saved_tensors
    ...         return dy * y * (1 - y)
    >>> x = mx.nd.zeros((2,))
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = Sigmoid()(x)
    >>> y.backward()
    >>> x.grad.asnumpy().tolist()
    [0.25, 0.25]
    """

    saved_tensors: tuple[NDArray, ...] = ()
    _used = False

    def save_for_backward(self, *args: NDArray) -> None:
        """Keeps arrays, as ``self.saved_tensors``, until the backward pass."""
        self.saved_tensors = args

    def forward(self, *inputs: NDArray) -> Any:
        """Computes the outputs."""
        raise NotImplementedError(f"{type(self).__name__} does not define forward")

    def backward(self, *output_grads: NDArray) -> Any:
        """Computes the gradients of the inputs from those of the outputs."""
        raise NotImplementedError(f"{type(self).__name__} does not define backward")

    def __call__(self, *inputs: NDArray) -> Any:
        """Runs :meth:`forward`, and records the call where the thread records.

        Raises
        ------
        InvalidArgumentError
            A second call of one object.
        DTypeError
            Inputs or outputs that are no arrays.
        """
        name = type(self).__name__
        if self._used:
            raise InvalidArgumentError(
                f"{name}: an object of an autograd Function can be called once; make another one"
            )
        self._used = True
        for i, value in enumerate(inputs):
            _require_array(f"{name}: input {i}", value)
        with modes(False, None):
            outputs = self.forward(*inputs)
        several = isinstance(outputs, (list, tuple))
        found = list(outputs) if several else [outputs]
        for i, value in enumerate(found):
            _require_array(f"{name}: output {i} of forward", value)
        # Objects of their own: what forward saved of its outputs must not hold the tape.
        results = [a.detach() for a in found]
        card = _Forward(self, inputs, len(results))
        card.record([a.handle for a in inputs], [a.handle for a in results])
        return results if several else results[0]


def _require_array(what: str, value: object) -> None:
    if not isinstance(value, NDArray):
        raise DTypeError(f"{what} must be an NDArray, got {type(value).__name__}")


class _Forward(PythonOperator):
    """A call of a function, as the tape knows it."""

    name = "Function"

    def __init__(self, function: Function, inputs: Sequence[NDArray], outputs: int) -> None:
        super().__init__()
        self.name = type(function).__name__  # type: ignore[misc] - one for each function
        self.function = function
        self.descs = [(a.shape, a.dtype_name, a.handle.context) for a in inputs]
        self.outputs = outputs

    def list_arguments(self) -> list[str]:
        """The inputs."""
        return [f"arg{i}" for i in range(len(self.descs))]

    def list_outputs(self) -> list[str]:
        """The results."""
        return [f"output{i}" for i in range(self.outputs)]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The user's."""
        return list(graph.op(_Backward(self), *graph.out_grad))


class _Backward(PythonOperator):
    """The gradient of a call of a function."""

    name = "_backward_Function"
    differentiable = False

    def __init__(self, forward: _Forward) -> None:
        super().__init__()
        self.name = f"_backward_{forward.name}"  # type: ignore[misc] - one for each function
        self.forward = forward

    def list_arguments(self) -> list[str]:
        """The gradients of the outputs."""
        return [f"{n}_grad" for n in self.forward.list_outputs()]

    def list_outputs(self) -> list[str]:
        """The gradients of the inputs."""
        return [f"{n}_grad" for n in self.forward.list_arguments()]

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """Calls the user's function, and checks what it gives."""
        function, descs = self.forward.function, self.forward.descs
        # Copies, since the user may write into what is given, and others may have it.
        gradients = function.backward(*(NDArray(a).copy() for a in inputs))
        found = list(gradients) if isinstance(gradients, (list, tuple)) else [gradients]
        if len(found) != len(descs):
            raise InvalidArgumentError(
                f"{self.forward.name}: backward gave {len(found)} gradients for {len(descs)} inputs"
            )
        return [
            self._checked(i, g, *desc) for i, (g, desc) in enumerate(zip(found, descs, strict=True))
        ]

    def _checked(self, i: int, gradient: Any, shape: Any, dtype: str, context: Any) -> Array:
        if gradient is None:
            return _zeros(shape, dtype, context)
        _require_array(f"{self.forward.name}: gradient {i} from backward", gradient)
        if (gradient.shape, gradient.dtype_name) != (shape, dtype):
            raise InvalidArgumentError(
                f"{self.forward.name}: backward gave a gradient of {gradient.dtype_name} "
                f"{gradient.shape} for input {i}, which is {dtype} {shape}"
            )
        return gradient.handle.detach()


def _zeros(shape: Any, dtype: str, context: Any) -> Array:
    result = NDArray(Array(shape, dtype, *context))
    result[:] = 0
    return result.handle
