"""Steps of optimizers on the rows of a row_sparse gradient; the other rows stay as they are.

The gradient comes as its parts: the stored rows, and last their numbers and how many are in use.
Nothing of this is a user's; :mod:`ferromix.ndarray.sparse` calls it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from .adaptive import AdagradUpdate, AdamUpdate, FtrlUpdate, GroupAdagradUpdate
from .card import MaybeShape, register
from .csr import Parts
from .optimizer import LAZY, SgdMomUpdate, SgdUpdate, Update
from .param import Params

__all__ = ["ROW_STEPS"]


class RowsUpdate(Parts):
    """The base of these steps."""

    step: ClassVar[type[Update]]
    """The step on all rows."""

    def mutated_inputs(self) -> list[int]:
        """The states."""
        names = self.list_arguments()
        return [names.index(state) for state in self.step.states]

    def inplace_options(self) -> list[tuple[int, int]]:
        """The new weight takes the place of the old one."""
        return [(0, 0)]

    def result(self, in_shapes: Sequence[MaybeShape]) -> MaybeShape:
        """The shape of the weight."""
        return in_shapes[0]


def _params(step: type[Update]) -> Params:
    return {name: param for name, param in step.params.items() if name not in LAZY}


@register
class RowsSgdUpdate(RowsUpdate):
    """A step of stochastic gradient descent."""

    name = "_rows_sgd_update"
    step = SgdUpdate
    arguments = (*step.arguments, "rows", "count")
    params: ClassVar[Params] = _params(step)


@register
class RowsSgdMomUpdate(RowsUpdate):
    """A step of stochastic gradient descent with momentum."""

    name = "_rows_sgd_mom_update"
    step = SgdMomUpdate
    arguments = (*step.arguments, "rows", "count")
    params: ClassVar[Params] = _params(step)


@register
class RowsAdamUpdate(RowsUpdate):
    """A step of Adam."""

    name = "_rows_adam_update"
    step = AdamUpdate
    arguments = (*step.arguments, "rows", "count")
    params: ClassVar[Params] = _params(step)


@register
class RowsFtrlUpdate(RowsUpdate):
    """A step of FTRL."""

    name = "_rows_ftrl_update"
    step = FtrlUpdate
    arguments = (*step.arguments, "rows", "count")
    params: ClassVar[Params] = _params(step)


@register
class RowsAdagradUpdate(RowsUpdate):
    """A step of AdaGrad."""

    name = "_rows_adagrad_update"
    step = AdagradUpdate
    arguments = (*step.arguments, "rows", "count")
    params: ClassVar[Params] = _params(step)


@register
class RowsGroupAdagradUpdate(RowsUpdate):
    """A step of AdaGrad with one state for each row."""

    name = "_rows_group_adagrad_update"
    step = GroupAdagradUpdate
    arguments = (*step.arguments, "rows", "count")
    params: ClassVar[Params] = _params(step)


ROW_STEPS = {
    card.step.name: card.name
    for card in (
        RowsSgdUpdate,
        RowsSgdMomUpdate,
        RowsAdamUpdate,
        RowsFtrlUpdate,
        RowsAdagradUpdate,
        RowsGroupAdagradUpdate,
    )
}
"""The steps that there are for rows, by the names of the steps on all rows."""
