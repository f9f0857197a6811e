"""The walk over a graph that says it in ONNX."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ... import files
from ... import ndarray as nd
from ... import symbol as sym
from ...error import ArgumentTypeError, InvalidArgumentError
from ...graph.compose import parts_of
from ...graph.infer import infer_shapes, infer_types
from ...graph.node import Entry, Node, argument_names, entry_name, topological
from ...ndarray import NDArray
from ...ops.card import MaybeShape
from ...ops.composed import Composed
from ...ops.param import dtype_name
from ...symbol import Symbol
from .site import TABLE, Facts, Site
from .writer import OPSET, Writer

__all__ = ["Exporter", "export_model", "get_operator_support"]

Params = Mapping[str, NDArray]
Shape = Sequence[int | str | None]

_UNREAD = ("label",)
"""Arguments of losses that only gradients read."""


def get_operator_support(opset_version: int | None = None) -> list[str]:
    """The names of the operators that :func:`export_model` can say in ONNX.

    Parameters
    ----------
    opset_version
        A version of ONNX's operators; models are written in version 17, which later ones read.

    Raises
    ------
    InvalidArgumentError
        An earlier version.

    Examples
    --------
    >>> "Convolution" in get_operator_support()
    True
    """
    if opset_version is not None and opset_version < OPSET:
        raise InvalidArgumentError(
            f"get_operator_support: opset_version must be at least {OPSET}, got {opset_version}"
        )
    return sorted(TABLE)


def export_model(
    sym: Symbol | str | os.PathLike[str],
    params: Any,
    in_shapes: Sequence[Sequence[int]] | Mapping[str, Sequence[int]] | None = None,
    in_types: Any = np.float32,
    onnx_file_path: str | os.PathLike[str] = "model.onnx",
    verbose: bool = False,
    dynamic: bool = False,
    dynamic_input_shapes: Sequence[Shape] | Mapping[str, Shape] | None = None,
    run_shape_inference: bool = False,
    input_type: Any = None,
    input_shape: Any = None,
) -> str:
    """Writes a network and its parameters as an ONNX model, of prediction.

    Parameters
    ----------
    sym
        The network, or the path of its JSON.
    params
        Parameters and states by name, with or without ``arg:`` and ``aux:`` before it; or a list
        of two dicts; or the path of their file.
    in_shapes
        The shape of each input, in the order of ``list_arguments``, or by name. Labels, which
        prediction does not read, may be left out.
    in_types
        The element type of all inputs, or of each.
    onnx_file_path
        What is written.
    verbose
        Whether each node is printed.
    dynamic
        Whether extents that `dynamic_input_shapes` has no number for may differ from run to run.
    dynamic_input_shapes
        As `in_shapes`, with None or a name for such an extent; where it is None, all are such.
    run_shape_inference
        Whether ONNX's own inference adds the shapes of all values to the file.
    input_type, input_shape
        Earlier names of `in_types` and `in_shapes`.

    Returns
    -------
    str
        The path of the model.

    Raises
    ------
    InvalidArgumentError
        What ONNX cannot say, naming the node and the operator; shapes that do not fit.
    MXNetError
        Where the onnx package is missing.

    Examples
    --------
    >>> import ferromix as mx
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    >>> weights = {"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.zeros(2)}
    >>> mx.onnx.export_model(net, weights, [(4, 3)])  # doctest: +SKIP
    'model.onnx'
    """
    path = os.fspath(onnx_file_path)
    net, values = _network(sym), _parameters(params)
    exporter = Exporter(net, values, verbose)
    shapes = in_shapes if in_shapes is not None else input_shape
    flexible = _flexible(exporter.inputs, shapes, dynamic, dynamic_input_shapes)
    types = in_types if input_type is None else input_type
    model = exporter.run(_by_name(exporter, shapes, "in_shapes"), types, flexible)
    onnx = exporter.writer.onnx
    if run_shape_inference:
        model = onnx.shape_inference.infer_shapes(model)
    files.write(path, model.SerializeToString())
    return path


def _network(given: Any) -> Symbol:
    if isinstance(given, Symbol):
        return given
    if isinstance(given, str | os.PathLike):
        return sym.load(given)
    raise ArgumentTypeError(
        f"export_model: sym must be a Symbol or a path, got {type(given).__name__}"
    )


def _parameters(given: Any) -> dict[str, np.ndarray]:
    """Parameters and states by their names in the graph."""
    if isinstance(given, str | os.PathLike):
        given = nd.load(given)
    parts = given if isinstance(given, list | tuple) else [given]
    found: dict[str, np.ndarray] = {}
    for part in parts:
        if not isinstance(part, Mapping):
            raise ArgumentTypeError(
                "export_model: params must be a dict, a list of two dicts or a path of named "
                f"arrays, got {type(part).__name__}"
            )
        for key, array in part.items():
            if not isinstance(array, NDArray):
                raise ArgumentTypeError(
                    f"export_model: parameter '{key}' must be an NDArray, got "
                    f"{type(array).__name__}"
                )
            found[key.removeprefix("arg:").removeprefix("aux:")] = array.asnumpy()
    return found


def _by_name(exporter: Exporter, given: Any, what: str) -> dict[str, tuple[int | str | None, ...]]:
    """What was given for each input; a list may also count the labels."""
    if given is None:
        given = []
    if isinstance(given, Mapping):
        unknown = sorted(set(given) - set(exporter.asked))
        if unknown:
            raise InvalidArgumentError(
                f"export_model: {what} has '{unknown[0]}', which is no input; the inputs are "
                f"{', '.join(exporter.asked)}"
            )
        return {name: tuple(shape) for name, shape in given.items()}
    for names in (exporter.inputs, exporter.asked):
        if len(given) == len(names):
            return {n: tuple(s) for n, s in zip(names, given, strict=True)}
    raise InvalidArgumentError(
        f"export_model: {what} must have a shape for each of the inputs "
        f"{', '.join(exporter.inputs)}, got {len(given)}"
    )


def _flexible(names: Sequence[str], shapes: Any, dynamic: bool, given: Any) -> dict[str, Shape]:
    """The shapes in which an extent may be a name; none where all are fixed."""
    if not dynamic:
        return {}
    if given is None:
        rows = shapes.values() if isinstance(shapes, Mapping) else shapes or []
        given = [[None] * len(row) for row in rows]
    if isinstance(given, Mapping):
        return {name: tuple(row) for name, row in given.items()}
    return {name: tuple(row) for name, row in zip(names, given, strict=False)}


class Exporter:
    """One model that is being written; `verbose` has each node printed.

    Attributes
    ----------
    asked, inputs
        The arguments that are no parameters; those of them that prediction reads.
    """

    def __init__(self, net: Symbol, values: dict[str, np.ndarray], verbose: bool) -> None:
        self.net = net
        self.values = values
        self.verbose = verbose
        self.writer = Writer()
        self.asked = [n for n in net.list_inputs() if n not in values]
        self.read = _read(net.entries)
        names = {n.name for n in self.read if n.op is None}
        self.inputs = [n for n in self.asked if n in names]
        self.names: dict[Entry, str] = {}

    def run(
        self, given: Mapping[str, tuple[Any, ...]], types: Any, flexible: Mapping[str, Shape]
    ) -> Any:
        """The model."""
        nodes = topological(self.net.entries)
        shapes: dict[Entry, MaybeShape] = {}
        known: dict[Entry, str | None] = {}
        wanted = self._types(types)
        for node in (n for n in nodes if n.op is None):
            entry = Entry(node, 0)
            if node.name in self.values:
                shapes[entry] = self.values[node.name].shape
                known[entry] = str(self.values[node.name].dtype)
            elif node.name in self.inputs:
                shape = flexible.get(node.name, given.get(node.name))
                if shape is None:
                    raise InvalidArgumentError(
                        f"export_model: no shape for input '{node.name}'; in_shapes needs one"
                    )
                shapes[entry] = tuple(n if isinstance(n, int) else -1 for n in shape)
                known[entry] = wanted[node.name]
        self.facts = Facts(infer_shapes(nodes, shapes), infer_types(nodes, known), self._constant)
        inputs = [
            self._input(n, flexible) for n in self.read if n.op is None and n.name in self.inputs
        ]
        for node in self.read:
            self._say(node)
        return self.writer.model(inputs, self._outputs(), self.net.name or "ferromix")

    def _types(self, given: Any) -> dict[str, str]:
        many = isinstance(given, list | tuple)
        rows = list(given) if many else [given] * len(self.inputs)
        if len(rows) == len(self.asked) != len(self.inputs):
            rows = [t for n, t in zip(self.asked, rows, strict=True) if n in self.inputs]
        if len(rows) != len(self.inputs):
            raise InvalidArgumentError(
                f"export_model: in_types must have a type for each of the inputs "
                f"{', '.join(self.inputs)}, got {len(rows)}"
            )
        return {n: dtype_name(t) for n, t in zip(self.inputs, rows, strict=True)}

    def _input(self, node: Node, flexible: Mapping[str, Shape]) -> Any:
        entry = Entry(node, 0)
        self.names[entry] = self.writer.unique(node.name)
        shape = self.facts.shapes[entry] or ()
        named = flexible.get(node.name, shape)
        extents = [
            n if isinstance(n, int | str) else f"{node.name}_{i}" for i, n in enumerate(named)
        ]
        return self.writer.value(node.name, self.facts.types[entry] or "float32", extents)

    def _say(self, node: Node) -> None:
        """Adds what one node is in ONNX."""
        if node.op is None:
            self._variable(node)
            return
        inputs = [self.names.get(e, "") for e in node.inputs]
        first = len(self.writer.nodes)
        site = Site(self.writer, node, inputs, self.facts)
        translation = TABLE.get(node.op.name)
        found = translation(site) if translation else None
        if found is None:
            self._say_parts(node, site)
            return
        for entry, name in zip(
            node.outputs(), [found] if isinstance(found, str) else found, strict=False
        ):
            public = entry_name(entry)
            self.names[entry] = public if self.writer.rename(first, name, public) else name
        if self.verbose:
            kinds = ", ".join(n.op_type for n in self.writer.nodes[first:])
            print(f"{node.name} ({node.op.name}): {kinds}")

    def _say_parts(self, node: Node, site: Site) -> None:
        """Says an operator that is made of others by these."""
        if not isinstance(node.op, Composed):
            raise site.error("cannot be said in ONNX; get_operator_support() lists what can")
        parts, outputs = parts_of(node.op, node.name, node.inputs, node.attrs)
        shapes, types = self.facts.shapes, self.facts.types
        shapes.update(infer_shapes(parts, {e: shapes[e] for e in node.inputs}))
        types.update(infer_types(parts, {e: types[e] for e in node.inputs}))
        for part in parts:
            self._say(part)
        for entry, within in zip(node.outputs(), outputs, strict=True):
            self.names[entry] = self.names[within]

    def _variable(self, node: Node) -> None:
        entry = Entry(node, 0)
        if entry in self.names:
            return
        if node.name not in self.values:
            raise InvalidArgumentError(f"export_model: no value for '{node.name}'")
        value = np.ascontiguousarray(self.values[node.name])
        self.names[entry] = self.writer.initializer(node.name, value)

    def _constant(self, entry: Entry) -> np.ndarray | None:
        """The value of what follows from parameters alone."""
        variables = [n.name for n in topological([entry]) if n.op is None]
        if any(n not in self.values for n in variables):
            return None
        if entry.node.op is None:
            return self.values[entry.node.name]
        arrays = {n: nd.array(self.values[n], dtype=self.values[n].dtype) for n in variables}
        return Symbol([entry]).eval(**arrays)[0].asnumpy()

    def _outputs(self) -> list[Any]:
        """The graph's outputs, each under the name that the symbol has for it."""
        found = []
        for entry, public in zip(self.net.entries, self.net.list_outputs(), strict=True):
            if entry not in self.names:
                raise InvalidArgumentError(
                    f"export_model: node '{entry.node.name}' ({_kind(entry.node)}): its output "
                    f"'{public}' cannot be said in ONNX"
                )
            name = self.names[entry]
            if name != public or entry.node.op is None:
                old, name = name, self.writer.unique(public)
                self.writer.node("Identity", [old], [name], {})
            shape = self.facts.shapes[entry]
            extents = shape and [n if n >= 0 else f"{name}_{i}" for i, n in enumerate(shape)]
            found.append(self.writer.value(name, self.facts.types[entry] or "float32", extents))
        return found


def _kind(node: Node) -> str:
    return node.op.name if node.op else "variable"


def _read(heads: Sequence[Entry]) -> list[Node]:
    """The nodes that prediction needs, each after its inputs: without the labels of losses."""
    order: list[Node] = []
    needed = {head.node for head in heads}
    for node in reversed(topological(heads)):
        if node not in needed:
            continue
        order.append(node)
        if node.op is None:
            continue
        for name, entry in zip(argument_names(node.op), node.inputs, strict=True):
            if name not in _UNREAD or node.op.name not in TABLE:
                needed.add(entry.node)
    return order[::-1]
