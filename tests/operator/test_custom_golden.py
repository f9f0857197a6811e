"""What MXNet 1.9.1 computes with custom operators, from files of tools/golden/make_custom.py."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import ferromix as mx

FOLDER = Path(__file__).parents[1] / "golden" / "custom"
_spec = importlib.util.spec_from_file_location("custom_programs", FOLDER / "programs.py")
programs = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(programs)
programs.define(mx)


@pytest.mark.parametrize("program", programs.PROGRAMS, ids=lambda p: p.__name__)
def test_what_mxnet_computes(program):
    found = program(mx)
    with np.load(FOLDER / f"{program.__name__}.npz") as golden:
        assert {name for name in golden.files if "." not in name} == set(found)
        for name, array in found.items():
            wanted = golden[name]
            assert (array.stype, array.dtype) == (golden[f"{name}.stype"], wanted.dtype), name
            tolerance = 2e-3 if wanted.dtype == np.float16 else 2e-6
            np.testing.assert_allclose(
                array.asnumpy(), wanted, rtol=tolerance, atol=1e-6, err_msg=name
            )
