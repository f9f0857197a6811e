"""What GPUs have no kernel for runs on the CPU with the right values, and says so once, and why."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import ferromix as mx
from ferromix.dispatch.backend import backend_of

from .device import races

GPU = mx.gpu(0)


@pytest.fixture(autouse=True)
def untold(monkeypatch):
    """As if no operator had run yet."""
    monkeypatch.delenv("FERROMIX_GPU_FALLBACK_LOG", raising=False)
    monkeypatch.setattr(backend_of((mx.Context.devstr2type["gpu"], 0)), "_told", set())


def taken(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows by indices that are checked, and what they are."""
    values = np.arange(rows * 2, dtype=np.float32).reshape(rows, 2)
    data, places = mx.nd.array(values, ctx=GPU), mx.nd.array([1, 0], ctx=GPU)
    return mx.nd.take(data, places, mode="raise").asnumpy(), values[[1, 0]]


def test_the_warning_names_the_operator_and_the_reason_once():
    with pytest.warns(RuntimeWarning) as told:
        both = [taken(rows) for rows in (3, 4, 5)]  # each is prepared by itself
    for found, wanted in both:
        np.testing.assert_array_equal(found, wanted)
    (one,) = [str(w.message) for w in told]
    assert one == (
        "take runs on the CPU, on copies: indices that mode='raise' checks are looked at on the "
        "CPU. FERROMIX_GPU_FALLBACK_LOG=0 silences this."
    )


@pytest.mark.parametrize("first", [mx.cpu(), GPU])
def test_a_run_on_one_device_is_not_taken_for_one_on_the_other(first):
    """The operator, shapes and types are the same; its data are about to be written."""
    last = GPU if first == mx.cpu() else mx.cpu()
    values = np.arange(7, dtype=np.float32)
    for device in (first, last, first):
        data, place = mx.nd.array(values, ctx=device), mx.nd.array([3], ctx=device)
        found = mx.nd.take(data * 2, place * 1, mode="raise")
        assert found.context == device
        np.testing.assert_array_equal(found.asnumpy(), [6])
    assert races() == ""


def test_what_has_no_sentence_of_its_own_has_a_general_one():
    x = mx.nd.ones((2,) * 20, ctx=GPU)
    with pytest.warns(RuntimeWarning, match="sum runs on the CPU, on copies: no kernel for GPUs"):
        assert mx.nd.sum(x, axis=tuple(range(0, 20, 2))).asnumpy().ravel()[0] == 2**10


def test_what_is_silenced_says_nothing(monkeypatch):
    monkeypatch.setenv("FERROMIX_GPU_FALLBACK_LOG", "0")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, wanted = taken(6)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("far", [0.0, 1e-3, np.nan, np.inf])
@pytest.mark.parametrize("equal_nan", [False, True])
def test_comparisons_of_whole_tensors_need_no_cpu(far, equal_nan):
    a = np.array([1, np.nan, np.inf, -np.inf], np.float32)
    b = np.array([1 + far, np.nan, np.inf, -np.inf], np.float32)
    given = [mx.nd.array(x, ctx=GPU) for x in (a, b)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = mx.nd.contrib.allclose(*given, rtol=1e-4, atol=0.0, equal_nan=equal_nan)
        assert found.asnumpy() == np.allclose(a, b, 1e-4, 0.0, equal_nan)
