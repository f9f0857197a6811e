"""Convolutions of 3 by 3 taps with fewer products, and the switch that forbids them."""

import os
import subprocess
import sys

import numpy as np
import pytest

CODE = """
import sys
import numpy as np
import ferromix as mx
rng = np.random.default_rng(0)
x, w = rng.standard_normal((4, 24, 21, 26)), rng.standard_normal((20, 24, 3, 3))
head = rng.standard_normal((4, 20, 21, 26))
found = {}
size = {"kernel": (3, 3), "pad": (1, 1), "num_filter": 20, "no_bias": True}
for dtype in ("float32", "float64"):
    data, weight, ones = (mx.nd.array(v, dtype=dtype) for v in (x, w, head))
    data.attach_grad()
    weight.attach_grad()
    with mx.autograd.record():
        out = mx.nd.Convolution(data, weight, **size)
    out.backward(ones)
    for name, array in (("out", out), ("data", data.grad), ("weight", weight.grad)):
        found[f"{name}_{dtype}"] = array.asnumpy()
np.savez(sys.argv[1], **found)
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Results with the switch on and off."""
    found = []
    for switch in ("1", "0"):
        path = tmp_path_factory.mktemp("winograd") / "found.npz"
        env = {**os.environ, "FERROMIX_WINOGRAD": switch}
        subprocess.run([sys.executable, "-c", CODE, str(path)], env=env, check=True)
        with np.load(path) as arrays:
            found.append(dict(arrays))
    return found


@pytest.mark.parametrize("name", ["out", "data", "weight"])
def test_both_ways_are_near_the_definition(results, name):
    for found in results:
        exact, got = found[f"{name}_float64"], found[f"{name}_float32"]
        assert np.abs(got - exact).max() <= 1e-5 * np.abs(exact).max()


def test_the_switch_leaves_float64_as_it_is(results):
    on, off = results
    for name in ("out", "data", "weight"):
        np.testing.assert_array_equal(on[f"{name}_float64"], off[f"{name}_float64"])
