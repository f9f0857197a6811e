"""Graphs of the recurrent cells of MXNet 1.9.1: tests/golden/rnn.json.

usage: PYTHON tools/golden/make_rnn.py, with an interpreter that has MXNet 1.9.1
"""

import json
import sys
from pathlib import Path

import mxnet as mx

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "rnn"))
from graphs import graphs  # noqa: E402

text = ",\n".join(f"{json.dumps(name)}: {json.dumps(g)}" for name, g in graphs(mx).items())
(ROOT / "tests" / "golden" / "rnn.json").write_text(f"{{{text}}}\n")
