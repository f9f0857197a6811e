"""MXNet's JSON form of graphs: written as version 1.9 does, read in every version.

What older versions did differently: operator attributes in ``param`` and symbol attributes in
``attr`` (before 0.9) or both in ``attr`` (before 1.0); entries of two numbers; inputs that have
come into being since, such as auxiliary states, left out; ``ctx_group`` and its like without
underscores, and ``weight_lr_mult`` on the operator in place of its variable; and what
:mod:`ferromix.graph.upgrade` lists. What was changed is logged.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from .. import libinfo
from ..attribute import HIDDEN_KEYS, hide
from ..error import DTypeError, FileFormatError, InvalidArgumentError
from ..literal import MOST, brief, names_of
from ..ops.card import OperatorProperty, exists, find, make
from .control_flow import ControlFlow
from .json_text import graph_text
from .node import Entry, Node, argument_names, many_nodes, mutated_variables, topological
from .upgrade import Upgrades, version_number

__all__ = ["dump", "parse", "parse_noting"]

_log = logging.getLogger(__name__)

VERSION = version_number(libinfo.__version__)
"""The version of MXNet whose form is written."""

_INDEX_WIDTH = range(2, 4)
_DEEPEST = 16
"""Levels of graphs within graphs."""
_OUTPUTS_PER_NODE = 16
"""Outputs come out of a number in the file; beyond so many for each node they are bounded."""


@many_nodes()
def dump(heads: Sequence[Entry]) -> str:
    """The graph of `heads` as JSON that MXNet 1.9 loads."""
    graph = _described(heads)
    graph["attrs"] = {"mxnet_version": ["int", VERSION]}
    return graph_text(graph)


def _described(heads: Sequence[Entry]) -> dict[str, Any]:
    """The graph of `heads` as the values of its JSON."""
    order = topological(heads)
    position = {node: i for i, node in enumerate(order)}
    changed = mutated_variables(order)

    def numbered(entries: Sequence[Entry]) -> list[list[int]]:
        return [[position[node], i, 1 if node in changed else 0] for node, i in entries]

    rows = [0]
    nodes: list[dict[str, Any]] = []
    # Of nodes that have no attributes of their own, by the operator that they have or belong to.
    formatted: dict[OperatorProperty | None, dict[str, str]] = {}
    for node in order:
        row: dict[str, Any] = {"op": node.op.name if node.op else "null", "name": node.name}
        card = node.op or node.made_for
        attrs = formatted.get(card)
        if attrs is None or node.attrs:
            attrs = dict(sorted(node.all_attrs().items()))
            if not node.attrs:
                formatted[card] = attrs
        if attrs:
            row["attrs"] = attrs
        row["inputs"] = numbered(node.inputs)
        if isinstance(node.op, ControlFlow):
            row["subgraphs"] = [_described(graph.heads) for graph in node.op.subgraphs]
        nodes.append(row)
        rows.append(rows[-1] + node.num_public_outputs)
    return {
        "nodes": nodes,
        "arg_nodes": [i for i, node in enumerate(order) if node.op is None],
        "node_row_ptr": rows,
        "heads": numbered(heads),
    }


def parse(text: str | bytes, source: str = "the JSON text") -> list[Entry]:
    """The heads of the graph in `text`; what had to be upgraded in it is logged as a warning.

    Parameters
    ----------
    text
        What some version of MXNet, or :func:`dump`, wrote; bytes are UTF-8.
    source
        What errors call the text, commonly the file's name.

    Raises
    ------
    FileFormatError
        For text that is no such graph; names the source, the node and what is wrong.
    DTypeError
        For something that is no text.
    """
    heads, upgrades = parse_noting(text, source)
    if upgrades.lines():
        _log.warning("%s %s", source, upgrades.summary())
    return heads


@many_nodes()
def parse_noting(text: str | bytes, source: str) -> tuple[list[Entry], Upgrades]:
    """As :func:`parse`, without a log; also what had to be upgraded."""
    if not isinstance(text, (str, bytes, bytearray)):
        raise DTypeError(f"{source} must be a string, got {type(text).__name__}")
    try:
        graph = json.loads(text, strict=False)  # MXNet writes control characters raw.
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{source}: not JSON: {error}") from None
    upgrades = Upgrades(graph if isinstance(graph, dict) else {})
    return _Reader(source, upgrades).read(graph), upgrades


_Known = tuple[OperatorProperty, dict[str, str], dict[str, str], list[str]]
"""A card, the symbol's own attributes, those for variables of its inputs, and the inputs' names."""


class _Reader:
    """Builds nodes from JSON, trusting nothing in it."""

    def __init__(self, source: str, upgrades: Upgrades, depth: int = 0) -> None:
        self.source = source
        self.upgrades = upgrades
        self.depth = depth
        self.nodes: list[Node] = []
        self.implicit: list[tuple[Node, dict[str, str]]] = []
        self.known: dict[tuple[Any, ...], _Known] = {}
        self.room = 0

    def read(self, graph: Any) -> list[Entry]:
        """The heads of a graph."""
        if not isinstance(graph, dict):
            raise self.wrong("expected an object", graph)
        rows = self.listed(graph, "nodes", self.source)
        self.room = MOST + _OUTPUTS_PER_NODE * len(rows)
        for row in rows:
            self.nodes.append(self.node(row))
        self.check_rest(graph)
        for node, attrs in self.implicit:
            self.move_attrs(node, attrs)
        heads = [
            self.entry(head, len(self.nodes), f"head {i}")
            for i, head in enumerate(self.listed(graph, "heads", self.source))
        ]
        if not heads:
            raise FileFormatError(f"{self.source}: 'heads' is empty; a graph has an output")
        return heads

    def check_rest(self, graph: Mapping[str, Any]) -> None:
        """Checks what follows from the nodes, and need not be there."""
        for i, index in enumerate(self.numbers(graph, "arg_nodes")):
            if not 0 <= index < len(self.nodes) or self.nodes[index].op is not None:
                raise self.wrong(f"'arg_nodes', number {i}: expected that of a variable", index)
        self.numbers(graph, "node_row_ptr")
        attrs = graph.get("attrs", {})
        if not isinstance(attrs, dict):
            raise self.wrong("expected an object 'attrs'", attrs)

    def numbers(self, graph: Mapping[str, Any], key: str) -> list[int]:
        """A list of whole numbers, empty where there is none."""
        if key not in graph:
            return []
        found = self.listed(graph, key, self.source)
        for number in found:
            if type(number) is not int:
                raise self.wrong(f"expected whole numbers in '{key}'", number)
        return found

    def node(self, row: Any) -> Node:
        """The next node."""
        where = f"node {len(self.nodes)}"
        if not isinstance(row, dict):
            raise self.wrong(f"{where}: expected an object", row)
        op, name = row.get("op"), row.get("name")
        if not isinstance(op, str) or not isinstance(name, str):
            raise self.wrong(f"{where}: expected strings 'op' and 'name'", (op, name))
        where = f"{where} '{_cut(name)}'"
        inputs = [
            self.usual_entry(e) or self.entry(e, len(self.nodes), f"{where}, input {i}")
            for i, e in enumerate(self.listed(row, "inputs", where))
        ]
        attrs = self.attributes(row, where)
        if op != "null" and "param" in row:
            # Before 0.9 a symbol's attributes stood apart and could have any name.
            attrs = {k if k in row["param"] else _decorated(k): v for k, v in attrs.items()}
        if op != "null":
            return self.operator(op, name, inputs, attrs, (where, row.get("subgraphs")))
        if inputs:
            raise self.wrong(f"{where}: a variable has no inputs", row["inputs"])
        self.upgrades.hidden(k for k in attrs if hide(k) != k)
        return Node(None, name, [], {hide(k): v for k, v in attrs.items()})

    def operator(
        self,
        op: str,
        name: str,
        inputs: list[Entry],
        attrs: dict[str, str],
        place: tuple[str, Any],
    ) -> Node:
        """An operator's node; inputs that the file leaves out become variables.

        `place` is what errors call the node, and its subgraphs.
        """
        where, subgraphs = place
        # Large graphs have few operators that differ in more than names.
        known = self.known.get((op, len(inputs), *attrs.items())) if subgraphs is None else None
        if known is not None:
            made, own, moved, names = known
            return self.append(name, made, (own, moved), inputs, names, where)
        if not exists(op):
            raise FileFormatError(f"{self.source}: {where}: unknown operator '{_cut(op)}'")
        where = f"{where} ({op})"
        card = find(op)
        own, moved, params = _sort_attrs(card, attrs)
        renamed = [k for k in attrs if hide(k) in own and hide(k) != k]
        self.upgrades.hidden(renamed)
        noted = self.upgrades.operator(card.name, name, params) or bool(renamed)
        if card.variadic is not None:
            params.setdefault(card.variadic, str(card.count_inputs(len(inputs))))
        graphs = self.subgraphs(card, subgraphs, where)
        if "subgraphs" in params:
            raise FileFormatError(f"{self.source}: {where}: unknown attribute 'subgraphs'")
        try:
            made = card(**graphs, **params) if graphs else make(op, params)
        except InvalidArgumentError as error:
            raise FileFormatError(f"{self.source}: {where}: {_cut(str(error), 600)}") from None
        # The number first: names are not made for however many a file claims.
        if card.variadic is not None and (
            made.attrs[card.variadic] != card.count_inputs(len(inputs))
            or len(argument_names(made)) != len(inputs)
        ):
            raise FileFormatError(
                f"{self.source}: {where}: has {len(inputs)} inputs, but "
                f"{card.variadic}={made.attrs[card.variadic]}"
            )
        names = argument_names(made)
        if len(inputs) > len(names):
            raise FileFormatError(
                f"{self.source}: {where}: takes {len(names)} inputs "
                f"({_cut(names_of(names), 200)}), got {len(inputs)}"
            )
        if subgraphs is None and not noted:
            self.known[op, len(inputs), *attrs.items()] = made, own, moved, names
        return self.append(name, made, (own, moved), inputs, names, where)

    def append(
        self,
        name: str,
        made: OperatorProperty,
        attrs: tuple[dict[str, str], dict[str, str]],
        inputs: list[Entry],
        names: list[str],
        where: str,
    ) -> Node:
        """The node of a card; `attrs` are the symbol's own, and those for its variables."""
        own, moved = attrs
        missing = names[len(inputs) :]
        self.upgrades.inputs(f"{name}_{n}" for n in missing)
        inputs += [Entry(_variable(made, name, n), 0) for n in missing]
        node = Node(made, name, inputs, own)
        if moved:
            self.implicit.append((node, moved))
        self.room -= node.num_outputs
        if self.room < 0:
            raise FileFormatError(
                f"{self.source}: {where}: has {node.num_outputs} outputs, with which the graph has "
                f"more than {MOST} beyond {_OUTPUTS_PER_NODE} for each node"
            )
        return node

    def subgraphs(
        self, card: type[OperatorProperty], given: Any, where: str
    ) -> dict[str, list[list[Entry]]]:
        """The outputs of a node's graphs, for a card that has some."""
        if not issubclass(card, ControlFlow):
            if given:
                raise FileFormatError(f"{self.source}: {where}: takes no subgraphs")
            return {}
        if not isinstance(given, list):
            raise self.wrong(f"{where}: expected a list 'subgraphs'", given)
        if len(given) != card.graph_count:
            raise self.wrong(f"{where}: expected {card.graph_count} subgraphs", given)
        if self.depth == _DEEPEST:
            raise FileFormatError(
                f"{self.source}: {where}: has graphs within graphs of more than {_DEEPEST} levels"
            )
        # What they could hold counts for each of them as for a file.
        source = f"{self.source}: {where}: subgraph"
        readers = [
            _Reader(f"{source} {i}", self.upgrades, self.depth + 1) for i in range(len(given))
        ]
        found = [reader.read(g) for reader, g in zip(readers, given, strict=True)]
        return {"subgraphs": found}

    def move_attrs(self, node: Node, attrs: Mapping[str, str]) -> None:
        """Puts ``weight_lr_mult`` and its like where they belong."""
        assert node.op is not None
        inputs = dict(zip(argument_names(node.op), node.inputs, strict=True))
        for key, value in attrs.items():
            argument, hidden = next(
                (key[: -len(h) - 1], h) for h in HIDDEN_KEYS if key.endswith("_" + h)
            )
            if argument in inputs and inputs[argument].node.op is None:
                inputs[argument].node.attrs[hide(hidden)] = value
                self.upgrades.moved(key, inputs[argument].node.name)

    def attributes(self, row: Mapping[str, Any], where: str) -> dict[str, str]:
        """All attributes of a node, from whichever keys its version uses."""
        found: dict[str, str] = {}
        for key in ("param", "attr", "attrs"):
            attrs = row.get(key)
            if attrs is None and key not in row:
                continue
            if not isinstance(attrs, dict):
                raise self.wrong(f"{where}: expected an object '{key}'", attrs)
            for name, value in attrs.items():
                if not isinstance(value, str):
                    what = f"a string for attribute '{_cut(name)}'"
                    raise self.wrong(f"{where}: expected {what}", value)
                found[name] = value
        return found

    def usual_entry(self, value: Any) -> Entry | None:
        """The output that three numbers mean, as most do; None for what takes a closer look."""
        if type(value) is not list or len(value) != 3:
            return None
        index, output, version = value
        if type(index) is type(output) is type(version) is int and 0 <= index < len(self.nodes):
            node = self.nodes[index]
            if 0 <= output < node.num_outputs:
                return Entry(node, output)
        return None

    def entry(self, value: Any, limit: int, where: str) -> Entry:
        """The output that a pair or triple of numbers means."""
        numbers = isinstance(value, list) and all(type(v) is int for v in value)
        if not numbers or len(value) not in _INDEX_WIDTH:
            raise self.wrong(f"{where}: expected [node, output, version]", value)
        index, output = value[:2]
        if not 0 <= index < limit:
            raise self.wrong(f"{where}: expected one of the {limit} nodes before", index)
        node = self.nodes[index]
        if not 0 <= output < node.num_outputs:
            raise self.wrong(
                f"{where}: '{_cut(node.name)}' has outputs 0 to {node.num_outputs - 1}", output
            )
        return Entry(node, output)

    def listed(self, row: Mapping[str, Any], key: str, where: str) -> list[Any]:
        """A list under a key that must be there."""
        value = row.get(key)
        if not isinstance(value, list):
            raise self.wrong(f"{where}: expected a list '{key}'", value)
        return value

    def wrong(self, problem: str, found: Any) -> FileFormatError:
        """An error that shows what was found, cut to a readable length."""
        prefix = "" if problem.startswith(self.source) else f"{self.source}: "
        return FileFormatError(f"{prefix}{problem}, found {brief(found)}")


def _cut(text: str, limit: int = 60) -> str:
    """A text from the file, no longer than an error should be."""
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def _variable(card: OperatorProperty, name: str, argument: str) -> Node:
    """A variable for an input that the file leaves out, with the initializer that it needs."""
    init = card.initializers.get(argument)
    return Node(None, f"{name}_{argument}", [], {} if init is None else {"__init__": init})


def _decorated(key: str) -> str:
    """`key` in the form that no operator takes for its own attribute."""
    known = any(key == h or key.endswith("_" + h) for h in HIDDEN_KEYS)
    return key if known or key.startswith("__") else f"__{key}__"


def _sort_attrs(
    card: type[OperatorProperty], attrs: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """A node's attributes: the symbol's own, those for variables of its inputs, the operator's."""
    own: dict[str, str] = {}
    moved: dict[str, str] = {}
    params: dict[str, str] = {}
    free = card.allows_any_name()
    for key, value in attrs.items():
        if key in card.params:
            params[key] = value
        elif key in HIDDEN_KEYS or (key.startswith("__") and key.endswith("__")):
            own[hide(key)] = value
        elif any(key.endswith("_" + h) for h in HIDDEN_KEYS):
            moved[key] = value
        elif free:
            own[key] = value
        else:
            params[key] = value
    return own, moved, params
