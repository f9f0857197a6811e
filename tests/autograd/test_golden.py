"""What MXNet 1.9.1 computes, from files that tools/golden/make_autograd.py wrote."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import ferromix as mx

FOLDER = Path(__file__).parents[1] / "golden" / "autograd"
_spec = importlib.util.spec_from_file_location("autograd_programs", FOLDER / "programs.py")
programs = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(programs)


@pytest.mark.parametrize("program", programs.PROGRAMS, ids=lambda p: p.__name__)
def test_what_mxnet_computes(program):
    found = program(mx)
    with np.load(FOLDER / f"{program.__name__}.npz") as golden:
        assert set(found) == set(golden.files)
        for name, array in found.items():
            wanted = golden[name]
            assert array.dtype == wanted.dtype
            np.testing.assert_allclose(
                array.asnumpy(), wanted, rtol=5e-5, atol=5e-6, err_msg=f"{program.__name__} {name}"
            )
