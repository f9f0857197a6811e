"""Writes the networks of tests/networks as Ferromix saves them, for make_networks.py.

usage: python save_networks.py FOLDER
"""

import sys
from pathlib import Path

import ferromix as mx

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "networks"))
from zoo import NETWORKS  # noqa: E402
from zoo.step import build  # noqa: E402

if __name__ == "__main__":
    for name in NETWORKS:
        build(mx, name)[0].save(Path(sys.argv[1]) / f"{name}.json")
