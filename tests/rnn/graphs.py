"""Graphs of recurrent cells, for Ferromix and MXNet alike."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any


def nodes(outputs: Any, mx: Any) -> list[Any]:
    """Operator, name, attributes and inputs of each node."""
    whole = mx.sym.Group(list(outputs)) if isinstance(outputs, list) else outputs
    # MXNet keeps how a value was written.
    text = whole.tojson().replace('"squeeze_axis": "1"', '"squeeze_axis": "True"')
    text = text.replace('"axis": "(1,)"', '"axis": "1"')
    found = json.loads(text)["nodes"]
    return [[n["op"], n["name"], n.get("attrs") or {}, n["inputs"]] for n in found]


def stack(mx: Any) -> Any:
    cells = mx.rnn.SequentialRNNCell()
    cells.add(mx.rnn.LSTMCell(4, prefix="l0_"))
    cells.add(mx.rnn.DropoutCell(0.3))
    cells.add(mx.rnn.ResidualCell(mx.rnn.GRUCell(4, prefix="l1_")))
    cells.add(mx.rnn.ZoneoutCell(mx.rnn.RNNCell(4, prefix="z_"), 0.2, 0.1))
    return cells


def both_ways(mx: Any) -> Any:
    cells = mx.rnn.LSTMCell(4, prefix="l_"), mx.rnn.GRUCell(3, prefix="r_")
    return mx.rnn.BidirectionalCell(*cells)


def graphs(mx: Any) -> dict[str, list[Any]]:
    found = {}

    def add(name: str, cell: Callable[[], Any], *args: Any, **kwargs: Any) -> None:
        with mx.name.NameManager():
            outputs, states = cell().unroll(*args, **kwargs)
            outputs = list(outputs) if isinstance(outputs, list) else [outputs]
            for state in states:
                outputs += state if isinstance(state, list) else [state]
            found[name] = nodes(outputs, mx)

    data, pair = mx.sym.Variable("data"), [mx.sym.Variable("a"), mx.sym.Variable("b")]
    for kind in ("RNNCell", "LSTMCell", "GRUCell"):

        def cell(kind: str = kind) -> Any:
            return getattr(mx.rnn, kind)(5, prefix="p_")

        add(f"{kind}, merged", cell, 3, data, merge_outputs=True)
        add(f"{kind}, list", cell, 2, pair)
        add(f"{kind}, time first", cell, 2, data, layout="TNC", merge_outputs=True)
    for kind in ("ConvRNNCell", "ConvLSTMCell", "ConvGRUCell"):
        add(kind, lambda kind=kind: getattr(mx.rnn, kind)((1, 3, 8, 8), 4), 2, pair)
    add("stack, merged", lambda: stack(mx), 2, data, merge_outputs=True)
    add("stack", lambda: stack(mx), 2, data)
    add("both ways, merged", lambda: both_ways(mx), 2, data, merge_outputs=True)
    add("both ways", lambda: both_ways(mx), 3, data, merge_outputs=False)
    return found
