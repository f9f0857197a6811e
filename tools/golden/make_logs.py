"""What MXNet 1.9.1 logs in trainings: tests/golden/logs.json, for each scenario of the tests.

usage: PYTHON tools/golden/make_logs.py, with an interpreter that has MXNet 1.9.1
"""

import json
import sys
import tempfile
from pathlib import Path

import mxnet as mx

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "callback"))
from log_scenarios import SCENARIOS, logged  # noqa: E402

found = {}
for scenario in SCENARIOS:
    with tempfile.TemporaryDirectory() as folder:
        lines = logged(scenario, mx, Path(folder))
        files = sorted(path.name for path in Path(folder).iterdir())
        found[scenario.__name__] = {"lines": lines, "files": files}
(ROOT / "tests/golden/logs.json").write_text(json.dumps(found, indent=0) + "\n")
