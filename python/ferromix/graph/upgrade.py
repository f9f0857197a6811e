"""What differs in graphs that older versions of MXNet wrote, and what was done about it.

The reader of :mod:`ferromix.graph.serial` asks here what a version means, and notes here what it
changed, so that whoever loads a file can be told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..literal import names_of

__all__ = ["Upgrades", "stated_version", "version_number", "version_text"]

_UNSTATED = 800
"""The version of a graph that states none: those before 0.9 did not."""
_REDUCED_ALL = 905
"""From this version on, axis=-1 of argmax and argmin is the last axis; before, all of them."""
_LONGEST = 300


def stated_version(graph: Mapping[str, Any]) -> int | None:
    """The version of MXNet that a graph states, such as 10901; None if it states none."""
    attrs = graph.get("attrs")
    pair = attrs.get("mxnet_version") if isinstance(attrs, dict) else None
    number = pair[1] if isinstance(pair, list) and len(pair) == 2 else None
    return number if type(number) is int and number >= 0 else None


def version_text(number: int) -> str:
    """``1.9.1`` for 10901."""
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def version_number(text: str) -> int:
    """10901 for ``1.9.1``."""
    major, minor, patch = map(int, text.split("."))
    return major * 10000 + minor * 100 + patch


class Upgrades:
    """What was changed in one graph so that it means today what it meant when it was written.

    Parameters
    ----------
    graph
        The JSON, of which the version is read.
    """

    def __init__(self, graph: Mapping[str, Any]) -> None:
        self.version = stated_version(graph)
        self._hidden: dict[str, int] = {}
        self._moved: list[str] = []
        self._inputs: list[str] = []
        self._axes: list[str] = []

    def operator(self, op: str, name: str, params: dict[str, str]) -> bool:
        """Changes the attributes of an operator that had another meaning; says whether any had."""
        before = (_UNSTATED if self.version is None else self.version) < _REDUCED_ALL
        if not before or op not in ("argmax", "argmin") or params.get("axis", "").strip() != "-1":
            return False
        del params["axis"]
        self._axes.append(name)
        return True

    def hidden(self, keys: Iterable[str]) -> None:
        """Notes attributes that are stored with underscores now."""
        for key in keys:
            self._hidden[key] = self._hidden.get(key, 0) + 1

    def moved(self, key: str, name: str) -> None:
        """Notes an attribute that went from an operator to the variable of one of its inputs."""
        self._moved.append(f"{key} to '{name}'")

    def inputs(self, names: Iterable[str]) -> None:
        """Notes variables for inputs that the file leaves out."""
        self._inputs.extend(names)

    def lines(self) -> list[str]:
        """What was changed, a line for each kind."""
        found = {
            "inputs added": self._inputs,
            "attributes stored with underscores": [f"{k} ({n})" for k, n in self._hidden.items()],
            "attributes moved to variables": self._moved,
            "axis=-1 left out, which meant all axes, of": self._axes,
        }
        lines = (f"{what}: {names_of(names)}"[:_LONGEST] for what, names in found.items() if names)
        # JSON may hold halves of characters, which no terminal takes.
        return [line.encode("utf-8", "backslashreplace").decode() for line in lines]

    def summary(self) -> str:
        """The version, and all that was changed."""
        stated = "no version" if self.version is None else f"version {version_text(self.version)}"
        return f"states {stated} of MXNet; upgraded: {'; '.join(self.lines())}"
