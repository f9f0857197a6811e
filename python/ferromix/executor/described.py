"""What an executor says of itself: its graph, its memory and its kernels, for people."""

from __future__ import annotations

from ..graph.timeline import Timeline
from ..symbol.describe import describe
from .bound import BoundGraph
from .kernel_plan import KernelPlan

__all__ = ["Described"]


class Described:
    """The part of :class:`Executor` that changes nothing."""

    handle: BoundGraph

    def memory_planned(self) -> float:
        """Megabytes of outputs, of planned buffers and of what is computed once, without arguments
        and their gradients."""
        constants = self.handle.main_program().constant_bytes
        return (self.handle.pool.total + self._output_bytes() + constants) / 2**20

    def debug_str(self) -> str:
        """The graph with its backward pass and the memory in whole megabytes, in MXNet's format.

        What is where and when is in :meth:`memory_plan`.
        """
        net = self.handle.network
        # A gradient that is passed on belongs to the operator that gave it first.
        steps = reversed(net.back_steps)
        origins = {e.node: s.node for s in steps for e in s.outputs if e is not None}
        text = describe([*net.heads, *net.gradients.values()], origins)
        return (
            f"{text}Total {int(self.memory_planned())} MB allocated\n"
            "Total 0 TempSpace resource requested\n"
        )

    def memory_plan(self) -> Timeline:
        """Where each result is, from which step to which, and over or as a view of what.

        Of the program that training uses, or prediction where there is nothing to train.

        Examples
        --------
        >>> import ferromix as mx
        >>> y = mx.sym.exp(mx.sym.sin(mx.sym.exp(mx.sym.Variable("x"), name="a"), name="b"))
        >>> plan = y.simple_bind(mx.cpu(), "null", x=(2, 2)).memory_plan()
        >>> [(s.name, s.size, s.first, s.last, s.note) for s in plan.spans]
        [('a_output', 16, 0, 1, ''), ('b_output', 16, 1, 2, 'over a_output')]
        """
        program = self.handle.main_program()
        return Timeline(program.order, program.memory, self._output_bytes())

    def kernel_plan(self) -> KernelPlan:
        """Which kernels run one after another, how each computes where there are several ways, and
        what they keep of weights between passes of prediction.

        Of the program that training uses, or prediction where there is nothing to train.

        Examples
        --------
        >>> import ferromix as mx
        >>> y = mx.sym.Convolution(mx.sym.Variable("x"), kernel=(3, 3), num_filter=64, name="c")
        >>> executor = y.simple_bind(mx.cpu(), "null", x=(8, 64, 30, 30))
        >>> plan = executor.kernel_plan()
        >>> [(step.name, step.operator) for step in plan.steps]
        [('c', 'Convolution')]
        >>> plan.steps[0].choice
        'minimal filtering F(4x4, 3x3)'
        """
        return self.handle.main_program().kernel_plan()

    def _output_bytes(self) -> int:
        heads = {e for e in self.handle.network.heads if e.node.op is not None}
        return sum(self.handle.arrays[e].handle.nbytes for e in heads)
