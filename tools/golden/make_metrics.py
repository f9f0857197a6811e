"""What metrics and schedules of MXNet 1.9.1 say: tests/golden/metrics.json.

usage: PYTHON tools/golden/make_metrics.py, with an interpreter that has MXNet 1.9.1
"""

import json
import sys
from pathlib import Path

import mxnet as mx

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "metric"))
from measured import CASES, SCHEDULES, rates, values  # noqa: E402

found = {
    "metrics": [values(mx, *case) for case in CASES],
    "schedules": [rates(mx, *schedule) for schedule in SCHEDULES],
}
(ROOT / "tests" / "golden" / "metrics.json").write_text(json.dumps(found, indent=1) + "\n")
