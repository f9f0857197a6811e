"""What a user sees who calls operators in a wrong way, message by message, in one table."""

from __future__ import annotations

import operator
import re

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import InvalidArgumentError

nd, autograd = mx.nd, mx.autograd


def ones(*shape, dtype="float32"):
    return nd.ones(shape, dtype=dtype)


def recorded():
    """A variable, and a result of it."""
    x = ones(2, 3)
    x.attach_grad()
    with autograd.record():
        return x, nd.square(x)


def backward_twice():
    y = recorded()[1]
    y.backward()
    y.backward()


def unrecorded_backward():
    nd.square(ones(2)).backward()


def in_place(act):
    """Does something to the variable while autograd records."""
    x, y = recorded()
    with autograd.record():
        act(x, y)


def iadd(x, _):
    x += 1


def assign(x, _):
    x[0] = 1


def out_over_input(_, y):
    nd.exp(y, out=y)


# What is done, and what the message says, piece by piece.
TABLE = {
    "too many arguments": (
        lambda: nd.exp(ones(2), ones(2), "e", 1),
        [
            "exp: takes at most 1 inputs and attributes by position, got 4",
            "signature: exp(data=None)",
        ],
    ),
    "too many inputs for the attributes": (
        lambda: nd.FullyConnected(ones(2, 3), ones(4, 3), ones(4), num_hidden=4, no_bias=True),
        ["FullyConnected: takes 2 inputs (data, weight) with these attributes, got 3"],
    ),
    "too few arguments": (
        lambda: nd.broadcast_add(ones(2)),
        ["broadcast_add: argument 'rhs' is missing; inputs: lhs, rhs"],
    ),
    "a missing attribute": (
        lambda: nd.clip(ones(2), 0),
        ["clip: attribute 'a_max' is required: a float"],
    ),
    "an argument twice": (
        lambda: nd.broadcast_add(ones(2), ones(2), lhs=ones(2)),
        ["broadcast_add: argument 'lhs' is given twice"],
    ),
    "an unknown keyword": (
        lambda: nd.sum(ones(2), keepdim=True),
        ["sum: unknown attribute 'keepdim' (did you mean 'keepdims'?)", "valid", "exclude"],
    ),
    "an unknown keyword with an array": (
        lambda: nd.FullyConnected(ones(2, 3), wieght=ones(4, 3), num_hidden=4),
        ["FullyConnected: unknown input 'wieght'", "did you mean 'weight'?", "data, weight, bias"],
    ),
    "an unknown keyword of a method": (
        lambda: ones(2).sum(axes=0),
        ["sum: unknown attribute 'axes' (did you mean 'axis'?)"],
    ),
    "a number for an array": (
        lambda: nd.exp(3),
        ["exp: argument 'data' must be an array or a symbol, got int 3"],
    ),
    "an array for a symbol": (
        lambda: mx.sym.exp(ones(2)),
        ["exp: argument 'data' must be an array or a symbol, got NDArray", "mx.sym symbols"],
    ),
    "a symbol for an array": (
        lambda: nd.exp(mx.sym.Variable("x")),
        ["exp: argument 'data' must be an array or a symbol, got Symbol", "mx.nd takes arrays"],
    ),
    "an array of NumPy": (
        lambda: nd.broadcast_add(ones(2), np.ones(2)),
        ["broadcast_add: argument 'rhs' must be an array or a symbol, got ndarray"],
    ),
    "a list as operand": (
        lambda: operator.add(ones(2), [1, 2]),
        ["broadcast_add: an operand must be an NDArray or a number, got list", "nd.array"],
    ),
    "a string as operand of a comparison": (
        lambda: ones(2) < "1",
        ["broadcast_lesser: an operand must be an NDArray or a number, got str"],
    ),
    "an attribute of another type": (
        lambda: nd.sum(ones(2), axis="first"),
        ["sum: attribute 'axis' must be an int or a tuple of ints", "got 'first'"],
    ),
    "a dynamic attribute of another type": (
        lambda: nd.sgd_update(ones(2), ones(2), lr=[0.1]),
        ["sgd_update: attribute 'lr' must be a float, got [0.1]"],
    ),
    "an unknown word": (
        lambda: nd.Activation(ones(2), act_type="gelu2"),
        ["Activation: attribute 'act_type' must be one of 'relu'", "got 'gelu2'"],
    ),
    "a number out of range": (
        lambda: nd.Dropout(ones(2), p=1.5),
        ["Dropout: attribute 'p' must be a float >= 0 and <= 1, got 1.5"],
    ),
    "an axis out of range": (
        lambda: nd.sum(ones(2, 3), axis=2),
        ["sum: axis 2 does not exist in a tensor of 2 dimensions; allowed: -2 to 1"],
    ),
    "shapes that do not broadcast": (
        lambda: ones(2, 3, 4) + ones(5, 4),
        [
            "broadcast_add: argument 'rhs' of shape (5, 4)",
            "'lhs' of shape (2, 3, 4)",
            "axis -2 has 5 and 3",
            "extents must be equal or 1",
        ],
    ),
    "shapes that differ": (
        lambda: nd.elemwise_add(ones(2, 3), ones(2, 4)),
        ["elemwise_add", "argument 'rhs' has shape (2, 4), expected (2, 3)"],
    ),
    "an output of another shape": (
        lambda: nd.exp(ones(2, 3), out=ones(3, 2)),
        ["operator exp: output 0 must be float32 [2, 3], got float32 [3, 2]"],
    ),
    "a type that the operator lacks": (
        lambda: nd.FullyConnected(
            ones(2, 3, dtype="int32"), ones(4, 3, dtype="int32"), num_hidden=4, no_bias=True
        ),
        [
            "FullyConnected: argument 'data' of element type int32 is not supported",
            "supported: float32, float64",
        ],
    ),
    "types that differ": (
        lambda: ones(2) + ones(2, dtype="float64"),
        ["broadcast_add: argument 'rhs' is float64, but 'lhs' is float32; cast one of them"],
    ),
    "an unknown type": (
        lambda: nd.zeros((2,), dtype="complex64"),
        ["unknown dtype 'complex64'; known: float32, float64"],
    ),
    "many elements as a truth value": (
        lambda: bool(ones(2, 3)),
        ["the truth value of an array of shape (2, 3) is ambiguous", "sum()"],
    ),
    "a comparison of many elements as a condition": (
        lambda: 1 if ones(2) == ones(2) else 0,
        ["the truth value of an array of shape (2,) is ambiguous"],
    ),
    "many elements as a number": (
        lambda: ones(2).asscalar(),
        ["asscalar() needs exactly one element, the shape is (2,)"],
    ),
    "backward twice": (
        backward_twice,
        [
            "backward: the graph of operator square, recorded at",
            "test_misuse.py",
            "was freed by the backward pass at",
            "retain_graph=True",
        ],
    ),
    "backward of what was not recorded": (
        unrecorded_backward,
        ["backward: head 0 of shape [2] is not part of a recorded graph", "autograd.record()"],
    ),
    "+= on a recorded array": (
        lambda: in_place(iadd),
        [
            "operator _plus_scalar: would overwrite an array of shape [2, 3]",
            "part of the graph",
            "a = a + b for a += b",
            "autograd.pause()",
        ],
    ),
    "assignment to a recorded array": (
        lambda: in_place(assign),
        ["operator _copyto: would overwrite an array of shape [2, 3] that is part of the graph"],
    ),
    "out= over a recorded array": (
        lambda: in_place(out_over_input),
        ["operator exp: would overwrite an array of shape [2, 3] that is part of the graph"],
    ),
}


@pytest.mark.parametrize("what", TABLE)
def test_misuse(what):
    act, pieces = TABLE[what]
    for _ in range(2):  # also where the first time made something that is remembered
        with pytest.raises(InvalidArgumentError) as raised:
            act()
        message = str(raised.value)
        assert re.search(".*".join(map(re.escape, pieces)), message, re.DOTALL), message
    # Work goes on.
    np.testing.assert_array_equal((ones(2) + 1).asnumpy(), [2, 2])
    mx.nd.waitall()
