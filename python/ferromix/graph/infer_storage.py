"""Storage types of a whole graph, from those of its variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..ops.storage import DENSE
from .node import Entry, Node

__all__ = ["infer_storage"]


def infer_storage(
    nodes: Sequence[Node], known: Mapping[Entry, str]
) -> tuple[dict[Entry, str], list[Node]]:
    """The storage type of every output, and the nodes whose inputs must be converted.

    Parameters
    ----------
    nodes
        The graph, each node after its inputs.
    known
        Storage types of variables; the others are dense.

    Examples
    --------
    >>> import ferromix as mx
    >>> from ferromix.graph.infer_storage import infer_storage
    >>> from ferromix.graph.node import Entry, topological
    >>> nodes = topological(mx.sym.exp(mx.sym.var("x"), name="y").entries)
    >>> found, converting = infer_storage(nodes, {Entry(nodes[0], 0): "csr"})
    >>> found[Entry(nodes[1], 0)], [n.name for n in converting]
    ('default', ['y'])
    """
    table: dict[Entry, str] = {}
    converting = []
    for node in nodes:
        if node.op is None:
            entry = Entry(node, 0)
            table[entry] = known.get(entry, DENSE)
            continue
        given = [table[e] for e in node.inputs]
        count = len(node.op.list_arguments())
        arguments, outputs, states = node.op.infer_storage_type(given[:count])
        if [*arguments, *states] != given:
            converting.append(node)
        table.update(zip(node.outputs(), outputs, strict=True))
    return table, converting
