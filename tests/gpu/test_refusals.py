"""What a kernel refuses is raised at the next wait, once, with the operation and its line."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import IndexOutOfBoundsError

from .device import races

GPU = mx.gpu(0)
SENTENCE = "operator take: take: index 7 is out of bounds for axis 0 with size 3"


def taken(index):
    data, places = mx.nd.ones((3, 2), ctx=GPU), mx.nd.array([1, index], ctx=GPU)
    return mx.nd.take(data, places, mode="raise")


def line_of(error) -> str:
    return str(error.value).splitlines()[-1]


def test_the_error_is_that_of_the_cpu_and_names_the_line():
    rows = taken(7)
    with pytest.raises(IndexOutOfBoundsError) as told:
        rows.wait_to_read()
    assert str(told.value).splitlines()[0] == SENTENCE
    assert "in operation 'take', pushed at" in line_of(told)
    assert "test_refusals.py:" in line_of(told)
    with mx.cpu(), pytest.raises(IndexOutOfBoundsError) as there:
        mx.nd.take(mx.nd.ones((3, 2)), mx.nd.array([7]), mode="raise").asnumpy()
    assert str(there.value).splitlines()[0] == SENTENCE
    assert races() == ""


@pytest.mark.parametrize("wait", [mx.nd.waitall, lambda: mx.nd.ones((1,), ctx=GPU).asnumpy()])
def test_it_is_told_once_at_any_wait_after_it(wait):
    taken(7)
    first = []
    for waits in (wait, mx.nd.waitall):
        try:
            waits()
        except IndexOutOfBoundsError as error:
            first.append(str(error).splitlines()[0])
    assert first == [SENTENCE]
    np.testing.assert_array_equal(taken(2).asnumpy(), np.ones((2, 2)))
    assert races() == ""


def test_each_recipe_is_told_by_itself():
    taken(7)
    mx.nd.take(mx.nd.ones((4, 2), ctx=GPU), mx.nd.array([9], ctx=GPU), mode="raise")
    found = set()
    for _ in range(2):
        with pytest.raises(IndexOutOfBoundsError) as told:
            mx.nd.waitall()
        found.add(str(told.value).splitlines()[0])
    mx.nd.waitall()
    assert found == {SENTENCE, SENTENCE.replace("7", "9").replace("3", "4")}


def test_in_a_bound_graph_captured_too():
    """Steps are captured together, and the third run is a graph's."""
    data, places = mx.sym.Variable("data"), mx.sym.Variable("places")
    net = mx.sym.exp(mx.sym.take(data * 2, places, mode="raise"))
    arrays = {"data": mx.nd.ones((3, 2), GPU), "places": mx.nd.array([2.0, 0.0], GPU)}
    executor = net.bind(GPU, arrays, grad_req="null")
    for index in (2, 7, 1, 8, 0):
        arrays["places"][0] = index
        (out,) = executor.forward()
        if index < 3:
            np.testing.assert_allclose(out.asnumpy(), np.exp(np.full((2, 2), 2.0)), rtol=1e-6)
            continue
        with pytest.raises(IndexOutOfBoundsError, match=f"index {index} is out of bounds") as told:
            out.asnumpy()
        assert "in operation 'take" in line_of(told)
    mx.nd.waitall()
    assert races() == ""


def test_with_the_naive_engine_the_call_raises():
    with mx.engine.naive(), pytest.raises(IndexOutOfBoundsError):
        taken(7)
    mx.nd.waitall()


def test_a_copy_from_the_device_has_no_values_then():
    rows = taken(7).as_in_context(mx.cpu())
    with pytest.raises(IndexOutOfBoundsError, match="index 7"):
        rows.asnumpy()


def test_copies_to_the_device_have_nothing_to_do_with_it():
    taken(7)
    later = mx.nd.array([1, 2], ctx=GPU) + 1
    with pytest.raises(IndexOutOfBoundsError, match="index 7"):
        mx.nd.waitall()
    np.testing.assert_array_equal(later.asnumpy(), [2, 3])
    mx.nd.waitall()


def test_a_gradient_is_refused_by_itself():
    data, places = mx.nd.ones((3, 2), ctx=GPU), mx.nd.array([1, -4], ctx=GPU)
    data.attach_grad()
    with mx.autograd.record():
        rows = mx.nd.take(data, places, mode="raise")
    rows.backward()
    for wait in (data.grad.asnumpy, mx.nd.waitall):
        with pytest.raises(IndexOutOfBoundsError, match="index -4"):
            wait()
    mx.nd.waitall()
