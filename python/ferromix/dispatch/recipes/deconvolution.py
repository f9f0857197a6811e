"""Recipes of Deconvolution and its gradients: those of the convolution that goes the other way."""

from __future__ import annotations

from ..recipe import Job, Recipe, Shape, input_at, recipe
from .convolution import Geometry, data_gradient, forward_of, geometry, weight_gradient, with_bias

__all__: list[str] = []


def reverse(job: Job, data: Shape, out: Shape) -> Geometry | None:
    """The convolution that takes the output to the data."""
    attrs, rank = job.attrs, len(data) - 2
    target, pads = attrs["target_shape"], attrs["pad"] or (0,) * rank
    if target and any(target):
        names = ("kernel", "stride", "dilate")
        columns = [attrs[name] or (1,) * rank for name in names]
        whole = [
            (n - 1) * stride + dilate * (kernel - 1) + 1
            for n, kernel, stride, dilate in zip(data[2:], *columns, strict=True)
        ]
        # What is too much goes from either side.
        pads = tuple(-(-max(0, w - n) // 2) for w, n in zip(whole, out[2:], strict=True))
    return geometry(job, out, data, pads)


@recipe("Deconvolution")
def forward(job: Job) -> Recipe | None:
    """What flows back through it."""
    g = reverse(job, job.inputs[0][0], job.outputs[0][0])
    if g is None:
        return None
    made, temporary = data_gradient(job, g, 1, None if job.attrs["no_bias"] else input_at(2))
    return Recipe(tuple(made), temporary)


@recipe("_backward_Deconvolution")
def backward(job: Job) -> Recipe | None:
    """The gradients of data, weight and bias, in the same temporary memory."""
    g = reverse(job, job.inputs[1][0], job.inputs[0][0])
    if g is None:
        return None
    return with_bias(job, [forward_of(job, g, 2), weight_gradient(job, g, 1, 0)])
