"""Lengths and labels that only a run can know to be wrong, and losses of what does not fit."""

import numpy as np
import pytest

import ferromix as mx

DATA = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize(
    ("op", "lengths", "words"),
    [
        ("SequenceLast", [0, 1], "length is 0, expected 1 to 3"),
        ("SequenceLast", [1, 4], "length is 4, expected 1 to 3"),
        ("SequenceReverse", [-1, 3], "length is -1, expected 0 to 3"),
    ],
)
def test_lengths_that_the_data_lack_raise(op, lengths, words):
    inputs = mx.nd.array(DATA), mx.nd.array(lengths)
    with pytest.raises(mx.error.IndexOutOfBoundsError, match=words):
        getattr(mx.nd, op)(*inputs, use_sequence_length=True).asnumpy()


def test_a_mask_takes_any_length():
    lengths = mx.nd.array([-2, 9], dtype="int32")
    found = mx.nd.SequenceMask(mx.nd.array(DATA), lengths, use_sequence_length=True)
    np.testing.assert_array_equal(found.asnumpy(), DATA * [0, 1])


@pytest.mark.parametrize(
    ("labels", "attrs", "lengths", "words"),
    [
        ([[1, 4]], {}, [], "label 4 of"),
        ([[1, -1]], {}, [], "label -1 of"),
        ([[1, 1]], {"use_label_lengths": True}, [[3]], "label_lengths has a length of 3"),
        ([[1, 1]], {"use_data_lengths": True}, [[9]], "data_lengths has a length of 9"),
    ],
)
def test_labels_that_are_no_class_raise(labels, attrs, lengths, words):
    inputs = [mx.nd.zeros((5, 1, 4)), *map(mx.nd.array, (labels, *lengths))]
    with pytest.raises(mx.error.IndexOutOfBoundsError, match=words):
        mx.nd.CTCLoss(*inputs, **attrs).asnumpy()


def test_labels_that_do_not_fit_cost_nothing_and_none_cost_blanks():
    data = mx.nd.zeros((3, 2, 2))
    data.attach_grad()
    with mx.autograd.record():
        loss = mx.nd.CTCLoss(data, mx.nd.array([[1, 1, 1], [0, 0, 0]]))
    loss.backward()
    np.testing.assert_allclose(loss.asnumpy(), [0, 3 * np.log(2)], 1e-6)
    np.testing.assert_allclose(data.grad.asnumpy()[:, 0], 0)
    np.testing.assert_allclose(data.grad.asnumpy()[:, 1], [[-0.5, 0.5]] * 3)
    with pytest.raises(mx.MXNetError):
        mx.nd.CTCLoss(data, mx.nd.array([[1, 1, 1, 1]] * 2))


def test_operators_are_in_the_modules_where_mxnet_has_them():
    out = mx.nd.zeros((2, 2))
    assert mx.nd._internal._set_value(2.5, out=out) is out
    mx.nd._internal._copyto(mx.nd.op.abs(-out), out=out)
    np.testing.assert_array_equal(out.asnumpy(), 2.5)
    hot = mx.nd._internal._onehot_encode(mx.nd.array([1, 0]), out)
    np.testing.assert_array_equal(hot.asnumpy(), [[0, 1], [1, 0]])
    assert mx.sym.op.abs is not None
    stored = mx.nd.array([[0, 0], [1, 2]]).tostype("row_sparse")
    found = mx.nd._internal._scatter_plus_scalar(stored, scalar=2)
    assert found.stype == "row_sparse"
    np.testing.assert_array_equal(found.asnumpy(), [[0, 0], [3, 4]])
