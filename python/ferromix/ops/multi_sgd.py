"""Steps of gradient descent for several weights at once, each with a rate and a decay of its own.

The inputs are those of the step for one weight, weight by weight; the rates are attributes, or the
last two inputs (``preloaded_...``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ..error import InvalidArgumentError
from ..literal import MOST, brief
from .card import MaybeShape, merge_shapes, register
from .family import Types, derive, numbered_outputs
from .optimizer import CLIP, MOMENTUM, RESCALE, Update
from .param import Param

__all__ = ["MultiUpdate"]

COUNT = Param("int", 1, "The number of weights.", low=1, high=MOST)
LRS = Param("floats", doc="The learning rate of each weight.", most=MOST)
WDS = Param("floats", doc="The weight decay of each weight.", most=MOST)


class MultiUpdate(Update):
    """The base of steps for several weights; ``each`` are the inputs of one of them."""

    variadic = "num_weights"
    each: ClassVar[tuple[str, ...]]
    rates: ClassVar[tuple[str, ...]] = ()
    """Inputs with a number for each weight, after those of the weights."""
    tuples: ClassVar[tuple[str, ...]] = ("lrs", "wds")
    """Attributes with a number for each weight."""

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        for attr in self.tuples:
            if attr in self.params and len(self.attrs[attr]) != self._count:
                raise InvalidArgumentError(
                    f"{self.name}: attribute '{attr}' must have a number for each of "
                    f"{self._count} weights, got {brief(self.attrs[attr])}"
                )

    @property
    def _count(self) -> int:
        return self.attrs[str(self.variadic)]

    @classmethod
    def count_inputs(cls, inputs: int) -> int:
        """The number of weights."""
        return (inputs - len(cls.rates) - len(cls.scalars)) // len(cls.each)

    def list_arguments(self) -> list[str]:
        """MXNet's names: the weights' one after another, then the rates'."""
        own = (f"{name}_{i}" for i in range(self._count) for name in self.each)
        return [*own, *self.rates, *self.scalars]

    def list_outputs(self) -> list[str]:
        """The new weights."""
        return numbered_outputs(self._count)

    def mutated_inputs(self) -> list[int]:
        """The states of all weights."""
        places = range(len(self.each) * self._count)
        return [i for i in places if self.each[i % len(self.each)] in self.states]

    def inplace_options(self) -> list[tuple[int, int]]:
        """The new weights take the places of the old ones."""
        return [(len(self.each) * i, i) for i in range(self._count)]

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """One shape for what belongs to a weight, and a number for each weight of the rates."""
        return self._shapes(in_shapes, [None] * self._count)

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """What belongs to a weight has the shape of its output."""
        return self._shapes(in_shapes, out_shapes)[0]

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """One type for all that is not float32 anyway."""
        names = [n for n in self.list_arguments() if n.rsplit("_", 1)[0] in self.single]
        return self.typed(in_types, [*names, *self.rates, *self.scalars])

    def _shapes(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        names, size = self.list_arguments(), len(self.each)
        found: list[MaybeShape] = list(out_shapes)
        for i, name in enumerate(names[: size * len(found)]):
            found[i // size] = merge_shapes(self.name, name, in_shapes[i], found[i // size])
        shapes = [shape for shape in found for _ in self.each]
        rates, scalars = [(len(found),)] * len(self.rates), [(1,)] * len(self.scalars)
        return [*shapes, *rates, *scalars], found, []


_COMMON = {"rescale_grad": RESCALE, "clip_gradient": CLIP, "num_weights": COUNT}
_ATTRIBUTES = {"lrs": LRS, "wds": WDS}


def _multi(step: str, each: tuple[str, ...], preloaded: bool, example: str) -> type[MultiUpdate]:
    """Registers the card that makes the step `step` for several weights."""
    name = f"{'preloaded_' if preloaded else ''}multi_{step}"
    params: dict[str, Param] = {} if preloaded else dict(_ATTRIBUTES)
    if "mom" in each:
        params["momentum"] = MOMENTUM
    card = derive(
        MultiUpdate,
        "".join(part.capitalize() for part in name.split("_")),
        name=name,
        each=each,
        rates=("lrs", "wds") if preloaded else (),
        states=each[2:],
        single=each[2:] if "weight32" in each else (),
        params={**params, **_COMMON},
    )
    card.__doc__ = _document(card, step, example)
    return register(card)


def _document(card: type[MultiUpdate], step: str, example: str) -> str:
    rates = "the last two inputs" if card.rates else "attributes"
    single = [*card.single, *card.rates]
    types = f"floats, {' and '.join(single)} float32, the others alike" if single else "floats"
    shapes = f"; {' and '.join(card.rates)} have a number for each weight" if card.rates else ""
    return (
        f"A step of ``{step}`` for each of several weights, with rates that are {rates}.\n\n"
        f"Formula: ``output_i = {step}({', '.join(f'{n}_i' for n in card.each)})`` with "
        f"``lr = lrs[i]`` and ``wd = wds[i]``, which changes {_states(card)}.\n"
        f"Shapes: what belongs to a weight is alike{shapes}. Types: {types}.\n"
        f"Gradient: none, nothing flows back.\n\nExamples\n--------\n{example}\n"
    )


def _states(card: type[MultiUpdate]) -> str:
    return " and ".join(f"``{name}_i``" for name in card.states) or "no state"


_WEIGHTS = ">>> w, v = mx.nd.array([1, 2]), mx.nd.array([3])\n"
_HALVES = (
    '>>> w, v = (mx.nd.array(x, dtype="float16") for x in ([1, 2], [3]))\n'
    '>>> w32, v32 = (x.astype("float32") for x in (w, v))\n'
)
_MOMENTA = ">>> m, n = mx.nd.zeros((2,)), mx.nd.zeros((1,))\n"
_TABLE: tuple[tuple[str, tuple[str, ...], str, str], ...] = (
    ("sgd_update", ("weight", "grad"), _WEIGHTS, "w, w, v, v"),
    (
        "sgd_mom_update",
        ("weight", "grad", "mom"),
        _WEIGHTS + _MOMENTA,
        "w, w, m, v, v, n",
    ),
    ("mp_sgd_update", ("weight", "grad", "weight32"), _HALVES, "w, w, w32, v, v, v32"),
    (
        "mp_sgd_mom_update",
        ("weight", "grad", "mom", "weight32"),
        _HALVES + _MOMENTA,
        "w, w, m, w32, v, v, n, v32",
    ),
)


def _example(name: str, setup: str, inputs: str, preloaded: bool) -> str:
    attrs = "num_weights=2, out=[w, v]"
    if preloaded:
        setup += ">>> lrs, wds = mx.nd.array([0.5, 1]), mx.nd.zeros((2,))\n"
        inputs += ", lrs, wds"
    else:
        setup += '>>> attrs = {"lrs": (0.5, 1), "wds": (0, 0)}\n'
        attrs = f"**attrs, {attrs}"
    call = f"mx.nd.{name}({inputs}, {attrs})"
    return f"{setup}>>> outs = {call}\n>>> print(w.asnumpy(), v.asnumpy())\n[0.5 1. ] [0.]"


for _preloaded in (False, True):
    for _step, _each, _setup, _inputs in _TABLE:
        _name = f"{'preloaded_' if _preloaded else ''}multi_{_step}"
        _multi(_step, _each, _preloaded, _example(_name, _setup, _inputs, _preloaded))
