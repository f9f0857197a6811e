"""What docs/data.md shows, runs."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "data.md"


def test_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) == 8
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)
    shown = "[([[1.0, 2.0], [3.0, 4.0]], 0), ([[5.0, 6.0], [1.0, 2.0]], 1)]"
    images = "[(4, 3, 32, 32), (4, 3, 32, 32)]"
    pairs = "(2, 2) [0 3]\n(2, 2) [2 1]\n(1, 2) [4]"
    records = "[(4, 24, 24, 3), (2, 24, 24, 3)]"
    objects = "[(2, 16), (2, 16), (2, 16)]"
    told = ["2.0 b'data of 2'", shown, images, objects, pairs, records]
    assert capsys.readouterr().out.splitlines() == "\n".join(told).splitlines()
