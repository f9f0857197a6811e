"""The methods of a symbol that give another graph."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

from ..base import require_kind
from ..error import ArgumentTypeError, InvalidArgumentError
from ..graph.compose import expand
from ..graph.gradient import differentiate
from ..graph.node import Entry, Node, topological, variables
from ..ops.card import make

__all__ = ["Rewriting"]

BACKENDS = ("MKLDNN", "MKLDNN_QUANTIZE")
"""MXNet's backends for the CPU. They join operators for oneDNN, which Ferromix does not use."""


_UNCHANGED = "the graph stays as it is: executors join operators themselves when they are bound"


class Rewriting:
    """Gradients as a symbol, and what MXNet's backends make of a symbol."""

    __slots__ = ()

    @property
    def entries(self) -> list[Entry]:
        """The outputs as entries of the graph."""
        raise NotImplementedError

    def gradient(self, wrt: Sequence[str]) -> Any:
        """The gradients of the sum of all outputs, as a symbol of the same variables.

        Parameters
        ----------
        wrt
            The names of variables.

        Returns
        -------
        Symbol
            One output for each name; zeros where no output depends on the variable. It can be
            bound and differentiated. Operators that only gradients use have no place in JSON, so
            it cannot always be saved.

        Raises
        ------
        ArgumentTypeError
            For something that is no list.
        InvalidArgumentError
            For a name that is no variable of this symbol.

        Examples
        --------
        >>> import ferromix as mx
        >>> y = mx.sym.square(mx.sym.Variable("x"))
        >>> y.gradient(["x"]).eval(x=mx.nd.array([3]))[0].asnumpy().tolist()
        [6.0]
        """
        if not isinstance(wrt, (list, tuple)):
            raise ArgumentTypeError(f"gradient: wrt must be a list of names, got {wrt!r}")
        graph = expand(self.entries)
        heads = [graph[h] for h in self.entries]
        nodes = {n.name: n for n in variables(topological(heads))}
        for name in wrt:
            if name not in nodes:
                raise InvalidArgumentError(
                    f"gradient: there is no variable {name!r}; variables: {', '.join(nodes)}"
                )
        wanted = [nodes[name] for name in wrt]
        found = differentiate(heads, wanted)
        seeds = {
            seed: Entry(Node(make("ones_like", {}), seed.name, [head]), 0)
            for seed, head in zip(found.head_grads, heads, strict=True)
            if seed is not None
        }
        for node in found.nodes:
            node.inputs = [seeds.get(e.node, e) for e in node.inputs]
        zeros = make("zeros_like", {})
        entries = [
            Entry(Node(zeros, f"{n.name}_grad", [Entry(n, 0)]), 0)
            if entry is None
            else seeds.get(entry.node, entry)
            for n, entry in zip(wanted, found.entries, strict=True)
        ]
        return type(self)(entries)  # type: ignore[call-arg] - a Symbol

    def get_backend_symbol(self, backend: str) -> Any:
        """The symbol as a backend of MXNet would have it: a copy, as there is nothing to join.

        Raises
        ------
        InvalidArgumentError
            For the name of no backend.
        """
        if backend not in BACKENDS:
            raise InvalidArgumentError(
                f"get_backend_symbol: unknown backend {backend!r}; known: {', '.join(BACKENDS)}"
            )
        logging.info("get_backend_symbol: %s", _UNCHANGED)
        return copy(self)

    def optimize_for(
        self,
        backend: str,
        args: Mapping[str, Any] | None = None,
        aux: Mapping[str, Any] | None = None,
        ctx: Any = None,
        shape_dict: Mapping[str, Any] | None = None,
        type_dict: Mapping[str, Any] | None = None,
        stype_dict: Mapping[str, str] | None = None,
        skip_infer: bool = False,
        **kwargs: Any,
    ) -> Any:
        """The symbol as a backend of MXNet would have it: a copy, as there is nothing to join.

        Parameters
        ----------
        backend
            The name. An unknown one is logged as an error, as in MXNet.
        args, aux, ctx, shape_dict, type_dict, stype_dict, skip_infer, **kwargs
            What a backend may want to know; nothing depends on it.
        """
        require_kind("optimize_for: backend", backend, str, "the name of a backend")
        if backend not in BACKENDS:
            logging.error("optimize_for: unknown backend %r; known: %s", backend, BACKENDS)
        else:
            logging.info("optimize_for: %s", _UNCHANGED)
        return copy(self)
