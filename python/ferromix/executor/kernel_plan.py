"""The steps of a program for people: which kernels run, how they compute, and what they keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["KernelPlan", "KernelStep"]


class KernelStep(NamedTuple):
    """One step of a program.

    Attributes
    ----------
    name
        The node, or the last one of those that are computed together.
    operator
        Its operator.
    choice
        How the kernel computes, where it had a choice; None elsewhere.
    workspace
        Bytes of memory that it uses while it runs.
    kept
        Bytes of what it keeps from pass to pass, such as weights in the order in which it reads
        them; none before the first pass.
    """

    name: str
    operator: str
    choice: str | None
    workspace: int
    kept: int


@dataclass(frozen=True)
class KernelPlan:
    """The steps of a program in their order; ``str`` gives a table.

    Made by :meth:`Executor.kernel_plan`.
    """

    steps: list[KernelStep]

    @property
    def kept(self) -> int:
        """Bytes of what all steps keep."""
        return sum(step.kept for step in self.steps)

    def __str__(self) -> str:
        rows = [f"{'step':32} {'operator':28} {'workspace':>12} {'kept':>12}  how"]
        for name, operator, choice, workspace, kept in self.steps:
            row = f"{name:32} {operator:28} {workspace:>12} {kept:>12}  {choice or ''}"
            rows.append(row.rstrip())
        rows.append(f"{len(self.steps)} steps, which keep {self.kept} bytes")
        return "\n".join(rows)
