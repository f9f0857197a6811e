"""What is generated from the cards is what the cards say now."""

import importlib.util
from pathlib import Path

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
