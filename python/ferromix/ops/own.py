"""Operators of one's own: cards around properties that users wrote, for the core to run in Python.

A *property* says what the operator's inputs and outputs are, and creates the *operator* that
computes. What it returns is checked here, so that an error names the operator, the method, and what
came of it. Every operator has one more output, which is not visible: an array that stands for the
operator object, so that a backward pass finds the one that ran forward, and the engine has the
users of its state follow each other.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from ..context import Context
from ..error import InvalidArgumentError
from ..literal import MOST, brief
from .card import Entry, GradientGraph, MaybeShape, Shape, merge_shapes
from .own_backward import OwnBackward, PythonRun
from .own_storage import OwnStorage
from .param import DTYPES, dtype_name
from .shapes import is_known

__all__ = ["STATE", "OwnOperator", "Run"]

STATE: tuple[Shape, str] = ((1,), "uint8")
"""Shape and type of the array that stands for an operator object."""

Desc = tuple[Shape, str]


@dataclass(slots=True)
class Run:
    """The arrays and requests of one run, as users' functions get them."""

    context: Context
    is_train: bool
    req: list[str]
    in_data: list[Any]
    out_data: list[Any]
    aux: list[Any]
    out_grad: list[Any]
    in_grad: list[Any]
    requested: Sequence[Any]


class OwnOperator(OwnStorage, PythonRun):
    """A card around a property; a subclass says how properties are made and what they are asked."""

    dtypes: ClassVar[tuple[str, ...]] = DTYPES
    arguments: ClassVar[tuple[str, ...]] = ()
    uses_train_mode = True
    open_inputs: ClassVar[bool] = True
    private_outputs: ClassVar[int] = 1

    # -- the subclass's part -------------------------------------------------------------------

    def new_property(self) -> Any:
        """A property with the card's attributes."""
        raise NotImplementedError

    def create(self, made: Any, context: Context, arguments: Sequence[Desc], aux: Any) -> Any:
        """The operator object that `made`, a property, creates for arrays such as these."""
        raise NotImplementedError

    def run_forward(self, operator: Any, run: Run) -> None:
        """Calls the operator object."""
        raise NotImplementedError

    def run_backward(self, operator: Any, run: Run) -> None:
        """Calls the operator object."""
        raise NotImplementedError

    def require_operator(self, operator: Any, *methods: str) -> Any:
        """The operator object that a property created, if it has these methods.

        Raises
        ------
        InvalidArgumentError
            Something else, such as a class.
        """
        found = [callable(getattr(operator, method, None)) for method in methods]
        if isinstance(operator, type) or not all(found):
            expected = f"an object, not a class, with the methods {' and '.join(methods)}"
            raise self.wrong("create_operator", expected, operator)
        return operator

    def resources(self, made: Any, context: Context, shapes: Sequence[Shape], back: bool) -> Any:
        """What a run, backward if `back`, shares with others: objects that have a `var`."""
        return []

    def show_shape(self, shape: MaybeShape) -> Any:
        """A shape as the property is told of it."""
        return list(shape or ())

    def show_type(self, dtype: str | None) -> Any:
        """An element type as the property is told of it."""
        return _numpy(dtype)

    # -- names ---------------------------------------------------------------------------------

    @cached_property
    def own(self) -> Any:
        """The property that the graph asks; runs have others, which saw their shapes."""
        return self.new_property()

    def ask(self, made: Any, method: str, *args: Any) -> Any:
        """What a method of a property returns; an exception becomes one that names both.

        Raises
        ------
        InvalidArgumentError
            What the method raised, whatever that was, with the cause.
        """
        try:
            return getattr(made, method)(*args)
        except Exception as error:
            raise InvalidArgumentError(
                f"{self.label}: {method} raised {type(error).__name__}: {error}"
            ) from error

    def members_of(self, method: str, expected: str, found: Any) -> list[Any]:
        """The members of a list that a method returned: any collection will do, as in MXNet.

        Raises
        ------
        InvalidArgumentError
            Something else, or more members than an operator may have.
        """
        try:
            count, members = len(found), list(islice(found, MOST + 1))
        except Exception as error:  # what is no collection, or one that fails
            raise self.wrong(method, expected, found) from error
        if max(count, len(members)) > MOST:
            raise self.wrong(method, f"{expected}, at most {MOST}", found)
        return members

    def sized(self, method: str, expected: str, count: int, found: Any) -> list[Any]:
        """The members of a list that must have so many."""
        members = self.members_of(method, expected, found)
        if len(members) != count:
            raise self.wrong(method, expected, found)
        return members

    def wrong(self, method: str, expected: str, found: Any) -> InvalidArgumentError:
        """The error for what a method returned."""
        return InvalidArgumentError(
            f"{self.label}: {method} must return {expected}, returned {brief(found)}"
        )

    def _names(self, method: str) -> tuple[str, ...]:
        given = self.ask(self.own, method)
        found = self.members_of(method, "a list of names", given)
        if not all(isinstance(n, str) for n in found):
            raise self.wrong(method, "a list of names", given)
        return tuple(map(str, found))

    def _names_that_differ(self, method: str) -> tuple[str, ...]:
        found = self._names(method)
        if len(set(found)) != len(found):
            raise self.wrong(method, "names that differ", found)
        return found

    @cached_property
    def argument_list(self) -> tuple[str, ...]:
        """The names of the arguments."""
        return self._names_that_differ("list_arguments")

    @cached_property
    def output_list(self) -> tuple[str, ...]:
        """The names of the property's outputs."""
        found = self._names("list_outputs")
        if not found:
            raise self.wrong("list_outputs", "at least one name", found)
        if hasattr(self.own, "num_outputs"):
            count = self.ask(self.own, "num_outputs")
            if not isinstance(count, int) or isinstance(count, bool) or count != len(found):
                expected = f"{len(found)}, as many as list_outputs has names"
                raise self.wrong("num_outputs", expected, count)
        return found

    @cached_property
    def state_list(self) -> tuple[str, ...]:
        """The names of the auxiliary states."""
        found = self._names_that_differ("list_auxiliary_states")
        if set(found) & set(self.argument_list):
            raise self.wrong("list_auxiliary_states", "names that are no arguments'", found)
        return found

    def list_arguments(self) -> list[str]:
        """The property's arguments."""
        return list(self.argument_list)

    def list_auxiliary_states(self) -> list[str]:
        """The property's auxiliary states."""
        return list(self.state_list)

    def list_outputs(self) -> list[str]:
        """The property's outputs, and the state."""
        return [*self.output_list, "__state__"]

    @cached_property
    def visible(self) -> int:
        """How many of the outputs a user sees."""
        count = len(self.output_list)
        asked = hasattr(self.own, "num_visible_outputs")
        found = self.ask(self.own, "num_visible_outputs") if asked else count
        if not isinstance(found, int) or isinstance(found, bool) or not 1 <= found <= count:
            expected = f"an int from 1 to {count}"
            raise self.wrong("num_visible_outputs", expected, found)
        return found

    def num_visible_outputs(self) -> int:
        """How many of the outputs a user sees."""
        return self.visible

    # -- inference -----------------------------------------------------------------------------

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """What the property says."""
        return self.shapes_by(self.own, in_shapes)

    def shapes_by(
        self, made: Any, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """What a property says of shapes; while some are unknown, it may also raise."""
        complete = all(map(is_known, in_shapes))
        given = list(map(self.show_shape, in_shapes))
        try:
            found = self.groups("infer_shape", self.ask(made, "infer_shape", given))
        except InvalidArgumentError:
            if complete:
                raise
            blank: list[MaybeShape] = [None]
            return list(in_shapes), blank * self._outputs(), blank * len(self.state_list)
        args, outs, aux = ([self._shape(s, complete) for s in group] for group in found)
        merged = [
            merge_shapes(self.label, name, known, said)
            for name, known, said in zip(self.argument_list, in_shapes, args, strict=True)
        ]
        return merged, [*outs, STATE[0]], aux

    def _outputs(self) -> int:
        return len(self.output_list) + 1

    def _shape(self, shape: Any, complete: bool) -> MaybeShape:
        """A shape of a property's; while some are unknown, an empty one is, too."""
        if shape is None:
            return None
        expected = "shapes that are tuples of ints"
        try:
            extents = self.members_of("infer_shape", expected, shape)
            found = tuple(map(operator.index, extents))
        except TypeError:
            found = (-2,)
        if isinstance(shape, bytes) or any(extent < -1 for extent in found):
            raise self.wrong("infer_shape", expected, shape)
        return found if found or complete else None

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """What the property says, if it has a method of that name."""
        if not hasattr(self.own, "infer_shape_backward"):
            return list(in_shapes)
        known = [*in_shapes, *out_shapes[:-1]]
        given = list(map(self.show_shape, known))
        count = len(in_shapes)
        found = self.ask(self.own, "infer_shape_backward", given[:count], given[count:])
        shapes = self.sized("infer_shape_backward", f"a list of {count} shapes", count, found)
        return [self._shape(s, False) for s in shapes]

    def infer_type(
        self, in_types: Sequence[str | None]
    ) -> tuple[list[str | None], list[str | None], list[str | None]]:
        """What the property says."""
        return self.types_by(self.own, in_types)

    def types_by(
        self, made: Any, in_types: Sequence[str | None]
    ) -> tuple[list[str | None], list[str | None], list[str | None]]:
        """What a property says of element types; while some are unknown, it may also raise."""
        try:
            given = list(map(self.show_type, in_types))
            found = self.groups("infer_type", self.ask(made, "infer_type", given))
        except InvalidArgumentError:
            if all(in_types):
                raise
            blank: list[str | None] = [None]
            return (
                list(in_types),
                [*blank * len(self.output_list), STATE[1]],
                blank * len(self.state_list),
            )
        args, outs, aux = ([self._type(t) for t in group] for group in found)
        for name, known, said in zip(self.argument_list, in_types, args, strict=True):
            if known is not None and said not in (None, known):
                raise InvalidArgumentError(
                    f"{self.label}: argument '{name}' is {known}, but infer_type returned {said}"
                )
        merged = [said or known for said, known in zip(args, in_types, strict=True)]
        return merged, [*outs, STATE[1]], aux

    def _type(self, dtype: Any) -> str | None:
        if dtype is None:
            return None
        try:
            return dtype_name(dtype)
        except InvalidArgumentError:
            raise self.wrong("infer_type", "element types", dtype) from None

    def infer_type_backward(
        self, in_types: Sequence[str | None], out_types: Sequence[str | None]
    ) -> list[str | None]:
        """What the property says, if it has a method of that name."""
        if not hasattr(self.own, "infer_type_backward"):
            return list(in_types)
        given = list(map(self.show_type, in_types)), list(map(self.show_type, out_types[:-1]))
        found = self.ask(self.own, "infer_type_backward", *given)
        expected = f"a list of {len(in_types)} types"
        types = self.sized("infer_type_backward", expected, len(in_types), found)
        return [self._type(t) for t in types]

    def groups(self, method: str, found: Any) -> tuple[list[Any], list[Any], list[Any]]:
        """Inputs, outputs and auxiliary states; the last may be left out."""
        groups = self.members_of(method, "two or three lists", found)
        if len(groups) not in (2, 3):
            raise self.wrong(method, "two or three lists", found)
        counts = (len(self.argument_list), len(self.output_list), len(self.state_list))
        kinds = ("inputs", "outputs", "auxiliary states")
        args, outs, aux = (
            self.sized(method, f"a list of {count} for the {kind}", count, group)
            for group, count, kind in zip([*groups, ()][:3], counts, kinds, strict=True)
        )
        return args, outs, aux

    # -- gradient ------------------------------------------------------------------------------

    @cached_property
    def dependencies(self) -> frozenset[int]:
        """What backward reads: numbers of gradients of outputs, then of inputs, then of outputs."""
        outs, args = self.visible, len(self.argument_list)
        ids = list(range(outs + args + len(self.output_list)))
        given = (ids[:outs], ids[outs : outs + args], ids[outs + args :])
        method = "declare_backward_dependency"
        expected = f"a list of ints from 0 to {len(ids) - 1}, out of those it was given"
        declared = self.ask(self.own, method, *given)
        found = self.members_of(method, expected, declared)
        if not all(isinstance(i, (int, np.integer)) and 0 <= i < len(ids) for i in found):
            raise self.wrong(method, expected, declared)
        return frozenset(map(int, found))

    def needs_out_grad(self) -> bool:
        """Whether the property declares that it reads one."""
        return any(i < self.visible for i in self.dependencies)

    @cached_property
    def backward(self) -> OwnBackward:
        """The card of the gradient."""
        return OwnBackward(self)

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The operator's backward."""
        back, count = self.backward, len(self.argument_list)
        outs = len(self.output_list)
        inputs = [graph.out_grad[i] for i in back.out_grads]
        inputs += [*graph.in_data[:count], *graph.out_data[:outs], *graph.in_data[count:]]
        return list(graph.op(back, *inputs, graph.out_data[outs]))

    def inplace_options(self) -> list[tuple[int, int]]:
        """What the property declares."""
        return self.pairs("forward_inplace_option", len(self.argument_list), len(self.output_list))

    def pairs(self, method: str, inputs: int, outputs: int, *args: Any) -> list[tuple[int, int]]:
        """Pairs of an input and an output that a property's method gives, if there is one."""
        if not hasattr(self.own, method):
            return []
        given = args or (list(range(inputs)), list(range(outputs)))
        found = self.members_of(method, "a list of pairs", self.ask(self.own, method, *given))
        for pair in found:
            fits = isinstance(pair, (list, tuple)) and [type(i) for i in pair] == [int, int]
            if not fits or not (0 <= pair[0] < inputs and 0 <= pair[1] < outputs):
                raise self.wrong(
                    method, f"pairs of an input (0 to {inputs - 1}) and an output", pair
                )
        return [(i, o) for i, o in found]


def _numpy(name: str | None) -> Any:
    """NumPy's class for an element type; for bfloat16 MXNet's structured type of that name."""
    if name is None:
        return None
    return np.dtype([("bfloat16", np.uint16)]) if name == "bfloat16" else np.dtype(name).type
