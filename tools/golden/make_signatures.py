"""Writes what MXNet's functions take by position: ``tests/golden/signatures.json``.

Run with an interpreter that has MXNet 1.9.1: ``python tools/golden/make_signatures.py OUT``.
"""

import inspect
import json
import sys

import mxnet as mx

NAMESPACES = ("", "random", "linalg", "image", "contrib", "sparse")
POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD


def main(out):
    """The names of the parameters of every function, in order."""
    found = {}
    for front in ("nd", "sym"):
        for namespace in NAMESPACES:
            module = getattr(mx, front)
            module = getattr(module, namespace) if namespace else module
            for name in dir(module):
                function = getattr(module, name)
                if name.startswith("_") or not inspect.isfunction(function):
                    continue
                parameters = inspect.signature(function).parameters.values()
                if any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters):
                    continue
                names = [p.name for p in parameters if p.kind is POSITIONAL]
                if len(names) > 1:
                    found[".".join(filter(None, (front, namespace, name)))] = " ".join(names)
    with open(out, "w", encoding="utf-8") as file:
        json.dump(found, file, indent=0, sort_keys=True)
        file.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])
