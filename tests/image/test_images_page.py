"""What docs/images.md shows, runs and prints what it says."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "images.md"


def test_the_page_runs(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) == 3
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)
        said = re.findall(r"^(?:print\(.*\)  )?# (.*)", block, re.MULTILINE)
        assert said
        assert capsys.readouterr().out.splitlines() == said
