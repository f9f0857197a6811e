"""The memory plan of a program for people: from when to when each result lives, where, and what
shares its memory; as text, and as a drawing of buffers over steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from ..error import InvalidArgumentError
from .liveness import last_uses
from .node import Entry, Node, entry_name
from .plan_memory import MemoryPlan

__all__ = ["Span", "Timeline"]

COLOURS = ("#8dd3c7", "#fb8072", "#bebada", "#80b1d3", "#fdb462", "#b3de69", "#fccde5", "#ffed6f")
WIDTH, HEIGHT, MARGIN = 1200, 600, 60
"""Of a drawing, in pixels; the margin is on the left and below."""


@dataclass(frozen=True, slots=True)
class Span:
    """The life of one result.

    Attributes
    ----------
    name
        The result.
    size
        Its bytes.
    first, last
        The steps that write it and that read it last.
    buffer, offset
        Where it is; None for a view of memory that is not planned, such as an argument.
    note
        Whose memory it takes over, or is a view of.
    """

    name: str
    size: int
    first: int
    last: int
    buffer: int | None
    offset: int
    note: str


class Timeline:
    """The lives of the results of a program; ``str`` gives a table.

    Made by :meth:`Executor.memory_plan`.

    Attributes
    ----------
    spans
        The results that were planned, in the order of their steps.
    steps
        The names of the operators, in the order in which they run.
    buffers
        The size of each buffer in bytes.
    peak
        The bytes alive at the worst step.
    outside
        The bytes of results that have arrays of their own: the outputs.
    """

    def __init__(self, order: Sequence[Node], plan: MemoryPlan, outside: int = 0) -> None:
        self.steps = [node.name for node in order]
        self.buffers = list(plan.buffers)
        self.peak = plan.peak
        self.outside = outside
        last = last_uses(order)
        found = [
            _span(entry, step, last, plan)
            for step, node in enumerate(order)
            for entry in node.outputs()
            if entry in plan.places or entry in plan.views
        ]
        self.spans: list[Span] = found

    @property
    def total(self) -> int:
        """The bytes of all buffers."""
        return sum(self.buffers)

    def __str__(self) -> str:
        rows = [f"{'result':40} {'bytes':>12} {'steps':>13}  place"]
        for span in self.spans:
            steps = f"{span.first} to {span.last}"
            notes = [span.note] if span.note else []
            if span.buffer is not None and not span.note.startswith("view"):
                notes.insert(0, f"buffer {span.buffer} at {span.offset}")
            rows.append(f"{span.name:40} {span.size:>12} {steps:>13}  {', '.join(notes)}")
        rows += [f"buffer {i}: {size} bytes" for i, size in enumerate(self.buffers)]
        rows.append(
            f"{self.total} bytes in {len(self.buffers)} buffers, {self.peak} at the peak, "
            f"{self.outside} in outputs"
        )
        return "\n".join(rows) + "\n"

    def draw(self, path: str | Path) -> None:
        """Draws lives as boxes, steps to the right and buffers with their bytes upwards.

        Parameters
        ----------
        path
            Where to; ``.svg`` needs nothing, ``.png`` needs matplotlib.

        Raises
        ------
        InvalidArgumentError
            For another kind of file.
        ImportError
            For a PNG without matplotlib; says how to install it.

        Examples
        --------
        >>> import ferromix as mx
        >>> y = mx.sym.exp(mx.sym.exp(mx.sym.Variable("x")))
        >>> e = y.simple_bind(mx.cpu(), "null", x=(2, 2))
        >>> e.memory_plan().draw("plan.svg")  # doctest: +SKIP
        """
        kind = Path(path).suffix.lower()
        if kind == ".svg":
            Path(path).write_text(self._svg(), encoding="utf-8")
        elif kind == ".png":
            self._png(path)
        else:
            raise InvalidArgumentError(f"draw: a plan is drawn as .svg or .png, not as {path}")

    def _boxes(self) -> list[tuple[Span, int, str]]:
        """What is drawn: spans in buffers with the bytes below them, and colours."""
        bases = [sum(self.buffers[:i]) for i in range(len(self.buffers))]
        boxes: list[tuple[Span, int, str]] = []
        for i, span in enumerate(self.spans):
            if span.buffer is not None and not span.note.startswith("view"):
                base = bases[span.buffer] + span.offset
                boxes.append((span, base, COLOURS[i % len(COLOURS)]))
        return boxes

    def _svg(self) -> str:
        across = (WIDTH - MARGIN) / max(len(self.steps), 1)
        up = (HEIGHT - MARGIN) / max(self.total, 1)
        bottom = HEIGHT - MARGIN
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            'font-family="sans-serif" font-size="12">',
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        ]
        for span, base, colour in self._boxes():
            x, y = MARGIN + span.first * across, bottom - (base + span.size) * up
            width, height = (span.last - span.first + 1) * across, span.size * up
            title = f"{span.name}: {span.size} bytes, steps {span.first} to {span.last}"
            title += f", {span.note}" if span.note else ""
            place = f'x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{height:.2f}"'
            style = f'fill="{colour}" stroke="black" stroke-width="0.3"'
            lines.append(f"<rect {place} {style}><title>{escape(title)}</title></rect>")
        base = 0
        for i, size in enumerate(self.buffers):
            y = bottom - base * up
            lines.append(
                f'<line x1="{MARGIN}" x2="{WIDTH}" y1="{y:.2f}" y2="{y:.2f}" stroke="black"/>'
            )
            if size * up >= 12:
                lines.append(f'<text x="2" y="{y - 2:.2f}">buffer {i}</text>')
            base += size
        foot = (
            f"{len(self.steps)} steps, {self.total / 2**20:.4g} MB in {len(self.buffers)} buffers"
        )
        lines.append(f'<text x="{MARGIN}" y="{HEIGHT - MARGIN / 2}">{foot}</text>')
        return "\n".join([*lines, "</svg>", ""])

    def _png(self, path: str | Path) -> None:
        pyplot = _pyplot()
        figure, axes = pyplot.subplots(figsize=(WIDTH / 100, HEIGHT / 100))
        try:
            for span, base, colour in self._boxes():
                corner, width = (span.first, base / 2**20), span.last - span.first + 1
                box = pyplot.Rectangle(corner, width, span.size / 2**20, fc=colour, ec="k", lw=0.3)
                axes.add_patch(box)
            axes.set_xlim(0, max(len(self.steps), 1))
            axes.set_ylim(0, max(self.total, 1) / 2**20)
            axes.set_xlabel("steps")
            axes.set_ylabel("MB of buffers")
            figure.savefig(path, dpi=100)
        finally:
            pyplot.close(figure)


def _pyplot() -> Any:
    try:
        import matplotlib

        matplotlib.use("agg")
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "a plan is drawn as PNG by matplotlib; install it by pip install ferromix[plot], "
            "or draw an .svg"
        ) from error
    return pyplot


def _span(entry: Entry, step: int, last: Mapping[Entry, int], plan: MemoryPlan) -> Span:
    source, note = entry, ""
    while source in plan.views:
        source = plan.views[source]
    if source != entry:
        note = f"view of {entry_name(plan.views[entry])}"
    elif entry in plan.inplace:
        note = f"over {entry_name(plan.inplace[entry])}"
    buffer, offset = plan.places.get(source, (None, 0))
    return Span(
        entry_name(entry),
        plan.sizes[entry],
        step,
        max(step, last.get(entry, step)),
        buffer,
        offset,
        note,
    )
