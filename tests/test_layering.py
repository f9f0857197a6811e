"""Dependencies point one way; each test names the edge that does not."""

from __future__ import annotations

import ast
import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "ferromix"

# Each layer may use the layers above it in this list, and the members of a layer marked "apart"
# may not use each other.
LAYERS: list[tuple[str, ...]] = [
    (
        *("error", "base", "context", "attribute", "name", "registry", "files"),
        *("literal", "nested", "numeric", "libinfo", "foreign", "runtime", "util", "log"),
        "layout",
    ),
    ("ops",),
    ("graph",),
    ("dispatch",),
    ("ndarray", "symbol"),
    (
        *("autograd", "random", "resource", "storage", "engine", "profiler", "executor"),
        *("operator", "rtc", "workers"),
    ),
    ("lr_scheduler", "misc", "initializer", "metric", "optimizer", "kvstore", "io", "recordio"),
    (
        "image",
        "model",
        "callback",
        "monitor",
        "launch",
        "im2rec",
        "gluon",
        "module",
        "executor_manager",
        "rnn",
        "visualization",
        "checkpoints",
        "onnx",
        "contrib",
    ),
    ("test_utils", "__main__"),
]
APART = {"ndarray", "symbol"}
USES_CORE = {
    "util",
    "autograd",
    "context",
    "foreign",
    "libinfo",
    "graph",
    "dispatch",
    "ndarray",
    "random",
    "resource",
    "storage",
    "engine",
    "profiler",
    "executor",
    "io",
    "recordio",
    "image",
    "kvstore",
    "operator",
    "rtc",
    "im2rec",
}

CRATES = {
    "ferromix-base": set(),
    "ferromix-engine": set(),
    "ferromix-storage": {"ferromix-base"},
    "ferromix-io": {"ferromix-base"},
    "ferromix-kernels": {"ferromix-base", "ferromix-io"},
    "ferromix-runtime": {
        "ferromix-base",
        "ferromix-engine",
        "ferromix-storage",
        "ferromix-kernels",
        "ferromix-io",
    },
    "ferromix-py": {
        "ferromix-base",
        "ferromix-engine",
        "ferromix-storage",
        "ferromix-kernels",
        "ferromix-io",
        "ferromix-runtime",
    },
}


def unit_of(path: Path) -> str:
    """The package or module of the top level that a file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports_of(path: Path) -> set[str]:
    """Units of the package that a file imports, and foreign packages, marked by a colon."""
    found: set[str] = set()
    package = ("ferromix", *path.relative_to(PACKAGE).parts[:-1])
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [(a.name.split("."), []) for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = list(package[: len(package) - node.level + 1]) if node.level else []
            module = base + (node.module.split(".") if node.module else [])
            names = [(module, [a.name]) for a in node.names]
        else:
            continue
        for module, members in names:
            full = module + members
            found.add(full[1] if full[0] == "ferromix" and len(full) > 1 else f":{full[0]}")
    return found


FILES = sorted(p for p in PACKAGE.rglob("*.py") if p != PACKAGE / "__init__.py")
RANK = {unit: rank for rank, layer in enumerate(LAYERS) for unit in layer}


def test_every_unit_has_a_layer():
    assert {unit_of(p) for p in FILES} == set(RANK)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_python_imports_point_one_way(path):
    unit = unit_of(path)
    for used in imports_of(path) - {unit}:
        if used == "_core":
            assert unit in USES_CORE, f"{unit} must not import the Rust core"
        elif used in RANK:
            assert RANK[used] <= RANK[unit], f"{unit} -> {used} points up"
            assert not {unit, used} <= APART, f"{unit} -> {used}: these two stand apart"
        else:
            assert used not in {":ferromix", ":cupy"}, f"{unit} must not import {used}"
            ours = path.relative_to(PACKAGE).as_posix() == "kvstore/dist/mpi.py"
            assert used != ":mpi4py" or ours, f"{path} must not import mpi4py"


ONNX = re.compile(r"^\s*(import|from) onnx", re.MULTILINE)


def test_one_file_imports_onnx():
    found = [p.relative_to(PACKAGE).as_posix() for p in FILES if ONNX.search(p.read_text())]
    assert found == ["onnx/package.py"]


CUPY = re.compile(r'import cupy|import_module\("cupy')


def test_one_module_imports_cupy():
    found = [p.relative_to(PACKAGE).as_posix() for p in FILES if CUPY.search(p.read_text())]
    assert found == ["dispatch/gpu.py"]


def metadata() -> list[dict]:
    command = ["cargo", "metadata", "--no-deps", "--format-version", "1", "--offline"]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=120
    )
    return json.loads(done.stdout)["packages"]


def test_crates_depend_one_way():
    packages = metadata()
    assert {p["name"] for p in packages} == set(CRATES)
    for package in packages:
        for dependency in package["dependencies"]:
            name = dependency["name"]
            if name in CRATES and dependency["kind"] is None:
                assert name in CRATES[package["name"]], f"{package['name']} -> {name}"
            if name == "pyo3":
                assert package["name"] == "ferromix-py", f"{package['name']} names pyo3"


# The folders of the crates whose order is fixed; each uses only those before it. Modules beside the
# folders count as folders of one file.
RUST_LAYERS: dict[str, tuple[str, ...]] = {
    "engine": (
        *("base", "types", "failures", "waiters", "operation", "scheduling", "tracing", "state"),
        *("functions", "execution", "waiting", "lifecycle", "programs", "api", "tests"),
    ),
    "kernels": (
        *("api", "par", "simd", "iter", "math", "loops", "copy", "elementwise", "fold"),
        *("affine", "blocks", "boxes", "levels", "draws", "sparse", "update", "softmax"),
        *("linalg", "convolve"),
        *("ops", "table"),
    ),
}
MOST_FILES = 20


def rust_code(text: str) -> str:
    """A source without comments, strings and the module of its unit tests."""
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r'"(?:\\.|[^"\\])*"', '""', text)
    return re.split(r"#\[cfg\(test\)\]\s*mod \w+ \{", text)[0]


def rust_uses(code: str) -> Iterator[tuple[int, str]]:
    """Offset and first name of every path that begins with ``crate::``."""
    for found in re.finditer(r"\bcrate::(\w+|\{)", code):
        if found[1] != "{":
            yield found.start(), found[1]
            continue
        depth, start = 1, found.end()
        for at in range(found.end(), len(code)):
            depth += {"{": 1, "}": -1}.get(code[at], 0)
            if depth == 0 or (depth == 1 and code[at] == ","):
                name = re.match(r"\s*(\w+)", code[start:at])
                if name:
                    yield found.start(), name[1]
                start = at + 1
            if depth == 0:
                break


def wrong_edges(source: Path, layers: tuple[str, ...]) -> list[str]:
    """Uses of a later folder by an earlier one, as file, line and edge."""
    rank = {name: number for number, name in enumerate(layers)}
    exports = re.findall(r"pub use (\w+)::(\{[^}]*\}|\w+)", (source / "lib.rs").read_text())
    home = {name: folder for folder, names in exports for name in re.findall(r"\w+", names)}
    wrong = []
    for path in sorted(source.rglob("*.rs")):
        unit = path.relative_to(source).parts[0].removesuffix(".rs")
        if unit == "lib":
            continue
        code = rust_code(path.read_text())
        for offset, name in rust_uses(code):
            used = name if name in rank else home.get(name, name)
            if used not in rank or rank[used] > rank[unit]:
                line = code.count("\n", 0, offset) + 1
                wrong.append(f"{path.relative_to(source)}:{line}: {unit} -> {used}")
    return wrong


@pytest.mark.parametrize("crate", RUST_LAYERS)
def test_rust_folders_use_only_those_before(crate):
    source = ROOT / "rust" / crate / "src"
    units = {p.stem if p.is_file() else p.name for p in source.iterdir()} - {"lib"}
    assert units == set(RUST_LAYERS[crate]), "every folder and module has a place in the order"
    print(f"{crate}: {' <- '.join(RUST_LAYERS[crate])}")
    assert not wrong_edges(source, RUST_LAYERS[crate])


def test_a_wrong_edge_between_rust_folders_is_named(tmp_path):
    for name, text in {
        "lib.rs": "mod low;\nmod high;\npub use low::Thing;\n",
        "low/mod.rs": "//! crate::high in a comment.\nuse crate::{low::a, high::{b, c}};\n",
        "low/a.rs": "fn f() {\n    crate::high::g();\n}\n",
        "high.rs": "use crate::Thing;\nuse crate::low::a;\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = wrong_edges(tmp_path, ("low", "high"))
    assert found == ["low/a.rs:2: low -> high", "low/mod.rs:2: low -> high"]
    assert wrong_edges(tmp_path, ("high", "low")) == [
        "high.rs:1: high -> low",
        "high.rs:2: high -> low",
    ]


def test_families_do_not_use_each_other():
    ops = ROOT / "rust/kernels/src/ops"
    users = [p for p in ops.rglob("*.rs") if "crate::ops::" in rust_code(p.read_text())]
    # Submodules of one family may name it.
    strangers = {
        f"{p.relative_to(ops)} -> {used}"
        for p in users
        for used in re.findall(r"crate::ops::\w+::(\w+)", rust_code(p.read_text()))
        if used not in {*p.relative_to(ops).parts, p.stem}
    }
    assert not strangers


def test_no_operator_has_unit_tests_that_nothing_runs():
    """Builds for unit tests leave `ops` out; tests of operators are in rust/kernels/tests."""
    ops = ROOT / "rust/kernels/src/ops"
    assert not [str(p) for p in ops.rglob("*.rs") if "cfg(test)" in p.read_text()]


def test_rust_folders_are_small():
    folders = {p.parent for p in (ROOT / "rust").rglob("*.rs") if "target" not in p.parts}
    sizes = {str(f.relative_to(ROOT)): len(list(f.glob("*.rs"))) for f in folders}
    assert {f: n for f, n in sizes.items() if n > MOST_FILES} == {}


def test_test_files_have_names_of_their_own():
    """Files outside packages are imported by their names alone."""
    folder = Path(__file__).parent
    files = [p for p in folder.rglob("test_*.py") if not (p.parent / "__init__.py").exists()]
    counts = Counter(p.name for p in files)
    assert [name for name, count in counts.items() if count > 1] == []
