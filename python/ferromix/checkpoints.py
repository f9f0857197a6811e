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
from .model import load_params, save_checkpoint
from .ndarray import NDArray
from .symbol import Symbol

__all__ = ["convert", "describe"]

Shapes = Mapping[str, tuple[int, ...]]
ROW = "  {:32} {:>24}  {}"


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
    net = sym.load(path)
    args, auxs = load_params(prefix, epoch)
    return "\n".join(_lines(path, net, args, auxs, shapes or {}))


def _lines(
    path: str,
    net: Symbol,
    args: Mapping[str, NDArray],
    auxs: Mapping[str, NDArray],
    shapes: Shapes,
) -> Iterator[str]:
    yield f"graph       {path}, {_version(files.read(path))}"
    nodes = topological(net.entries)
    counts = Counter(node.op.name for node in nodes if node.op is not None)
    yield f"operators   {sum(counts.values())}"
    yield from (f"  {name:32} {count:>5}" for name, count in counts.most_common())
    inputs = [n for n in net.list_arguments() if n not in args]
    yield f"inputs      {', '.join(inputs) or 'none'}"
    yield from _parameters("parameters", net.list_arguments(), args)
    yield from _parameters("states", net.list_auxiliary_states(), auxs)
    found = {name: array.shape for name, array in {**args, **auxs}.items()}
    known = {n: s for n, s in found.items() if n in net.list_arguments()} | dict(shapes)
    _, outputs, _ = net.infer_shape_partial(**known)
    yield "outputs"
    for name, shape in zip(net.list_outputs(), outputs or [], strict=True):
        extents = ", ".join(str(n) if n > 0 else "?" for n in shape or ())
        yield f"  {name:32} {f'({extents})' if shape else 'unknown':>24}"
    missing = [n for n in net.list_auxiliary_states() if n not in auxs]
    if missing:
        yield f"missing     {', '.join(missing)}"


def _parameters(what: str, names: list[str], arrays: Mapping[str, NDArray]) -> Iterator[str]:
    """A line for each array; those that the graph does not know say so."""
    size = sum(a.size for a in arrays.values())
    bytes_ = sum(a.size * _width(a.dtype_name) for a in arrays.values())
    yield f"{what:11} {len(arrays)} arrays, {size} numbers, {bytes_} bytes"
    for name, array in arrays.items():
        note = "" if name in names else "  (not in the graph)"
        yield ROW.format(name, str(array.shape), array.dtype_name + note)


def _width(dtype: str) -> int:
    """Bytes of an element; NumPy does not know all types."""
    return 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize


def _version(text: bytes) -> str:
    """By which version of MXNet a graph was written, by what it says or how it is."""
    graph: Any = json.loads(text)
    number = graph.get("attrs", {}).get("mxnet_version", [None, None])[1]
    if isinstance(number, int):
        return f"of MXNet {number // 10000}.{number // 100 % 100}.{number % 100}"
    nodes = graph.get("nodes", [])
    if any("param" in node for node in nodes):
        return "of MXNet before 0.9, read as today's"
    if any("attr" in node for node in nodes):
        return "of MXNet before 1.0, read as today's"
    return "of an unknown version"


def convert(prefix: str, epoch: int, target: str, form: str = "mxnet") -> list[Path]:
    """Writes a checkpoint anew.

    Parameters
    ----------
    prefix, epoch
        As for :func:`ferromix.model.load_checkpoint`; of any version of MXNet.
    target
        The prefix of what is written, in a folder that exists.
    form
        ``"mxnet"`` for the files that MXNet 1.9 reads, ``"safetensors"`` for its graph beside
        parameters in safetensors, named as in the graph.

    Returns
    -------
    list of Path
        What was written.

    Raises
    ------
    InvalidArgumentError
        Another form; a parameter and a state of one name.
    """
    if form not in ("mxnet", "safetensors"):
        raise InvalidArgumentError(f"convert: form must be 'mxnet' or 'safetensors', got {form!r}")
    net = sym.load(f"{os.fspath(prefix)}-symbol.json")
    args, auxs = load_params(prefix, epoch)
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
