"""Connectionist temporal classification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from ..error import InvalidArgumentError
from .card import Claims, Entry, GradientGraph, MaybeShape, OperatorProperty, merge_shapes, register
from .family import ALL_TYPES, FLOATS, Backward
from .param import Param, Params
from .term import Term

__all__ = ["CTCLoss"]


@register
class CTCLoss(OperatorProperty):
    """What the labels of sequences cost, over all alignments with their steps.

    Formula: ``out[b]`` is minus the logarithm of the sum of the probabilities of all paths that
    give the labels of sequence ``b`` once neighbours that are equal became one and blanks were left
    out, with ``softmax(data)`` for the probabilities of the classes at each step. It is 0 where
    there are too few steps for the labels. Shapes: ``data`` is ``(steps, batch, classes)``,
    ``label`` ``(batch, labels)`` with no more labels than steps, ``data_lengths``,
    ``label_lengths`` and ``out`` are ``(batch,)``. Blank is class 0 (``blank_label="first"``) or
    the last one (``"last"``). Without ``label_lengths`` the labels of a sequence end before the
    first 0 or, where blank is the last one, -1. Types: floats, computed in at least float32;
    labels and lengths are of any type.
    Gradient: ``softmax(data)`` less the share of the paths through each class, times ``out_grad``;
    0 behind the end and where the labels do not fit; none for labels and lengths.

    Examples
    --------
    >>> data, label = mx.nd.zeros((2, 1, 2)), mx.nd.array([[1, 0]])
    >>> print(mx.nd.CTCLoss(data, label).asnumpy())  # minus the logarithm of 3 / 4
    [0.2876821]
    """

    name = "CTCLoss"
    aliases = ("ctc_loss", "_contrib_CTCLoss", "_contrib_ctc_loss")
    arguments = ("data", "label", "data_lengths", "label_lengths")
    dtypes = FLOATS
    argument_dtypes: ClassVar[Claims] = dict.fromkeys(arguments[1:], ALL_TYPES)
    params: ClassVar[Params] = {
        "use_data_lengths": Param("bool", False, "Whether `data_lengths` counts the steps."),
        "use_label_lengths": Param("bool", False, "Whether `label_lengths` counts the labels."),
        "blank_label": Param(
            "str", "first", "Which class is the blank.", choices=("first", "last")
        ),
    }

    def list_arguments(self) -> list[str]:
        """The lengths that are asked for."""
        wanted = [n for n in self.arguments[2:] if self.attrs[f"use_{n}"]]
        return ["data", "label", *wanted]

    def list_outputs(self) -> list[str]:
        """The loss, and its gradient, which the way there knows."""
        return ["output", "grad"]

    def num_visible_outputs(self) -> int:
        """The loss."""
        return 1

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """One batch everywhere."""
        data = merge_shapes(self.name, "data", in_shapes[0], (-1, -1, -1))
        label = merge_shapes(self.name, "label", in_shapes[1], (-1, -1))
        assert data is not None
        assert label is not None
        names, batch = self.list_arguments(), (data[1],)
        label = merge_shapes(self.name, "label", label, (*batch, -1))
        assert label is not None
        batch = label[:1]
        lengths: list[MaybeShape] = []
        for name, given in zip(names[2:], in_shapes[2:], strict=True):
            found = merge_shapes(self.name, name, given, batch)
            assert found is not None
            batch = found
        lengths = [batch] * (len(names) - 2)
        data, label = (data[0], *batch, data[2]), (*batch, label[1])
        if 0 <= data[0] < label[1]:
            raise InvalidArgumentError(
                f"{self.name}: argument 'label' has shape {label}, which is more labels than the "
                f"{data[0]} steps of data of shape {data}"
            )
        if data[2] == 0:
            raise InvalidArgumentError(f"{self.name}: data of shape {data} have no classes")
        known = in_shapes[0] is not None
        return [data if known else None, label, *lengths], [batch, data if known else None], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The batch."""
        (batch, data), found = out_shapes, list(in_shapes)
        found[0] = merge_shapes(self.name, "data", found[0], data)
        if batch is not None:
            merge_shapes(self.name, "output", batch, (-1,))
            found[1] = merge_shapes(self.name, "label", found[1], (batch[0], -1))
        return found

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """What is known already, times the gradient of the losses."""
        head = Term(graph, graph.out_grad[0]).op("expand_dims", axis=1)
        found = graph.op("_backward_CTCLoss", head.entry, graph.out_data[1])
        return [found[0], *[None] * (len(self.list_arguments()) - 1)]


@register
class BackwardCTCLoss(Backward):
    """The gradient of CTCLoss, of which there is none: the paths are not kept."""

    name = "_backward_CTCLoss"
    kernel = "broadcast_mul"
    arguments = ("out_grad", "grad")
    gradients: ClassVar[Mapping[str, str]] = {"data_grad": "grad"}
    dtypes = FLOATS

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """A number for each sequence."""
        head, grad = in_shapes
        grad = merge_shapes(self.name, "grad", grad, (-1, -1, -1))
        assert grad is not None
        return [merge_shapes(self.name, "out_grad", head, (grad[1], 1)), grad], [grad], []
