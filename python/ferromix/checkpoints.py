"""What a checkpoint is, and the same in another form; ``python -m ferromix`` asks for it."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from . import files
from . import ndarray as nd
from . import symbol as sym
from .error import InvalidArgumentError
from .graph.node import topological
from .graph.serial import parse_noting
from .graph.upgrade import stated_version, version_text
from .model import load_params, save_checkpoint
from .ndarray import NDArray
from .onnx import export_model, import_model
from .symbol import Symbol

__all__ = ["FORMS", "convert", "describe"]

Shapes = Mapping[str, tuple[int, ...]]
ROW = "  {:32} {:>24}  {}"
FORMS = ("mxnet", "safetensors", "onnx")
"""What a checkpoint can be written as."""


def describe(prefix: str, epoch: int, shapes: Shapes | None = None) -> str:
    """A text about a checkpoint: versions, operators, parameters, and the shapes of results.

    Parameters
    ----------
    prefix, epoch
        As for :func:`ferromix.model.load_checkpoint`.
    shapes
        Shapes of inputs, from which those of the outputs follow.

    Raises
    ------
    FileFormatError
        Files that are no checkpoint; says why.
    """
    path = f"{os.fspath(prefix)}-symbol.json"
    text = files.read(path)
    heads, upgrades = parse_noting(text, path)
    args, auxs = load_params(prefix, epoch)
    head = [f"graph       {path}, {_version(text)}"]
    head += [f"upgraded    {line}" for line in upgrades.lines()]
    return "\n".join([*head, *_lines(Symbol(heads), args, auxs, shapes or {})])


def _lines(
    net: Symbol,
    args: Mapping[str, NDArray],
    auxs: Mapping[str, NDArray],
    shapes: Shapes,
) -> Iterator[str]:
    nodes = topological(net.entries)
    counts = Counter(node.op.name for node in nodes if node.op is not None)
    yield f"operators   {sum(counts.values())}"
    yield from (f"  {name:32} {count:>5}" for name, count in counts.most_common())
    inputs = [n for n in net.list_arguments() if n not in args]
    yield f"inputs      {', '.join(inputs) or 'none'}"
    yield from _parameters("parameters", net.list_arguments(), args)
    yield from _parameters("states", net.list_auxiliary_states(), auxs)
    found = {name: array.shape for name, array in args.items()}
    known = {n: s for n, s in found.items() if n in net.list_arguments()} | dict(shapes)
    within = net.get_internals()
    _, inner, _ = within.infer_shape_partial(**known)
    results = dict(zip(within.list_outputs(), inner or [], strict=True))
    yield "inputs found"
    yield from (_result(n, results.get(n)) for n in inputs)
    yield "shapes found"
    names = [n for n in results if n not in found and n not in auxs and n not in inputs]
    yield from (_result(name, results[name]) for name in names)
    yield "outputs"
    yield from (_result(name, results.get(name)) for name in net.list_outputs())
    missing = [n for n in net.list_auxiliary_states() if n not in auxs]
    if missing:
        yield f"missing     {', '.join(missing)}"


def _result(name: str, shape: tuple[int, ...] | None) -> str:
    extents = ", ".join(str(n) if n > 0 else "?" for n in shape or ())
    return f"  {name:32} {f'({extents})' if shape else 'unknown':>24}"


def _parameters(what: str, names: list[str], arrays: Mapping[str, NDArray]) -> Iterator[str]:
    """A line for each array; those that the graph does not know say so."""
    size = sum(a.size for a in arrays.values())
    bytes_ = sum(a.size * _width(a.dtype_name) for a in arrays.values())
    yield f"{what:11} {len(arrays)} arrays, {size} numbers, {bytes_} bytes"
    for name, array in arrays.items():
        note = "" if name in names else "  (not in the graph)"
        size = array.size * _width(array.dtype_name)
        yield ROW.format(name, str(array.shape), f"{array.dtype_name:8} {size:>12} bytes{note}")


def _width(dtype: str) -> int:
    """Bytes of an element; NumPy does not know all types."""
    return 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize


def _version(text: bytes) -> str:
    """By which version of MXNet a graph was written, by what it says or how it is."""
    graph: Any = json.loads(text)
    number = stated_version(graph)
    if number is not None:
        return f"of MXNet {version_text(number)}"
    nodes = graph.get("nodes", [])
    if any("param" in node for node in nodes):
        return "of MXNet before 0.9, read as today's"
    if any("attr" in node for node in nodes):
        return "of MXNet before 1.0, read as today's"
    return "of an unknown version"


def convert(
    prefix: str, epoch: int, target: str, form: str = "mxnet", shapes: Shapes | None = None
) -> list[Path]:
    """Writes a checkpoint anew.

    Parameters
    ----------
    prefix, epoch
        As for :func:`ferromix.model.load_checkpoint`; of any version of MXNet. A prefix that ends
        in ``.onnx`` is an ONNX model.
    target
        The prefix of what is written, in a folder that exists.
    form
        ``"mxnet"`` for the files that MXNet 1.9 reads, ``"safetensors"`` for its graph beside
        parameters in safetensors, named as in the graph, ``"onnx"`` for an ONNX model.
    shapes
        The shapes of the inputs, which an ONNX model needs; an extent of 0 may differ from run to
        run.

    Returns
    -------
    list of Path
        What was written.

    Raises
    ------
    InvalidArgumentError
        Another form; a parameter and a state of one name; what ONNX cannot say.
    """
    if form not in FORMS:
        listed = ", ".join(map(repr, FORMS))
        raise InvalidArgumentError(f"convert: form must be one of {listed}, got {form!r}")
    target = files.resolve(target)
    if os.fspath(prefix).endswith(".onnx"):
        net, args, auxs = import_model(prefix)
    else:
        net = sym.load(f"{os.fspath(prefix)}-symbol.json")
        args, auxs = load_params(prefix, epoch)
    if form == "onnx":
        return [_onnx(net, args, auxs, f"{target}.onnx", shapes or {})]
    graph = Path(f"{target}-symbol.json")
    if form == "mxnet":
        save_checkpoint(target, epoch, net, args, auxs)
        return [graph, Path(f"{target}-{epoch:04d}.params")]
    twice = sorted(set(args) & set(auxs))
    if twice:
        raise InvalidArgumentError(f"convert: '{twice[0]}' is both a parameter and a state")
    weights = Path(f"{target}-{epoch:04d}.safetensors")
    net.save(str(graph))
    nd.save(str(weights), {**args, **auxs})
    return [graph, weights]


def _onnx(
    net: Symbol,
    args: Mapping[str, NDArray],
    auxs: Mapping[str, NDArray],
    path: str,
    shapes: Shapes,
) -> Path:
    flexible = any(0 in shape for shape in shapes.values())
    given = {n: tuple(e or None for e in shape) for n, shape in shapes.items()}
    export_model(
        *(net, [args, auxs], shapes),
        onnx_file_path=path,
        dynamic=flexible,
        dynamic_input_shapes=given if flexible else None,
    )
    return Path(path)
