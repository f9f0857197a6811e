"""Programs of backward passes: made once for each structure, and sound whatever shares memory."""

import dataclasses

import numpy as np
import pytest

import ferromix as mx
from ferromix.dispatch.python_operator import PythonOperator
from ferromix.ndarray import protocol

ag = mx.autograd


def variable(*values, request="write"):
    x = mx.nd.array(values)
    x.attach_grad(request)
    return x


@pytest.fixture
def made(monkeypatch):
    """The programs that Python made."""
    programs = []

    def backward_program(*args):
        programs.append(original(*args))
        return programs[-1]

    original = protocol.backward_program
    monkeypatch.setattr(protocol, "backward_program", backward_program)
    return programs


def product(x, count):
    """x to the power of count + 1, by a way that only this test takes."""
    with ag.record():
        y = x
        for _ in range(count):
            y = y * x + mx.nd.zeros_like(x) * 17
    return y


def test_a_program_is_made_once_for_each_structure(made):
    for values in [(1.0, 2.0), (3.0,), (4.0, 5.0, 6.0)]:
        for _ in range(3):
            x = variable(*values)
            product(x, 3).backward()
            assert x.grad.asnumpy().tolist() == [4 * v**3 for v in values]
    assert len(made) == 1
    x = variable(2.0)
    product(x, 4).backward()
    assert (len(made), x.grad.item()) == (2, 80.0)


def test_requests_and_orders_have_programs_of_their_own(made):
    x = variable(3.0, request="add")
    for expected in (6 * 3.0**5, 12 * 3.0**5):
        product(x, 5).backward()
        assert x.grad.item() == expected
    assert len(made) == 1
    x = variable(3.0)
    product(x, 5).backward()
    assert len(made) == 2
    with ag.record():
        (first,) = ag.grad(product(x, 5), x, create_graph=True)
    assert (first.item(), x.grad.item()) == (6 * 3.0**5, 6 * 3.0**5)
    assert len(made) == 3
    first.backward()
    assert x.grad.item() == 30 * 3.0**4
    assert len(made) == 4


def test_what_belongs_to_one_run_is_not_kept(made):
    class Double(ag.Function):
        def forward(self, x):
            return 2 * x

        def backward(self, dy):
            return 2 * dy

    for count in (1, 2):
        x = variable(1.0, 2.0)
        with ag.record():
            y = Double()(x)
        y.backward()
        assert x.grad.asnumpy().tolist() == [2.0, 2.0]
        assert len(made) == count


def test_as_many_lengths_as_a_loop_has(made):
    for _ in range(2):
        for count in range(10, 110):
            x = variable(1.0)
            product(x, count).backward()
            assert x.grad.item() == count + 1
    assert len(made) == 100


def test_results_over_values_that_die_leave_values_of_others_alone():
    rng = np.random.default_rng(5)
    data = rng.uniform(0.5, 1.5, (3, 4))
    x, seed = mx.nd.array(data, dtype="float64"), mx.nd.array(data * 2, dtype="float64")
    x.attach_grad()
    with ag.record():
        a = mx.nd.exp(x)
        b = mx.nd.log(a) * a
        c = mx.nd.sqrt(b) + a
        y = mx.nd.tanh(c)
    before = [v.asnumpy() for v in (x, a, b, c, y, seed)]
    y.backward(seed, retain_graph=True)
    once = x.grad.asnumpy()
    y.backward(seed)
    assert [v.asnumpy().tolist() for v in (x, a, b, c, y, seed)] == [v.tolist() for v in before]
    np.testing.assert_array_equal(x.grad.asnumpy(), once)
    e = np.exp(data)
    slope = e + (e + data * e) / (2 * np.sqrt(data * e))
    expected = 2 * data * (1 - np.tanh(np.sqrt(data * e) + e) ** 2) * slope
    np.testing.assert_allclose(once, expected, rtol=1e-9)


def test_the_gradient_array_may_be_what_the_pass_reads():
    x = variable(2.0, 3.0)
    x.grad[:] = 10
    with ag.record():
        y = x * x.grad
    y.backward(x.grad)
    assert x.grad.asnumpy().tolist() == [100.0, 100.0]


@pytest.mark.parametrize(
    "change",
    [
        {"slots": 0},
        {"gradients": []},
        {"gradients": [10**6]},
        {"direct": []},
        {"seeds": [(0, 9)]},
        {"loads": [(0, [])]},
        {"loads": [(0, [(0, True, 0)])]},
        {"loads": [(0, [(99, False, 0)])]},
        {"loads": [], "seeds": []},
    ],
)
def test_a_program_that_does_not_fit_is_an_internal_error(monkeypatch, change):
    original = protocol.backward_program

    def broken(*args):
        return dataclasses.replace(original(*args), reusable=False, **change)

    monkeypatch.setattr(protocol, "backward_program", broken)
    x = variable(1.0, 2.0)
    with ag.record():
        y = mx.nd.sin(x) * mx.nd.cos(x) * len(str(change))
    with pytest.raises(mx.error.InternalError):
        y.backward()
    assert not ag.is_recording()
    assert not ag.is_training()


def test_values_that_may_have_views_are_not_written_over(made):
    x, w = mx.nd.array([1.0, 2.0, 3.0], dtype="float64"), mx.nd.ones((3,), dtype="float64")
    x.attach_grad()
    w.attach_grad()
    with ag.record():
        y = (mx.nd.square(x[0:2]) * w[0:2]).sum() + (mx.nd.sin(x) * w * w).sum()
        (first,) = ag.grad(y, x, create_graph=True)
        loss = mx.nd.exp(first).sum()
    loss.backward()
    for program in made:
        steps = program.steps
        viewed = {s for step in steps if isinstance(step.work, PythonOperator) for s in step.inputs}
        assert not any(step.inputs[i] in viewed for step in steps for i in step.dying)
    v, ones = np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.0, 0.0])
    slope = np.exp(2 * v * ones + np.cos(v))
    np.testing.assert_allclose(x.grad.asnumpy(), slope * (2 * ones - np.sin(v)), rtol=1e-12)
    np.testing.assert_allclose(w.grad.asnumpy(), slope * (2 * v * ones + 2 * np.cos(v)), rtol=1e-12)
