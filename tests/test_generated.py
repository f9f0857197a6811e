"""What is generated from the cards is what the cards say now."""

import ast
import importlib.util
import re
from pathlib import Path

import pytest

import ferromix as mx
from ferromix.ndarray.function import method_names
from ferromix.ops.card import find
from ferromix.symbol import operators

ROOT = Path(__file__).resolve().parent.parent


def load():
    spec = importlib.util.spec_from_file_location("gen", ROOT / "tools/gen.py")
    gen = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(gen)
    return gen


def test_reference_and_stubs_are_not_stale():
    assert load().stale() == [], "run `make gen`"


def test_every_public_operator_is_in_reference_and_stubs():
    gen = load()
    texts = {path.name: text for path, text in gen.files().items()}
    pages = "".join(t for name, t in texts.items() if name.endswith(".md"))
    stubs = gen.files()[ROOT / "python/ferromix/ndarray/__init__.pyi"]
    for card in gen.public():
        assert f"\n## {card.name}\n" in pages
        plain = not card.name.startswith("_")
        assert not plain or f"def {card.name}(" in stubs or f" as {card.name}\n" in stubs


def test_the_index_counts_the_operators_with_cuda_kernels():
    gen = load()
    text = gen.files()[ROOT / "docs/operators.md"]
    cells = [line.split(" | ")[-1] for line in text.splitlines() if line.startswith("| [`")]
    kinds = {word: cells.count(f"{word} |") for word in ("yes", "in part", "none")}
    assert sum(kinds.values()) == len(cells) == len(gen.public())
    there, of = re.search(r"(\d+) of these (\d+) operators have CUDA kernels", text).groups()
    assert (int(there), int(of)) == (kinds["yes"] + kinds["in part"], len(cells))
    assert gen.cuda(find("_linalg_gemm2")) == "in part"
    assert gen.cuda(find("exp")) == "yes"
    assert gen.cuda(find("_contrib_calibrate_entropy")) == "none"


@pytest.mark.parametrize(
    ("array", "package", "names"),
    [
        (mx.nd.NDArray, "ndarray", method_names()),
        (mx.sym.Symbol, "symbol", operators.method_names()),
    ],
)
def test_every_operator_that_is_a_method_has_a_stub(array, package, names):
    text = (ROOT / "python/ferromix" / package / "operators.pyi").read_text()
    (body,) = [n.body for n in ast.parse(text).body if isinstance(n, ast.ClassDef)]
    stubs = {n.name: n for n in body if isinstance(n, ast.FunctionDef)}
    own = {n for c in array.__mro__ if c.__name__ != "Operators" for n in vars(c)}
    assert set(names) <= set(stubs) | own
    assert set(stubs) & own <= {"_call"}
    assert [a.arg for a in stubs["sum"].args.args] == ["self", "axis", "keepdims", "exclude"]
    assert [a.arg for a in stubs["slice"].args.args] == ["self", "begin", "end", "step"]
