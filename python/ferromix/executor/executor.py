"""The executor: a symbol bound to arrays, run by one call into the core per pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cached_property
from math import prod
from operator import index
from typing import Any

import numpy as np

from ..base import require_kind
from ..context import Context
from ..error import ArgumentTypeError, DTypeError, InvalidArgumentError
from ..graph.node import Entry, Node, many_nodes, topological
from ..ndarray import NDArray
from ..symbol import Symbol
from ..symbol.inference import declared_shape, from_user_shape
from .arrays import assign, by_name, by_node, list_of_grads, named, shrunk
from .bound import BoundGraph
from .described import Described
from .inferred import infer_known

__all__ = ["Executor"]

OutGrads = NDArray | Sequence[NDArray | None] | Mapping[str, NDArray] | None


class Executor(Described):
    """A symbol bound to arrays; made by :meth:`Symbol.bind` and :meth:`Symbol.simple_bind`.

    Executors may share arguments and run at once on several threads. Those that share memory for
    intermediate results take turns, pass by pass: what is computed is right in any order, but a
    backward pass needs its executor's forward pass to be the last one that ran in that memory.
    One executor may be called by several threads, too; its arrays are those of the last pass, and
    `copy()` reads one as it is between two passes, which `asnumpy()` does not.

    Parameters
    ----------
    handle
        The graph with its arrays.
    symbol, ctx, grad_req, group2ctx
        What was bound, where and how.

    Attributes
    ----------
    arg_arrays, grad_arrays, aux_arrays
        The arrays in the order of ``list_arguments()`` and ``list_auxiliary_states()``; None for
        a gradient that is not wanted.
    outputs
        The arrays of the outputs, overwritten by every forward pass.

    Examples
    --------
    >>> import ferromix as mx
    >>> x = mx.sym.Variable("x")
    >>> e = (x * x).simple_bind(mx.cpu(), x=(3,))
    >>> e.forward(is_train=True, x=mx.nd.array([1, 2, 3]))[0].asnumpy().tolist()
    [1.0, 4.0, 9.0]
    >>> e.backward(mx.nd.ones((3,)))
    >>> e.grad_dict["x"].asnumpy().tolist()
    [2.0, 4.0, 6.0]
    """

    def __init__(
        self,
        handle: BoundGraph,
        symbol: Symbol,
        ctx: Context | None,
        grad_req: Any,
        group2ctx: Mapping[str, Any] | None,
    ) -> None:
        require_kind("Executor: handle", handle, BoundGraph, "what bind makes")
        self.handle = handle
        self._symbol = symbol
        self._ctx = ctx
        self._grad_req = grad_req
        self._group2ctx = group2ctx
        self._network = handle.network
        self.arg_arrays = handle.arg_arrays
        self.grad_arrays = handle.grad_arrays
        self.aux_arrays = handle.aux_arrays
        self.outputs = handle.outputs

    # -- arrays by name ------------------------------------------------------------------------

    @cached_property
    def arg_dict(self) -> dict[str, NDArray]:
        """The arguments by name."""
        return by_name("argument", self._network.arguments, self.arg_arrays)

    @cached_property
    def grad_dict(self) -> dict[str, NDArray | None]:
        """The gradients by the names of their arguments."""
        return by_name("argument", self._network.arguments, self.grad_arrays)

    @cached_property
    def aux_dict(self) -> dict[str, NDArray]:
        """The auxiliary states by name."""
        return by_name("auxiliary state", self._network.states, self.aux_arrays)

    @property
    def output_dict(self) -> dict[str, NDArray]:
        """The outputs by name."""
        return named("output", self._network.names, self.outputs)

    # -- running -------------------------------------------------------------------------------

    def forward(self, is_train: bool = False, **kwargs: NDArray | np.ndarray) -> list[NDArray]:
        """Pushes the forward pass and returns :attr:`outputs` at once.

        Parameters
        ----------
        is_train
            Whether operators train, and keep what :meth:`backward` needs.
        **kwargs
            New values for arguments, which are copied into their arrays.

        Raises
        ------
        InvalidArgumentError
            For a name that is no argument, or values of another shape; names both shapes.
        """
        with self.handle.pool.lock:
            if kwargs:
                self._assign(kwargs)
            self.handle.forward(bool(is_train))
        return self.outputs

    def partial_forward(self, is_train: bool = False, step: int = 0) -> int:
        """Pushes one step of the forward pass: one operator, in topological order.

        Parameters
        ----------
        is_train
            As for :meth:`forward`; the same for all steps of a pass.
        step
            The number of the step. A pass begins with 0 and counts up; a step beyond the last one
            does nothing.

        Returns
        -------
        int
            How many steps are left. With 0 the pass is complete, and :meth:`backward` may follow.

        Raises
        ------
        InvalidArgumentError
            For a step whose predecessors did not run.

        Examples
        --------
        >>> import ferromix as mx
        >>> y = mx.sym.exp(mx.sym.Variable("x") - 1)
        >>> e = y.bind(mx.cpu(), {"x": mx.nd.ones((2,))})
        >>> e.partial_forward(step=0), e.partial_forward(step=1)
        (1, 0)
        >>> e.outputs[0].asnumpy().tolist()
        [1.0, 1.0]
        """
        number = index(step)
        if number < 0:
            raise InvalidArgumentError(f"partial_forward: step must be at least 0, got {number}")
        with self.handle.pool.lock:
            return self.handle.step(bool(is_train), number)

    def backward(self, out_grads: OutGrads = None, is_train: bool = True) -> None:
        """Pushes the backward pass, which fills the gradient arrays.

        After ``forward(is_train=False)`` the forward pass is run again first, since prediction
        does not keep what the backward pass reads; graphs that draw random numbers then, or call
        users' functions, do.

        Parameters
        ----------
        out_grads
            The gradients of the outputs: an array, a list in the order of the outputs, or a dict
            by name. Losses, such as SoftmaxOutput, need none; more than there are outputs are
            passed over, as in MXNet.
        is_train
            False for the gradients of prediction also after ``forward(is_train=True)``; otherwise
            they are those of the mode of the last forward pass.

        Raises
        ------
        InvalidArgumentError
            If forward was not called, or a gradient is missing or has another shape.
        DTypeError
            For something that is no NDArray.
        """
        if not self._network.backward:
            return
        with self.handle.pool.lock:
            self.handle.require_forward()
            self._assign_out_grads(out_grads)
            self.handle.backward(bool(is_train))

    def set_monitor_callback(
        self, callback: Callable[[str, NDArray], object] | None, monitor_all: bool = False
    ) -> None:
        """Has a function called with the results of each operator, as a pass comes to it.

        The thread that calls :meth:`forward` or :meth:`backward` calls it, after each operator is
        pushed, in topological order. What it raises comes out of that call, and the pass ends
        there. As long as there is a callback, every result has an array of its own, so passes take
        more memory, and operators are pushed one by one.

        Parameters
        ----------
        callback
            Takes a name, such as ``fc1_output``, and the array, which is valid until the next pass.
            Hidden outputs are shown too. Going back, the gradients that an operator gives for its
            inputs are ``fc1_backward_output0`` and so on. None takes the callback away.
        monitor_all
            Whether it is also called with the inputs of each operator, such as ``fc1_weight``,
            before it is pushed forward; those that are variables also under their own name.

        Raises
        ------
        DTypeError
            For something that cannot be called.

        Examples
        --------
        >>> import ferromix as mx
        >>> y = mx.sym.exp(mx.sym.negative(mx.sym.Variable("x"), name="z"), name="y")
        >>> e = y.bind(mx.cpu(), {"x": mx.nd.zeros((2,))})
        >>> e.set_monitor_callback(lambda name, array: print(name, array.asnumpy()))
        >>> _ = e.forward()
        z_output [-0. -0.]
        y_output [1. 1.]
        """
        if callback is not None and not callable(callback):
            raise DTypeError(
                "set_monitor_callback: callback must be a function of a name and an NDArray, "
                f"got {callback!r}"
            )
        self.handle.monitor = callback, bool(monitor_all)

    def _assign(self, values: Mapping[str, Any]) -> None:
        arrays = self.arg_dict
        for name, value in values.items():
            if name not in arrays:
                raise ArgumentTypeError(
                    f"forward: there is no argument '{name}'; arguments: {', '.join(arrays)}"
                )
            if not isinstance(value, (NDArray, np.ndarray)):
                raise ArgumentTypeError(
                    f"forward: argument '{name}' must be an NDArray or a NumPy array, "
                    f"got {type(value).__name__}"
                )
            if tuple(value.shape) != arrays[name].shape:
                raise InvalidArgumentError(
                    f"forward: argument '{name}' has shape {tuple(value.shape)}, but was bound "
                    f"with {arrays[name].shape}; use reshape for other shapes"
                )
            assign(value, arrays[name])

    def _assign_out_grads(self, out_grads: OutGrads) -> None:
        names = self._network.names
        if isinstance(out_grads, Mapping):
            out_grads = [out_grads.get(n) for n in names]
        given = list_of_grads(out_grads)
        given += [None] * (len(names) - len(given))
        for name, node, value in zip(names, self._network.head_grads, given, strict=False):
            if node is None:
                continue
            if value is None:
                raise InvalidArgumentError(
                    f"backward: output '{name}' is no loss, so its gradient must be given in "
                    "out_grads as an NDArray; to minimize the output itself, pass it through "
                    "make_loss"
                )
            target = self.handle.head_gradient(node)
            if value.shape != target.shape:
                raise InvalidArgumentError(
                    f"backward: the gradient of output '{name}' has shape {value.shape}, "
                    f"expected {target.shape}"
                )
            assign(value, target)

    def get_optimized_symbol(self) -> Symbol:
        """A copy of the symbol that is bound; binding rewrites none of its operators."""
        return copy(self._symbol)

    # -- parameters and shapes -----------------------------------------------------------------

    def copy_params_from(
        self,
        arg_params: Mapping[str, NDArray],
        aux_params: Mapping[str, NDArray] | None = None,
        allow_extra_params: bool = False,
    ) -> None:
        """Copies values into arguments and auxiliary states, converting their types.

        Parameters
        ----------
        arg_params, aux_params
            Values by name.
        allow_extra_params
            Whether names that this executor lacks are passed over.

        Raises
        ------
        InvalidArgumentError
            For a name or a shape that does not fit.
        """
        groups = (("argument", self.arg_dict, arg_params), ("state", self.aux_dict, aux_params))
        for kind, arrays, values in groups:
            values = {} if values is None else values
            require_kind(f"copy_params_from: {kind}s", values, Mapping, "a dict of arrays by name")
            for name, value in values.items():
                if name not in arrays:
                    if allow_extra_params:
                        continue
                    raise InvalidArgumentError(
                        f"copy_params_from: there is no {kind} '{name}'; {kind}s: "
                        f"{', '.join(arrays) or 'none'}; allow_extra_params=True passes over it"
                    )
                if tuple(value.shape) != arrays[name].shape:
                    raise InvalidArgumentError(
                        f"copy_params_from: {kind} '{name}' has shape {tuple(value.shape)}, "
                        f"expected {arrays[name].shape}"
                    )
                assign(value, arrays[name])

    @many_nodes()
    def reshape(
        self, partial_shaping: bool = False, allow_up_sizing: bool = False, **kwargs: Any
    ) -> Executor:
        """An executor for other shapes, which shares arrays and memory with this one.

        Arguments whose shape stays are shared; those that shrink live in the memory of the old
        ones. The two executors must not be in use at the same time.

        Parameters
        ----------
        partial_shaping
            Whether arguments that are not named in `kwargs` may change their shape.
        allow_up_sizing
            Whether arguments may grow, for which they get new arrays of zeros.
        **kwargs
            New shapes of arguments by name; other names are passed over.

        Raises
        ------
        InvalidArgumentError
            For a change that is not allowed; names the argument and both shapes.
        """
        net = self._network
        nodes = [*net.arguments, *net.states]
        known = {
            Entry(n, 0): from_user_shape(kwargs[n.name], n.name)
            if n.name in kwargs
            else declared_shape(n)
            for n in nodes
        }
        types = {Entry(n, 0): self.handle.arrays[Entry(n, 0)].dtype_name for n in nodes}
        shapes, _ = infer_known(topological(net.written), known, types, list(kwargs))

        def changed(node: Node, old: NDArray, shape: tuple[int, ...]) -> NDArray:
            if shape == old.shape:
                return old
            if node.name not in kwargs and not partial_shaping:
                raise InvalidArgumentError(
                    f"reshape: '{node.name}' would change from {old.shape} to {shape} without "
                    "being named; if this is meant, set partial_shaping=True"
                )
            if prod(shape) > old.size and not allow_up_sizing:
                raise InvalidArgumentError(
                    f"reshape: '{node.name}' would grow from {old.shape} to {shape}; bind the "
                    "larger shape first and reshape to the smaller, or set allow_up_sizing=True"
                )
            return shrunk(old, shape)

        def arrays(nodes: Sequence[Node], old: Sequence[NDArray]) -> dict[Node, NDArray]:
            return {n: changed(n, a, shapes[Entry(n, 0)]) for n, a in zip(nodes, old, strict=True)}

        args = arrays(net.arguments, self.arg_arrays)
        grads = by_node(net.arguments, self.grad_arrays)
        bound = BoundGraph(
            net.written,
            self.handle.placement,
            args,
            {n: changed(n, grads[n], args[n].shape) for n in self.handle.requests if n in grads},
            self.handle.requests,
            arrays(net.states, self.aux_arrays),
            self.handle.pool,
        )
        bound.monitor = self.handle.monitor
        return Executor(bound, self._symbol, self._ctx, self._grad_req, self._group2ctx)

    def __repr__(self) -> str:
        outputs = ", ".join(self._network.names)
        return f"<Executor of {outputs} on {self.handle.placement.default}>"
