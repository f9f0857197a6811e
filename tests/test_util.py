"""Scopes in which shapes are NumPy's."""

from __future__ import annotations

import threading

import pytest

import ferromix as mx
from ferromix.util import getenv, set_module, setenv


@mx.use_np_shape
def inside() -> bool:
    """Says what is set."""
    return mx.is_np_shape()


@mx.use_np_shape
class Inside:
    """Has each kind of member."""

    constant = 3

    def __init__(self) -> None:
        self.made = mx.is_np_shape()

    @property
    def read(self) -> bool:
        return mx.is_np_shape()

    @staticmethod
    def static() -> bool:
        return mx.is_np_shape()

    @classmethod
    def of_class(cls) -> bool:
        return cls is Inside and mx.is_np_shape()


def test_scopes_nest_and_end():
    assert not mx.is_np_shape()
    with mx.np_shape():
        assert mx.is_np_shape()
        with mx.np_shape(False):
            assert not mx.is_np_shape()
        with mx.np_shape(None):
            assert mx.is_np_shape()
        other = []
        thread = threading.Thread(target=lambda: other.append(mx.is_np_shape()))
        thread.start()
        thread.join()
        assert other == [False]
    with pytest.raises(KeyError), mx.np_shape():
        raise KeyError
    assert not mx.is_np_shape()
    assert mx.set_np_shape(True) is False
    assert mx.set_np_shape(False) is True


def test_functions_and_classes():
    assert inside()
    made = Inside()
    assert made.made
    assert made.read
    assert Inside.static()
    assert Inside.of_class()
    assert Inside.constant == 3
    assert not mx.is_np_shape()
    with pytest.raises(TypeError, match="functions and classes"):
        mx.use_np_shape(3)


def test_an_index_of_one_element():
    a = mx.nd.array([[1, 2], [3, 4]])
    assert a[0, 1].shape == (1,)
    with mx.np_shape():
        assert a[0, 1].shape == ()
        a[1, 1] = 9
        assert float(a[1, 1]) == 9


def test_symbols():
    x = mx.sym.var("x")
    assert x.infer_shape_partial()[0] == [()]
    assert mx.sym.var("x", shape=(0, 2)).infer_shape_partial()[0] == [(0, 2)]
    assert mx.sym.sin(x).infer_shape_partial(x=(0, 2))[1] == [(0, 2)]
    with mx.np_shape():
        assert x.infer_shape_partial() == ([None], [None], [])
        assert mx.sym.var("x", shape=(-1, 2)).infer_shape_partial()[0] == [(-1, 2)]
        assert mx.sym.var("x", shape=(0, 2)).infer_shape() == ([(0, 2)], [(0, 2)], [])
        assert mx.sym.sin(x).infer_shape(x=()) == ([()], [()], [])


def test_arrays_have_any_shape_in_both():
    for active in (False, True):
        with mx.np_shape(active):
            assert mx.nd.zeros(()).shape == ()
            assert mx.nd.ones((2, 0)).size == 0
            assert mx.nd.array(3.0).asscalar() == 3


def test_helpers(monkeypatch):
    monkeypatch.setenv("FERROMIX_SOME_NAME", "1")
    assert getenv("FERROMIX_SOME_NAME") == "1"
    setenv("FERROMIX_SOME_NAME", None)
    assert getenv("FERROMIX_SOME_NAME") is None
    setenv("FERROMIX_SOME_NAME", "2")
    assert getenv("FERROMIX_SOME_NAME") == "2"
    assert mx.util.get_gpu_count() == mx.num_gpus()
    assert not mx.is_np_array()

    @set_module("elsewhere")
    def function() -> None:
        """Nothing."""

    assert function.__module__ == "elsewhere"


def test_what_gpus_say_of_themselves():
    assert mx.util.get_cuda_compute_capability(mx.cpu()) is None
    with pytest.raises(mx.MXNetError, match="must be a Context"):
        mx.util.get_cuda_compute_capability(0)
    if mx.num_gpus():
        assert mx.util.get_cuda_compute_capability(mx.gpu(0)) >= 50
        free, total = mx.util.get_gpu_memory(0)
        assert 0 < free <= total
    else:
        with pytest.raises(mx.MXNetError):
            mx.util.get_gpu_memory(0)
