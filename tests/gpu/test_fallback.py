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


def threshold(bins: int) -> tuple[float, float]:
    """Where numbers of which most are small are cut off, and where the CPU cuts them off."""
    counts, edges = [0, 4, 9, 4, 0] + [0] * bins, range(-5, bins + 1)

    def found(device) -> float:
        arrays = [mx.nd.array(x, ctx=device) for x in (counts, edges)]
        return mx.nd.contrib.calibrate_entropy(*arrays, num_quantized_bins=3)[0].asscalar()

    return found(GPU), found(mx.cpu())


def test_the_warning_names_the_operator_and_the_reason_once():
    with pytest.warns(RuntimeWarning) as told:
        both = [threshold(bins) for bins in (0, 2, 4)]  # each is prepared by itself
    assert all(a == b for a, b in both)
    (one,) = [str(w.message) for w in told]
    assert one == (
        "_contrib_calibrate_entropy runs on the CPU, on copies: ranges are chosen by their entropy "
        "on the CPU. FERROMIX_GPU_FALLBACK_LOG=0 silences this."
    )


@pytest.mark.parametrize("first", [mx.cpu(), GPU])
def test_a_run_on_one_device_is_not_taken_for_one_on_the_other(first, monkeypatch):
    """The operator, shapes and types are the same; its data are about to be written."""
    monkeypatch.setenv("FERROMIX_GPU_FALLBACK_LOG", "0")
    last = GPU if first == mx.cpu() else mx.cpu()
    for device in (first, last, first):
        data = mx.nd.ones((2,) * 18, ctx=device) * 3
        found = mx.nd.sum(data, axis=tuple(range(0, 18, 2)))
        assert found.context == device
        np.testing.assert_array_equal(found.asnumpy().ravel(), np.full(2**9, 3 * 2.0**9))
    assert races() == ""


def test_what_has_no_sentence_of_its_own_has_a_general_one():
    x = mx.nd.ones((2,) * 20, ctx=GPU)
    with pytest.warns(RuntimeWarning, match="sum runs on the CPU, on copies: no kernel for GPUs"):
        assert mx.nd.sum(x, axis=tuple(range(0, 20, 2))).asnumpy().ravel()[0] == 2**10


def test_what_is_silenced_says_nothing(monkeypatch):
    monkeypatch.setenv("FERROMIX_GPU_FALLBACK_LOG", "0")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, wanted = threshold(6)
    assert found == wanted


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
