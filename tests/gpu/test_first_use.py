"""Whatever is asked of a GPU first opens it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from .device import HOST

FIRST = [
    "mx.nd.arange(3, ctx=mx.gpu(0))",
    "mx.nd.array([0, 1, 2], ctx=mx.gpu(0))",
    "mx.sym.arange(start=0, stop=3).bind(mx.gpu(0), {}).forward()[0]",
]


@pytest.mark.parametrize("first", [*FIRST, "with mx.gpu(0): x = mx.nd.arange(3)"])
def test_first_use(first):
    program = first if first.startswith("with") else f"x = {first}"
    text = f"import ferromix as mx\n{program}\nprint(x.context, x.asnumpy().tolist())"
    driver = {"FERROMIX_GPU_DRIVER": "host"} if HOST else {}
    run = subprocess.run(
        [sys.executable, "-c", text], env={**os.environ, **driver}, capture_output=True, text=True
    )
    assert run.stdout == "gpu(0) [0.0, 1.0, 2.0]\n", run.stderr
