"""How far a result may be from the oracle's, for each element type."""

import numpy as np

RELATIVE = {"float64": 1e-12, "float32": 2e-6, "float16": 1e-3, "bfloat16": 8e-3}
"""A few units in the last place; integers and bools must be equal."""

ABSOLUTE = {"float64": 1e-13, "float32": 1e-6, "float16": 2e-4, "bfloat16": 1e-3}
"""For results near zero that come from numbers near one."""

FINITE_DIFFERENCES = 1e-7
"""For gradients in float64 against central differences."""


def assert_close(found, expected, dtype, steps=1, what=""):
    """Compares arrays; `steps` is the number of roundings that add up."""
    found = np.asarray(found)
    expected = np.asarray(expected)
    assert found.shape == expected.shape, f"{what}: shape {found.shape}, expected {expected.shape}"
    if dtype not in RELATIVE:
        np.testing.assert_array_equal(found, expected, err_msg=what)
        return
    np.testing.assert_allclose(
        found.astype("float64"),
        expected.astype("float64"),
        rtol=RELATIVE[dtype] * steps,
        atol=ABSOLUTE[dtype] * steps,
        err_msg=what,
    )
