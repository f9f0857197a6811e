"""Loops and branches of arrays."""

import pytest

import ferromix as mx
from ferromix.error import DTypeError

contrib = mx.nd.contrib


def test_foreach_nests_as_its_body_does():
    x, y, h = mx.nd.array([[1, 2], [3, 4]]), mx.nd.array([5, 6, 7]), mx.nd.zeros((2,))

    def body(rows, states):
        a, (b,) = rows
        return [a * b, [a]], [states[0] + a]

    (product, (rows,)), (total,) = contrib.foreach(body, [x, [y]], [h])
    assert product.asnumpy().tolist() == [[5, 10], [18, 24]]
    assert rows.asnumpy().tolist() == [[1, 2], [3, 4]]
    assert total.asnumpy().tolist() == [4, 6]
    assert contrib.foreach(lambda row, h: ([], h), x, h)[0] == []


def test_loops_are_recorded():
    x, w = mx.nd.array([[1], [2], [3]]), mx.nd.array([2])
    for array in (x, w):
        array.attach_grad()
    with mx.autograd.record():
        outputs, last = contrib.foreach(
            lambda row, h: (row * w + h, row * w + h), x, mx.nd.zeros(1)
        )
        total = outputs.sum() + last.sum()
    total.backward()
    assert x.grad.asnumpy().ravel().tolist() == [8, 6, 4]
    assert w.grad.item() == 1 * 4 + 2 * 3 + 3 * 2


def test_while_loop_pads_its_outputs():
    n = mx.nd.array([1])
    n.attach_grad()
    with mx.autograd.record():
        outputs, (last,) = contrib.while_loop(
            lambda n: n < 20, lambda n: (n * 3, [n * 3]), [n], max_iterations=5
        )
        outputs.sum().backward()
    assert outputs.asnumpy().ravel().tolist() == [3, 9, 27, 0, 0]
    assert last.item() == 27
    assert n.grad.item() == 39
    limited = contrib.while_loop(lambda n: True, lambda n: (None, n + 1), n, max_iterations=2)
    assert (limited[0], limited[1].item()) == ([], 3)
    assert contrib.while_loop(lambda n: n < 0, lambda n: (n, n), n, max_iterations=2)[0] == []


def test_cond_calls_one():
    a = mx.nd.array([3])
    assert contrib.cond(a > 2, lambda: a * 2, lambda: None).item() == 6
    assert contrib.cond(mx.nd.zeros(()), lambda: 1 / 0, lambda: "other") == "other"


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda n: contrib.foreach(lambda x, h: (x, h), 3, n), DTypeError, "foreach: data"),
        (lambda n: contrib.foreach(lambda x, h: (x, 3), n, n), DTypeError, "foreach: states"),
        (
            lambda n: contrib.foreach(lambda x, h: (x, h), [n, mx.nd.zeros((0, 1))], n),
            ValueError,
            "row",
        ),
        (lambda n: contrib.while_loop(lambda n: n, lambda n: (n, n), n), ValueError, "max_iter"),
        (lambda n: contrib.while_loop(lambda: 1, lambda: 1, [], 3), ValueError, "at least one"),
        (
            lambda n: contrib.while_loop(lambda n: n, lambda n: (n, [n, n]), n, 3),
            ValueError,
            "2 loop variables",
        ),
        (lambda n: contrib.cond(mx.nd.ones((2,)), lambda: n, lambda: n), ValueError, "one element"),
    ],
)
def test_refused(call, error, words):
    with pytest.raises(error, match=words):
        call(mx.nd.array([1, 2]) if "foreach" in words else mx.nd.array([1]))
