"""Steps of gradient descent, and the base of all steps of optimizers.

The new weight is the output, for which callers give the weight itself; the states are changed in
place. The gradient is rescaled, then clipped. The steps ``mp_...`` compute in float32 from a copy
of the weight, whatever the type of the weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from .card import MaybeShape, merge_shapes, register
from .family import FLOATS, Elementwise, Types
from .param import Param, Params

__all__ = [
    "MpNagMomUpdate",
    "MpSgdMomUpdate",
    "MpSgdUpdate",
    "NagMomUpdate",
    "SgdMomUpdate",
    "SgdUpdate",
    "SignsgdUpdate",
    "SignumUpdate",
    "Update",
]

LR = Param("float", doc="The learning rate.", dynamic=True)
WD = Param("float", 0.0, "The weight decay.", dynamic=True)
RESCALE = Param("float", 1.0, "The factor of the gradient.", dynamic=True)
CLIP = Param("float", -1.0, "The bound of the gradient; none where negative.")
MOMENTUM = Param("float", 0.0, "The decay of the momentum.")
COMMON = {"wd": WD, "rescale_grad": RESCALE, "clip_gradient": CLIP}
LAZY = {"lazy_update": Param("bool", True, "Whether rows without gradient stay; for sparse ones.")}


class Update(Elementwise):
    """The base of optimizer steps: the weight, its gradient, and states of the same shape."""

    dtypes: ClassVar[tuple[str, ...]] = FLOATS
    differentiable: ClassVar[bool] = False
    states: ClassVar[tuple[str, ...]] = ()
    """Inputs that the step changes."""
    single: ClassVar[tuple[str, ...]] = ()
    """Inputs and outputs in float32, whatever the type of the weight."""
    scalars: ClassVar[tuple[str, ...]] = ()
    """Inputs of one element."""

    def mutated_inputs(self) -> list[int]:
        """The states."""
        names = self.list_arguments()
        return [names.index(state) for state in self.states]

    def inplace_options(self) -> list[tuple[int, int]]:
        """The new weight takes the place of the old one."""
        return [(0, 0)]

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """One shape for all but the inputs of one element."""
        names, shape = self.list_arguments(), None
        for name, given in zip(names, in_shapes, strict=True):
            if name not in self.scalars:
                shape = merge_shapes(self.name, name, given, shape)
        shapes = [shape if name not in self.scalars else (1,) for name in names]
        return shapes, [shape], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The weight and what goes with it have the shape of the output."""
        return [
            given if name in self.scalars else merge_shapes(self.name, name, given, out_shapes[0])
            for name, given in zip(self.list_arguments(), in_shapes, strict=True)
        ]

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """One type for all that is not float32 anyway."""
        return self.typed(in_types, self.single)

    def typed(self, in_types: Sequence[str | None], single: Sequence[str]) -> Types:
        """The types where the arguments and outputs `single` are float32."""
        names = self.list_arguments()
        pairs = zip(names, in_types, strict=True)
        others = super().infer_type([None if name in single else t for name, t in pairs])[0]
        outputs = ["float32" if name in single else others[0] for name in self.list_outputs()]
        return ["float32" if name in single else others[0] for name in names], outputs, []


@register
class SgdUpdate(Update):
    """A step of stochastic gradient descent.

    Formula: ``g = clip(rescale_grad * grad)``,
    ``out = (1 - lr * wd) * weight - lr * g``. Shapes: all alike. Types: floats, all alike.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> weight, grad = mx.nd.array([1, 2]), mx.nd.array([10, -10])
    >>> print(mx.nd.sgd_update(weight, grad, lr=0.1, out=weight).asnumpy())
    [0. 3.]
    """

    name = "sgd_update"
    arguments = ("weight", "grad")
    params: ClassVar[Params] = {"lr": LR, **COMMON, **LAZY}


@register
class SgdMomUpdate(Update):
    """A step of stochastic gradient descent with momentum.

    Formula: ``g = clip(rescale_grad * grad)``,
    ``mom = momentum * mom - lr * wd * weight - lr * g``, ``out = weight + mom``.
    Shapes: all alike. Types: floats, all alike.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> weight, grad, mom = mx.nd.array([1]), mx.nd.array([10]), mx.nd.array([0.5])
    >>> print(mx.nd.sgd_mom_update(weight, grad, mom, lr=0.1, momentum=0.5, out=weight).asnumpy())
    [0.25]
    >>> print(mom.asnumpy())
    [-0.75]
    """

    name = "sgd_mom_update"
    arguments = ("weight", "grad", "mom")
    states = ("mom",)
    params: ClassVar[Params] = {"lr": LR, "momentum": MOMENTUM, **COMMON, **LAZY}


@register
class MpSgdUpdate(SgdUpdate):
    """A step of stochastic gradient descent through a copy of the weight in float32.

    Formula: ``weight32`` as the output of ``sgd_update`` for ``weight32``, ``out = weight32`` as
    the type of ``weight``. Shapes: all alike. Types: floats, ``weight32`` float32, the others
    alike.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> weight, grad = (mx.nd.array([x], dtype="float16") for x in (1, 0.001))
    >>> weight32 = weight.astype("float32")
    >>> print(mx.nd.mp_sgd_update(weight, grad, weight32, lr=0.5, out=weight).asnumpy())
    [0.9995]
    >>> print(weight32.asnumpy())
    [0.9994998]
    """

    name = "mp_sgd_update"
    arguments = ("weight", "grad", "weight32")
    states = ("weight32",)
    single = ("weight32",)


@register
class MpSgdMomUpdate(SgdMomUpdate):
    """A step with momentum through a copy of the weight in float32.

    Formula: ``weight32`` and ``mom`` as ``sgd_mom_update`` makes them of ``weight32``,
    ``out = weight32`` as the type of ``weight``. Shapes: all alike. Types: floats, ``mom`` and
    ``weight32`` float32, the others alike.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> weight, grad = (mx.nd.array([x], dtype="float16") for x in (1, 10))
    >>> mom, weight32 = mx.nd.array([0.5]), mx.nd.array([1])
    >>> attrs = {"lr": 0.1, "momentum": 0.5}
    >>> print(mx.nd.mp_sgd_mom_update(weight, grad, mom, weight32, **attrs, out=weight).asnumpy())
    [0.25]
    >>> print(mom.asnumpy(), weight32.asnumpy())
    [-0.75] [0.25]
    """

    name = "mp_sgd_mom_update"
    arguments = ("weight", "grad", "mom", "weight32")
    states = ("mom", "weight32")
    single = ("mom", "weight32")


@register
class NagMomUpdate(Update):
    """A step of Nesterov's accelerated gradient.

    Formula: ``g = clip(rescale_grad * grad)``, ``d = lr * (g + wd * weight)``,
    ``out = weight + momentum * (momentum * mom - d) - d``,
    ``mom = momentum * mom - lr * (g + wd * out)``: the decay in the momentum sees the new weight,
    as it does in MXNet 1.9.1 where the output is the weight.
    Shapes: all alike. Types: floats, all alike.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> weight, grad, mom = mx.nd.array([1]), mx.nd.array([10]), mx.nd.array([0.5])
    >>> print(mx.nd.nag_mom_update(weight, grad, mom, lr=0.1, momentum=0.5, out=weight).asnumpy())
    [-0.375]
    >>> print(mom.asnumpy())
    [-0.75]
    """

    name = "nag_mom_update"
    arguments = ("weight", "grad", "mom")
    states = ("mom",)
    params: ClassVar[Params] = {"lr": LR, "momentum": MOMENTUM, **COMMON}


@register
class MpNagMomUpdate(NagMomUpdate):
    """A step of Nesterov's accelerated gradient through a copy of the weight in float32.

    Formula: ``weight32`` and ``mom`` as ``nag_mom_update`` makes them of ``weight32``,
    ``out = weight32`` as the type of ``weight``. Shapes: all alike. Types: floats, ``mom`` and
    ``weight32`` float32, the others alike.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> weight, grad = (mx.nd.array([x], dtype="float16") for x in (1, 10))
    >>> mom, weight32 = mx.nd.array([0.5]), mx.nd.array([1])
    >>> attrs = {"lr": 0.1, "momentum": 0.5}
    >>> print(mx.nd.mp_nag_mom_update(weight, grad, mom, weight32, **attrs, out=weight).asnumpy())
    [-0.375]
    """

    name = "mp_nag_mom_update"
    arguments = ("weight", "grad", "mom", "weight32")
    states = ("mom", "weight32")
    single = ("mom", "weight32")


@register
class SignsgdUpdate(Update):
    """A step of the same length in every element, against the sign of the gradient.

    Formula: ``out = (1 - lr * wd) * weight - lr * sign(grad)``; ``rescale_grad`` and
    ``clip_gradient`` change nothing. Shapes: all alike. Types: floats, all alike.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> weight, grad = mx.nd.array([1, 2]), mx.nd.array([10, -20])
    >>> print(mx.nd.signsgd_update(weight, grad, lr=0.5, out=weight).asnumpy())
    [0.5 2.5]
    """

    name = "signsgd_update"
    arguments = ("weight", "grad")
    params: ClassVar[Params] = {"lr": LR, **COMMON}


@register
class SignumUpdate(Update):
    """A step of the same length in every element, along the sign of the momentum.

    Formula: ``g = clip(rescale_grad * grad)``,
    ``mom = momentum * mom - (1 - momentum) * (g + wd * weight)``,
    ``out = (1 - lr * wd_lh) * weight + lr * sign(mom)``. Shapes: all alike. Types: floats, all
    alike.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> weight, grad, mom = mx.nd.array([1]), mx.nd.array([10]), mx.nd.array([0.5])
    >>> print(mx.nd.signum_update(weight, grad, mom, lr=0.5, momentum=0.5, out=weight).asnumpy())
    [0.5]
    >>> print(mom.asnumpy())
    [-4.75]
    """

    name = "signum_update"
    arguments = ("weight", "grad", "mom")
    states = ("mom",)
    params: ClassVar[Params] = {
        "lr": LR,
        "momentum": MOMENTUM,
        **COMMON,
        "wd_lh": Param("float", 0.0, "The weight decay apart from the momentum."),
    }
