"""Writes what is generated from the operator cards: the reference and the stubs of nd and sym.

usage: python tools/gen.py [--check]

`--check` writes nothing, and fails where a file differs from what would be written. Needs the
package, installed.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from ferromix import _core
from ferromix.dispatch import recipe, recipes  # noqa: F401 - the recipes register themselves
from ferromix.dispatch.reasons import in_part, without
from ferromix.ndarray import NDArray, _internal
from ferromix.ndarray.function import method_names
from ferromix.ops import call, card, namespaces
from ferromix.ops.card import OperatorProperty
from ferromix.ops.family import ALL_TYPES
from ferromix.ops.own_backward import PythonRun
from ferromix.ops.param import Param
from ferromix.symbol import Symbol, operators

ROOT = Path(__file__).resolve().parent.parent
HEAD = "Generated from the operator cards by `make gen`."
KINDS = {
    "int": "int",
    "float": "float",
    "bool": "bool",
    "str": "str",
    "shape": "int | Sequence[int]",
    "floats": "float | Sequence[float]",
    "slots": "int | Sequence[int | None]",
    "axis": "int | Sequence[int]",
    "dtype": "Any",
}
STUBS = ("contrib", "image", "linalg")
"""The namespaces that have stubs; those of the others are written by hand, or say nothing new."""
Card = type[OperatorProperty]


def public() -> list[Card]:
    """The cards of all public operators, by name."""
    found = {c for c in map(card.find, card.builtin_names()) if not issubclass(c, PythonRun)}
    return sorted(found, key=lambda c: (c.name.lower(), c.name))


def family(operator: Card) -> str:
    """The stem of the module that the card is in, or that calls its constructor."""
    return STEMS[operator.name]


def stems() -> dict[str, str]:
    """The family of each operator: that of its case in the tests, which has the card's stem; of
    operators without cases the stem itself."""
    sys.path.insert(0, str(ROOT))
    from tests.ops.table import MODULES

    found: dict[str, str] = {}
    for module in MODULES:
        for case in module.CASES:
            found.setdefault(card.find(case.op).name, module.__name__.rsplit(".", 1)[1])
    return {c.name: c.__module__.rsplit(".", 1)[1] for c in public()} | found


# -- reference -------------------------------------------------------------------------------------


def anchor(heading: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def index(cards: list[Card]) -> str:
    """docs/operators.md."""
    lines = [
        "# Operators",
        "",
        f"<!-- {HEAD} -->",
        "",
        "Each is `mx.nd.NAME` and `mx.sym.NAME`, under its aliases too. Names that begin with an",
        "underscore are those behind Python's operators and in saved graphs.",
        "",
        *on_gpus(cards),
        "",
        "| operator | aliases | what it does | types | gradient | CUDA |",
        "|---|---|---|---|---|---|",
    ]
    for c in cards:
        summary = inspect.cleandoc(c.__doc__ or "").split("\n\n")[0].replace("\n", " ")
        link = f"[`{c.name}`](operators/{family(c)}.md#{anchor(c.name)})"
        aliases = ", ".join(f"`{a}`" for a in c.aliases)
        gradient = "yes" if c.differentiable else "none"
        summary = summary.replace("|", "\\|").replace("``", "`")
        cells = (link, aliases, summary, types(c), gradient, cuda(c))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", *of_mxnet()]) + "\n"


def of_mxnet() -> Iterator[str]:
    """How many of MXNet's names of operators are there, and why the others are not."""
    wanted, reasons = mxnet_names(), left_out()
    written = vars(_internal)  # by hand
    missing = [name for name in wanted if not card.exists(name) and name not in written]
    later = [name for name in missing if name not in reasons]
    yield "## The names of MXNet 1.9.1"
    yield ""
    yield f"Of the {len(wanted)} names that MXNet has for operators, aliases among them,"
    yield f"{len(wanted) - len(missing)} work: those listed above, and, of `mx.nd._internal`,"
    by_hand = [name for name in wanted if name in written and not card.exists(name)]
    yield f"{', '.join(f'`{name}`' for name in by_hand)}."
    yield ""
    for name in sorted(reasons):
        yield f"- `{name}` is left out: {reasons[name]}"
    if later:
        yield ""
        yield f"{len(later)} are not there yet: {', '.join(f'`{name}`' for name in later)}."


def mxnet_names() -> list[str]:
    """The names of MXNet's public operators, which tools/golden/make_names.py wrote."""
    return sorted((ROOT / "tests/golden/operator_names.txt").read_text().split())


def left_out() -> dict[str, str]:
    """The operators that are left out on purpose, with reasons."""
    lines = (ROOT / "docs/operators-not-there.txt").read_text().splitlines()
    rows = [line.split(maxsplit=1) for line in lines if line[:1] not in "#"]
    return {row[0]: " ".join(row[1:]) for row in rows}


def cuda(c: Card) -> str:
    """Whether an operator has CUDA kernels."""
    if not RUN[c.name] <= set(recipe.rows()):
        return "none"
    return "in part" if RUN[c.name] & set(in_part()) else "yes"


def on_gpus(cards: list[Card]) -> Iterator[str]:
    """How many operators have CUDA kernels, and what is left to the CPU."""
    there, rows = sum(cuda(c) != "none" for c in cards), _core.kernel_names()
    yield f"On a GPU, {there} of these {len(cards)} operators have CUDA kernels, and with gradients"
    have = f"{len(recipe.rows())} of the {len(rows)}"
    yield f"and storage types {have} rows of the kernel table. The rest runs"
    yield "on the CPU, on copies, with a warning:"
    yield ""
    reasons = {**without(), **in_part()}
    for why in sorted(set(reasons.values())):
        names = sorted(f"`{row}`" for row, text in reasons.items() if text == why)
        yield f"- {why}: {', '.join(names)}"


def types(c: Card) -> str:
    """The element types that an operator claims, and those of arguments with types of their own."""
    own = c.argument_dtypes.items()
    others = [f"`{n}` {'any' if t == ALL_TYPES else short(t)}" for n, t in own]
    return "; ".join([short(c.dtypes), *others])


def short(dtypes: tuple[str, ...]) -> str:
    """Element types, shortened."""
    names = {"float": "f", "bfloat": "bf", "uint": "u", "int": "i"}
    return " ".join(re.sub(r"^[a-z]+(?=\d)", lambda m: names[m[0]], t) for t in dtypes)


def page(name: str, cards: list[Card]) -> str:
    """The reference of one family."""
    lines = [f"# {name}", "", f"<!-- {HEAD} -->", ""]
    for c in cards:
        lines += [f"## {c.name}", ""]
        if c.aliases:
            lines += ["Also " + ", ".join(f"`{a}`" for a in c.aliases) + ".", ""]
        signature = call.signature(c, extra=("out", "name"))
        lines += ["```python", f"mx.nd.{path(c.name)}{signature}", "```", ""]
        lines += [*prose(inspect.cleandoc(c.__doc__ or "")), ""]
        if c.params:
            lines += ["| attribute | is | default | |", "|---|---|---|---|"]
            lines += [row(n, p) for n, p in c.params.items()]
            lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def path(name: str) -> str:
    """Where `mx.nd` has the function of an operator: in its namespace if it has one."""
    for namespace in namespaces.PREFIXES:
        for called, operator in namespaces.members(namespace).items():
            if operator == name:
                return f"{namespace}.{called}"
    return name


def row(name: str, param: Param) -> str:
    """An attribute in the table."""
    default = "required" if param.required else f"`{param.default!r}`"
    cells = (f"`{name}`", param.describe(), default, param.doc)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def prose(text: str) -> Iterator[str]:
    """A card's docstring as Markdown: double backquotes become single, examples become code."""
    body, _, example = text.partition("\nExamples\n--------\n")
    yield re.sub(r"``(.*?)``", r"`\1`", body, flags=re.S).strip()
    if example:
        yield from ("", "```python", example.strip(), "```")


# -- stubs -----------------------------------------------------------------------------------------


def stub(package: str, array: str, extra: tuple[str, ...]) -> str:
    """The stub of `mx.nd` or `mx.sym`: what the module has itself, then the operators."""
    source = (ROOT / "python/ferromix" / package / "__init__.py").read_text()
    own, taken = [], set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.ImportFrom) and node.module != "__future__":
            names = [alias.name for alias in node.names if alias.name not in ("Any", "annotations")]
            where = "." * node.level + (node.module or "")
            own += [f"from {where} import {n} as {n}" for n in names]
            taken.update(names)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            target = node.targets[0].id
            if target != "__all__":
                own.append(f"{target} = {ast.unparse(node.value)}")
                taken.add(target)
    lines = [f"# {HEAD}", "", "from collections.abc import Sequence", "from typing import Any", ""]
    lines += own
    lines += ["", "def __getattr__(name: str) -> Any: ...", "def __dir__() -> list[str]: ..."]
    for name in card.builtin_names():
        if name.isidentifier() and not name.startswith("_") and name not in taken:
            lines += declaration(name, card.find(name), array, extra)
    return "\n".join(lines) + "\n"


def namespace(name: str, array: str, extra: tuple[str, ...]) -> str:
    """The stub of a namespace such as `mx.nd.contrib`: what it imports, then the operators."""
    package = {"NDArray": "ndarray", "Symbol": "symbol"}[array]
    source = (ROOT / "python/ferromix" / package / f"{name}.py").read_text()
    own = [node for node in ast.parse(source).body if isinstance(node, ast.ImportFrom)]
    lines = [f"# {HEAD}", "", "from collections.abc import Sequence", "from typing import Any", ""]
    lines += [f"from .{package} import {array}"]
    taken: set[str] = set()
    for node in own:
        if node.level == 1 and node.module not in ("function", "functions", package):
            lines += [f"from .{node.module} import {n.name} as {n.name}" for n in node.names]
            taken.update(n.name for n in node.names)
    lines += ["", "def __getattr__(name: str) -> Any: ...", "def __dir__() -> list[str]: ..."]
    for called, operator in namespaces.members(name).items():
        if called not in taken:
            lines += declaration(called, card.find(operator), array, extra)
    return "\n".join(lines) + "\n"


def methods(array: type, own: str, names: list[str], extra: tuple[str, ...]) -> str:
    """The stub of the base of `array` that has the operators `names` as methods.

    `own` is the module of the methods that are written by hand.
    """
    kind = array.__name__
    module = ast.parse((ROOT / "python/ferromix" / own).read_text())
    written = [n for n in ast.walk(module) if isinstance(n, ast.FunctionDef)]
    beside = [n for n in module.body if isinstance(n, ast.FunctionDef) and not n.args.args]
    written = [n for n in written if n.name == "_call" or not n.name.startswith("_")]
    written = [n for n in written if n.args.args[:1] and n.args.args[0].arg == "self"]
    lines = [f"# {HEAD}", "", "from collections.abc import Mapping, Sequence"]
    lines += ["from typing import Any", "", f"from .{kind.lower()} import {kind}", ""]
    lines += ["class Operators:", "    __slots__ = ()"]
    for node in written:
        node.args.args[0].annotation = None
        result = ast.unparse(node.returns or ast.Constant(None))
        lines.append(f"    def {node.name}({ast.unparse(node.args)}) -> {result}: ...")
    bases = [c for c in array.__mro__ if c.__name__ not in ("Operators", "object")]
    taken = {n for c in bases for n in vars(c)} | {n.name for n in written}
    for name in (n for n in names if n not in taken):
        made = declaration(name, card.find(name), kind, extra, method=True)
        lines += [f"    {line}" for line in made]
    for node in beside:
        lines += [
            "",
            f"def {node.name}() -> {ast.unparse(node.returns or ast.Constant(None))}: ...",
        ]
    return "\n".join(lines) + "\n"


def declaration(
    name: str, c: Card, array: str, extra: tuple[str, ...], method: bool = False
) -> list[str]:
    """The stub of one function, or of a method, which is the first input of its operator."""
    parts = ["self"] * method
    if c.variadic is not None:
        parts.append(f"*args: {array} | Sequence[{array}]")
    else:
        inputs = (*c.arguments, *c.auxiliary_states)[int(method) :]
        parts += [f"{n}: {array} | None = None" for n in inputs]
    for attribute, param in c.params.items():
        default = None if param.required else param.default
        optional = " | None" if default is None or param.optional else ""
        kind = KINDS[param.kind]
        parts.append(f"{attribute}: {kind}{'' if kind == 'Any' else optional} = {default!r}")
    rest = [f"{n}: Any = None" for n in extra if n not in c.params]
    if c.variadic is None and rest:
        parts.append("*")
    parts += rest
    lines = (
        [f"def {name}("] + [f"    {part}," for part in parts] + [f") -> {result(c, array)}: ..."]
    )
    return lines


def result(c: Card, array: str) -> str:
    """What a function returns: one array, unless the attributes decide."""
    plain = OperatorProperty
    fixed = c.num_visible_outputs is plain.num_visible_outputs
    if fixed and c.list_outputs is plain.list_outputs:
        return array
    return array if c.name in SINGLE else "Any"


def single() -> set[str]:
    """Operators with one visible output whatever the attributes, as those of the tests show."""
    from tests.ops.table import CASES

    counts: dict[str, set[int]] = {}
    for case in CASES:
        counts.setdefault(case.card.name, set()).add(case.card.num_visible_outputs())
    return {name for name, found in counts.items() if found == {1}}


def run() -> dict[str, set[str]]:
    """The kernel rows behind each operator, as those of the tests show, where there are any."""
    from tests.ops.run import kernel_rows
    from tests.ops.table import CASES

    found: dict[str, set[str]] = {}
    for case in CASES:
        found.setdefault(case.card.name, set()).update(kernel_rows(case.card))
    return {c.name: {c.kernel or c.name} for c in public()} | found


def files() -> dict[Path, str]:
    """All generated files with their contents."""
    cards = public()
    docs = ROOT / "docs"
    found = {docs / "operators.md": index(cards)}
    for name in sorted({family(c) for c in cards}):
        members = [c for c in cards if family(c) == name]
        found[docs / "operators" / f"{name}.md"] = page(name, members)
    package = ROOT / "python/ferromix"
    found[package / "ndarray/__init__.pyi"] = stub("ndarray", "NDArray", ("out", "name"))
    found[package / "symbol/__init__.pyi"] = stub("symbol", "Symbol", ("name", "attr"))
    members = (NDArray, "ndarray/methods.py", method_names(), ("out", "name"))
    found[package / "ndarray/operators.pyi"] = methods(*members)
    members = (Symbol, "symbol/operators.py", operators.method_names(), ("name", "attr"))
    found[package / "symbol/operators.pyi"] = methods(*members)
    for name in STUBS:
        found[package / f"ndarray/{name}.pyi"] = namespace(name, "NDArray", ("out", "name"))
        found[package / f"symbol/{name}.pyi"] = namespace(name, "Symbol", ("name", "attr"))
    return found


def stale() -> list[str]:
    """The generated files that differ from what the cards say, and those that no card asks for."""
    wanted = files()
    there = set((ROOT / "docs/operators").glob("*.md"))
    wrong = [p for p, text in wanted.items() if not p.is_file() or p.read_text() != text]
    return sorted(str(p.relative_to(ROOT)) for p in {*wrong, *(there - set(wanted))})


STEMS = stems()
SINGLE = single()
RUN = run()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="fail where a file is stale")
    if parser.parse_args().check:
        wrong = stale()
        print("\n".join(f"{name} is stale; run `make gen`" for name in wrong))
        return bool(wrong)
    (ROOT / "docs/operators").mkdir(exist_ok=True)
    wanted = files()
    for path in set((ROOT / "docs/operators").glob("*.md")) - set(wanted):
        path.unlink()
    for path, text in wanted.items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
