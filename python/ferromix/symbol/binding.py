"""Binding of symbols to arrays.

Executors are built on symbols, so symbols do not import them: the executor package enters itself
here when it is imported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ..error import InternalError

__all__ = ["Binder", "Binding", "install"]


class Binder(Protocol):
    """What the executor package does for symbols."""

    def bind(
        self,
        symbol: Any,
        ctx: Any,
        args: Any,
        args_grad: Any = None,
        grad_req: Any = "write",
        aux_states: Any = None,
        group2ctx: Any = None,
        shared_exec: Any = None,
    ) -> Any:
        """An executor over the caller's arrays."""
        ...

    def simple_bind(
        self,
        symbol: Any,
        ctx: Any,
        shapes: Mapping[str, Any],
        grad_req: Any = "write",
        type_dict: Mapping[str, Any] | None = None,
        stype_dict: Mapping[str, str] | None = None,
        group2ctx: Any = None,
        shared_arg_names: Sequence[str] | None = None,
        shared_exec: Any = None,
        shared_buffer: dict[str, Any] | None = None,
    ) -> Any:
        """An executor over new arrays."""
        ...


_BINDER: list[Binder] = []


def install(binder: Binder) -> None:
    """Makes `binder` the one that symbols use."""
    _BINDER[:] = [binder]


def _binder() -> Binder:
    if not _BINDER:
        raise InternalError("symbols cannot be bound before ferromix.executor is imported")
    return _BINDER[0]


class Binding:
    """The methods of a symbol that make executors."""

    __slots__ = ()

    def bind(
        self,
        ctx: Any,
        args: Any,
        args_grad: Any = None,
        grad_req: Any = "write",
        aux_states: Any = None,
        group2ctx: Mapping[str, Any] | None = None,
        shared_exec: Any = None,
    ) -> Any:
        """An executor over arrays of the caller.

        Parameters
        ----------
        ctx
            The device to compute on.
        args
            The arguments, as a list in the order of ``list_arguments()`` or as a dict.
        args_grad
            Arrays for the gradients of arguments, as a list (None where not wanted) or a dict.
        grad_req
            ``"write"``, ``"add"`` or ``"null"`` for all arguments, or a list or a dict of these;
            ``"null"`` for those that a dict leaves out.
        aux_states
            The auxiliary states, as a list in the order of ``list_auxiliary_states()`` or a dict.
        group2ctx
            The devices of groups of nodes, by what :class:`~ferromix.AttrScope` gives them as
            ``ctx_group``. Other nodes run where the first of their inputs is that has such a place,
            or on `ctx`. Values are copied from device to device where they have to be.
        shared_exec
            An executor whose memory for intermediate results is used too. The two must not be in
            use at the same time.

        Returns
        -------
        Executor

        Raises
        ------
        InvalidArgumentError
            For arrays that are missing or do not fit; names them.

        Examples
        --------
        >>> import ferromix as mx
        >>> y = mx.sym.Variable("x") * 2
        >>> y.bind(mx.cpu(), {"x": mx.nd.ones((2,))}).forward()[0].asnumpy().tolist()
        [2.0, 2.0]
        """
        return _binder().bind(
            self, ctx, args, args_grad, grad_req, aux_states, group2ctx, shared_exec
        )

    def simple_bind(
        self,
        ctx: Any,
        grad_req: Any = "write",
        type_dict: Mapping[str, Any] | None = None,
        stype_dict: Mapping[str, str] | None = None,
        group2ctx: Mapping[str, Any] | None = None,
        shared_arg_names: Sequence[str] | None = None,
        shared_exec: Any = None,
        shared_buffer: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """An executor over new arrays of zeros, whose shapes are inferred.

        Parameters
        ----------
        ctx
            The device to compute on.
        grad_req
            ``"write"``, ``"add"`` or ``"null"`` for all arguments, or a list or a dict of these;
            ``"null"`` for those that a dict leaves out.
        type_dict
            Element types of arguments by name; float32 where nothing else decides.
        stype_dict
            Storage types of arguments by name; all arrays are dense, ``"default"``.
        group2ctx
            The devices of groups, as for :meth:`bind`; the arrays of variables in a group are on
            its device, too.
        shared_arg_names
            The parameters: arguments that, with their gradients, are those of `shared_exec`, and
            that never come from `shared_buffer`.
        shared_exec
            An executor whose memory for intermediate results is used too. The two must not be in
            use at the same time. With `shared_arg_names` or `shared_buffer` auxiliary states of the
            same name, shape and type are its own, too.
        shared_buffer
            Arrays by name for all other arguments, and by ``"grad of "`` and their names for
            gradients. Those that are large enough are used, with what they hold; for the rest new
            ones are made, and entered here.
        **kwargs
            Shapes of arguments by name.

        Returns
        -------
        Executor

        Raises
        ------
        InvalidArgumentError
            If shapes do not follow from those given, or something shared does not fit; names the
            arguments.

        Examples
        --------
        >>> import ferromix as mx
        >>> y = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=2, name="fc")
        >>> names, buffer = ["fc_weight", "fc_bias"], {}
        >>> long = y.simple_bind(mx.cpu(), shared_buffer=buffer, x=(8, 3))
        >>> short = y.simple_bind(
        ...     mx.cpu(), shared_arg_names=names, shared_exec=long, shared_buffer=buffer, x=(2, 3)
        ... )
        >>> short.arg_dict["fc_weight"] is long.arg_dict["fc_weight"]
        True
        """
        return _binder().simple_bind(
            self,
            ctx,
            kwargs,
            grad_req,
            type_dict,
            stype_dict,
            group2ctx,
            shared_arg_names,
            shared_exec,
            shared_buffer,
        )

    def eval(self, ctx: Any = None, **kwargs: Any) -> list[Any]:
        """The outputs for the given arrays.

        Parameters
        ----------
        ctx
            The device to compute on; the current one if None.
        **kwargs
            An array for each argument.

        Examples
        --------
        >>> import ferromix as mx
        >>> (mx.sym.Variable("x") + 1).eval(x=mx.nd.ones((2,)))[0].asnumpy().tolist()
        [2.0, 2.0]
        """
        return self.bind(ctx, kwargs, grad_req="null").forward(is_train=False)
