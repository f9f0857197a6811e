"""The questions of the core and the answers of Python are the same list on both sides."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ferromix import _core
from ferromix.ndarray import protocol

SOURCE = Path(__file__).parents[2] / "rust/py/src/protocol.rs"


def test_every_question_has_an_answer_and_the_other_way_round():
    trait = re.search(r"trait Frontend.*?\n}\n", SOURCE.read_text(), re.S)
    assert trait is not None
    asked = set(re.findall(r"^    fn (\w+)\(", trait[0], re.M))
    assert asked == set(protocol.__all__) - {"install"}
    assert all(callable(getattr(protocol, name)) for name in asked)


def test_answers_are_installed_once():
    with pytest.raises(RuntimeError, match="answered already"):
        _core.install(protocol)
    with pytest.raises(AttributeError, match="prepare"):
        _core.install(re)


def test_the_core_alone_says_what_is_missing():
    code = (
        "import importlib.util as u, sys\n"
        f"spec = u.spec_from_file_location('_core', {_core.__file__!r})\n"
        "core = u.module_from_spec(spec)\n"
        "spec.loader.exec_module(core)\n"
        "a = core.Array((2,), 'float32')\n"
        "call = core.Call(None, 'exp', False, 1)\n"
        "try: call([a])\n"
        "except RuntimeError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout == "import ferromix before you use its core\n", done.stderr
