"""Shape and type inference in both directions, and what contradictions are answered with."""

import pytest

from ferromix.error import InvalidArgumentError
from ferromix.ops.card import exists, find, make

N = None
FORWARD = [
    ("FullyConnected", {"num_hidden": 4}, [(2, 3, 5), N, N], [(2, 3, 5), (4, 15), (4,)], [(2, 4)]),
    ("FullyConnected", {"num_hidden": 4}, [(-1, 5), N, N], [(-1, 5), (4, 5), (4,)], [(-1, 4)]),
    ("FullyConnected", {"num_hidden": 4}, [N, N, N], [N, (4, -1), (4,)], [(-1, 4)]),
    (
        "FullyConnected",
        {"num_hidden": 4, "flatten": False, "no_bias": True},
        [(2, 3, 5), N],
        [(2, 3, 5), (4, 5)],
        [(2, 3, 4)],
    ),
    (
        "Convolution",
        {"kernel": "(3, 3)", "num_filter": "8", "num_group": "2", "pad": "(1, 1)"},
        [(2, 4, 9, 8), N, N],
        [(2, 4, 9, 8), (8, 2, 3, 3), (8,)],
        [(2, 8, 9, 8)],
    ),
    (
        "Convolution",
        {"kernel": (3,), "num_filter": 2},
        [(-1, 4, -1), N, N],
        [(-1, 4, -1), (2, 4, 3), (2,)],
        [(-1, 2, -1)],
    ),
    ("Pooling", {"kernel": (2, 2)}, [(-1, 3, 8, -1)], [(-1, 3, 8, -1)], [(-1, 3, 7, -1)]),
    (
        "Pooling",
        {"kernel": (2, 2), "global_pool": True},
        [(2, 3, 8, 8)],
        [(2, 3, 8, 8)],
        [(2, 3, 1, 1)],
    ),
    ("BatchNorm", {}, [(2, 3, 4), N, N], [(2, 3, 4), (3,), (3,)], [(2, 3, 4), (3,), (3,)]),
    ("BatchNorm", {}, [N, (3,), N], [N, (3,), (3,)], [N, (3,), (3,)]),
    ("Pooling", {"kernel": (2,), "layout": "NWC"}, [(-1, 5, 3)], [(-1, 5, 3)], [(-1, 4, 3)]),
    (
        "Pooling",
        {"kernel": (2,), "stride": (2, 9), "pad": (1, 0)},
        [(2, 3, 4)],
        [(2, 3, 4)],
        [(2, 3, 3)],
    ),
    (
        "Pooling",
        {"layout": "NHWC", "global_pool": True},
        [(2, -1, 8, 3)],
        [(2, -1, 8, 3)],
        [(2, 1, 1, 3)],
    ),
    ("softmax", {"use_length": True, "axis": 1}, [(2, 3, 4), N], [(2, 3, 4), (2, 4)], [(2, 3, 4)]),
    ("SoftmaxOutput", {}, [(5, 3), N], [(5, 3), (5,)], [(5, 3)]),
    ("SoftmaxOutput", {}, [(5, 3, 2), N], [(5, 3, 2), (5, 3)], [(5, 3, 2)]),
    ("SoftmaxOutput", {}, [(5,), N], [(5,), (5,)], [(5,)]),
    (
        "SoftmaxOutput",
        {"multi_output": True},
        [(5, 3, 2, 2), N],
        [(5, 3, 2, 2), (5, 4)],
        [(5, 3, 2, 2)],
    ),
    ("SoftmaxOutput", {"preserve_shape": True}, [(5, 3, 2), N], [(5, 3, 2), (5, 3)], [(5, 3, 2)]),
    ("LeakyReLU", {"act_type": "prelu"}, [(2, 3, 4), N], [(2, 3, 4), (3,)], [(2, 3, 4)]),
    ("elemwise_add", {}, [(2, 3), N], [(2, 3), (2, 3)], [(2, 3)]),
    ("elemwise_add", {}, [(2, -1), (-1, 3)], [(2, 3), (2, 3)], [(2, 3)]),
    ("broadcast_add", {}, [(2, 1), (-1, 3)], [(2, 1), (-1, 3)], [(2, 3)]),
    ("broadcast_add", {}, [N, (2, 3)], [N, (2, 3)], [N]),
    ("Concat", {"num_args": 2}, [(2, 3), (-1, 4)], [(2, 3), (2, 4)], [(2, 7)]),
    ("Concat", {"num_args": 2}, [(2, 3), N], [(2, 3), (2, -1)], [(2, -1)]),
    ("Reshape", {"shape": (-1, 4)}, [(-1, 3, 4)], [(-1, 3, 4)], [(-1, 4)]),
    ("Reshape", {"shape": (0, -3)}, [(-1, 3, 4)], [(-1, 3, 4)], [(-1, 12)]),
    ("Reshape", {"shape": (2, 3)}, [N], [N], [(2, 3)]),
    ("transpose", {}, [(2, -1, 4)], [(2, -1, 4)], [(4, -1, 2)]),
    ("sum", {"axis": 1}, [(2, -1, 4)], [(2, -1, 4)], [(2, 4)]),
    ("dot", {}, [(-1, 3), (3, 4)], [(-1, 3), (3, 4)], [(-1, 4)]),
    ("dot", {}, [(2, -1), (3, 4)], [(2, 3), (3, 4)], [(2, 4)]),
    ("dot", {"transpose_b": True}, [(2, 3), (4, -1)], [(2, 3), (4, 3)], [(2, 4)]),
    ("dot", {"transpose_a": True}, [(-1, 2), (-1,)], [(-1, 2), (-1,)], [(2,)]),
    ("_zeros", {"shape": (-1, 3)}, [], [], [(-1, 3)]),
    ("squeeze", {"axis": 1}, [(2, -1, 3)], [(2, 1, 3)], [(2, 3)]),
    ("squeeze", {}, [(2, -1, 1)], [(2, -1, 1)], [N]),
    ("reshape_like", {}, [N, (2, 3)], [N, (2, 3)], [(2, 3)]),
    ("reshape_like", {"lhs_end": 1}, [(-1, 3), (4, 5)], [(-1, 3), (4, 5)], [(4, 5, 3)]),
    ("SwapAxis", {"dim1": 0, "dim2": 2}, [(2, -1, 4)], [(2, -1, 4)], [(4, -1, 2)]),
    ("reverse", {"axis": 0}, [(-1, 3)], [(-1, 3)], [(-1, 3)]),
    ("depth_to_space", {"block_size": 2}, [(-1, 8, 3, -1)], [(-1, 8, 3, -1)], [(-1, 2, 6, -1)]),
    ("space_to_depth", {"block_size": 2}, [(1, -1, 6, 4)], [(1, -1, 6, 4)], [(1, -1, 3, 2)]),
    ("stack", {"num_args": 2, "axis": 1}, [(2, -1), (-1, 3)], [(2, 3), (2, 3)], [(2, 2, 3)]),
    ("SliceChannel", {"num_outputs": 2}, [(-1, 4)], [(-1, 4)], [(-1, 2), (-1, 2)]),
    (
        "SliceChannel",
        {"num_outputs": 2, "squeeze_axis": True},
        [(3, -1)],
        [(3, -1)],
        [(3,), (3,)],
    ),
    ("_split_v2", {"indices": (0, 2), "axis": 0}, [(-1, 4)], [(-1, 4)], [(2, 4), (-1, 4)]),
    ("slice", {"begin": (1, None), "end": (3, -1)}, [(4, -1, 2)], [(4, -1, 2)], [(2, -1, 2)]),
    ("slice_like", {"axes": (1,)}, [(-1, 5), (2, 3)], [(-1, 5), (2, 3)], [(-1, 3)]),
    ("repeat", {"repeats": 2, "axis": 0}, [(3, -1)], [(3, -1)], [(6, -1)]),
    ("repeat", {"repeats": 2}, [N], [N], [(-1,)]),
    ("tile", {"reps": (2, 3)}, [(-1,)], [(-1,)], [(2, -1)]),
    ("diag", {"k": 1}, [(3, -1)], [(3, -1)], [(-1,)]),
    ("diag", {"k": -1}, [(3,)], [(3,)], [(4, 4)]),
    ("Pad", {"mode": "edge", "pad_width": (0, 0, 1, 2)}, [(-1, 3)], [(-1, 3)], [(-1, 6)]),
    ("moments", {"axes": (0,)}, [(-1, 3)], [(-1, 3)], [(3,), (3,)]),
    (
        "batch_dot",
        {"transpose_b": True},
        [(-1, 2, 3), (5, 4, 3)],
        [(-1, 2, 3), (5, 4, 3)],
        [(5, 2, 4)],
    ),
    ("argmax_channel", {}, [(2, 3, 4)], [(2, 3, 4)], [(2, 4)]),
    ("shape_array", {}, [(-1, 3)], [(-1, 3)], [(2,)]),
    ("size_array", {}, [N], [N], [(1,)]),
]
BACKWARD = [
    ("elemwise_mul", {}, [N, N], [(2, 3)], [(2, 3), (2, 3)]),
    ("Activation", {"act_type": "relu"}, [(-1, 3)], [(2, 3)], [(2, 3)]),
    ("Dropout", {}, [N], [(2, 3), N], [(2, 3)]),
    ("BatchNorm", {}, [N, N, N], [(2, 3), N, N], [(2, 3), N, N]),
    ("FullyConnected", {"num_hidden": 4}, [(-1, 5), N, N], [(2, 4)], [(2, 5), N, N]),
    (
        "Convolution",
        {"kernel": (2,), "num_filter": 4},
        [(-1, 3, 5), N, N],
        [(2, 4, 4)],
        [(2, 3, 5), N, N],
    ),
    (
        "_contrib_DeformableConvolution",
        {"kernel": (2, 2), "num_filter": 4, "no_bias": True},
        [(-1, 3, 5, 5), N, N],
        [(2, 4, 4, 4)],
        [(2, 3, 5, 5), (2, 8, 4, 4), N],
    ),
    (
        "_contrib_ModulatedDeformableConvolution",
        {"kernel": (1, 1), "num_filter": 4, "no_bias": True},
        [(-1, 3, 4, 4), N, N, N],
        [(2, 4, 4, 4)],
        [(2, 3, 4, 4), (2, 2, 4, 4), (2, 1, 4, 4), N],
    ),
    ("Pooling", {"kernel": (2,)}, [(-1, -1, 5)], [(2, 3, 4)], [(2, 3, 5)]),
    ("Pooling", {"kernel": (2,), "layout": "NWC"}, [(-1, 5, -1)], [(2, 4, 3)], [(2, 5, 3)]),
    ("Reshape", {"shape": (-1, 4)}, [(-1, 3, 4)], [(6, 4)], [(2, 3, 4)]),
    ("expand_dims", {"axis": 0}, [N], [(1, 2, 3)], [(2, 3)]),
    ("transpose", {"axes": (1, 2, 0)}, [N], [(3, 4, 2)], [(2, 3, 4)]),
    ("Concat", {"num_args": 2}, [(2, 3), N], [(2, 7)], [(2, 3), (2, -1)]),
    ("SoftmaxOutput", {}, [N, N], [(5, 3)], [(5, 3), N]),
    ("SwapAxis", {"dim1": 0, "dim2": 1}, [N], [(2, 3)], [(3, 2)]),
    ("reverse", {"axis": 0}, [(-1, 3)], [(2, 3)], [(2, 3)]),
    ("depth_to_space", {"block_size": 2}, [N], [(1, 2, 6, -1)], [(1, 8, 3, -1)]),
    ("space_to_depth", {"block_size": 2}, [N], [(1, 8, 3, 1)], [(1, 2, 6, 2)]),
    ("stack", {"num_args": 2, "axis": 1}, [N, (-1, 3)], [(4, 2, 3)], [(4, 3), (4, 3)]),
    ("SliceChannel", {"num_outputs": 2}, [(-1, -1)], [(3, 2), (3, 2)], [(3, 4)]),
    ("SliceChannel", {"num_outputs": 2, "squeeze_axis": True}, [N], [(3,), N], [(3, -1)]),
    ("_split_v2", {"indices": (0, 2), "axis": 0}, [N], [(2, 4), (3, 4)], [(5, 4)]),
    ("Pad", {"mode": "constant", "pad_width": (0, 0, 1, 2)}, [N], [(2, 6)], [(2, 3)]),
    (
        "Deconvolution",
        {"kernel": (2,), "stride": (2,), "num_filter": 4},
        [(-1, 3, -1), (3, 4, 2)],
        [(2, 4, 8)],
        [(2, 3, 4), (3, 4, 2)],
    ),
    ("im2col", {"kernel": (2,)}, [(-1, -1, 5)], [(2, 6, 4)], [(2, 3, 5)]),
    ("_image_resize", {"size": 2}, [(-1, 7, 5, -1)], [(3, 2, 2, 1)], [(3, 7, 5, 1)]),
    ("_contrib_BilinearResize2D", {"height": 2}, [(-1, -1, 4, 5)], [(2, 3, 2, 1)], [(2, 3, 4, 5)]),
    ("L2Normalization", {}, [(-1, 3)], [(2, 3)], [(2, 3)]),
]
WRONG = [
    ("FullyConnected", {"num_hidden": 4}, [(2, 5), (4, 6), N], ("weight", "(4, 6)", "(4, 5)")),
    ("FullyConnected", {"num_hidden": 4}, [(2, 5), N, (3,)], ("bias", "(3,)", "(4,)")),
    (
        "Convolution",
        {"kernel": (3, 3), "num_filter": 8},
        [(2, 4, 9), N, N],
        ("data", "(2, 4, 9)", "NCHW"),
    ),
    (
        "Convolution",
        {"kernel": (3,), "num_filter": 8},
        [(2, 4, 2), N, N],
        ("data", "(2, 4, 2)", "kernel=(3,)"),
    ),
    (
        "Convolution",
        {"kernel": (1,), "num_filter": 8, "num_group": 2},
        [(2, 3, 2), N, N],
        ("data", "3 channels", "num_group=2"),
    ),
    ("Pooling", {"kernel": (5, 5)}, [(1, 1, 3, 3)], ("data", "(1, 1, 3, 3)", "kernel=(5, 5)")),
    ("BatchNorm", {}, [(2, 3), (4,), N], ("gamma", "(4,)", "(3,)")),
    ("BatchNorm", {"axis": 2}, [(2, 3), N, N], ("axis 2", "2 dimensions")),
    ("SoftmaxOutput", {}, [(5, 3), (4,)], ("label", "(4,)", "(5,)", "(5, 3)")),
    ("elemwise_add", {}, [(2, 3), (1, 3)], ("rhs", "(1, 3)", "(2, 3)")),
    ("broadcast_add", {}, [(2, 3), (4,)], ("rhs", "(4,)", "lhs", "(2, 3)")),
    ("Concat", {"num_args": 2}, [(2, 3), (3, 3)], ("arg1", "(3, ", "(2, ")),
    ("Reshape", {"shape": (5, -1)}, [(2, 3)], ("data", "(2, 3)", "(5, -1)")),
    ("Reshape", {"shape": (-1, -1)}, [(2, 3)], ("(-1, -1)", "more than one -1")),
    ("Reshape", {"shape": (0, 0, 0)}, [(2, 3)], ("data", "(2, 3)", "(0, 0, 0)")),
    ("Reshape", {"shape": (-4, 2, 2, 0)}, [(6, 3)], ("6", "2 and 2")),
    ("Reshape", {"shape": (-4, 2)}, [(6, 3)], ("(-4, 2)",)),
    ("Reshape", {}, [(6, 3)], ("shape", "required")),
    ("transpose", {"axes": (0, 0)}, [(2, 3)], ("(0, 0)", "twice")),
    ("transpose", {"axes": (0,)}, [(2, 3)], ("(0,)", "2 dimensions")),
    ("sum", {"axis": 2}, [(2, 3)], ("axis 2", "2 dimensions")),
    ("dot", {}, [(2, 3), (4, 5)], ("rhs", "(4, 5)", "lhs", "(2, 3)")),
    ("dot", {}, [(), (4,)], ("lhs", "()")),
    ("slice_axis", {"axis": 0, "begin": 2, "end": 9}, [(5,)], ("begin=2", "end=9", "5")),
    ("broadcast_to", {"shape": (2, 3)}, [(2, 2)], ("data", "(2, 2)", "(2, 3)")),
    ("broadcast_axis", {"axis": 0, "size": (2, 3)}, [(1,)], ("axis=(0,)", "size=(2, 3)")),
    ("Flatten", {}, [()], ("data", "()")),
    ("softmax", {"axis": 3}, [(2, 3)], ("axis 3",)),
    ("_arange", {"start": 0.0, "stop": 3.0, "step": 0.0}, [], ("step=0",)),
    ("squeeze", {"axis": 1}, [(1, 3)], ("data", "(1, 3)", "axis 1", "extent 3")),
    ("reshape_like", {}, [(2, 3), (4,)], ("lhs", "(2, 3)", "rhs", "(4,)")),
    ("reshape_like", {"lhs_begin": 3}, [(2, 3), (4,)], ("lhs_begin=3", "2 dimensions")),
    ("reverse", {"axis": ()}, [(2,)], ("axis", "at least one")),
    ("reverse", {"axis": 2}, [(2,)], ("axis 2", "1 dimensions")),
    ("depth_to_space", {"block_size": 2}, [(1, 6, 1, 1)], ("6 channels", "block_size=2", "4")),
    ("depth_to_space", {"block_size": 2}, [(4, 1, 1)], ("data", "(4, 1, 1)", "NCHW")),
    ("space_to_depth", {"block_size": 2}, [(1, 1, 3, 2)], ("(1, 1, 3, 2)", "block_size=2")),
    ("stack", {"num_args": 2}, [(2,), (3,)], ("arg1", "(3,)", "(2,)")),
    ("SliceChannel", {"num_outputs": 2}, [(1, 5)], ("extent 5", "num_outputs=2")),
    (
        "SliceChannel",
        {"num_outputs": 2, "squeeze_axis": True},
        [(1, 4)],
        ("squeeze_axis", "(1, 4)", "[2, 2]"),
    ),
    ("_split_v2", {"indices": (0, 7), "axis": 0}, [(5,)], ("(0, 7)", "extent 5")),
    ("slice", {"begin": (0, 0), "end": (1, 1)}, [(5,)], ("begin=(0, 0)", "(5,)")),
    ("slice_like", {}, [(4, 5), (2,)], ("(4, 5)", "(2,)", "axes")),
    ("slice_like", {}, [(4,), (5,)], ("(4,)", "(5,)", "axis 0")),
    ("Crop", {"num_args": 1, "h_w": (3, 1)}, [(1, 1, 2, 2)], ("(3, 1)", "(1, 1, 2, 2)")),
    ("diag", {"k": 9}, [(3, 4)], ("(3, 4)", "k=9")),
    ("diag", {}, [()], ("data", "()")),
    ("Pad", {"mode": "edge", "pad_width": (1, 1)}, [(2, 2)], ("pad_width=(1, 1)", "(2, 2)")),
    ("Pad", {"mode": "reflect", "pad_width": (2, 0)}, [(2,)], ("axis 0", "(2,)", "reflect")),
    ("L2Normalization", {"mode": "spatial"}, [(2, 3)], ("(2, 3)", "3 dimensions", "spatial")),
    ("moments", {"axes": (0, 0)}, [(2, 3)], ("(0, 0)", "twice")),
    ("batch_dot", {}, [(2, 3), (3, 2)], ("lhs", "(2, 3)", "dot")),
    ("batch_dot", {}, [(1, 2, 3), (2, 3, 2)], ("rhs", "(2, 3, 2)", "lhs", "(1, 2, 3)")),
    ("argmax_channel", {}, [(3,)], ("axis 1", "1 dimensions")),
]
ATTRIBUTES = [
    ("Activation", {"act_type": "swish"}, ("act_type", "swish", "'relu'")),
    ("Activation", {}, ("act_type", "required")),
    ("Activation", {"act_typ": "relu"}, ("act_typ", "did you mean 'act_type'")),
    ("Convolution", {"kernel": (3, 3)}, ("num_filter", "required")),
    ("Convolution", {"kernel": (3, 3), "num_filter": 0}, ("num_filter", ">= 1", "0")),
    ("Convolution", {"kernel": (1,) * 4, "num_filter": 1}, ("kernel", "1, 2 or 3")),
    (
        "Convolution",
        {"kernel": (3, 3), "num_filter": 3, "num_group": 2},
        ("num_filter=3", "num_group=2"),
    ),
    (
        "Convolution",
        {"kernel": (3, 3), "num_filter": 1, "stride": (1,)},
        ("stride", "2 ints", "(1,)"),
    ),
    ("Convolution", {"kernel": (3, 3), "num_filter": 1, "layout": "NCW"}, ("NCW", "NCHW")),
    ("Convolution", {"kernel": (3,), "num_filter": 1, "layout": "NHWC"}, ("layout", "NHWC")),
    ("Pooling", {}, ("kernel", "1, 2 or 3", "()")),
    ("Pooling", {"kernel": (2, 2), "pad": (2,)}, ("pad", "2 ints", "(2,)")),
    ("Pooling", {"kernel": (2,), "pool_type": "lp"}, ("pool_type=lp", "p_value", "1, 2 or 3")),
    ("Pooling", {"kernel": (2,), "pool_type": "lp", "p_value": 4}, ("p_value", "<= 3", "4")),
    ("Pooling", {"kernel": (2,), "layout": "NHWC"}, ("NHWC", "kernel=(2,)", "NCW or NWC")),
    ("Dropout", {"p": 1.5}, ("p", "<= 1", "1.5")),
    (
        "LeakyReLU",
        {"act_type": "rrelu", "lower_bound": 1.0},
        ("lower_bound=1.0", "upper_bound=0.334"),
    ),
    ("softmin", {"use_length": True}, ("use_length", "True")),
    ("sum", {"axis": "x"}, ("axis", "'x'")),
    ("slice", {"begin": (0, 1), "end": (2,)}, ("begin=(0, 1)", "end=(2,)", "one length")),
    ("slice", {"begin": 0, "end": 2, "step": 0}, ("step=(0,)",)),
    ("slice", {"begin": "(0, None)", "end": "(x,)"}, ("end", "a tuple of ints or None")),
    ("_split_v2", {"indices": (1, 2)}, ("indices", "begin with 0")),
    ("Pad", {"mode": "mirror", "pad_width": ()}, ("mode", "mirror", "'reflect'")),
    ("repeat", {"repeats": -1}, ("repeats", ">= 0", "-1")),
    ("tile", {"reps": (0,)}, ("reps", ">= 1")),
    ("_random_normal", {"scale": -1}, ("scale", ">= 0")),
]


@pytest.mark.parametrize(("op", "attrs", "given", "args", "outs"), FORWARD, ids=str)
def test_forward(op, attrs, given, args, outs):
    found = make(op, attrs).infer_shape(given)
    assert (list(found[0]), list(found[1])) == (args, outs)


@pytest.mark.parametrize(("op", "attrs", "given", "outs", "args"), BACKWARD, ids=str)
def test_backward(op, attrs, given, outs, args):
    assert list(make(op, attrs).infer_shape_backward(given, outs)) == args


@pytest.mark.parametrize(("op", "attrs", "given", "words"), WRONG, ids=str)
def test_contradictions_are_named(op, attrs, given, words):
    with pytest.raises(InvalidArgumentError) as caught:
        make(op, attrs).infer_shape(given)
    for word in (op, *words):
        assert word in str(caught.value)


@pytest.mark.parametrize(("op", "attrs", "words"), ATTRIBUTES, ids=str)
def test_wrong_attributes_are_named(op, attrs, words):
    with pytest.raises(InvalidArgumentError) as caught:
        make(op, attrs)
    for word in (op, *words):
        assert word in str(caught.value)


def test_types():
    assert make("broadcast_add", {}).infer_type(["float64", None])[0] == ["float64", "float64"]
    assert make("Cast", {"dtype": "int8"}).infer_type(["float32"]) == (["float32"], ["int8"], [])
    assert make("softmax", {"dtype": "float64"}).infer_type(["float32"])[1] == ["float64"]
    assert make("norm", {"out_dtype": "float64"}).infer_type(["float16"])[1] == ["float64"]
    assert make("argmax", {"axis": 0}).infer_type(["float16"])[1] == ["float32"]
    assert make("argmax", {"axis": 0}).infer_type(["int64"])[1] == ["int64"]
    assert make("shape_array", {}).infer_type(["float16"])[1] == ["int64"]
    assert make("reshape_like", {}).infer_type(["int8", "float32"])[1] == ["int8"]
    assert make("slice_like", {}).infer_type(["int8", None])[:2] == (["int8", "int8"], ["int8"])
    assert make("_zeros", {"dtype": "int32"}).infer_type([])[1] == ["int32"]
    assert make("_random_uniform", {}).infer_type([])[1] == ["float32"]
    assert make("BatchNorm", {}).infer_type(["float64", None, None])[2] == ["float64"] * 2


@pytest.mark.parametrize(
    ("op", "attrs", "given", "words"),
    [
        ("broadcast_add", {}, ["float32", "float64"], ("rhs", "float64", "lhs", "float32")),
        ("_backward_softmax", {}, ["float32", "float64"], ("out", "float64", "float32")),
        ("_random_uniform", {"dtype": "int32"}, [], ("int32", "float32")),
    ],
    ids=str,
)
def test_contradicting_types_are_named(op, attrs, given, words):
    with pytest.raises(InvalidArgumentError) as caught:
        make(op, attrs).infer_type(given)
    for word in (op, *words):
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("identity", "_copy"),
        ("stop_gradient", "BlockGrad"),
        ("ElementWiseSum", "add_n"),
        ("_Plus", "elemwise_add"),
        ("_plus", "elemwise_add"),
        ("_MulScalar", "_mul_scalar"),
        ("_Greater_Equal", "_greater_equal"),
        ("broadcast_plus", "broadcast_add"),
        ("reshape", "Reshape"),
        ("flatten", "Flatten"),
        ("concat", "Concat"),
        ("cast", "Cast"),
        ("Softmax", "SoftmaxOutput"),
        ("sum_axis", "sum"),
        ("max_axis", "max"),
        ("broadcast_axes", "broadcast_axis"),
        ("uniform", "_random_uniform"),
        ("random_normal", "_random_normal"),
        ("fix", "trunc"),
        ("swapaxes", "SwapAxis"),
        ("flip", "reverse"),
        ("split", "SliceChannel"),
        ("crop", "slice"),
        ("pad", "Pad"),
    ],
)
def test_aliases(alias, name):
    assert find(alias) is find(name)
    assert not exists("no_such_operator")
