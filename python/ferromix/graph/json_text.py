"""A graph's JSON as text that MXNet's reader takes, which knows less of JSON than others.

It knows five escapes, of quotation marks, backslashes, tabs and ends of lines, and takes all else
as it is: letters in UTF-8, and control characters, which others refuse unless told not to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["graph_text"]

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ESCAPED = re.compile('["\\\\\n\r\t\0\ud800-\udfff]')
"""Also what no text of MXNet holds, a zero and halves of characters; these get a number."""


def graph_text(graph: dict[str, Any]) -> str:
    """The text, with a line for each key of a node, as MXNet writes it."""
    rows = graph["nodes"]
    # Nodes that are alike share their attributes.
    shared = {id(attrs): attrs for row in rows if (attrs := row.get("attrs"))}
    texts = {number: _text(attrs) for number, attrs in shared.items()}
    nodes = [_row(row, texts) for row in rows]
    listed = "[\n    " + ",\n    ".join(nodes) + "\n  ]"
    rest = {key: value for key, value in graph.items() if key != "nodes"}
    return '{\n  "nodes": ' + listed + ",\n" + _object(rest, "")[2:]


def _row(row: Mapping[str, Any], texts: Mapping[int, str]) -> str:
    """JSON of a node; `texts` has that of attributes, by which object they are."""
    if "subgraphs" in row:
        return _object(row, "    ")
    attrs = row.get("attrs")
    between = f'      "attrs": {texts[id(attrs)]},\n' if attrs else ""
    return (
        f'{{\n      "op": {_quote(row["op"])},\n      "name": {_quote(row["name"])},\n'
        f'{between}      "inputs": {row["inputs"]}\n    }}'
    )


def _object(row: Mapping[str, Any], indent: str) -> str:
    """JSON with each key on a line of its own."""
    lines = [f'{indent}  "{key}": {_text(value)}' for key, value in row.items()]
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


def _text(value: Any) -> str:
    """JSON of a value on one line."""
    if type(value) is str:
        return _quote(value)
    if type(value) is dict:
        return "{" + ", ".join(f"{_quote(k)}: {_text(v)}" for k, v in value.items()) + "}"
    if type(value) is list and not (value and type(value[0]) in (int, list)):
        return f"[{', '.join(map(_text, value))}]"
    return repr(value)  # Numbers and lists of them look the same.


def _quote(text: str) -> str:
    """JSON of a text."""
    if _ESCAPED.search(text) is None:
        return f'"{text}"'
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(found: re.Match[str]) -> str:
    return _ESCAPES.get(found[0]) or f"\\u{ord(found[0]):04x}"
