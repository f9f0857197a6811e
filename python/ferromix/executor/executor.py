"""The executor: a symbol bound to arrays, run by one call into the core per pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from .. import _core
from ..base import require_kind
from ..context import Context
from ..error import DTypeError, InvalidArgumentError
from ..graph.node import Entry, Node, entry_name
from ..ndarray import NDArray, array
from ..symbol import Symbol
from .arrays import by_node, shrunk
from .network import build
from .program import BufferPool, Program

__all__ = ["Executor"]

OutGrads = NDArray | Sequence[NDArray | None] | Mapping[str, NDArray] | None


class Executor:
    """A symbol bound to arrays; made by :meth:`Symbol.bind` and :meth:`Symbol.simple_bind`.

    The training programs keep what the backward pass reads; the prediction program reuses the
    same buffers, so that predicting discards what training forward left behind.

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
        symbol: Symbol,
        ctx: Context,
        args: Mapping[Node, NDArray],
        grads: Mapping[Node, NDArray],
        requests: Mapping[Node, str],
        states: Mapping[Node, NDArray],
        pool: BufferPool,
    ) -> None:
        self._symbol = symbol
        self._ctx = ctx
        self._pool = pool
        self._requests = {n: r for n, r in requests.items() if r != "null"}
        descs = {n: (a.shape, a.dtype_name) for n, a in {**args, **states}.items()}
        self._network = build(symbol.entries, descs, self._requests)
        self.arg_arrays = [args[n] for n in self._network.arguments]
        self.grad_arrays = [grads.get(n) for n in self._network.arguments]
        self.aux_arrays = [states[n] for n in self._network.states]
        self._arrays = {Entry(n, 0): a for n, a in {**args, **states}.items()}
        self._make_outputs(grads)
        self.outputs = [self._arrays[e] for e in self._network.heads]
        self._programs: dict[tuple[bool, bool], Program] = {}
        self._ran_training: bool | None = None
        self._main_program()

    def _make_outputs(self, grads: Mapping[Node, NDArray]) -> None:
        """Finds or makes the arrays of outputs, of their gradients, and of the gradients."""
        network = self._network
        heads = [*network.heads, *(Entry(n, 0) for n in network.head_grads if n is not None)]
        for entry in heads:
            if entry not in self._arrays:
                handle = _core.Array(network.shapes[entry], network.types[entry])
                self._arrays[entry] = NDArray(handle)
        self._arrays.update({e: grads[n] for n, e in network.gradients.items()})

    # -- arrays by name ------------------------------------------------------------------------

    @property
    def arg_dict(self) -> dict[str, NDArray]:
        """The arguments by name."""
        return _by_name("argument", self._network.arguments, self.arg_arrays)

    @property
    def grad_dict(self) -> dict[str, NDArray | None]:
        """The gradients by the names of their arguments."""
        return _by_name("argument", self._network.arguments, self.grad_arrays)

    @property
    def aux_dict(self) -> dict[str, NDArray]:
        """The auxiliary states by name."""
        return _by_name("auxiliary state", self._network.states, self.aux_arrays)

    @property
    def output_dict(self) -> dict[str, NDArray]:
        """The outputs by name."""
        return dict(zip(map(entry_name, self._network.heads), self.outputs, strict=True))

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
        if kwargs:
            self._assign(kwargs)
        backward = bool(is_train and self._network.backward)
        self._program(bool(is_train), backward).forward()
        self._ran_training = bool(is_train)
        self._pool.user = self
        return self.outputs

    def backward(self, out_grads: OutGrads = None, is_train: bool = True) -> None:
        """Pushes the backward pass, which fills the gradient arrays.

        After ``forward(is_train=False)`` the forward pass is run again first, since prediction
        does not keep what the backward pass reads.

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
        if self._ran_training is None:
            raise InvalidArgumentError("backward needs a forward pass before it; call forward")
        if self._pool.user is not self:
            raise InvalidArgumentError(
                "backward: another executor that shares this one's memory ran since forward; "
                "call forward again"
            )
        self._assign_out_grads(out_grads)
        program = self._program(self._ran_training, True)
        if not self._ran_training:
            program.forward()
        program.backward(bool(is_train))

    def _assign(self, values: Mapping[str, Any]) -> None:
        arrays = self.arg_dict
        for name, value in values.items():
            if name not in arrays:
                raise InvalidArgumentError(
                    f"forward: there is no argument '{name}'; arguments: {', '.join(arrays)}"
                )
            if not isinstance(value, (NDArray, np.ndarray)):
                raise DTypeError(
                    f"forward: argument '{name}' must be an NDArray or a NumPy array, "
                    f"got {type(value).__name__}"
                )
            if tuple(value.shape) != arrays[name].shape:
                raise InvalidArgumentError(
                    f"forward: argument '{name}' has shape {tuple(value.shape)}, but was bound "
                    f"with {arrays[name].shape}; use reshape for other shapes"
                )
            _copy(value, arrays[name])

    def _assign_out_grads(self, out_grads: OutGrads) -> None:
        names = list(map(entry_name, self._network.heads))
        if isinstance(out_grads, Mapping):
            out_grads = [out_grads.get(n) for n in names]
        given = _list_of_grads(out_grads)
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
            target = self._arrays[Entry(node, 0)]
            if value.shape != target.shape:
                raise InvalidArgumentError(
                    f"backward: the gradient of output '{name}' has shape {value.shape}, "
                    f"expected {target.shape}"
                )
            _copy(value, target)

    # -- programs ------------------------------------------------------------------------------

    def _program(self, is_train: bool, backward: bool) -> Program:
        program = self._programs.get((is_train, backward))
        if program is None:
            adds = {
                entry
                for node, entry in self._network.gradients.items()
                if self._requests[node] == "add"
            }
            arrays = {e: a.handle for e, a in self._arrays.items()}
            program = Program(
                self._network, arrays, adds, self._pool, backward=backward, is_train=is_train
            )
            self._programs[is_train, backward] = program
        return program

    def _main_program(self) -> Program:
        """The program that training uses, or prediction where there is nothing to train."""
        training = bool(self._network.backward)
        return self._program(training, training)

    def memory_planned(self) -> float:
        """Megabytes of outputs and of planned buffers, without arguments and their gradients."""
        heads = {e for e in self._network.heads if e.node.op is not None}
        outputs = sum(self._arrays[e].handle.nbytes for e in heads)
        return (self._pool.total + outputs) / 2**20

    def debug_str(self) -> str:
        """The graph, the memory plan of its main program, and the memory in total."""
        plan = self._main_program().memory
        return f"{self._symbol.debug_str()}{plan}\nTotal {self.memory_planned():.4g} MB allocated\n"

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
                _copy(value, arrays[name])

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
        known = {*self.arg_dict, *self.aux_dict}
        shapes = {name: shape for name, shape in kwargs.items() if name in known}
        arg_shapes, _, aux_shapes = self._symbol.infer_shape(**shapes)
        if arg_shapes is None or aux_shapes is None:
            raise InvalidArgumentError("reshape: the new shapes do not give all others")

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

        net = self._network
        args = {
            n: changed(n, a, s)
            for n, a, s in zip(net.arguments, self.arg_arrays, arg_shapes, strict=True)
        }
        grads = by_node(net.arguments, self.grad_arrays)
        return Executor(
            self._symbol,
            self._ctx,
            args,
            {n: changed(n, g, args[n].shape) for n, g in grads.items()},
            self._requests,
            {
                n: changed(n, a, s)
                for n, a, s in zip(net.states, self.aux_arrays, aux_shapes, strict=True)
            },
            self._pool,
        )

    @property
    def pool(self) -> BufferPool:
        """The planned buffers, for executors that share them."""
        return self._pool

    def __repr__(self) -> str:
        outputs = ", ".join(map(entry_name, self._network.heads))
        return f"<Executor of {outputs} on {self._ctx}>"


def _list_of_grads(given: NDArray | Sequence[NDArray | None] | None) -> list[NDArray | None]:
    """The gradients of outputs as a list.

    Raises
    ------
    DTypeError
        For anything but arrays and None.
    """
    if given is None or isinstance(given, NDArray):
        return [] if given is None else [given]
    if not isinstance(given, (list, tuple)):
        raise DTypeError(
            f"backward: out_grads must be an NDArray, or a list or a dict of them, got {given!r}"
        )
    for i, value in enumerate(given):
        if value is not None and not isinstance(value, NDArray):
            raise DTypeError(
                f"backward: gradient {i} in out_grads must be an NDArray, "
                f"got {type(value).__name__}"
            )
    return list(given)


def _copy(value: NDArray | np.ndarray, target: NDArray) -> None:
    source = array(value, dtype=value.dtype) if isinstance(value, np.ndarray) else value
    target.handle.copy_from(source.handle)


def _by_name(kind: str, nodes: Sequence[Node], arrays: Sequence[Any]) -> dict[str, Any]:
    names = [n.name for n in nodes]
    if len(set(names)) != len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise InvalidArgumentError(f"there is more than one {kind} called '{twice}'")
    return dict(zip(names, arrays, strict=True))
