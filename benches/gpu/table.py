"""The table: what each package reaches, and how many times as fast Ferromix is."""

from __future__ import annotations

from dataclasses import dataclass

PEERS = ("torch", "cupy")
HEAD = ("what", "type", "unit", "Ferromix", "of ceiling", "torch", "ratio", "CuPy", "ratio")


@dataclass(frozen=True)
class Line:
    """One measurement of all packages.

    Parameters
    ----------
    what, dtype, unit
        Its name, the element type, and what the figures are in.
    values
        The figure of each package that has one.
    less_is_more
        Whether they are times, not rates.
    ceiling
        The most that the machine was seen to do in this unit.
    """

    what: str
    dtype: str
    unit: str
    values: dict[str, float]
    less_is_more: bool = False
    ceiling: float | None = None

    def cells(self) -> list[str]:
        """The texts of the columns."""
        own = self.values.get("ferromix")
        share = f"{100 * own / self.ceiling:.0f} %" if own and self.ceiling else ""
        found = [self.what, self.dtype, self.unit, _text(own), share]
        for name in PEERS:
            peer = self.values.get(name)
            found += [_text(peer), self.ratio(own, peer)]
        return found

    def ratio(self, own: float | None, peer: float | None) -> str:
        """How many times as fast as the peer."""
        if not own or not peer:
            return ""
        return f"{peer / own if self.less_is_more else own / peer:.2f}"


def _text(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def head() -> str:
    return "| " + " | ".join(HEAD) + " |\n|" + "---|" * len(HEAD)


def row(line: Line) -> str:
    return "| " + " | ".join(line.cells()) + " |"
