"""Symbols: descriptions of computations, made of operators and variables, before any array exists.

A symbol is a list of outputs of a graph's nodes. Graphs are shared between symbols; composition
copies what it changes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from .. import files
from ..attribute import check_attributes, show
from ..error import ArgumentTypeError, DeprecatedError, DTypeError, InvalidArgumentError
from ..graph import serial
from ..graph.amp import without_amp_casts
from ..graph.node import (
    Entry,
    Node,
    copy_graph,
    entry_name,
    mutated_variables,
    topological,
    variables,
)
from ..ops.card import make
from .arithmetic import Arithmetic
from .binding import Binding
from .create import call, create, named, require_own, single
from .describe import describe
from .inference import Inference
from .methods import Methods
from .rewriting import Rewriting

__all__ = ["Group", "Symbol", "load", "load_json"]


class Symbol(Methods, Binding, Inference, Rewriting, Arithmetic):
    """A computation: one or several outputs of a graph of operators.

    Symbols come from :func:`Variable`, from the operators in ``mx.sym``, from arithmetic and from
    files.

    Parameters
    ----------
    handle
        The outputs, as entries of a graph.

    Examples
    --------
    >>> import ferromix as mx
    >>> a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    >>> c = a + b
    >>> c.list_arguments(), c.list_outputs()
    (['a', 'b'], ['_plus0_output'])
    """

    __slots__ = ("_heads",)

    def __init__(self, handle: Iterable[Entry]) -> None:
        self._heads = list(handle)

    @property
    def entries(self) -> list[Entry]:
        """The outputs as entries of the graph, for passes over it."""
        return list(self._heads)

    def _make(self, op: str, inputs: list[Any], attrs: dict[str, Any], hint: str) -> Symbol:
        card, name = make(op, attrs), named(None, hint)
        pairs = zip(card.list_arguments(), inputs, strict=True)
        return Symbol(create(card, {n: single(s, n, op) for n, s in pairs}, name, None))

    def _call(self, op: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Symbol:
        return Symbol(call(op, (self, *args), kwargs))

    # -- names and lists -----------------------------------------------------------------------

    @property
    def name(self) -> str | None:
        """The name of the node whose outputs these are; None for a group of several nodes."""
        nodes = {e.node for e in self._heads}
        return self._heads[0].node.name if len(nodes) == 1 else None

    def list_arguments(self) -> list[str]:
        """The names of the variables that the computation reads, depth first."""
        nodes = topological(self._heads)
        changed = mutated_variables(nodes)
        return [n.name for n in variables(nodes) if n not in changed]

    def list_auxiliary_states(self) -> list[str]:
        """The names of the variables that operators change, such as ``bn_moving_mean``."""
        nodes = topological(self._heads)
        changed = mutated_variables(nodes)
        return [n.name for n in variables(nodes) if n in changed]

    def list_inputs(self) -> list[str]:
        """The names of all variables, auxiliary states included."""
        return [n.name for n in variables(topological(self._heads))]

    def list_outputs(self) -> list[str]:
        """The names of the outputs, ``fc1_output``."""
        return [entry_name(e) for e in self._heads]

    def get_internals(self) -> Symbol:
        """All outputs of all nodes as a group, from which ``[name]`` takes one."""
        nodes = topological(self._heads)
        return Symbol(e for n in nodes for e in n.outputs()[: n.num_visible_outputs])

    def get_children(self) -> Symbol | None:
        """The inputs of the nodes whose outputs these are, as a group; None if there are none."""
        nodes = dict.fromkeys(e.node for e in self._heads)
        inputs = [e for n in nodes for e in n.inputs]
        return Symbol(inputs) if inputs else None

    # -- outputs -------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._heads)

    def __iter__(self) -> Iterator[Symbol]:
        return (Symbol([e]) for e in self._heads)

    def __getitem__(self, index: int | str | slice) -> Symbol:
        """The output of a number or a name; a slice gives a group.

        Raises
        ------
        InvalidArgumentError
            For a name that is not the name of exactly one output.
        IndexError
            For a number beyond the outputs.
        """
        if isinstance(index, slice):
            return Symbol(self._heads[index])
        if not isinstance(index, str):
            return Symbol([self._heads[index]])
        names = self.list_outputs()
        if names.count(index) != 1:
            problem = f"{names.count(index)} outputs are" if index in names else "no output is"
            shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
            raise InvalidArgumentError(f"{problem} called '{index}'; outputs: {shown}")
        return Symbol([self._heads[names.index(index)]])

    # -- composition ---------------------------------------------------------------------------

    def __call__(self, *args: Symbol, name: str | None = None, **kwargs: Symbol) -> Symbol:
        """A copy of this symbol in which other symbols take the place of variables.

        Parameters
        ----------
        *args
            What takes the place of the variables, in the order of :meth:`list_arguments`.
        name
            The name of the copy.
        **kwargs
            What takes the place of variables, by name.

        Raises
        ------
        ArgumentTypeError
            For more symbols than variables, or one given twice.
        InvalidArgumentError
            For a name that is no variable of this symbol.

        Examples
        --------
        >>> import ferromix as mx
        >>> layer = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
        >>> layer(data=mx.sym.Variable("x"), name="again").list_arguments()
        ['x', 'fc_weight', 'fc_bias']
        """
        given = dict(zip(self.list_arguments(), args, strict=False))
        if len(given) < len(args) or given.keys() & kwargs.keys():
            raise ArgumentTypeError(
                f"composition got {len(args)} symbols by position and {', '.join(kwargs) or 'none'}"
                f" by name for the arguments {', '.join(self.list_arguments())}"
            )
        given.update(kwargs)
        nodes = variables(topological(self._heads))
        unknown = given.keys() - {n.name for n in nodes}
        if unknown:
            raise InvalidArgumentError(
                f"composition: there is no argument '{min(unknown)}'; "
                f"arguments: {', '.join(n.name for n in nodes)}"
            )
        replace = {
            n: single(given[n.name], n.name, "composition") for n in nodes if n.name in given
        }
        own = {e.node for e in self._heads}
        new_name = name if name and len(own) == 1 else None
        heads = copy_graph(
            self._heads, replace, lambda n: new_name if new_name and n in own else n.name
        )
        return Symbol(heads)

    def __copy__(self) -> Symbol:
        return Symbol(copy_graph(self._heads))

    def __deepcopy__(self, _: Any) -> Symbol:
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, ...]:
        return load_json, (self.tojson(remove_amp_cast=False),)

    # -- attributes ----------------------------------------------------------------------------

    def attr(self, key: str) -> str | None:
        """An attribute of the node, or None; the operator's, the symbol's own, and ``name``.

        A group of several nodes has none.
        """
        node = self._only_node()
        if node is None or key == "name":
            return self.name
        return show(node.all_attrs()).get(key)

    def list_attr(self, recursive: bool = False) -> dict[str, str]:
        """All attributes of the node; none of a group of several.

        Raises
        ------
        DeprecatedError
            If `recursive`, as in MXNet; :meth:`attr_dict` has the attributes of all nodes.
        """
        if recursive:
            raise DeprecatedError("list_attr: recursive=True is no more; use attr_dict()")
        node = self._only_node()
        return {} if node is None else show(node.all_attrs())

    def attr_dict(self) -> dict[str, dict[str, str]]:
        """The attributes of all nodes that have some, by name."""
        nodes = topological(self._heads)
        return {n.name: show(attrs) for n in nodes if (attrs := n.all_attrs())}

    def _set_attr(self, **attrs: str) -> None:
        """Sets attributes of the node, in all symbols that share it."""
        node = self._node("_set_attr")
        checked = check_attributes(attrs)
        require_own(node.op, checked)
        node.attrs.update(checked)

    def _only_node(self) -> Node | None:
        nodes = {e.node for e in self._heads}
        return self._heads[0].node if len(nodes) == 1 else None

    def _node(self, method: str) -> Node:
        node = self._only_node()
        if node is None:
            nodes = {e.node for e in self._heads}
            raise InvalidArgumentError(f"{method}: a group of {len(nodes)} symbols has no one node")
        return node

    # -- text ----------------------------------------------------------------------------------

    def tojson(self, remove_amp_cast: bool = True) -> str:
        """The graph as JSON that MXNet 1.9 loads too.

        Parameters
        ----------
        remove_amp_cast
            Whether ``amp_cast`` and ``amp_multicast`` are left out, but for outputs, so that the
            graph runs in one precision where it is loaded.
        """
        return serial.dump(without_amp_casts(self._heads) if remove_amp_cast else self._heads)

    def save(self, fname: str | os.PathLike[str], remove_amp_cast: bool = True) -> None:
        """Writes :meth:`tojson` to a file, which is either complete or not changed at all.

        Parameters
        ----------
        fname
            The path.
        remove_amp_cast
            As for :meth:`tojson`.

        Raises
        ------
        FileAccessError
            If the file cannot be written.
        """
        files.write(fname, self.tojson(remove_amp_cast).encode(errors="surrogatepass"))

    def debug_str(self) -> str:
        """All nodes with their inputs and attributes, for people."""
        return describe(self._heads)

    def __repr__(self) -> str:
        name = self.name
        if name is not None:
            return f"<Symbol {name}>"
        return f"<Symbol group [{', '.join(e.node.name for e in self._heads)}]>"


def Group(symbols: Sequence[Symbol], create_fn: Callable[..., Any] = Symbol) -> Any:  # noqa: N802
    """The outputs of several symbols as one symbol.

    Parameters
    ----------
    symbols
        The symbols.
    create_fn
        What makes the symbol from the entries of the graph, a class in the place of Symbol.

    Raises
    ------
    DTypeError
        For anything but a sequence of symbols that is not empty.
    """
    found = list(symbols)
    if not found or not all(isinstance(s, Symbol) for s in found):
        raise DTypeError(f"Group: expected a list of symbols, got {symbols!r}")
    return create_fn([e for s in found for e in s.entries])


def load_json(json_str: str) -> Symbol:
    """The symbol that :meth:`Symbol.tojson` of Ferromix or of any version of MXNet wrote.

    Raises
    ------
    FileFormatError
        For text that is no graph; names the node and what is wrong with it.
    """
    return Symbol(serial.parse(json_str))


def load(fname: str | os.PathLike[str]) -> Symbol:
    """The symbol in a file of JSON.

    Raises
    ------
    FileFormatError
        For a file that holds no graph; names the file, the node and what is wrong with it.
    FileAccessError
        If the file cannot be read; a MissingFileError, which is a FileNotFoundError, if there is
        none.
    """
    return Symbol(serial.parse(files.read(fname), os.fspath(fname)))
