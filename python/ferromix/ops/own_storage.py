"""Storage types of operators of one's own, which their properties may say."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..error import InvalidArgumentError
from . import card as cards
from .storage import DENSE, STORAGE_TYPES

if TYPE_CHECKING:
    from .own_backward import OwnBackward

__all__ = ["OwnStorage", "infer_backward", "says_storage"]


def says_storage(own: Any, method: str) -> bool:
    """Whether a property, or its class, has a method for storage types that is not its base's."""
    found = getattr(own if isinstance(own, type) else type(own), method, None)
    base = cards.OperatorProperty.infer_storage_type
    return found is not None and found is not base and not getattr(found, "dense_only", False)


class OwnStorage(cards.OperatorProperty):
    """The part of a card around a property that knows of storage types."""

    argument_list: Any
    output_list: Any
    state_list: Any
    own: Any
    ask: Any
    wrong: Any
    groups: Any
    sized: Any
    members_of: Any
    backward: Any

    def infer_storage_type(
        self, in_stypes: Sequence[str]
    ) -> tuple[list[str], list[str], list[str]]:
        """What the property says; all dense where that is all that it takes."""
        if not says_storage(self.own, "infer_storage_type") and set(in_stypes) <= {DENSE}:
            return super().infer_storage_type(in_stypes)
        found = self.ask(self.own, "infer_storage_type", list(in_stypes))
        args, outs, aux = self.groups("infer_storage_type", found)
        self.require_storage("infer_storage_type", (*args, *outs, *aux))
        return args, [*outs, DENSE], aux

    def require_storage(self, method: str, stypes: Sequence[Any]) -> None:
        """Refuses what is no storage type."""
        for stype in stypes:
            if stype not in STORAGE_TYPES:
                expected = f"storage types, which are {', '.join(STORAGE_TYPES)}"
                raise self.wrong(method, expected, stype)

    @cached_property
    def gives_sparse(self) -> bool:
        """Whether outputs are sparse where all inputs are dense."""
        if not says_storage(self.own, "infer_storage_type"):
            return False
        try:
            _, outs, _ = self.infer_storage_type([DENSE] * len(self.argument_list))
        except InvalidArgumentError:
            return True  # what takes sparse arrays alone; a run asks again, with its arrays
        return any(stype != DENSE for stype in outs)

    @cached_property
    def makes_sparse(self) -> bool:
        """Whether outputs or gradients may be sparse where all inputs are dense."""
        own = self.own
        forward = says_storage(own, "infer_storage_type")
        if not (forward or says_storage(own, "infer_storage_type_backward")):
            return False
        try:
            _, outs, _ = self.infer_storage_type([DENSE] * len(self.argument_list))
        except InvalidArgumentError:
            return True
        given = [DENSE] * len(self.backward.list_arguments())
        first = len(self.backward.out_grads) + len(self.argument_list)
        given[first : first + len(self.output_list)] = outs[:-1]
        try:
            _, grads, _ = self.backward.infer_storage_type(given)
        except InvalidArgumentError:
            return True
        return any(stype != DENSE for stype in (*outs, *grads))


def infer_backward(
    card: OwnBackward, in_stypes: Sequence[str], wanted: Sequence[str] | None = None
) -> tuple[list[str], list[str], list[str]]:
    """What the property says; all dense where it has nothing to say.

    `wanted` are the storage types of the arrays that the gradients go to, where these are
    known.
    """
    own, method = card.forward, "infer_storage_type_backward"
    args, outs = len(own.argument_list), len(own.output_list)
    grads = list(wanted or ["undefined"] * args)
    plain = set(in_stypes) | set(grads) <= {DENSE, "undefined"}
    if not hasattr(own.own, method) or (plain and not says_storage(own.own, method)):
        return [DENSE] * len(in_stypes), [DENSE] * args, []
    first = len(card.out_grads)
    tops = [DENSE] * own.visible
    for place, i in enumerate(card.out_grads):
        tops[i] = in_stypes[place]
    middle = list(in_stypes[first : first + args + outs])
    aux = [DENSE] * len(own.state_list)
    found = own.ask(own.own, method, tops, middle[:args], middle[args:], grads, aux)
    counts = (own.visible, args, outs, args, len(aux))
    expected = f"five lists of {', '.join(map(str, counts))}"
    groups = own.members_of(method, expected, found)
    if len(groups) not in (4, 5):
        raise own.wrong(method, expected, found)
    groups = [own.sized(method, expected, n, g) for n, g in zip(counts, groups, strict=False)]
    own.require_storage(method, [stype for group in groups for stype in group])
    taken = [groups[0][i] for i in card.out_grads]
    states = [DENSE] * (len(aux) + 1)
    return [*taken, *groups[1], *groups[2], *states], groups[3], []
