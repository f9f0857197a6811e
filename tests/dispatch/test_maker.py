"""What makes the kernels of a card in the core: one for each combination of shapes, and no more."""

from __future__ import annotations

import pytest

from ferromix import dispatch
from ferromix.error import InvalidArgumentError
from ferromix.ops.card import make

CONVOLUTION = {"kernel": (3, 3), "num_filter": 2, "no_bias": True}


def arrays(extent, channels=3):
    given = [((1, channels, extent, extent), "float32"), ((2, channels, 3, 3), "float32")]
    return given, [((1, 2, extent - 2, extent - 2), "float32")]


def test_arrays_that_are_alike_have_one_kernel():
    maker = dispatch.maker(make("Convolution", CONVOLUTION), True)
    first = maker.prepare(*arrays(8))
    assert maker.prepare(*arrays(8)) is first
    assert maker.prepare(*arrays(9)) is not first
    assert dispatch.maker(make("Convolution", CONVOLUTION), True) is maker


def test_calls_have_the_same_kernel():
    card = make("Convolution", CONVOLUTION)
    given, made = arrays(8)
    maker = dispatch.maker(card, True)
    assert dispatch.prepare(card, tuple(given), tuple(made), True) is maker.prepare(given, made)


def test_kernels_of_many_shapes_are_given_up():
    maker = dispatch.maker(make("Convolution", {**CONVOLUTION, "workspace": 77}), True)
    first = maker.prepare(*arrays(8))
    for extent in range(9, 400):
        maker.prepare(*arrays(extent))
    assert maker.prepare(*arrays(8)) is not first


def test_modes_have_kernels_of_their_own():
    card = make("Dropout", {"p": 0.5})
    assert dispatch.maker(card, True) is not dispatch.maker(card, False)


def test_shapes_that_do_not_fit_are_refused():
    maker = dispatch.maker(make("Convolution", CONVOLUTION), True)
    given, _ = arrays(8)
    with pytest.raises(InvalidArgumentError, match="operator Convolution"):
        maker.prepare(given, [((1, 2, 7, 7), "float32")])
