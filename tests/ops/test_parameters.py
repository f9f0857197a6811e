"""What operators make of their attributes: extremes, counts, long texts, and all spellings."""

from __future__ import annotations

import json
import resource
import time
import warnings

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import FileFormatError, InvalidArgumentError, MXNetError
from ferromix.literal import literal
from ferromix.ops import card as cards
from ferromix.ops.param import Param

nd, sym = mx.nd, mx.sym
MANY = 30_000_000


def saved(operator, attrs, inputs=1):
    """The JSON of a graph of one operator."""
    nodes = [{"op": "null", "name": f"x{i}", "inputs": []} for i in range(inputs)]
    own = {
        "op": operator,
        "name": "y",
        "attrs": attrs,
        "inputs": [[i, 0, 0] for i in range(inputs)],
    }
    return json.dumps({"nodes": [*nodes, own], "arg_nodes": [], "heads": [[inputs, 0, 0]]})


@pytest.fixture
def cheap():
    """What runs in a test takes at most 2 seconds of a processor and 64 MiB."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    yield
    assert time.process_time() - start < 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024


COUNTS = [
    ("SliceChannel", "num_outputs", {}),
    ("_split_v2", "sections", {"indices": "()"}),
    ("Concat", "num_args", {}),
    ("stack", "num_args", {}),
    ("add_n", "num_args", {}),
    ("amp_multicast", "num_outputs", {}),
    ("multi_sum_sq", "num_arrays", {}),
    ("multi_all_finite", "num_arrays", {}),
    ("reset_arrays", "num_arrays", {}),
    ("multi_sgd_update", "num_weights", {"lrs": "(1,)", "wds": "(1,)"}),
    ("multi_mp_sgd_mom_update", "num_weights", {"lrs": "(1,)", "wds": "(1,)"}),
    ("preloaded_multi_sgd_update", "num_weights", {}),
    (
        "_multi_lamb_update",
        "num_tensors",
        {"learning_rates": "(1,)", "wds": "(1,)", "step_count": "(1,)"},
    ),
]


@pytest.mark.parametrize(("operator", "count", "others"), COUNTS)
def test_counts_are_bounded_before_anything_is_made(cheap, operator, count, others):
    attrs = {**others, count: MANY}
    for function in (getattr(nd, operator), getattr(sym, operator)):
        given = nd.ones((2, 2)) if function.__module__.endswith("ndarray") else sym.Variable("x")
        with pytest.raises(InvalidArgumentError, match=f"{operator}.*'{count}'.*65536.*{MANY}"):
            function(given, **attrs)
    with pytest.raises(FileFormatError, match=f"{operator}.*'{count}'.*65536.*{MANY}"):
        sym.load_json(saved(operator, {k: str(v) for k, v in attrs.items()}))


def test_outputs_of_a_file_are_bounded_in_all(cheap):
    nodes = [{"op": "null", "name": "x", "inputs": []}]
    for i in range(500):
        attrs = {"num_outputs": "60000"}
        nodes.append({"op": "split", "name": f"s{i}", "attrs": attrs, "inputs": [[0, 0, 0]]})
    text = json.dumps({"nodes": nodes, "arg_nodes": [], "heads": [[1, 0, 0]]})
    with pytest.raises(FileFormatError, match=r"'s1'.*60000 outputs"):
        sym.load_json(text)


def test_as_many_outputs_as_are_allowed():
    parts = sym.split(sym.Variable("x"), num_outputs=65536, axis=0)
    assert parts.list_outputs()[65535] == f"{parts.name}_output65535"


LONG = 100_000
TEXTS = {
    "a shape": ("Reshape", "shape", "(" + "1," * (LONG // 2) + ")"),
    "digits": ("FullyConnected", "num_hidden", "1" * LONG),
    "signs": ("FullyConnected", "num_hidden", "-" * LONG + "1"),
    "brackets": ("Reshape", "shape", "(" * (LONG // 2) + ")" * (LONG // 2)),
    "axes": ("sum", "axis", "(" + "1," * (LONG // 2) + ")"),
    "indices": ("_split_v2", "indices", "(" + ",".join(map(str, range(LONG))) + ")"),
    "a type": ("Cast", "dtype", "i4," * (LONG // 3)),
    "a word": ("Activation", "act_type", "x" * LONG),
    "digits of a float": ("clip", "a_min", "0." + "1" * LONG),
}


@pytest.mark.parametrize(("operator", "attribute", "text"), TEXTS.values(), ids=TEXTS)
def test_long_texts_are_refused_cheaply(cheap, operator, attribute, text):
    attrs = {"a_max": "1"} if operator == "clip" else {}
    with pytest.raises(FileFormatError) as found:
        sym.load_json(saved(operator, {**attrs, attribute: text}))
    assert f"'{attribute}'" in str(found.value) or "dtype" in str(found.value)
    assert len(str(found.value)) < 500


def test_long_lists_are_taken_where_they_make_sense():
    indices = tuple(range(5000))
    loaded = sym.load_json(saved("_split_v2", {"indices": str(indices)}))
    assert loaded.get_internals().list_outputs()[-1] == "y_output4999"
    with pytest.raises(InvalidArgumentError, match="more than 1024 members"):
        nd.Reshape(nd.ones((1,)), shape=[1] * 1025)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("(2, 3)", (2, 3)),
        ("[2,3]", (2, 3)),
        (" ( 2 , 3, ) ", (2, 3)),
        ("(2L, 3L)", (2, 3)),
        ("()", ()),
        ("[ ]", ()),
        ("(4)", (4,)),
        ("(None, -1)", (None, -1)),
        ("7", 7),
        ("+7L", 7),
        (".5", 0.5),
        ("5.", 5.0),
        ("-1.5e-3f", -1.5e-3),
        ("inf", np.inf),
        ("-Infinity", -np.inf),
        ("TRUE", True),
        ("None", None),
    ],
)
def test_texts(text, value):
    found = literal(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "text", ["", " ", "(1", "1)", "(1,,2)", "((1,),)", "0x10", "1_0", "٣", "a"]
)
def test_texts_that_spell_nothing(text):
    with pytest.raises(InvalidArgumentError, match="operator: attribute 'sizes' must be a tuple"):
        Param("shape").parse("operator", "sizes", text)


DEEP: list = []
for _ in range(3000):
    DEEP = [DEEP]
EXTREMES = [
    *(2**31, 2**63, 2**64, 10**30, -(2**70), 10**5000),
    *(np.nan, np.inf, -np.inf, 1e30, 1e-30, -0.0),
    *("", " ", "None", None, True, b"1", bytearray(b"1"), object(), int),
    *([], (), [[1, 2], [3]], DEEP, {}, {"a": 1}, set(), range(10**9), 1 + 2j),
    *("(" * 1000, "-" * 1000 + "1", "1" * 5000, "x" * 1000),
    *((2**62, 2**62), (10**30, 1), (np.nan,), (None,), ("a",), (2**31,) * 3),
    *(np.int64(2**62), np.float32(2.5), np.bool_(True), np.array(3), np.array([1, 2])),
    *(np.array([[1, 2]]), np.array([1.5]), np.array(["a"]), np.array([2**63], dtype="uint64")),
]


@pytest.fixture
def little_memory():
    """Arrays may take 64 MiB more than they do."""
    nd.waitall()
    mx.storage.set_limit(mx.storage.stats()["in_use"] + (64 << 20))
    yield
    mx.storage.set_limit(None)


def required(card):
    """The least attributes of a card."""
    values = {"int": 1, "float": 0.5, "bool": True, "shape": (1,), "floats": (0.5,), "slots": (0,)}
    return {
        name: param.choices[0] if param.choices else values.get(param.kind, "float32")
        for name, param in card.params.items()
        if param.required and name != card.variadic
    }


def attempt(act):
    """Runs what may fail as users expect, with a message that they can read."""
    try:
        act()
    except (MXNetError, TypeError, ValueError, IndexError) as error:
        message = str(error)
    else:
        message = ""
    assert len(message) < 2000


def wait(found):
    """Waits for what a function of ``mx.nd`` gave."""
    for array in found if isinstance(found, list) else [found]:
        array.wait_to_read()


def ask(symbol):
    """Has a symbol infer and write."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        symbol.infer_shape()
    symbol.tojson()


@pytest.mark.parametrize("name", [n for n in cards.builtin_names() if cards.find(n).name == n])
def test_extremes_raise_what_users_expect(little_memory, name):
    card = cards.find(name)
    count = 2 if card.variadic else len(card.arguments) + len(card.auxiliary_states)
    arrays = [nd.ones((2, 3)) for _ in range(count)]
    symbols = [sym.Variable(f"x{i}", shape=(2, 3)) for i in range(count)]
    short = name.removeprefix("_contrib_")
    one = getattr(nd, name, None) or getattr(nd.contrib, short)
    other = getattr(sym, name, None) or getattr(sym.contrib, short)
    for attribute in card.params:
        for value in EXTREMES:
            attrs = {**required(card), attribute: value}
            attempt(lambda attrs=attrs: wait(one(*arrays, **attrs)))
            attempt(lambda attrs=attrs: ask(other(*symbols, **attrs)))


@pytest.mark.parametrize(
    "call",
    [
        lambda: nd.repeat(nd.ones(2), repeats=2**64),
        lambda: nd.zeros((2**70,)),
        lambda: nd.zeros((2**40, 2**40)),
        lambda: nd.arange(0, 1e30),
        lambda: nd.full((2,), 10**400),
        lambda: nd.FullyConnected(nd.ones((2, 3)), num_hidden=10**30),
        lambda: sym.FullyConnected(sym.Variable("x"), num_hidden=10**30),
        lambda: sym.load_json(saved("FullyConnected", {"num_hidden": str(10**30)})),
        lambda: sym.arange(0, 1e30).infer_shape(),
        lambda: nd.ones(2) + 10**400,
        lambda: nd.ones(2) < 10**400,
        lambda: sym.Variable("x") * 10**400,
        lambda: (10**400) ** sym.Variable("x"),
        lambda: nd.moveaxis(nd.ones((1, 2)), range(10**9), 0),
        lambda: nd.maximum(nd.ones(2), 10**400),
    ],
)
def test_numbers_beyond_64_bits(cheap, call):
    with pytest.raises(MXNetError) as found:
        call()
    assert isinstance(found.value, (InvalidArgumentError, FileFormatError))


SPELLINGS = [
    (2, 6),
    [2, 6],
    "(2,6)",
    "[2, 6]",
    " ( 2, 6 ) ",
    "(2L, 6L)",
    np.array([2, 6]),
    (np.int64(2), np.int32(6)),
    np.array([2, 6], dtype="uint8"),
]
TAKERS = {
    "Reshape": lambda s: nd.Reshape(nd.ones((3, 4)), shape=s).shape,
    "NDArray.reshape": lambda s: nd.ones((3, 4)).reshape(s).shape,
    "NDArray.reshape by name": lambda s: nd.ones((3, 4)).reshape(shape=s).shape,
    "zeros": lambda s: nd.zeros(s).shape,
    "ones": lambda s: nd.ones(s).shape,
    "full": lambda s: nd.full(s, 1).shape,
    "empty": lambda s: nd.empty(s).shape,
    "_zeros": lambda s: nd._zeros(shape=s).shape,
    "uniform": lambda s: nd.random.uniform(shape=s).shape,
    "random_normal": lambda s: nd.random_normal(shape=s).shape,
    "broadcast_to": lambda s: nd.broadcast_to(nd.ones((1, 1)), shape=s).shape,
    "NDArray.broadcast_to": lambda s: nd.ones((1, 1)).broadcast_to(s).shape,
    "Variable": lambda s: sym.Variable("x", shape=s).infer_shape()[0][0],
    "infer_shape": lambda s: sym.Variable("x").infer_shape(x=s)[0][0],
    "sym.zeros": lambda s: sym.zeros(s).infer_shape()[1][0],
    "sym.reshape": lambda s: sym.reshape(sym.Variable("x"), shape=s).infer_shape(x=(3, 4))[1][0],
}


@pytest.mark.parametrize("take", TAKERS.values(), ids=TAKERS)
@pytest.mark.parametrize("shape", SPELLINGS, ids=repr)
def test_spellings_of_shapes(take, shape):
    assert take(shape) == (2, 6)


@pytest.mark.parametrize("shape", [b"(2,6)", (2.5, 6), ((2, 6),), "2x6", np.ones((1, 2)), {2, 6}])
def test_what_is_no_shape(shape):
    for take in TAKERS.values():
        with pytest.raises(InvalidArgumentError):
            take(shape)


@pytest.mark.parametrize("extent", [12, np.int64(12), np.array(12), np.array([12]), "12", "(12)"])
def test_shapes_of_one_extent(extent):
    assert nd.zeros(extent).shape == (12,)
    assert nd.Reshape(nd.ones((3, 4)), shape=extent).shape == (12,)
    assert sym.Variable("x", shape=extent).infer_shape()[0] == [(12,)]


def test_a_message_tells_what_does_not_fit():
    with pytest.raises(InvalidArgumentError, match=r"o: attribute 'a'.*which does not fit"):
        Param("int").parse("o", "a", 2**63)
    with pytest.raises(InvalidArgumentError, match=r"int, got .*2\.5"):
        Param("int").parse("o", "a", np.float32(2.5))


def test_the_gradient_of_smooth_l1_with_a_scalar_whose_square_is_infinite():
    x = mx.nd.array([-2.0, 0.5])
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.smooth_l1(x, scalar=1e300)
    y.backward()
    assert x.grad.asnumpy().tolist() == [-1, 1]


@pytest.mark.parametrize("none", [None, "None"])
@pytest.mark.parametrize(
    ("operator", "attrs", "shape", "expected"),
    [  # Shapes of MXNet 1.9.1, or of the defaults where it fails.
        ("transpose", {"axes": ...}, (2, 3, 4), (4, 3, 2)),
        ("Reshape", {"shape": (-1,), "target_shape": ...}, (2, 3), (6,)),
        ("Dropout", {"axes": ...}, (2, 3), (2, 3)),
        ("broadcast_axis", {"axis": ..., "size": ...}, (2, 1), (2, 1)),
        ("slice", {"begin": (1,), "end": (3,), "step": ...}, (4, 4), (2, 4)),
        ("_contrib_AdaptiveAvgPooling2D", {"output_size": ...}, (1, 4, 6, 6), (1, 4, 1, 1)),
        ("_contrib_MultiBoxPrior", {"ratios": ..., "steps": ...}, (1, 4, 6, 6), (1, 36, 4)),
        ("Convolution_v1", {"kernel": (3, 3), "num_filter": 2, "pad": ...}, (1, 4, 6, 6), None),
        ("Pooling", {"kernel": ..., "global_pool": True}, (1, 4, 6, 6), (1, 4, 1, 1)),
    ],
)
def test_none_for_a_list_is_its_default(operator, attrs, shape, expected, none):
    given = {k: none if v is ... else v for k, v in attrs.items()}
    made = getattr(mx.sym._internal, operator, None) or getattr(mx.sym, operator)
    symbol = made(mx.sym.Variable("data"), **given)
    assert next(symbol.attr(k) for k, v in attrs.items() if v is ...) == "None"
    again = mx.sym.load_json(symbol.tojson())
    assert again.tojson() == symbol.tojson()
    left_out = made(mx.sym.Variable("data"), **{k: v for k, v in attrs.items() if v is not ...})
    found = again.infer_shape(data=shape)[1]
    assert found == left_out.infer_shape(data=shape)[1]
    assert expected is None or found == [expected]


def test_none_for_a_list_that_must_be_given_is_refused():
    with pytest.raises(InvalidArgumentError, match="'kernel' must be a tuple of ints >= 1, got N"):
        mx.sym.Convolution(mx.sym.Variable("data"), kernel=None, num_filter=2)
    assert mx.nd.transpose(mx.nd.ones((2, 3)), axes=None).shape == (3, 2)
