"""A family of operators is its files: nothing else lists it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

CARD = '''
"""A family that is not there."""

from .card import register
from .composed import Composed
from .family import FLOATS


@register
class Cubed(Composed):
    """The third power.

    Formula: ``out = data ** 3``. Shapes: all alike. Types: floats.
    Gradient: ``3 * data ** 2 * out_grad``.

    Examples
    --------
    >>> print(mx.nd.cubed(mx.nd.array([2])).asnumpy())
    [8.]
    """

    name = "cubed"
    dtypes = FLOATS

    def forward(self, data):
        return data**3.0
'''
CASES = """
from ..case import of_any_shape

CASES = of_any_shape("cubed", lambda x: x**3, "normal", steps=4)
"""
CHECK = """
import importlib.util, sys
import ferromix as mx
from tests.ops.table import MODULES, CASES
assert mx.nd.cubed(mx.nd.array([2])).asscalar() == 8
assert mx.sym.cubed(mx.sym.Variable("x")).list_arguments() == ["x"]
assert any(m.__name__.endswith(".cubes") for m in MODULES)
assert sum(c.op == "cubed" for c in CASES) == 6
sys.path.insert(0, "tools")
import gen
pages = {p.name: text for p, text in gen.files().items()}
assert "## cubed" in pages["cubes.md"] and "def cubed(" in pages["__init__.pyi"]
print("found")
"""


@pytest.mark.slow
def test_a_new_family_is_found(tmp_path):
    left = shutil.ignore_patterns("__pycache__")
    for folder in ("python", "tests/ops", "tools", "kernels"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=left)
    (tmp_path / "tests/golden").mkdir()
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs/operators-not-there.txt", tmp_path / "docs")
    shutil.copy(ROOT / "tests/golden/operator_names.txt", tmp_path / "tests/golden")
    rust = tmp_path / "rust/kernels"
    rust.mkdir(parents=True)
    (rust / "src").symlink_to(ROOT / "rust/kernels/src")
    (tmp_path / "python/ferromix/ops/cubes.py").write_text(CARD)
    (tmp_path / "tests/ops/cases/cubes.py").write_text(CASES)
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path / 'python'}:{tmp_path}"}
    done = subprocess.run(
        [sys.executable, "-c", CHECK],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout == "found\n", done.stderr
