"""The operator card, the only place where an operator is described, and the registry of cards.

An attribute that changes at every step, such as a learning rate, is marked ``dynamic`` in its
:class:`Param`. Calls that differ in it only share the card and its prepared kernel, and its value
travels with each run. So nothing may depend on it but the kernel: the operator has no gradient, the
attribute has no range, :meth:`OperatorProperty.kernel_attrs` hands it on as it is, and the kernel
reads it by ``Attrs::scalar``, as :func:`register` and the kernel table see to.

From a card come ``mx.nd.X``, ``mx.sym.X``, shape and type inference, gradients, the reference and
the tests. A card names a row of the Rust kernel table; it holds no computation itself.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Protocol, TypeVar

from ..error import InvalidArgumentError
from .param import Param
from .remembered import FEW
from .spelling import SPELLED, spelled
from .storage import DENSE, rule_of

__all__ = [
    "Again",
    "Claims",
    "Entry",
    "GradientGraph",
    "MaybeShape",
    "OperatorProperty",
    "Shape",
    "alias",
    "builtin_names",
    "exists",
    "find",
    "forget",
    "make",
    "merge_shapes",
    "names",
    "register",
]

Shape = tuple[int, ...]
"""Extents; -1 marks one that is not known yet."""
MaybeShape = Shape | None
"""Extents, or None where not even their number is known."""
Claims = Mapping[str, tuple[str, ...]]
"""Element types, by the names of the arguments that may have them."""
Entry = Any
"""One output of one node, opaque to cards."""


Again = tuple["OperatorProperty", Sequence[Entry]]
"""An operator and its inputs."""


class GradientGraph(Protocol):
    """What a gradient rule sees of the graph around its node."""

    in_data: Sequence[Entry]
    """The arguments, then the auxiliary states."""
    out_data: Sequence[Entry]
    """All outputs, the invisible ones included."""
    out_grad: Sequence[Entry]
    """The gradients of the visible outputs."""

    def op(self, name: str | OperatorProperty, *inputs: Entry, **attrs: Any) -> list[Entry]:
        """Adds a node of the operator `name`, or of a card, and returns all its outputs."""
        ...


class OperatorProperty:
    """What there is to know of one operator; an instance also holds one set of attributes.

    A subclass sets the class variables and overrides the methods where the defaults do not fit.
    The subclass's docstring is the operator's documentation.

    Parameters
    ----------
    **attrs
        The attributes, typed or as MXNet's strings.

    Raises
    ------
    InvalidArgumentError
        An unknown attribute (the message lists the valid ones), one that is missing or ill-typed.
    """

    name: ClassVar[str]
    """MXNet's name of the operator."""
    aliases: ClassVar[tuple[str, ...]] = ()
    """Other names under which MXNet knows it."""
    params: ClassVar[Mapping[str, Param]] = {}
    """The attributes."""
    arguments: ClassVar[tuple[str, ...]] = ("data",)
    """The names of the inputs."""
    auxiliary_states: ClassVar[tuple[str, ...]] = ()
    """The names of the inputs that a run, or its gradient, changes and that have no gradient."""
    changed_by_gradient: ClassVar[bool] = False
    """Whether it is the gradient alone that changes the auxiliary states."""
    initializers: ClassVar[Mapping[str, str]] = {}
    """Initializers, as JSON, of inputs that do not start as their name suggests."""
    variadic: ClassVar[str | None] = None
    """The attribute that counts the inputs where their number varies."""
    kernel: ClassVar[str | None] = None
    """The row of the kernel table; the operator's name where None."""
    dtypes: ClassVar[tuple[str, ...]] = ("float32", "float64")
    """The element types that the operator claims."""
    argument_dtypes: ClassVar[Claims] = {}
    """Those of arguments whose type is their own, such as indices, by name."""
    uses_train_mode: bool = False
    """Whether training and prediction differ."""
    differentiable: ClassVar[bool] = True
    """Whether a gradient exists; where not, :meth:`gradient` gives None for every input."""
    hidden: ClassVar[bool] = False
    """Whether the operator is for other cards only, without a public function."""
    open_inputs: ClassVar[bool] = False
    """Whether only an instance knows its inputs; :attr:`arguments` says nothing then."""
    open_attributes: ClassVar[bool] = False
    """Whether there are more attributes than :attr:`params`, of any name."""
    private_outputs: ClassVar[int] = 0
    """How many of the outputs, the last ones, are no outputs in MXNet."""
    tells_members: ClassVar[bool] = False
    """Whether tuples of floats, such as (1.0, 2.0), are told apart from equal ones of ints."""
    private_for_gradient: ClassVar[bool] = False
    """Whether these are for the gradient alone; kernels leave out what nothing reads."""
    by_values: bool = False
    """Whether shapes of outputs depend on values: inference leaves them open, Python runs them."""
    few_kept: ClassVar[bool] = False
    """Whether cards hold objects of a user's, which may be large, so that few are remembered."""

    @classmethod
    def dynamic_params(cls) -> list[str]:
        """The names of the attributes whose values come with each run, in the order of places."""
        return list(_dynamic_params(cls))

    @classmethod
    def allows_any_name(cls) -> bool:
        """Whether a symbol's own attributes may have any name: no parameter could be meant."""
        return not cls.params and not cls.open_attributes

    def __init__(self, **attrs: Any) -> None:
        unknown = [a for a in attrs if a not in self.params]
        if unknown:
            raise InvalidArgumentError(self._unknown_attribute(unknown[0]))
        self.attrs: dict[str, Any] = {}
        self.given: dict[str, Any] = {}
        self._spellings: dict[str, Any] = {}
        for name, param in self.params.items():
            if name in attrs:
                value = attrs[name]
                found = self.given[name] = param.parse(self.name, name, value)
                if found is not value and isinstance(value, SPELLED):
                    self._spellings[name] = value[:] if type(value) is list else value
                left = found is None and param.none_is_default
                self.attrs[name] = param.default if left else found
            elif param.required:
                raise InvalidArgumentError(
                    f"{self.name}: attribute '{name}' is required: {param.describe()}"
                )
            else:
                self.attrs[name] = param.default

    def texts(self) -> dict[str, str]:
        """The given attributes as they stand in a graph: as spelled, where MXNet reads that."""
        texts = {k: Param.format(v) for k, v in self.given.items()}
        for name, value in self._spellings.items():
            text = spelled(self.params[name].kind, value)
            texts[name] = texts[name] if text is None else text
        return texts

    # -- arguments and outputs -----------------------------------------------------------------

    def list_arguments(self) -> list[str]:
        """The names of the inputs, without the auxiliary states."""
        if self.variadic is not None:
            return [f"arg{i}" for i in range(self.attrs[self.variadic])]
        return list(self.arguments)

    @classmethod
    def count_inputs(cls, inputs: int) -> int:
        """The value of the attribute :attr:`variadic` for so many inputs."""
        return inputs

    def list_outputs(self) -> list[str]:
        """The names of the outputs."""
        return ["output"]

    @cached_property
    def label(self) -> str:
        """What errors of a run call it; for a part of a composed operator, that one's, too."""
        return self.name

    @cached_property
    def output_names(self) -> tuple[str, ...]:
        """What :meth:`list_outputs` gives, made once: graphs ask for every entry."""
        return tuple(self.list_outputs())

    @cached_property
    def input_names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What :meth:`list_arguments` and :meth:`list_auxiliary_states` give, made once."""
        return tuple(self.list_arguments()), tuple(self.list_auxiliary_states())

    def list_auxiliary_states(self) -> list[str]:
        """The names of the inputs in :attr:`auxiliary_states`."""
        return list(self.auxiliary_states)

    def num_visible_outputs(self) -> int:
        """How many of the outputs a user sees."""
        return len(self.list_outputs())

    def mutated_inputs(self) -> list[int]:
        """Inputs that the operator changes, or its gradient; the kernel sees them again after its
        outputs."""
        first = len(self.list_arguments())
        return list(range(first, first + len(self.list_auxiliary_states())))

    # -- inference -----------------------------------------------------------------------------

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """Shapes of arguments, outputs and auxiliary states, as far as they are known.

        The default is for operators whose inputs and outputs all have one shape.

        Parameters
        ----------
        in_shapes
            Shapes of the arguments; None or -1 where unknown.

        Raises
        ------
        InvalidArgumentError
            Shapes that contradict each other, naming the operator, the argument and both shapes.
        """
        shape: MaybeShape = None
        for name, given in zip(self.list_arguments(), in_shapes, strict=True):
            shape = merge_shapes(self.name, name, given, shape)
        return (
            [shape] * len(in_shapes),
            [shape] * len(self.list_outputs()),
            [shape] * len(self.list_auxiliary_states()),
        )

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """Shapes of arguments that follow from those of the outputs; by default none."""
        return list(in_shapes)

    def infer_type(
        self, in_types: Sequence[str | None]
    ) -> tuple[list[str | None], list[str | None], list[str | None]]:
        """Element types of arguments, outputs and auxiliary states; by default all the same, but
        for those of :attr:`argument_dtypes`.

        Raises
        ------
        InvalidArgumentError
            Types that contradict each other, naming the operator and the argument.
        """
        found: str | None = None
        first = ""
        named = list(zip(self.list_arguments(), in_types, strict=True))
        for name, given in named:
            if given is None or name in self.argument_dtypes:
                continue
            if found is not None and given != found:
                raise InvalidArgumentError(
                    f"{self.name}: argument '{name}' is {given}, but '{first}' is {found}; "
                    "cast one of them"
                )
            found, first = given, first or name
        return (
            [given if name in self.argument_dtypes else found for name, given in named],
            [found] * len(self.list_outputs()),
            [found] * len(self.list_auxiliary_states()),
        )

    def infer_type_backward(
        self, in_types: Sequence[str | None], out_types: Sequence[str | None]
    ) -> list[str | None]:
        """Types of arguments that follow from those of the outputs.

        By default the first argument of an unknown type has that of an output if
        :meth:`infer_type` then gives the output this type, and none without.
        """
        types = list(in_types)
        names = self.list_arguments()
        free = (i for i, n in enumerate(names) if n not in self.argument_dtypes)
        first = next((i for i in free if types[i] is None), None)
        if first is None:
            return types
        for i, found in enumerate(out_types):
            if found is None or self.infer_type(in_types)[1][i] is not None:
                continue
            supposed = [*types[:first], found, *types[first + 1 :]]
            try:
                if self.infer_type(supposed)[1][i] == found:
                    return supposed
            except InvalidArgumentError:
                continue
        return types

    def infer_storage_type(
        self, in_stypes: Sequence[str]
    ) -> tuple[list[str], list[str], list[str]]:
        """Storage types of arguments, outputs and auxiliary states, from those of the arguments.

        The operator runs with arguments stored as it says here: others are converted before. By
        default as :data:`ferromix.ops.storage.RULES` says, and otherwise dense.
        """
        rule = rule_of(self.name, self.attrs, in_stypes)
        if rule is not None:
            outputs = [rule.output] * len(self.list_outputs())
            return list(in_stypes), outputs, [DENSE] * len(self.list_auxiliary_states())
        return (
            [DENSE] * len(in_stypes),
            [DENSE] * len(self.list_outputs()),
            [DENSE] * len(self.list_auxiliary_states()),
        )

    # -- gradient and memory -------------------------------------------------------------------

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """Nodes that compute the gradient of each argument; None where there is none."""
        return [None] * len(self.list_arguments())

    def needs_out_grad(self) -> bool:
        """Whether the gradient reads the gradients of the outputs; a loss does not."""
        return True

    def inplace_options(self) -> list[tuple[int, int]]:
        """Pairs (input, output) that may share memory."""
        return []

    def cpu_inplace_options(self) -> list[tuple[int, int]]:
        """Pairs (input, output) that may share memory on the CPU alone: its kernel has read what it
        needs before it writes there. An output that is at most half as large may then begin where
        the input does, if the kernel's row says so, too."""
        return []

    def again(self, inputs: Sequence[Entry], outputs: Sequence[Entry]) -> Again | None:
        """What gives the first output once more, to be kept no longer than needed: an operator, and
        what it reads of the inputs and of the other outputs.

        By default the operator itself where it has one output and no state; None where a second run
        would not give the same, or do more.
        """
        if len(outputs) != 1 or self.uses_train_mode or self.mutated_inputs():
            return None
        return self, inputs

    def ignored_inputs(self) -> list[int]:
        """Inputs of which only shape and type matter, so that their memory may be reused."""
        return []

    # -- for the dispatcher --------------------------------------------------------------------

    def kernel_name(self) -> str:
        """The row of the kernel table."""
        return self.kernel or self.name

    def kernel_attrs(self, is_train: bool) -> dict[str, Any]:
        """The attributes as the kernel reads them."""
        if self.uses_train_mode:
            return {**self.attrs, "__is_train__": is_train}
        return self.attrs

    def check_dtype(self, dtype: str, argument: str | None = None) -> None:
        """Raises :class:`InvalidArgumentError` for an element type that the card does not claim,
        for the input `argument` where it is given."""
        claimed = self.dtypes if argument is None else self._claimed(argument)
        if dtype not in claimed:
            where = f"argument '{argument}' of " if argument else ""
            raise InvalidArgumentError(
                f"{self.name}: {where}element type {dtype} is not supported; "
                f"supported: {', '.join(claimed)}; use astype or Cast"
            )

    def _claimed(self, argument: str) -> tuple[str, ...]:
        return self.argument_dtypes.get(argument, self.dtypes)

    def _unknown_attribute(self, attr: str) -> str:
        near = difflib.get_close_matches(attr, self.params, n=1)
        hint = f" (did you mean '{near[0]}'?)" if near else ""
        valid = ", ".join(self.params) or "none"
        return f"{self.name}: unknown attribute '{attr}'{hint}; valid attributes: {valid}"


@lru_cache(maxsize=1024)
def _dynamic_params(card: type[OperatorProperty]) -> tuple[str, ...]:
    return tuple([name for name, param in card.params.items() if param.dynamic])


def merge_shapes(operator: str, argument: str, a: MaybeShape, b: MaybeShape) -> MaybeShape:
    """What two partial shapes of one argument say together.

    Raises
    ------
    InvalidArgumentError
        If they contradict each other.
    """
    if a is None:
        return b
    if b is None or a == b:
        return a
    if len(a) != len(b) or any(x != y for x, y in zip(a, b, strict=True) if x >= 0 and y >= 0):
        raise InvalidArgumentError(f"{operator}: argument '{argument}' has shape {a}, expected {b}")
    return tuple(y if x < 0 else x for x, y in zip(a, b, strict=True))


_REGISTRY: dict[str, type[OperatorProperty]] = {}
_Card = TypeVar("_Card", bound=type[OperatorProperty])


def register(card: _Card) -> _Card:
    """Enters a card under its name and its aliases; for use as a decorator."""
    for name in card.dynamic_params():
        param = card.params[name]
        bounded = param.low is not None or param.high is not None
        if card.differentiable or param.kind not in ("float", "int") or bounded:
            raise InvalidArgumentError(
                f"operator '{card.name}': attribute '{name}' cannot be dynamic: only "
                "numbers without a range, of operators without a gradient, can"
            )
    card.tells_members = any(param.kind == "floats" for param in card.params.values())
    for name in (card.name, *card.aliases):
        if name in _REGISTRY:
            raise InvalidArgumentError(f"operator '{name}' is registered twice")
        _REGISTRY[name] = card
    return card


def alias(name: str, other: str) -> None:
    """Gives the operator `name` one more name.

    Raises
    ------
    InvalidArgumentError
        For an unknown operator, or a name that is taken.
    """
    card = find(name)
    if other in _REGISTRY:
        raise InvalidArgumentError(f"operator '{other}' is registered twice")
    card.aliases = (*card.aliases, other)
    _REGISTRY[other] = card


def exists(name: str) -> bool:
    """Whether an operator of that name or alias is registered."""
    return name in _REGISTRY


def find(name: str) -> type[OperatorProperty]:
    """The card of the operator `name`.

    Raises
    ------
    InvalidArgumentError
        For an unknown name; the message lists the nearest ones.
    """
    card = _REGISTRY.get(name)
    if card is None:
        near = difflib.get_close_matches(name, _REGISTRY, n=3)
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        raise InvalidArgumentError(f"unknown operator '{name}'{hint}")
    return card


def names(hidden: bool = False) -> list[str]:
    """The names and aliases of all operators, sorted."""
    return sorted(n for n, c in _REGISTRY.items() if hidden or not c.hidden)


def builtin_names() -> list[str]:
    """The names and aliases of the package's public operators, without those of users, sorted."""
    package = __name__.rpartition(".")[0]
    return [n for n in names() if _REGISTRY[n].__module__.startswith(package)]


def make(name: str, attrs: Mapping[str, Any]) -> OperatorProperty:
    """The card of `name` with `attrs`; the same object for the same attributes where possible."""
    card = find(name)
    made = _make_few if card.few_kept else _make_cached
    told = (float, tuple) if card.tells_members else float
    kinds = tuple([_kind(v) if isinstance(v, told) else type(v) for v in attrs.values()])
    try:
        return made(name, tuple(attrs.items()), kinds)
    except TypeError as e:
        if "unhashable" not in str(e):
            raise
    return card(**attrs)


def forget() -> None:
    """Has :func:`make` make new cards, as where what a name stands for was replaced."""
    _make_cached.cache_clear()
    _make_few.cache_clear()


def _kind(value: Any) -> Any:
    """What tells apart values that are equal: 1 and 1.0, 0.0 and -0.0; members of a tuple, too."""
    if isinstance(value, tuple):
        return tuple([_kind(v) for v in value])
    return repr(value) if isinstance(value, float) and value == 0 else type(value)


@lru_cache(maxsize=4096)
def _make_cached(
    name: str, attrs: tuple[tuple[str, Any], ...], _kinds: tuple[Any, ...]
) -> OperatorProperty:
    return find(name)(**dict(attrs))


_make_few = lru_cache(FEW)(_make_cached.__wrapped__)
