"""Runs of operators of one's own: what the core calls to bind them to arrays, and then runs.

The core binds a run on the thread that pushes it; the function that comes of it runs on the Python
lane, as an operation of the engine. A bound graph binds once and runs again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from .. import _core
from .._core import Array
from ..context import Context, current_context
from ..error import InvalidArgumentError
from ..ops.own import Desc, OwnOperator, Run
from ..ops.own_backward import OwnBackward, PythonRun

__all__ = ["Undeclared", "bind_arrays", "prepare", "scoped"]

REQUESTS = ("null", "write", "inplace", "add")
"""The words for requests, by number."""

Wrap = Callable[[Array], Any]
Bound = tuple[Callable[[], None], list[_core.Variable]]
"""A function, and the variables that it changes besides its arrays."""
_wrap: list[Wrap] = []


def bind_arrays(wrap: Wrap) -> None:
    """Says what users' functions get for an array of the core."""
    _wrap[:] = [wrap]


def prepare(
    card: PythonRun, inputs: Sequence[Desc], outputs: Sequence[Desc], is_train: bool
) -> _core.Prepared:
    """What runs a card of one's own on the arrays described.

    Raises
    ------
    InvalidArgumentError
        A property that says something wrong; names the operator and what it said.
    """
    changed = [inputs[i] for i in card.mutated_inputs()]
    if isinstance(card, OwnBackward):
        bind: Callable[..., Any] = _Backward(card, inputs, outputs, is_train)
    else:
        assert isinstance(card, OwnOperator)
        bind = _Forward(card, inputs, outputs, is_train)
    given, made = list(inputs), [*outputs, *changed]
    return _core.Prepared.python(card.label, bind, given, made, len(changed), card)


class _Forward:
    """Binds forward runs."""

    def __init__(
        self,
        card: OwnOperator,
        inputs: Sequence[Desc],
        outputs: Sequence[Desc],
        is_train: bool,
    ) -> None:
        count = len(card.argument_list)
        self.card, self.is_train = card, is_train
        self.arguments, self.aux = inputs[:count], inputs[count:]
        self.outputs = outputs[: len(card.output_list)]
        # One that knows these shapes only, as properties may keep what they were asked last.
        self.property = card.new_property()
        card.shapes_by(self.property, [shape for shape, _ in self.arguments])
        card.types_by(self.property, [dtype for _, dtype in self.arguments])

    def __call__(self, inputs: list[Array], outputs: list[Array | None], reqs: list[int]) -> Bound:
        """The function for these arrays; the operator object is that of the state, or new."""
        count, outs = len(self.arguments), len(self.outputs)
        context = _context_of([*inputs, *outputs])
        state = outputs[outs]
        operator = None if state is None else state.attached
        if operator is None:
            operator = self.card.create(self.property, context, self.arguments, self.aux)
            if state is not None:
                state.attach(operator)
        arrays = _Arrays(inputs, outputs[:outs], self.outputs, reqs, context)
        card, is_train = self.card, self.is_train
        shapes = [shape for shape, _ in self.arguments]
        requested = card.resources(self.property, context, shapes, False)

        def run() -> None:
            given = arrays.inputs()
            card.run_forward(
                operator,
                Run(
                    context,
                    is_train,
                    list(arrays.req),
                    given[:count],
                    list(arrays.outputs),
                    given[count:],
                    [],
                    [],
                    requested,
                ),
            )

        return scoped(run, context, is_train, f"forward of {card.label}"), [
            r.var for r in requested
        ]


class _Backward:
    """Binds backward runs."""

    def __init__(
        self,
        card: OwnBackward,
        inputs: Sequence[Desc],
        outputs: Sequence[Desc],
        is_train: bool,
    ) -> None:
        self.card, self.is_train = card, is_train
        self.inputs, self.outputs = inputs, outputs

    def __call__(self, inputs: list[Array], outputs: list[Array | None], reqs: list[int]) -> Bound:
        """The function for these arrays; the operator object is that of the state.

        Raises
        ------
        InvalidArgumentError
            A state without one, as where nothing ran forward.
        """
        own, first = self.card.forward, len(self.card.out_grads)
        context = _context_of(inputs)
        operator = self.card.operator_of(inputs[-1].attached)
        unread = self.card.ignored_inputs()
        wanted = outputs[: len(self.outputs)]
        arrays = _Arrays(inputs[:-1], wanted, self.outputs, reqs, context, unread)
        missing = {i: Undeclared(self.card, i, self.inputs[i]) for i in unread}
        absent = [
            Undeclared(self.card, i, self.inputs[first + len(own.argument_list) + i], True)
            for i in range(own.visible)
        ]
        places = (first + len(own.argument_list), first + len(own.argument_list + own.output_list))
        card, is_train = self.card, self.is_train
        shapes = [shape for shape, _ in self.inputs[first : places[0]]]
        requested = own.resources(own.own, context, shapes, True)

        def run() -> None:
            given = arrays.inputs()
            for place, stand_in in missing.items():
                given[place] = stand_in
            out_grad: list[Any] = list(absent)
            for place, i in enumerate(card.out_grads):
                out_grad[i] = given[place]
            own.run_backward(
                operator,
                Run(
                    context,
                    is_train,
                    list(arrays.req),
                    given[first : places[0]],
                    given[places[0] : places[1]],
                    given[places[1] :],
                    out_grad,
                    list(arrays.outputs),
                    requested,
                ),
            )

        # As in MXNet, whatever the pass: what it calls trains.
        return scoped(run, context, True, card.label), [r.var for r in requested]


class _Arrays:
    """The arrays of a run as users' functions get them."""

    def __init__(
        self,
        inputs: Sequence[Array],
        outputs: Sequence[Array | None],
        descs: Sequence[Desc],
        reqs: Sequence[int],
        context: Context,
        unread: Collection[int] = (),
    ) -> None:
        wrap = _wrap[0]
        self._given = [wrap(a) for a in inputs]
        kind, number = context.device_typeid, context.device_id
        self.outputs = [
            wrap(Array(*desc, kind, number) if a is None else a)
            for a, desc in zip(outputs, descs, strict=True)
        ]
        self.req = [REQUESTS[r] for r in reqs[: len(outputs)]]
        # What is written must not change what is read, unless the property says that it may.
        written = [
            a
            for a, req in zip(outputs, self.req, strict=True)
            if a is not None and req != "inplace"
        ]
        read = [(i, a) for i, a in enumerate(inputs) if i not in unread]
        self._shared = [i for i, a in read if any(a.overlaps(w) for w in written)]

    def inputs(self) -> list[Any]:
        """The inputs, of which those are copies whose memory is written.

        To each copy the array is attached in whose place it stands, for who may look at its memory.
        """
        given = list(self._given)
        for i in self._shared:
            copy = given[i].copy()
            copy.handle.attach(given[i].handle)
            given[i] = copy
        return given


class Undeclared:
    """Stands where backward has no array, as the property does not declare that it reads one."""

    def __init__(self, card: OwnBackward, place: int, desc: Desc, is_grad: bool = False) -> None:
        own = card.forward
        what = f"out_grad[{place}]" if is_grad else f"'{card.list_arguments()[place]}'"
        self._problem = (
            f"{own.label}: backward reads {what}, which declare_backward_dependency does not "
            "return; return its number there"
        )
        self.shape = desc[0]
        self.dtype = desc[1]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise InvalidArgumentError(self._problem)

    def _refuse(self, *_: Any) -> Any:
        raise InvalidArgumentError(self._problem)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _refuse
    __rtruediv__ = __neg__ = __pow__ = __getitem__ = __gt__ = __lt__ = __ge__ = __le__ = _refuse
    __array__ = __float__ = __bool__ = __len__ = __iter__ = _refuse


def _context_of(arrays: Sequence[Array | None]) -> Context:
    for array in arrays:
        if array is not None:
            kind, number = array.context
            return Context(Context.devtype2str[kind], number)
    return current_context()


def scoped(
    run: Callable[[], None], context: Context, is_train: bool, what: str
) -> Callable[[], None]:
    """`run` on the device of its arrays, not recorded, in the mode of its pass.

    What it raises gets a note that says what it was.
    """

    def function() -> None:
        recording, training = _core.set_recording(False), _core.set_training(is_train)
        try:
            if current_context() == context:
                run()
            else:
                with context:
                    run()
        except Exception as error:
            if hasattr(error, "add_note"):  # which a class may hide
                error.add_note(f"in {what}")
            raise
        finally:
            _core.set_recording(recording)
            _core.set_training(training)

    return function
