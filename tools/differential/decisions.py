"""Why a call may differ: the decisions of docs/compatibility.md, and which calls each explains.

`run.py` asks here for each disagreement, so that what nobody has decided is seen among the others.
A decision quotes its line in docs/compatibility.md, which `tests/test_differential.py` looks up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from cases import Case


@dataclass(frozen=True)
class Found:
    """A disagreement: the call, how it was made, what is different."""

    case: Case
    way: str
    wrong: str
    within: Callable[[float], bool]
    """Whether the two agree with a tolerance as wide as this."""

    @property
    def gradient(self) -> bool:
        return "gradient" in self.way

    @property
    def refused(self) -> bool:
        """Whether MXNet alone refuses, or dies."""
        return self.wrong.startswith("MXNet")

    def has(self, *dtypes: str) -> bool:
        """Whether an input or an attribute has one of the types."""
        found = {x.dtype.name for x in self.case.inputs} | {self.case.attrs.get("dtype")}
        return bool(found & set(dtypes))


@dataclass(frozen=True)
class Decision:
    """A line of docs/compatibility.md, and the calls that it is about."""

    line: str
    names: tuple[str, ...]
    holds: Callable[[Found], bool]

    def explains(self, found: Found) -> bool:
        return (not self.names or found.case.name in self.names) and self.holds(found)


def says(*words: str) -> Callable[[Found], bool]:
    """MXNet refuses, and says one of these."""
    return lambda found: found.refused and any(w in found.wrong for w in words)


def digits(found: Found) -> bool:
    """Float64 that differs in the places that single precision lacks."""
    return found.has("float64") and found.within(2e-5)


def half(found: Found) -> bool:
    """A value of halves."""
    return found.has("float16") and found.wrong.startswith("value")


def garbage(found: Found) -> bool:
    """A gradient with other values, which in MXNet nothing wrote."""
    return found.gradient and found.wrong.startswith("value")


def attribute(name: str, *values: object) -> Callable[[Found], bool]:
    """An attribute has one of the values, and MXNet does not refuse."""
    return lambda found: not found.refused and found.case.attrs.get(name) in values


def least_integer(found: Found) -> bool:
    """The least integer stands in place of a number beyond all integers."""
    return found.wrong.startswith(("value -9223372036854775808 ", "value -2147483648 "))


def empty_window(found: Found) -> bool:
    """An average that MXNet divides by 0."""
    return found.case.attrs.get("pool_type") == "avg" and found.wrong.endswith("instead of nan")


def single_place(found: Found) -> bool:
    """Sums in 32 bits that differ in the last place of single precision."""
    words = found.wrong.split()
    if words[0] != "value":
        return False
    ours, theirs = int(words[1]), int(words[-1])
    return abs(ours - theirs) <= 2 * np.spacing(np.float32(max(abs(ours), abs(theirs))))


OUTPUTS = ("SoftmaxOutput", "MakeLoss", "SVMOutput")
REGRESSIONS = ("LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput")
FLIPS = ("_image_flip_left_right", "_image_flip_top_bottom")
COLOURS = ("_image_adjust_lighting", "_image_random_lighting", "_image_random_color_jitter")
RESIZED = ("_image_resize", "_image_to_tensor")

DECISIONS = (
    Decision("Operators without a gradient in MXNet have one", (), says("is non-differentiable")),
    Decision(
        "MXNet has their constants in float32", ("degrees", "radians", "hard_sigmoid"), digits
    ),
    Decision(
        "constants and attributes have all their digits where MXNet has those of float32",
        ("LeakyReLU", "erf", "erfinv", "gamma", "gammaln", *OUTPUTS, *REGRESSIONS),
        digits,
    ),
    Decision("Constants of the densities of float64", ("_random_pdf_normal",), digits),
    Decision("The density of `dirichlet` of halves", ("_random_pdf_dirichlet",), half),
    Decision(
        "has the gradient of what it computes, a softmax along the last axis",
        ("SoftmaxActivation",),
        lambda f: garbage(f) and f.case.attrs.get("mode") == "instance",
    ),
    Decision(
        "three layers and float64 is right",
        ("RNN",),
        lambda f: garbage(f) and f.case.attrs["mode"] == "rnn_tanh" and f.has("float64"),
    ),
    Decision("A window of average pooling that holds no element", ("Pooling",), empty_window),
    Decision(
        "`image.resize` of uint8 may differ by one", ("_image_resize",), lambda f: f.has("uint8")
    ),
    Decision(
        "`Deconvolution` of an array with itself", ("Deconvolution",), lambda f: "shared" in f.way
    ),
    Decision(
        "with `alpha=0` has gradients of 0",
        ("linalg_trsm", "_linalg_trsm"),
        attribute("alpha", 0.0),
    ),
    Decision(
        "`amp_cast` and `amp_multicast` take all floats",
        ("amp_multicast", "amp_cast"),
        lambda f: f.refused,
    ),
    Decision("takes axes that are not the last", ("softmax",), says("i >= 0 && i < ndim()")),
    Decision(
        "has a gradient for labels, of zeros",
        ("softmax_cross_entropy",),
        says("Cannot take gradient wrt label"),
    ),
    Decision("`erfinv` of integers beyond ±1", ("erfinv",), least_integer),
    Decision(
        "`argmax` and `argmin` of float16 give float32",
        ("argmax", "argmin"),
        lambda f: f.has("float16"),
    ),
    Decision("`cumsum` of halves adds in float32", ("cumsum",), half),
    Decision("`arange` of float16 has its steps", ("_arange",), half),
    Decision(
        "The gradient of the maximum of `Pooling_v1`", ("Pooling_v1",), lambda f: not f.refused
    ),
    Decision(
        "Flips have a gradient, and what changes colours has none", (*FLIPS, *COLOURS), garbage
    ),
    Decision(
        "Resizing and `to_tensor` have a gradient of zeros",
        RESIZED,
        lambda f: garbage(f) or (f.gradient and says("Error in operator node_")(f)),
    ),
    Decision(
        "oneDNN refuses a pooling that MXNet's own kernels take",
        ("Pooling", "_contrib_quantized_pooling"),
        says("could not create a descriptor for a pooling"),
    ),
    Decision(
        "`_zeros_without_dtype` without a type",
        ("_zeros_without_dtype",),
        says("Unknown type enum"),
    ),
    Decision(
        "Pieces of `split_v2` without elements have gradients",
        ("_split_v2",),
        says("dim_size_is_known"),
    ),
    Decision("fails in MXNet for some extents", ("tile",), says("Too many reduction axes")),
    Decision(
        "The gradient of the second input of `BilinearResize2D`",
        ("_contrib_BilinearResize2D",),
        lambda f: garbage(f) and f.case.attrs.get("mode") == "like",
    ),
    Decision("Gradients of `MultiBoxTarget` are zeros", ("_contrib_MultiBoxTarget",), garbage),
    Decision(
        "ModulatedDeformableConvolution has gradients",
        ("_contrib_ModulatedDeformableConvolution",),
        says("only implemented in GPU"),
    ),
    Decision(
        "Indices of `Embedding` have a gradient of zeros",
        ("Embedding",),
        says("Embedding layer doesn't support"),
    ),
    Decision(
        "`_backward_gather_nd` takes eight bits", ("_backward_gather_nd",), says("int8 or uint8")
    ),
    Decision(
        "`group_adagrad_update` runs on the CPU",
        ("_contrib_group_adagrad_update",),
        says("not implemented for CPU"),
    ),
    Decision(
        "The gradient of an average that `full` puts",
        ("Pooling",),
        lambda f: garbage(f) and f.case.attrs.get("pooling_convention") == "full",
    ),
    Decision(
        "Turning a hue rounds",
        ("_image_random_hue", "_image_random_color_jitter"),
        lambda f: not f.refused and f.within(2e-4),
    ),
    Decision("backward pass of SequenceLast", ("SequenceLast",), lambda f: "dies" in f.wrong),
    Decision(
        "The variance of SyncBatchNorm",
        ("_contrib_SyncBatchNorm",),
        lambda f: not f.refused and f.within(5e-3),
    ),
    Decision(
        '`act_type="selu"` below zero is the derivative',
        ("LeakyReLU",),
        lambda f: garbage(f) and f.case.attrs["act_type"] == "selu",
    ),
    Decision(
        "Times and marks of `hawkesll` have gradients of zeros",
        ("_contrib_hawkesll",),
        says("kIATime"),
    ),
    Decision(
        "`Deconvolution` of an array with itself",
        ("Deconvolution",),
        says("could not execute a primitive"),
    ),
    Decision(
        "gradient of a maximum in eight bits, and of `quantized_batch_norm`",
        ("_contrib_quantized_batch_norm",),
        says("no inputs in computation graph", "There are no inputs"),
    ),
    Decision(
        "gradient of a maximum in eight bits",
        ("_contrib_quantized_pooling",),
        says("incorrect workspace"),
    ),
    Decision(
        "Sums of `quantized_elemwise_add` in 32 bits",
        ("_contrib_quantized_elemwise_add",),
        single_place,
    ),
)


def reason(found: Found) -> str | None:
    """The line of docs/compatibility.md that explains it; None where no decision does."""
    return next((d.line for d in DECISIONS if d.explains(found)), None)
