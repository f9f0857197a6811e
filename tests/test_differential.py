"""The decisions by which tools/differential explains differences stand in docs/compatibility.md."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
TOOL = ROOT / "tools" / "differential"


def loaded(monkeypatch: pytest.MonkeyPatch, name: str) -> ModuleType:
    """A module of the tool, whose modules import each other by their bare names."""
    for module in ("cases", "decisions"):
        spec = importlib.util.spec_from_file_location(module, TOOL / f"{module}.py")
        assert spec is not None
        assert spec.loader is not None
        found = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, module, found)
        spec.loader.exec_module(found)
    return sys.modules[name]


@pytest.fixture
def decisions(monkeypatch: pytest.MonkeyPatch) -> Any:
    return loaded(monkeypatch, "decisions")


def test_decisions_are_documented(decisions: Any) -> None:
    text = re.sub(r"\s+", " ", (ROOT / "docs" / "compatibility.md").read_text())
    assert [d.line for d in decisions.DECISIONS if d.line not in text] == []


def test_a_decision_explains_what_it_is_about_and_nothing_else(decisions: Any) -> None:
    case = sys.modules["cases"].Case
    halves = case("argmax", [np.zeros((2, 3), "float16")], {"axis": 1})
    wrong = "float32 instead of float16"

    def reason(call: Any, words: str, within: bool = False) -> Any:
        return decisions.reason(decisions.Found(call, "plain", words, lambda _: within))

    assert "float16" in reason(halves, wrong)
    assert reason(case("argmax", [np.zeros((2, 3), "float32")], {"axis": 1}), wrong) is None
    assert reason(case("max", halves.inputs), wrong) is None
    digits = case("degrees", [np.zeros(2, "float64")])
    assert reason(digits, "value 1.00000001 instead of 1.0", within=True)
    assert reason(digits, "value 2.0 instead of 1.0") is None
