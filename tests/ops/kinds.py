"""Kinds of elementwise operators: those that differ in a function only, on both sides.

The way through memory, the requests and the two fronts are the same for all operators of a kind.
One of each tries the edges of that; of the others the tables' values are enough.
"""

import re
from functools import cache
from pathlib import Path

from ferromix.ops.binary import Broadcast
from ferromix.ops.card import OperatorProperty, find
from ferromix.ops.family import Elementwise

KERNELS = Path(__file__).resolve().parents[2] / "rust/kernels/src"
ROW = re.compile(r'(\w+!|Row::new)\(\s*"(\w+)",\s*(.*)$', re.M)
LINE = re.compile(r'^\s*()"(\w+)" => ([^;\n]*)[;,]$', re.M)
OF_A_FUNCTION = {"__doc__", "__module__", "__qualname__", "gradient", "rule", "scalar_rule"}


@cache
def rows():
    """How each kernel's row is written, apart from the function."""
    found = {}
    for path in sorted(KERNELS.rglob("*.rs")):
        text = path.read_text()
        for pattern in (ROW, LINE):
            for head, name, arguments in pattern.findall(text):
                words = arguments.split(", ")
                if head == "Row::new":
                    function = re.match(r"\w+", words[0])
                    found[name] = (path.stem, function[0]) if function else None
                else:
                    found[name] = (path.stem, head, *map(plain, words[1:]))
    return found


def plain(argument):
    """What an argument of a row is: a word that says how, or some function."""
    mode = re.match(r"(\w+) \w+::\w+", argument)
    return mode[1] if mode else re.sub(r".*=>.*|Math::.*", "function", argument)


def kind_of(card: type[OperatorProperty]):
    """What a card has in common with the others of its kind; its name, where it is of no kind."""
    own = {k for k, v in vars(card).items() if callable(getattr(v, "__func__", v))}
    row = rows().get(card.kernel or card.name)
    if own - OF_A_FUNCTION or row is None or not issubclass(card, (Elementwise, Broadcast)):
        return card.name
    return (card.__mro__[1].__name__, row, len(card.arguments), tuple(card.params))


def first_of_each(cases):
    """The first operator of each kind, in the order of `cases`."""
    found = {}
    for case in cases:
        card = find(case.op)
        found.setdefault(kind_of(card), card.name)
    return set(found.values())
