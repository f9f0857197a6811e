"""Networks as tables and drawings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from .error import ArgumentTypeError
from .graph.node import Node, entry_name, topological
from .symbol import Symbol

__all__ = ["plot_network", "print_summary"]

COLOURS = ("#8dd3c7", "#fb8072", "#ffffb3", "#bebada", "#80b1d3", "#fdb462", "#b3de69", "#fccde5")
"""Of variables, products, activations, normalisations, pooling, shapes, softmax, and all else."""
KINDS = {
    **dict.fromkeys(("Convolution", "Deconvolution", "FullyConnected"), 1),
    **dict.fromkeys(("Activation", "LeakyReLU"), 2),
    "BatchNorm": 3,
    "Pooling": 4,
    **dict.fromkeys(("Concat", "Flatten", "Reshape"), 5),
    **dict.fromkeys(("softmax", "Softmax"), 6),
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


def _shapes(symbol: Symbol, given: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """The shapes of all variables and results, by name."""
    internals = symbol.get_internals()
    args, outputs, auxs = internals.infer_shape(**given)
    names = [*internals.list_arguments(), *internals.list_outputs()]
    names += internals.list_auxiliary_states()
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
    shapes = _shapes(symbol, shape) if shape else {}
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
        Element types of inputs by name; checked, and not drawn.
    node_attrs
        Attributes of graphviz for all nodes.
    hide_weights
        Whether variables such as weights are left out.

    Returns
    -------
    graphviz.Digraph
        With ``source``, ``render()`` and ``view()``.

    Raises
    ------
    ImportError
        The package is not installed.
    """
    try:
        from graphviz import Digraph
    except ImportError as error:
        raise ImportError(
            "plot_network needs the package graphviz: pip install graphviz"
        ) from error
    nodes = _nodes(symbol)
    shapes = _shapes(symbol, shape) if shape else {}
    if dtype:
        symbol.infer_type(**dtype)
    dot = Digraph(name=title, format=save_format)
    hidden = {n for n in nodes if hide_weights and n.op is None and n.name.endswith(HIDDEN)}
    for node in nodes:
        if node not in hidden:
            style = STYLE | dict(node_attrs or {})
            if node.op is None:
                style["shape"] = "oval"
            style["fillcolor"] = COLOURS[0 if node.op is None else KINDS.get(node.op.name, 7)]
            dot.node(name=node.name, label=_label(node), **style)
    for node in nodes:
        for entry in node.inputs:
            if entry.node not in hidden:
                size = shapes.get(entry_name(entry), ()) if shapes else ()
                label = "x".join(map(str, size[1:]))
                attrs = {"dir": "back", "arrowtail": "open", "label": label}
                dot.edge(tail_name=node.name, head_name=entry.node.name, **attrs)
    return dot


def _label(node: Node) -> str:
    """What is written into a node."""
    if node.op is None:
        return node.name
    op, attrs, name = node.op, node.op.attrs, node.op.name

    def extents(what: str, default: str) -> str:
        return "x".join(map(str, attrs[what])) if op.given.get(what) else default

    if name in ("Convolution", "Deconvolution"):
        return f"{name}\n{extents('kernel', '')}/{extents('stride', '1')}, {attrs['num_filter']}"
    if name == "FullyConnected":
        return f"{name}\n{attrs['num_hidden']}"
    if name in ("Activation", "LeakyReLU"):
        given = op.given.get("act_type", "Leaky")
        return f"{name}\n{given}"
    if name == "Pooling":
        return f"{name}\n{attrs['pool_type']}, {extents('kernel', '')}/{extents('stride', '1')}"
    return node.name
