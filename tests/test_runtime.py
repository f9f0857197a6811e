"""What the package says that it can do."""

import os
import subprocess
import sys

import pytest

import ferromix as mx
from ferromix.runtime import Feature, Features, feature_list


def test_features_have_the_names_of_mxnet():
    features = Features()
    assert features is Features() is Features.instance
    assert list(features.values()) == feature_list()
    assert len(features) == 32
    assert features["DIST_KVSTORE"] == Feature("DIST_KVSTORE", True)
    assert features.is_enabled("cuda") == (mx.num_gpus() > 0)
    assert repr(features["TVM_OP"]) == "✖ TVM_OP"
    assert "✔ OPENCV, " in repr(features)
    with pytest.raises(RuntimeError, match=r"unknown feature 'X'.*CUDA"):
        features.is_enabled("x")


@pytest.mark.parametrize("level", ["amx", "avx512", "avx2", "base", "sse9"])
def test_levels_of_instructions_are_those_that_are_documented(level):
    code = "import ferromix as mx; print(int(mx.nd.ones((3,)).sum().asscalar()))"
    settings = {**os.environ, "FERROMIX_ISA": level}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=False)
    if level == "sse9":
        assert done.returncode == 1
        assert "FERROMIX_ISA must be 'amx', 'avx512', 'avx2' or 'base', got 'sse9'" in done.stderr
    else:
        assert done.stdout == "3\n", done.stderr
