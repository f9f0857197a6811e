"""What follows from partial knowledge, as in MXNet 1.9.1 (tools/differential/inference.py)."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

import ferromix as mx

ROOT = Path(__file__).resolve().parent.parent.parent
SPEC = importlib.util.spec_from_file_location(
    "inference", ROOT / "tools" / "differential" / "inference.py"
)
ROWS = json.loads((ROOT / "tests" / "golden" / "symbol" / "inference.json").read_text())


@pytest.mark.parametrize("what", ["shapes", "types"])
def test_every_operator_says_what_mxnet_says(what):
    assert SPEC is not None
    assert SPEC.loader is not None
    asking = importlib.util.module_from_spec(SPEC)
    SPEC.loader.exec_module(asking)
    asked = [row for row in ROWS if row[0]["what"] == what]
    assert len({question["op"] for question, _ in asked}) > 200
    wrong = [(q, a, f) for q, a in asked if (f := asking.answer(mx, q)) != a]
    assert not wrong
