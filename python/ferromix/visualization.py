"""Networks as tables and drawings."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from .error import ArgumentTypeError, InvalidArgumentError
from .graph.node import Node, entry_name, topological
from .literal import names_of
from .symbol import Symbol

__all__ = ["plot_network", "print_summary"]

COLOURS = ("#8dd3c7", "#fb8072", "#ffffb3", "#bebada", "#80b1d3", "#fdb462", "#b3de69", "#fccde5")
"""Of variables, products, activations, normalisations, pooling, shapes, softmax, and all else.

MXNet gives the colour of softmax to an operator of old graphs alone, which loaders upgrade.
"""
KINDS = {
    **dict.fromkeys(("Convolution", "FullyConnected"), 1),
    **dict.fromkeys(("Activation", "LeakyReLU"), 2),
    "BatchNorm": 3,
    "Pooling": 4,
    **dict.fromkeys(("Concat", "Flatten", "Reshape"), 5),
}
HIDDEN = (
    *("_weight", "_bias", "_beta", "_gamma", "_moving_var", "_moving_mean", "_running_var"),
    *("_running_mean",),
)
STYLE = {
    "shape": "box",
    "fixedsize": "true",
    "width": "1.3",
    "height": "0.8034",
    "style": "filled",
}


def _nodes(symbol: Symbol) -> list[Node]:
    if not isinstance(symbol, Symbol):
        raise ArgumentTypeError(f"symbol must be a Symbol, got {type(symbol).__name__}")
    return topological(symbol.entries)


def _of_all(symbol: Symbol, infer: str, given: Any) -> dict[str, Any]:
    """What inference by a method says of all variables and results, by name."""
    if not isinstance(given, Mapping):
        word, kind = infer.removeprefix("infer_"), type(given).__name__
        name = "dtype" if word == "type" else word
        raise ArgumentTypeError(f"{name} must be a dict of {word}s by name, got {kind}")
    internals = symbol.get_internals()
    args, outputs, auxs = getattr(internals, infer)(**given)
    names = [*internals.list_arguments(), *internals.list_outputs()]
    names += internals.list_auxiliary_states()
    if outputs is None:
        raise InvalidArgumentError(
            f"{infer} finds nothing from {dict(given)}; give it for more of the inputs: "
            f"{names_of(symbol.list_inputs())}"
        )
    found = [*(args or []), *(outputs or []), *(auxs or [])]
    return dict(zip(names, found, strict=True))


def print_summary(
    symbol: Symbol,
    shape: Mapping[str, Any] | None = None,
    line_length: int = 120,
    positions: Sequence[float] = (0.44, 0.64, 0.74, 1.0),
) -> None:
    """Prints a table of a network: layers, the shapes of what they give, and their parameters.

    Parameters
    ----------
    symbol
        The network.
    shape
        Shapes of its inputs by name. Without them those of results are left out, and parameters
        are not counted.
    line_length
        How wide the table is.
    positions
        Where the columns end, as shares of the width.
    """
    nodes = _nodes(symbol)
    shapes = {} if shape is None else _of_all(symbol, "infer_shape", shape)
    ends = [int(line_length * p) for p in positions] if positions[-1] <= 1 else list(positions)

    def row(fields: Sequence[Any]) -> None:
        line = ""
        for field, end in zip(fields, ends, strict=True):
            line = (line + str(field))[: int(end)]
            line += " " * (int(end) - len(line))
        print(line)

    print("_" * line_length)
    row(["Layer (type)", "Output Shape", "Param #", "Previous Layer"])
    print("=" * line_length)
    # Of variables only the first is a row; others belong to their layers.
    shown = [n for i, n in enumerate(nodes) if n.op is not None or i == 0]
    total = 0
    for node in shown:
        count = _parameters(node, shapes, shape or {})
        total += count
        before = [e.node.name for e in node.inputs if e.node in shown]
        kind = "null" if node.op is None else node.op.name
        result = shapes.get(entry_name(node.outputs()[0]), ())
        size = "x".join(map(str, result[1:]))
        row([f"{node.name}({kind})", size, count, before[0] if before else ""])
        for name in before[1:]:
            row(["", "", "", name])
        print(("=" if node is shown[-1] else "_") * line_length)
    print(f"Total params: {total}")
    print("_" * line_length)


def _parameters(node: Node, shapes: Mapping[str, tuple[int, ...]], given: Mapping[str, Any]) -> int:
    """How many numbers are in the variables that only this kind of layer asks for."""
    if node.op is None or not shapes:
        return 0
    arguments = len(node.op.list_arguments())
    own = [e.node.name for e in node.inputs[1:arguments] if e.node.op is None]
    return sum(prod(shapes[n]) for n in own if n not in given and not n.endswith("label"))


def plot_network(
    symbol: Symbol,
    title: str = "plot",
    save_format: str = "pdf",
    shape: Mapping[str, Any] | None = None,
    dtype: Mapping[str, Any] | None = None,
    node_attrs: Mapping[str, str] | None = None,
    hide_weights: bool = True,
) -> Any:
    """A drawing of a network, by the package graphviz.

    Parameters
    ----------
    symbol
        The network.
    title
        The name of the drawing, and of its file.
    save_format
        What ``render()`` writes, such as ``"pdf"`` or ``"png"``.
    shape
        Shapes of inputs by name; with them edges say the shapes of what goes along.
    dtype
        Element types of inputs by name; with them edges say the types of what goes along.
    node_attrs
        Attributes of graphviz for all nodes.
    hide_weights
        Whether variables such as weights are left out; otherwise graphviz draws them in its own
        style.

    Returns
    -------
    graphviz.Digraph
        With ``source``, ``render()`` and ``view()``.

    A graph in which several nodes have one name is warned of: the drawing takes them for one.

    Raises
    ------
    ImportError
        The package is not installed.
    ArgumentTypeError
        For a symbol, shapes or types of another type.
    """
    try:
        from graphviz import Digraph
    except ImportError as error:
        raise ImportError(
            "plot_network needs the package graphviz: pip install graphviz"
        ) from error
    nodes = _nodes(symbol)
    shapes = {} if shape is None else _of_all(symbol, "infer_shape", shape)
    types = {} if dtype is None else _of_all(symbol, "infer_type", dtype)
    _warn_of_repeated(nodes)
    dot = Digraph(name=title, format=save_format)
    weights = {n for n in nodes if n.op is None and n.name.endswith(HIDDEN)}
    hidden = weights if hide_weights else set()
    for node in nodes:
        if node not in weights:  # Those that are not hidden have graphviz's own style.
            style = STYLE | dict(node_attrs or {})
            if node.op is None:
                style["shape"] = "oval"
            style["fillcolor"] = COLOURS[0 if node.op is None else KINDS.get(node.op.name, 7)]
            dot.node(name=node.name, label=_label(node), **style)
    for node in nodes:
        first = node.op is not None and node.op.name == "_contrib_BilinearResize2D"
        for entry in node.inputs[:1] if first else node.inputs:
            if entry.node not in hidden:
                name = entry_name(entry)
                label = "x".join(map(str, shapes.get(name, ())[1:]))
                if types:
                    label += f"({np.dtype(types[name]).name})"
                attrs = {"dir": "back", "arrowtail": "open", "label": label}
                dot.edge(tail_name=node.name, head_name=entry.node.name, **attrs)
    return dot


def _warn_of_repeated(nodes: Sequence[Node]) -> None:
    repeated = [name for name, count in Counter(n.name for n in nodes).items() if count > 1]
    if repeated:
        warnings.warn(
            "There are multiple variables with the same name in your graph, this may result in "
            f"cyclic graph. Repeated names: {','.join(repeated)}",
            RuntimeWarning,
            stacklevel=3,
        )


def _label(node: Node) -> str:
    """What is written into a node."""
    if node.op is None:
        return node.name
    op, attrs, name = node.op, node.op.attrs, node.op.name

    def extents(what: str, default: str) -> str:
        return default if op.given.get(what) is None else "x".join(map(str, attrs[what]))

    if name == "Convolution":
        return f"{name}\n{extents('kernel', '')}/{extents('stride', '1')}, {attrs['num_filter']}"
    if name == "FullyConnected":
        return f"{name}\n{attrs['num_hidden']}"
    if name in ("Activation", "LeakyReLU"):
        given = op.given.get("act_type", "Leaky")
        return f"{name}\n{given}"
    if name == "Pooling":
        return f"{name}\n{attrs['pool_type']}, {extents('kernel', '[]')}/{extents('stride', '1')}"
    return attrs["op_type"] if name == "Custom" else node.name
