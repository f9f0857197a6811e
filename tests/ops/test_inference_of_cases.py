"""What cards infer, against what the cases say: with everything known, with a part of it unknown,
from the outputs, and from shapes and types that do not fit.

Whether something unknown must be found is decided by trial. A further argument, such as a weight,
must be, where the card refuses every other shape of it; any argument, where a card goes backwards
and every other shape would give other outputs; an extent of any argument, where the card refuses
every other one; an extent of an output, where nothing depends on it.
"""

import itertools

import numpy as np
import pytest

from ferromix import dispatch
from ferromix.error import InvalidArgumentError
from ferromix.ops.card import OperatorProperty, find
from ferromix.ops.composed import Composed
from ferromix.ops.inference import infer_shapes_of

from .by_operator import by_operator
from .run import forward, to_array, to_arrays
from .table import CASES, REFUSED

PARTLY = {"batch_dot", "Concat", "Convolution", "Crop", "diag", "FullyConnected", "Pooling"}
PARTLY |= {"repeat", "Reshape", "slice", "slice_like", "squeeze", "where"}
PARTLY |= {f"_contrib_quantized_{n}" for n in ("concat", "conv", "fully_connected", "pooling")}
PARTLY |= {"_rnn_param_concat", "scatter_nd", "_backward_gather_nd", "_scatter_set_nd"}
PARTLY |= {"_random_pdf_dirichlet"}
PARTLY |= {"im2col", "_image_resize", "_contrib_BilinearResize2D"}
PARTLY |= {"_contrib_DeformableConvolution", "_contrib_ModulatedDeformableConvolution"}
"""Cards that infer less than what follows; what they do infer is in test_inference.py."""
ONE_WAY = {"BatchNorm", "LeakyReLU", "SoftmaxOutput", "_slice_assign", "batch_take"}
ONE_WAY |= {"broadcast_like", "reshape_like"}
ONE_WAY |= {"_contrib_BatchNormWithReLU", "_contrib_SyncBatchNorm"}
"""Cards that do not ask the other arguments for an extent of the data, as graphs know the data."""
WITH_INPUTS = [c for c in CASES if c.shapes]
TYPES = ("float32", "float64", "int32", "bool")


def arguments(case):
    return list(case.shapes[: len(case.card.list_arguments())])


def fits(partial, whole):
    """Whether what is known of a shape is so."""
    if partial is None:
        return True
    return len(partial) == len(whole) and all(
        n in (-1, m) for n, m in zip(partial, whole, strict=True)
    )


def infer(card, args, outs=None):
    """Shapes of arguments and outputs from what is known of both, as a graph infers them."""
    names = [("in", n) for n in card.list_arguments()]
    states = [("in", n) for n in card.list_auxiliary_states()]
    ends = [("out", n) for n in card.list_outputs()]
    table = dict.fromkeys((*names, *states, *ends))
    table.update(zip(names, args, strict=True))
    table.update(zip(ends, outs or [None] * len(ends), strict=True))
    before = None
    while before != table:
        before = dict(table)
        infer_shapes_of(card, [*names, *states], ends, table)
    return [table[n] for n in names], [table[n] for n in ends], [table[n] for n in states]


def outputs(card, args):
    """The shapes of the outputs, or None where the arguments are refused."""
    try:
        found = card.infer_shape(args)
    except InvalidArgumentError:
        return None
    same = all(fits(a, b) and None not in (a, b) for a, b in zip(found[0], args, strict=True))
    return list(found[1]) if same else None


def other_shapes(shape):
    """Shapes like this one: other extents, a dimension more or less, other orders."""
    for axis, extent in enumerate(shape):
        for n in {0, 1, extent + 1, 2 * extent, 3 * extent + 1} - {extent}:
            yield (*shape[:axis], n, *shape[axis + 1 :])
    yield from {(1, *shape), (*shape, 1), (*shape, 2), shape[:-1], shape[1:], ()} - {shape}
    yield from set(itertools.islice(itertools.permutations(shape), 24)) - {shape}
    merged = [(*shape[:i], shape[i] * shape[i + 1], *shape[i + 2 :]) for i in range(len(shape) - 1)]
    yield from {(int(np.prod(shape)),), shape[::-1], *merged} - {shape}


def known(card, args, place, outs=None):
    """What must follow of an unknown argument: its rank, and which of its extents."""
    whole = args[place]
    rank, extents = True, [True] * len(whole)
    for other in other_shapes(whole):
        found = outputs(card, [*args[:place], other, *args[place + 1 :]])
        if found is None or (outs is not None and found != outs):
            continue
        if len(other) != len(whole):
            rank = False
        else:
            extents = [e and a == b for e, a, b in zip(extents, other, whole, strict=True)]
    return rank, extents


def is_only_extent(card, args, place, axis):
    """Whether the card refuses every other extent of an axis of an argument."""
    extent, shapes = args[place][axis], (*args, *outputs(card, args))
    if card.name in ONE_WAY or 0 in args[place]:
        return False
    others = {n + more for shape in shapes for n in shape for more in (-1, 0, 1)}
    for n in {*others, 0, 1, 2 * extent, 3 * extent + 1} - {extent, -1}:
        shape = (*args[place][:axis], n, *args[place][axis + 1 :])
        if outputs(card, [*args[:place], shape, *args[place + 1 :]]) is not None:
            return False
    return True


def check(found, whole, rank, extents, what):
    """`found` contradicts nothing, and has what it must have."""
    assert fits(found, whole), f"{what}: {found} inferred, {whole} is right"
    if rank and what.split()[0] not in PARTLY:
        assert found is not None, f"{what}: not inferred, but follows: {whole}"
        lacking = [n < 0 and must for n, must in zip(found, extents, strict=True)]
        assert not any(lacking), f"{what}: {found} inferred, but of {whole} more follows"


@by_operator(CASES)
def test_everything_known(case):
    dtype = case.types()[0]
    arrays = to_arrays(case, case.inputs(dtype), dtype)
    args = arguments(case)
    found_args, found_outs, found_aux = case.card.infer_shape(args)
    assert list(found_args) == args
    assert list(found_aux) == list(case.shapes[len(args) :])
    made = forward(case, arrays)
    assert list(found_outs) == [o.shape for o in made]
    types = case.input_types(dtype)
    found_args, found_outs, found_aux = case.card.infer_type(types[: len(args)])
    assert [*found_args, *found_aux] == types
    assert list(found_outs) == [o.dtype for o in made]


def is_choice(case, place, found):
    """Whether a card made up its mind for another shape that it takes, as of some labels."""
    args = arguments(case)
    if found is None or fits(found, args[place]):
        return False
    chosen = infer(case.card, [*args[:place], None, *args[place + 1 :]])[0][place]
    accepted = outputs(case.card, [*args[:place], chosen, *args[place + 1 :]]) is not None
    return fits(found, chosen) and accepted


def goes_back(card):
    """Whether a card has a rule of its own from outputs to arguments."""
    rule = type(card).infer_shape_backward
    return rule not in (OperatorProperty.infer_shape_backward, Composed.infer_shape_backward)


@by_operator(WITH_INPUTS)
def test_one_argument_unknown(case):
    card, args = case.card, arguments(case)
    outs = outputs(card, args)
    for place, name in enumerate(card.list_arguments()):
        given, what = [*args[:place], None, *args[place + 1 :]], f"{card.name} {name}"
        must = known(card, args, place) if place else (False, [])
        found = infer(card, given)
        if is_choice(case, place, found[0][place]):
            continue
        check(found[0][place], args[place], *must, what)
        assert all(map(fits, found[1], outs)), what
        must = known(card, args, place, outs) if goes_back(card) else must
        check(infer(card, given, outs)[0][place], args[place], *must, f"{what} from outputs")


@by_operator(WITH_INPUTS)
def test_one_extent_unknown(case):
    card, args = case.card, arguments(case)
    outs = outputs(card, args)
    for place, name in enumerate(card.list_arguments()):
        for axis in range(len(args[place])):
            open_one = (*args[place][:axis], -1, *args[place][axis + 1 :])
            what = f"{card.name} {name} {open_one}"
            found = infer(card, [*args[:place], open_one, *args[place + 1 :]])
            if is_choice(case, place, found[0][place]):
                continue
            only = is_only_extent(card, args, place, axis)
            must = [n != axis or only for n in range(len(open_one))]
            check(found[0][place], args[place], True, must, what)
            assert all(map(fits, found[1], outs)), f"{what}: outputs {found[1]}, {outs} is right"
            assert all(map(fits, found[2], case.shapes[len(args) :])), what
            check_independent(case, place, axis, found[1], what)


def check_independent(case, place, axis, found, what):
    """Extents of the outputs that do not depend on the unknown one are there."""
    card, args = case.card, arguments(case)
    extent = args[place][axis]
    tried = [outputs(card, args)]
    for n in {1, extent - 1, extent + 1, 2 * extent + 4} - {extent, 0, -1}:
        shape = (*args[place][:axis], n, *args[place][axis + 1 :])
        tried.append(outputs(card, [*args[:place], shape, *args[place + 1 :]]))
    if None in tried or 0 in args[place]:
        return
    for k, partial in enumerate(found):
        shapes = [t[k] for t in tried]
        if len({len(s) for s in shapes}) > 1:
            continue
        same = [len(set(column)) == 1 for column in zip(*shapes, strict=True)]
        check(partial, shapes[0], True, same, f"{what} output {k}")


@by_operator(WITH_INPUTS)
def test_an_extent_unknown_everywhere(case):
    """The same extent of every argument that has it, such as that of a batch: no other tells it."""
    card, args = case.card, arguments(case)
    for axis, extent in enumerate(args[0]):
        alike = [s[axis : axis + 1] == (extent,) for s in args]

        def put(n, axis=axis, alike=alike):
            rows = zip(alike, args, strict=True)
            return [(*s[:axis], n, *s[axis + 1 :]) if own else s for own, s in rows]

        tried = [outputs(card, put(n)) for n in (extent, 1, extent + 1, 2 * extent + 4)]
        if sum(alike) < 2 or extent == 0 or None in tried:
            continue
        found, what = infer(card, put(-1)), f"{card.name} axis {axis} of all"
        assert all(map(fits, found[0], args)), f"{what}: {found[0]} inferred, {args} is right"
        for k, partial in enumerate(found[1]):
            shapes = [t[k] for t in tried]
            if len({len(s) for s in shapes}) == 1:
                same = [len(set(column)) == 1 for column in zip(*shapes, strict=True)]
                check(partial, shapes[0], True, same, f"{what} output {k}")


@by_operator(WITH_INPUTS)
def test_outputs_only(case):
    card, args = case.card, arguments(case)
    outs = outputs(card, args)
    found = infer(card, [None] * len(args), outs)[0]
    for place in range(len(args)):
        assert fits(found[place], args[place]) or is_choice(case, place, found[place])
    for k, out in enumerate(outs):
        for axis in range(len(out)):
            partial = [*outs[:k], (*out[:axis], -1, *out[axis + 1 :]), *outs[k + 1 :]]
            found = infer(card, [None] * len(args), partial)[0]
            for place in range(len(args)):
                assert fits(found[place], args[place]) or is_choice(case, place, found[place])


@by_operator(WITH_INPUTS)
def test_what_a_card_takes_its_kernel_takes(case):
    """Other ranks, extents and types are refused by the card, or run."""
    dtype, args = case.types()[0], arguments(case)
    types = case.input_types(dtype)
    for place, name in enumerate(case.card.list_arguments()):
        shapes = {(1, *args[place]), (*args[place], 2), args[place][1:], args[place][:-1], ()}
        shapes |= {(*args[place][:-1], n) for n in (0, 3) if args[place]}
        for shape in shapes - {args[place]}:
            run_or_refused(case, [*case.shapes[:place], shape, *case.shapes[place + 1 :]], types)
        own = case.card.argument_dtypes.get(name, ())
        for other in {*TYPES, *own}:
            run_or_refused(case, case.shapes, [*types[:place], other, *types[place + 1 :]])


def harmless(card, shape):
    """Zeros, which are never out of range as indices; for factors of matrices identities, and for
    probabilities and lengths ones, which must not be 0."""
    if card.name in ("_sample_multinomial", "SequenceLast"):
        return np.ones(shape)
    if card.name.startswith("_linalg_") and len(shape) > 1:
        return np.broadcast_to(np.eye(*shape[-2:]), shape)
    return np.zeros(shape)


def run_or_refused(case, shapes, types):
    descs = tuple(zip(map(tuple, shapes), types, strict=True))
    try:
        wanted = dispatch.infer(case.card, descs)
    except InvalidArgumentError:
        return
    arrays = [to_array(harmless(case.card, shape), dtype) for shape, dtype in descs]
    if 0 in (n for shape in shapes for n in shape):
        return  # of no elements some values are undefined
    assert [(o.shape, o.dtype) for o in forward(case, arrays)] == list(wanted)


@pytest.mark.parametrize("row", REFUSED, ids=lambda r: r.id)
def test_refused(row):
    def call():
        card = find(row.op)(**row.attrs)
        types = row.dtypes or ("float32",) * len(row.shapes or ())
        dispatch.infer(card, tuple(zip(row.shapes or (), types, strict=True)))

    with pytest.raises(InvalidArgumentError) as caught:
        call()
    for word in (row.op, *row.words):
        assert word in str(caught.value)
