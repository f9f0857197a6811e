"""Every operator that ONNX can say gives in ONNX Runtime what its oracle gives."""

from __future__ import annotations

import re

import pytest

import ferromix as mx
from ferromix.error import InvalidArgumentError
from ferromix.onnx.exporting import TABLE
from ferromix.onnx.exporting.export import Exporter
from ferromix.onnx.importing.graph import read_model

from .by_operator import by_operator
from .table import CASES
from .tolerance import assert_close

onnxruntime = pytest.importorskip("onnxruntime", reason="models are run by onnxruntime")

# What ONNX cannot say, by operator: words of the error.
REFUSED = {
    "Dropout": "mode 'always'",
    "GroupNorm": "output 'groupnorm",
    "LayerNorm": "output 'layernorm",
    "LeakyReLU": "_mask'",
    "RNN": "projection_size=|lstm_state_clip_min=",
    "_contrib_ROIAlign": "position_sensitive",
    "_contrib_div_sqrt_dim": "is no uint8|has no axis",
    "_linalg_gemm2": "the last two axes",
    "_sample_multinomial": "get_prob",
}
# What ONNX Runtime cannot do although ONNX can, by a part of the case's name.
BEYOND_RUNTIME = {
    "Deconvolution-(1,2,3,1)": "an extent of nothing",
    "LRN-(2,3,": "four axes alone",
    "LRN-(2,7)": "four axes alone",
    "LRN-(3,9,4,5)-nsize=4": "odd windows alone",
    "Pooling-(2,3,4)-kernel=(2,)-pad=(3,)": "more padding than the window is wide",
    "Pooling-(1,2,3,4)-kernel=(2,2)-stride=(2,1)-pad=(2,3)": "as above",
    "one_hot-()": "no scalar",
    "one_hot-(4,)-depth=0": "a depth of nothing",
    "_contrib_ROIAlign-(4,4,6,5)": "an image that there is not",
    "RNN-(2,3,1)x(20,)x(2,3,2)x(3,)": "the last state of a sequence without steps",
    "moments-(3,5)-axes=(1,)": "means of integers",
}
SMALL = ("float32", "float64", "float16", "int32", "int64", "uint8", "int8", "bool")


def is_said(case):
    shapes = [*case.shapes, *(case.attrs.get(n, ()) for n in ("shape", "output_size"))]
    drawn = any(word in case.card.name for word in ("random", "multinomial"))
    return (
        case.card.name in TABLE
        and not case.train
        and not (drawn and "get_prob" not in case.attrs)
        and all(0 not in shape for shape in shapes if isinstance(shape, tuple))
        and {*case.input_types(kind(case)), *case.result_types(kind(case))} <= set(SMALL)
    )


def kind(case):
    return "float32" if "float32" in case.types() else case.types()[0]


def model_of(case, typed):
    names = [*typed]
    net = getattr(mx.sym, case.op)(*[mx.sym.Variable(n) for n in names], **case.attrs)
    fixed = {n: typed.pop(n) for n in ("parameters",) if n in typed}
    exporter = Exporter(net, fixed, verbose=False)
    types = [typed[n].dtype for n in exporter.inputs]
    return exporter.run({n: x.shape for n, x in typed.items()}, types, {})


def typed_inputs(case, inputs):
    names = case.card.list_arguments() + case.card.list_auxiliary_states()
    rows = zip(names, inputs, case.input_types(kind(case)), strict=True)
    return {name: values.astype(own) for name, values, own in rows}


@by_operator(filter(is_said, CASES))
def test_an_operator_in_onnx(case):
    dtype = kind(case)
    inputs = case.inputs(dtype)
    typed = typed_inputs(case, inputs)
    try:
        model = model_of(case, typed)
    except InvalidArgumentError as error:
        words = rf"\({case.card.name}\).*({REFUSED[case.card.name]})"
        if re.search(words, str(error)) is None:
            raise
        return
    if any(case.id.startswith(part) for part in BEYOND_RUNTIME):
        return
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    read = {i.name for i in session.get_inputs()}
    found = session.run(None, {n: x for n, x in typed.items() if n in read})
    expected = case.expected(inputs, *case.result_types(dtype))
    assert len(found) == case.card.num_visible_outputs()
    for one, other in zip(found, expected, strict=False):
        assert_close(one, other, str(one.dtype), case.steps * 8)


def is_kept(case):
    # Files of parameters have no scalars, so that those of a model become vectors of one number.
    return is_said(case) and () not in case.shapes


@by_operator(filter(is_kept, CASES))
def test_an_operator_there_and_back(case):
    inputs = case.inputs(kind(case))
    typed = typed_inputs(case, inputs)
    try:
        model = model_of(case, dict(typed))
    except InvalidArgumentError:
        return  # as the test above sees to
    net, args, auxs = read_model(model, case.id)
    values = {n: mx.nd.array(x, dtype=x.dtype) for n, x in typed.items()} | args | auxs
    bound = net.bind(
        mx.current_context(),
        {n: values[n] for n in net.list_arguments()},
        grad_req="null",
        aux_states={n: values[n] for n in net.list_auxiliary_states()},
    )
    expected = case.expected(inputs, *case.result_types(kind(case)))
    for one, other in zip(bound.forward(), expected, strict=False):
        wanted = other.reshape(1) if one.shape == (1,) else other
        assert_close(one.asnumpy(), wanted, "float32", case.steps * 8)
