"""What an import loads, and that all names are there however they are reached."""

import subprocess
import sys

import pytest

import ferromix as mx

LATER = ["gluon", "image", "io", "kvstore", "module", "onnx", "optimizer", "rnn", "test_utils"]


def run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


def test_the_import_loads_what_every_script_needs_alone():
    loaded = run("import ferromix, sys; print(*sys.modules)").split()
    assert "ferromix.ndarray" in loaded
    heavy = {"urllib.request", "ssl", "scipy", "tqdm", "cupy", "onnx"}
    assert not heavy & set(loaded)
    assert not {f"ferromix.{name}" for name in LATER} & set(loaded)


def test_every_public_name_is_found_and_listed():
    missing = [name for name in mx.__all__ if getattr(mx, name, None) is None]
    assert missing == []
    assert set(mx.__all__) <= set(dir(mx))


@pytest.mark.parametrize(
    ("code", "printed"),
    [
        ("import ferromix as mx; print(mx.mod is mx.module)", "True"),
        ("import ferromix.rnn.rnn_cell as c; print(c.init.__name__)", "ferromix.initializer"),
        ("from ferromix import *; print(opt.SGD.__name__)", "SGD"),
        ("import ferromix as mx; print(mx.nd._internal._cvimresize.__name__)", "imresize"),
        ("import ferromix as mx; print(mx.optimizer.optimizer.NDArray is mx.nd.NDArray)", "True"),
    ],
)
def test_a_subpackage_is_loaded_when_it_is_first_named(code, printed):
    assert run(code).strip() == printed


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'ferromix' has no attribute 'gluonn'"):
        _ = mx.gluonn
