"""The listing of a graph for people, as ``debug_str`` of symbols and executors gives it."""

from __future__ import annotations

from collections.abc import Sequence

from ..graph.node import Entry, argument_names, topological

__all__ = ["describe"]


def describe(heads: Sequence[Entry]) -> str:
    """All nodes that `heads` depend on, with their inputs and attributes."""
    lines = ["Symbol Outputs:"]
    lines += [f"\toutput[{i}]={_shown(e)}" for i, e in enumerate(heads)]
    for node in topological(heads):
        if node.op is None:
            lines.append(f"Variable:{node.name}")
            continue
        lines += ["-" * 20, f"Op:{node.op.name}, Name={node.name}", "Inputs:"]
        for name, entry in zip(argument_names(node.op), node.inputs, strict=True):
            lines.append(f"\t{name}={_shown(entry)}")
        attrs = sorted(node.all_attrs().items())
        if attrs:
            lines += ["Attrs:", *(f"\t{key}={value}" for key, value in attrs)]
    return "\n".join(lines) + "\n"


def _shown(entry: Entry) -> str:
    return f"{entry.node.name}({entry.output})"
