"""Shapes and element types of a symbol's variables and outputs, as users ask for them.

MXNet's users write 0 for an extent, and ``()`` for a shape, that is not known; inside, these are
-1 and None, and so they are for users inside of ``mx.np_shape``.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from ..error import ArgumentTypeError, InvalidArgumentError
from ..graph.infer import infer_shapes, infer_types, is_known
from ..graph.node import Entry, Node, mutated_variables, topological, variables
from ..literal import MOST_AXES, brief, extent, members, names_of
from ..ops.card import MaybeShape
from ..ops.param import dtype_name
from ..ops.storage import STORAGE_TYPES
from ..util import is_np_shape

__all__ = [
    "DTYPE_CODES",
    "Inference",
    "declared_shape",
    "declared_storage",
    "declared_type",
    "from_user_shape",
    "numpy_type",
    "shape_text",
    "to_user_shape",
]

T = TypeVar("T")
_BFLOAT16 = np.dtype([("bfloat16", np.uint16)])

DTYPE_CODES = {
    "float32": 0,
    "float64": 1,
    "float16": 2,
    "uint8": 3,
    "int32": 4,
    "int8": 5,
    "int64": 6,
    "bool": 7,
    "bfloat16": 12,
}
"""MXNet's numbers of element types, which ``__dtype__`` holds."""

Shapes = list[tuple[int, ...]]
Found = tuple[list[T], list[T], list[T]]


class Inference:
    """The methods of a symbol that infer shapes and types."""

    __slots__ = ()

    @property
    def entries(self) -> list[Entry]:
        """The outputs as entries of the graph."""
        raise NotImplementedError

    def infer_shape(
        self, *args: Any, **kwargs: Any
    ) -> Found[tuple[int, ...]] | tuple[None, None, None]:
        """The shapes of arguments, outputs and auxiliary states.

        Parameters
        ----------
        *args
            Shapes of the arguments in order; None where unknown.
        **kwargs
            Shapes of arguments by name; an extent of 0 is unknown.

        Returns
        -------
        tuple
            Three lists of shapes, or three times None, with a warning, if some shape of an
            argument does not follow from those given.

        Raises
        ------
        InvalidArgumentError
            Where shapes contradict each other; names the node, its operator, the argument and
            both shapes. Also for a name that is no argument.

        Examples
        --------
        >>> import ferromix as mx
        >>> fc = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
        >>> fc.infer_shape(data=(8, 3))
        ([(8, 3), (2, 3), (2,)], [(8, 2)], [])
        """
        found, names = self._shapes(args, kwargs)
        missing = [f"{n}: {to_user_shape(s)}" for n, s in names if not is_known(s)]
        if missing or not all(is_known(s) for group in found for s in group):
            warnings.warn(
                "the shapes of some arguments do not follow from those given (0 and () are "
                f"unknown); consider giving them: {names_of(missing)}",
                stacklevel=2,
            )
            return None, None, None
        return _users(found)

    def infer_shape_partial(self, *args: Any, **kwargs: Any) -> Found[tuple[int, ...]]:
        """As :meth:`infer_shape`, with 0 and ``()`` for what is not known."""
        return _users(self._shapes(args, kwargs)[0])

    def infer_type(self, *args: Any, **kwargs: Any) -> Found[Any] | tuple[None, None, None]:
        """The element types of arguments, outputs and auxiliary states, as NumPy types.

        Parameters
        ----------
        *args
            Types of the arguments in order; None where unknown.
        **kwargs
            Types of arguments by name.

        Returns
        -------
        tuple
            Three lists of types, or three times None, with a warning, if some do not follow.
        """
        found = self._types(args, kwargs)
        if any(t is None for group in found for t in group):
            warnings.warn(
                "the types of some arguments do not follow from those given; "
                "consider giving more of them",
                stacklevel=2,
            )
            return None, None, None
        return found

    def infer_type_partial(self, *args: Any, **kwargs: Any) -> Found[Any]:
        """As :meth:`infer_type`, with None for what is not known."""
        return self._types(args, kwargs)

    def _shapes(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[Found[MaybeShape], list[tuple[str, MaybeShape]]]:
        nodes = topological(self.entries)
        shapes = {n: declared_shape(n) for n in variables(nodes)}
        for node, value in _given(nodes, args, kwargs):
            shapes[node] = from_user_shape(value, node.name)
        table = infer_shapes(nodes, {Entry(n, 0): s for n, s in shapes.items()})
        return _split(nodes, self.entries, table), [(n.name, table[Entry(n, 0)]) for n in shapes]

    def _types(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Found[Any]:
        nodes = topological(self.entries)
        types = {n: declared_type(n) for n in variables(nodes)}
        for node, value in _given(nodes, args, kwargs):
            types[node] = dtype_name(value)
        table = infer_types(nodes, {Entry(n, 0): t for n, t in types.items()})
        args_, outs, aux = _split(nodes, self.entries, table)
        return _numpy(args_), _numpy(outs), _numpy(aux)


def _given(
    nodes: Sequence[Node], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> list[tuple[Node, Any]]:
    """The variables that a caller says something about, with what he says."""
    changed = mutated_variables(nodes)
    inputs = variables(nodes)
    arguments = [n for n in inputs if n not in changed]
    if args and kwargs:
        raise InvalidArgumentError("give shapes or types by position or by name, not both")
    if len(args) > len(arguments):
        raise InvalidArgumentError(
            f"there are {len(arguments)} arguments ({names_of(n.name for n in arguments)}), "
            f"got {len(args)} values"
        )
    unknown = kwargs.keys() - {n.name for n in inputs}
    if unknown:
        raise InvalidArgumentError(
            f"there is no argument '{min(unknown)}'; arguments: {names_of(n.name for n in inputs)}"
        )
    pairs = [(n, v) for n, v in zip(arguments, args, strict=False) if v is not None]
    return pairs + [(n, kwargs[n.name]) for n in inputs if kwargs.get(n.name) is not None]


def _split(
    nodes: Sequence[Node], heads: Sequence[Entry], table: Mapping[Entry, T]
) -> tuple[list[T], list[T], list[T]]:
    changed = mutated_variables(nodes)
    inputs = variables(nodes)
    return (
        [table[Entry(n, 0)] for n in inputs if n not in changed],
        [table[e] for e in heads],
        [table[Entry(n, 0)] for n in inputs if n in changed],
    )


def _users(found: Found[MaybeShape]) -> tuple[Shapes, Shapes, Shapes]:
    args, outs, aux = found
    return (
        [to_user_shape(s) for s in args],
        [to_user_shape(s) for s in outs],
        [to_user_shape(s) for s in aux],
    )


def _numpy(types: Sequence[str | None]) -> list[Any]:
    return [None if t is None else numpy_type(t) for t in types]


def numpy_type(name: str) -> Any:
    """NumPy's class for the name of an element type; for bfloat16 MXNet's structured type."""
    return _BFLOAT16 if name == "bfloat16" else np.dtype(name).type


def from_user_shape(shape: Any, name: str) -> MaybeShape:
    """A shape in which a user writes 0 or -1 for an unknown extent; ``()`` is wholly unknown.

    Inside of ``mx.np_shape`` 0 and ``()`` are what they say.

    Raises
    ------
    ArgumentTypeError
        For anything but an int, a sequence or an array of ints, or the text of one; names the
        argument.
    InvalidArgumentError
        For a negative extent.
    """
    if isinstance(shape, str) and shape.strip() == "None":
        return None
    try:
        given = members(shape, extent)
    except (TypeError, ValueError, OverflowError, RecursionError):
        raise ArgumentTypeError(
            f"the shape of '{name}' must be ints of 64 bits, {MOST_AXES} at most, "
            f"got {brief(shape)}"
        ) from None
    if any(n < -1 for n in given):
        raise InvalidArgumentError(f"the shape of '{name}' has a negative extent: {brief(given)}")
    return given if is_np_shape() else tuple(n or -1 for n in given) or None


def to_user_shape(shape: MaybeShape) -> Any:
    """The shape with 0 for an unknown extent; ``()`` where not even the rank is known.

    Inside of ``mx.np_shape`` these are -1 and None.
    """
    if is_np_shape():
        return shape
    return () if shape is None else tuple(max(n, 0) for n in shape)


def shape_text(shape: Any, name: str) -> str:
    """What ``__shape__`` holds for a shape that a user gave."""
    found = from_user_shape(shape, name)
    # As it was written, where that says the same.
    if isinstance(shape, (int, list)) and from_user_shape(str(shape), name) == found:
        return str(shape)
    return str(to_user_shape(found))


def declared_shape(node: Node) -> MaybeShape:
    """The shape that a variable's ``__shape__`` states."""
    text = node.attrs.get("__shape__")
    return None if text is None else from_user_shape(text, node.name)


def declared_storage(node: Node) -> str:
    """The storage type that a variable's ``__storage_type__`` states."""
    text = node.attrs.get("__storage_type__", "-1")
    if text == "-1":
        return "default"
    names = {str(code): name for code, name in enumerate(STORAGE_TYPES)}
    return names.get(text, text)


def declared_type(node: Node) -> str | None:
    """The element type that a variable's ``__dtype__`` states, as a number of MXNet or a name."""
    text = node.attrs.get("__dtype__")
    if text is None or text == "-1":
        return None
    names = {str(code): name for name, code in DTYPE_CODES.items()}
    name = names.get(text, text)
    if name not in DTYPE_CODES:
        raise InvalidArgumentError(
            f"the type of '{node.name}' must be one of {', '.join(DTYPE_CODES)} or MXNet's number "
            f"of one, got {text[:40]!r}"
        )
    return name
