"""Tables and drawings of MXNet 1.9.1: tests/golden/visualization.json.

usage: PYTHON tools/golden/make_visualization.py, with MXNet 1.9.1 and graphviz
"""

import json
import sys
from pathlib import Path

import mxnet as mx

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "visualization"))
from pictures import texts  # noqa: E402

path = ROOT / "tests" / "golden" / "visualization.json"
path.write_text(json.dumps(texts(mx), indent=1) + "\n")
