"""The walk over an ONNX graph that makes a symbol of it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from ... import files
from ... import ndarray as nd
from ... import symbol as sym
from ...error import FileFormatError, InvalidArgumentError, MXNetError
from ...graph.infer import infer_shapes
from ...graph.node import Entry, Node
from ...ndarray import NDArray
from ...ops.card import MaybeShape, merge_shapes
from ...symbol import Symbol
from ..package import onnx_package
from .folding import fold
from .use import TABLE, Use, Value

__all__ = ["get_model_metadata", "import_model"]

Params = dict[str, NDArray]
Shapes = Mapping[str, Sequence[int]]

_OWN = ("", "ai.onnx")
_MALFORMED = (ValueError, TypeError, KeyError, IndexError, OverflowError, RuntimeError)
"""What a node raises that does not fit together."""


def import_model(
    model_file: str | os.PathLike[str], in_shapes: Shapes | None = None
) -> tuple[Symbol, Params, Params]:
    """A network from an ONNX model.

    Parameters
    ----------
    model_file
        The path of the model.
    in_shapes
        Shapes of inputs by name, for a model that leaves extents open and works with them.

    Returns
    -------
    tuple
        The symbol, and its parameters and states by name, as from
        :func:`ferromix.model.load_checkpoint`. Inputs have the names that they have in the model.

    Raises
    ------
    FileFormatError
        A file that is no ONNX model, or one that contradicts itself.
    InvalidArgumentError
        What MXNet's operators cannot say, naming the node and its operator.
    MXNetError
        Where the onnx package is missing.

    Examples
    --------
    >>> import ferromix as mx
    >>> net, args, auxs = mx.onnx.import_model("model.onnx")  # doctest: +SKIP
    """
    path = files.resolve(model_file)
    return read_model(_load(path), path, in_shapes or {})


def read_model(
    model: Any, path: str, in_shapes: Shapes = MappingProxyType({})
) -> tuple[Symbol, Params, Params]:
    """What :func:`import_model` gives, for a model that has been loaded from a path."""
    reader = _Reader(path, model, in_shapes)
    net = reader.run()
    states = set(net.list_auxiliary_states())
    arrays = {n: nd.array(v, dtype=v.dtype) for n, v in reader.parameters.items()}
    used = set(net.list_arguments())
    return (
        net,
        {n: a for n, a in arrays.items() if n in used},
        {n: a for n, a in arrays.items() if n in states},
    )


def get_model_metadata(model_file: str | os.PathLike[str]) -> dict[str, list[Any]]:
    """The names and shapes of a model's inputs and outputs.

    Parameters
    ----------
    model_file
        The path of the model.

    Returns
    -------
    dict
        ``input_tensor_data`` and ``output_tensor_data``, lists of names with shapes, in which an
        extent that may differ is 0 or its name.

    Raises
    ------
    FileFormatError
        A file that is no ONNX model.
    """
    graph = _load(files.resolve(model_file)).graph
    constants = {i.name for i in graph.initializer}
    return {
        "input_tensor_data": [_described(v) for v in graph.input if v.name not in constants],
        "output_tensor_data": [_described(v) for v in graph.output],
    }


def _described(value: Any) -> tuple[str, tuple[int | str, ...]]:
    extents = value.type.tensor_type.shape.dim
    return value.name, tuple(d.dim_param or d.dim_value for d in extents)


def _load(path: str) -> Any:
    """The model, as far as ONNX's own checks go."""
    onnx = onnx_package()
    data = files.read(path)
    try:
        model = onnx.load_model_from_string(data)
        if any(t.external_data for t in model.graph.initializer):
            onnx.load_external_data_for_model(model, os.path.dirname(path) or ".")
        onnx.checker.check_model(model)
    except Exception as error:  # its parser and its checker have their own kinds
        words = " ".join(str(error).split())[:300]
        raise FileFormatError(f"{path}: not an ONNX model: {words}") from error
    if not model.graph.node and not model.graph.output:
        raise FileFormatError(f"{path}: not an ONNX model: the graph is empty")
    return model


class _Reader:
    """One model that is being read.

    Attributes
    ----------
    parameters
        The values of the variables that constants have become.
    """

    def __init__(self, path: str, model: Any, given: Shapes) -> None:
        self.path = path
        self.given = dict(given)
        self.onnx = onnx_package()
        self.graph = model.graph
        versions = [o.version for o in model.opset_import if o.domain in _OWN]
        self.opset = max(versions, default=1)
        self.parameters: dict[str, np.ndarray] = {}
        self.values: dict[str, Value] = {}
        self.shapes: dict[Entry, MaybeShape] = {}
        self._variables: dict[str, tuple[np.ndarray, Symbol]] = {}
        self._names: set[str] = set()

    def run(self) -> Symbol:
        """The symbol."""
        for tensor in self.graph.initializer:
            self.values[tensor.name] = self._array(tensor)
        if self.graph.sparse_initializer:
            raise FileFormatError(f"{self.path}: sparse constants are not supported")
        for value in self.graph.input:
            if value.name not in self.values:
                self._input(value)
        unknown = sorted(set(self.given) - set(self.values))
        if unknown:
            raise InvalidArgumentError(
                f"import_model: in_shapes has '{unknown[0]}', which is no input of {self.path}"
            )
        for node in self.graph.node:
            self._node(node)
        outputs = [self._output(value.name) for value in self.graph.output]
        return outputs[0] if len(outputs) == 1 else sym.Group(outputs)

    def _array(self, tensor: Any) -> np.ndarray:
        try:
            return np.asarray(self.onnx.numpy_helper.to_array(tensor))
        except _MALFORMED as error:
            raise FileFormatError(f"{self.path}: constant '{tensor.name}': {error}") from error

    def _input(self, value: Any) -> None:
        kind = value.type.WhichOneof("value")
        if kind != "tensor_type":
            raise FileFormatError(f"{self.path}: input '{value.name}' is no tensor but a {kind}")
        tensor = value.type.tensor_type
        made = sym.Variable(value.name)
        self._names.add(value.name)
        declared: MaybeShape = None
        if tensor.HasField("shape"):
            declared = tuple(d.dim_value if d.dim_value > 0 else -1 for d in tensor.shape.dim)
        wanted = tuple(self.given[value.name]) if value.name in self.given else None
        shape = merge_shapes("import_model", value.name, wanted, declared)
        if shape is not None:
            self.shapes[made.entries[0]] = shape
        self.values[value.name] = made

    def _output(self, name: str) -> Symbol:
        if name not in self.values:
            raise FileFormatError(f"{self.path}: nothing gives the output '{name}'")
        value = self.values[name]
        return value if isinstance(value, Symbol) else self.variable(name, value)

    def _node(self, node: Any) -> None:
        name = self._unique(node.name or node.output[0])
        where = f"node '{name}' ({node.op_type})"
        if node.domain not in _OWN:
            raise InvalidArgumentError(
                f"import_model: {where} is of the operators '{node.domain}', which are not ONNX's"
            )
        missing = [n for n in node.input if n and n not in self.values]
        if missing:
            raise FileFormatError(f"{self.path}: {where}: nothing gives its input '{missing[0]}'")
        try:
            found = self._said(node, name)
        except MXNetError as error:
            if where in str(error):
                raise
            raise type(error)(f"import_model: {where}: {error}") from error
        except _MALFORMED as error:
            raise FileFormatError(f"{self.path}: {where}: {error}") from error
        for output, value in zip(node.output, found, strict=False):
            self.values[output] = value
            if isinstance(value, Symbol):
                self._infer(value)

    def _said(self, node: Any, name: str) -> list[Value]:
        inputs = [(n, self.values[n] if n else None) for n in node.input]
        known = [v for _, v in inputs if isinstance(v, np.ndarray)]
        if len(known) == sum(v is not None for _, v in inputs):
            found = fold(node, known, self.opset)
            if found is not None:
                return list(found)
        if node.op_type not in TABLE:
            raise InvalidArgumentError(
                f"import_model: node '{name}' ({node.op_type}): this operator cannot be said by "
                "MXNet's"
            )
        attrs = {a.name: self._attribute(a) for a in node.attribute}
        use = Use(self, node.op_type, name, inputs, attrs, len(node.output))
        made = TABLE[node.op_type](use)
        return [made] if isinstance(made, Symbol | np.ndarray) else list(made)

    def _attribute(self, attribute: Any) -> Any:
        value = self.onnx.helper.get_attribute_value(attribute)
        if isinstance(value, bytes):
            return value.decode()
        if isinstance(value, self.onnx.TensorProto):
            return self._array(value)
        if isinstance(value, list) and value and isinstance(value[0], bytes):
            return [v.decode() for v in value]
        return value

    def _unique(self, name: str) -> str:
        found, number = name, 0
        while found in self._names:
            number += 1
            found = f"{name}_{number}"
        self._names.add(found)
        return found

    def variable(self, name: str, value: np.ndarray) -> Symbol:
        """A constant as a variable, whose value becomes a parameter."""
        if name in self._variables and self._variables[name][0] is value:
            return self._variables[name][1]
        given = value
        own = self._unique(name)
        value = value.reshape(value.shape or 1)  # files of parameters have no scalars
        # With its shape, so that a user who binds need not give it.
        made = sym.Variable(own, shape=value.shape, dtype=value.dtype)
        self.parameters[own] = value
        self.shapes[made.entries[0]] = value.shape
        self._variables[name] = (given, made)
        return made

    def shape(self, symbol: Symbol) -> tuple[int, ...] | None:
        """A symbol's shape as far as it is known."""
        self._infer(symbol)
        return self.shapes.get(symbol.entries[0])

    def _infer(self, symbol: Symbol) -> None:
        """Works out the shapes of the nodes that were made since last time."""
        new: list[Node] = []
        stack = [e.node for e in symbol.entries]
        seen: set[Node] = set()
        while stack:
            node = stack.pop()
            if node in seen or node.op is None or Entry(node, 0) in self.shapes:
                continue
            seen.add(node)
            new.append(node)
            stack += [e.node for e in node.inputs]
        order = _sorted(new)
        edges = {e for n in order for e in n.inputs}
        known = {e: self.shapes.get(e) for e in edges}
        self.shapes.update(infer_shapes(order, known))


def _sorted(nodes: list[Node]) -> list[Node]:
    """Nodes, each after its inputs."""
    wanted, done, order = set(nodes), set[Node](), []
    for start in nodes:
        stack = [(start, False)]
        while stack:
            node, ready = stack.pop()
            if ready:
                order.append(node)
            elif node not in done and node in wanted:
                done.add(node)
                stack.append((node, True))
                stack += [(e.node, False) for e in node.inputs]
    return order
