"""What the package says that it can do."""

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
