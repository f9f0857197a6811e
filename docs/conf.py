"""How Sphinx builds the site: `make docs`. The sources are the repository's own pages."""

import re
import tomllib
from pathlib import Path
from typing import Any

from ferromix.ops import card

ROOT = Path(__file__).resolve().parent.parent
project = "Ferromix"
author = "The Ferromix developers"
release = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinxcontrib.mermaid"]
root_doc = "docs/index"
include_patterns = [
    "docs/**",
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "rust/*/README.md",
    "rust/engine/PROTOCOL.md",
]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 3
myst_fence_as_directive = ["mermaid"]  # as GitHub draws them
autodoc_typehints = "description"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
suppress_warnings = ["ref.python"]  # `type` and `T` in annotations are not the properties named so
html_theme = "furo"
html_title = f"Ferromix {release}"


def _is_generated(
    app: Any, what: str, name: str, obj: Any, skip: bool, options: Any
) -> bool | None:
    """Leaves out what comes from operator cards: the operators have a reference of their own."""
    return True if card.exists(name.rsplit(".", 1)[-1]) and what != "exception" else None


def _unlink_rust(app: Any, document: str, source: list[str]) -> None:
    """Turns links to Rust's items, which rustdoc follows, into plain text."""
    if document.startswith("rust/"):
        source[0] = re.sub(r"\[([^\]]+)\]\([\w:]+\)", r"\1", source[0])


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-skip-member", _is_generated)
    app.connect("source-read", _unlink_rust)
