"""The listing of a graph for people, as ``debug_str`` of symbols and executors gives it, in MXNet's
format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..graph.node import Entry, Node, topological

__all__ = ["describe"]


def describe(heads: Sequence[Entry], origins: Mapping[Node, Node] | None = None) -> str:
    """All nodes that `heads` depend on, with their inputs and attributes.

    Parameters
    ----------
    heads
        The outputs.
    origins
        For nodes of a backward pass the node that each belongs to.
    """
    lines = ["Symbol Outputs:"]
    lines += [f"\toutput[{i}]={_shown(e)}" for i, e in enumerate(heads)]
    versions: dict[Node, int] = {}
    for node in topological(heads):
        if node.op is None:
            lines.append(f"Variable:{node.name}")
            continue
        lines += ["-" * 20, f"Op:{node.op.name}, Name={node.name}", "Inputs:"]
        for i in node.op.mutated_inputs():
            changed = node.inputs[i].node
            versions[changed] = versions.get(changed, 0) + 1
        for i, entry in enumerate(node.inputs):
            version = f" version={versions.get(entry.node, 0)}" if entry.node.op is None else ""
            lines.append(f"\targ[{i}]={_shown(entry)}{version}")
        origin = origins.get(node) if origins else None
        attrs = sorted(node.all_attrs().items())
        if origin is not None and origin.op is not None:
            # A gradient has all attributes of its operator; those not given are its defaults.
            unsaid = origin.op.attrs.keys() - origin.op.given.keys()
            attrs = [(key, value) for key, value in attrs if key not in unsaid]
        if attrs:
            lines += ["Attrs:", *(f"\t{key}={value}" for key, value in attrs)]
        if origin is not None:
            lines += ["Control deps:", f"\tcdep[0]={origin.name}"]
    return "\n".join(lines) + "\n"


def _shown(entry: Entry) -> str:
    return f"{entry.node.name}({entry.output})"
