"""Every public function of the front, called with what it cannot want: which errors come out."""

from __future__ import annotations

import contextlib
import inspect
import math
import warnings

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import ArgumentTypeError, InvalidArgumentError, MXNetError

nd = mx.nd
EXPECTED = (MXNetError, TypeError, ValueError, IndexError, NotImplementedError, StopIteration)

# Made anew for each call, as some are changed or used up.
ODD = [
    lambda: None,
    lambda: 3,
    lambda: -1,
    lambda: 2**70,
    lambda: 1e30,
    lambda: math.nan,
    lambda: math.inf,
    lambda: "",
    lambda: "x",
    lambda: b"x",
    lambda: [],
    lambda: (),
    lambda: {},
    lambda: {"a": 1},
    lambda: [None],
    lambda: [[1, 2], [3]],
    lambda: 1j,
    lambda: slice(1, 2),
    object,
    lambda: int,
    lambda: len,
    lambda: (x for x in (1, 2)),
    lambda: mx.gpu(3),
    lambda: mx.sym.Variable("a"),
    lambda: nd.array([]),
    lambda: nd.array(1),
    lambda: nd.ones((2, 3)),
    lambda: np.array([1, "x", None], dtype=object),
    lambda: np.array(["a", "b"]),
    lambda: np.zeros(2, dtype=[("a", "i4"), ("b", "f4")]),
    lambda: np.array(["2020-01-01"], dtype="datetime64[D]"),
    lambda: np.float16(2),
]


def matrix():
    return nd.array(np.arange(6).reshape(2, 3))


def rows():
    return mx.io.NDArrayIter(np.ones((4, 2)), np.ones(4), 2)


def store():
    made = mx.kv.create("local")
    made.init("a", matrix())
    return made


def counter():
    return mx.profiler.Counter(mx.profiler.Domain("d"), "c")


# Functions, with arguments that they take, of which one at a time is replaced.
FUNCTIONS = {
    nd: {
        "add": (2, 3),
        "array": ([1, 2],),
        "arange": (0, 3, 1),
        "concatenate": ([matrix()], 0),
        "empty": ((2, 3),),
        "eye": (3, 3),
        "full": ((2, 3), 1),
        "greater": (matrix(), 1),
        "linspace": (0, 1, 3),
        "load": ("f",),
        "maximum": (matrix(), matrix()),
        "moveaxis": (matrix(), 0, 1),
        "ones": ((2, 3),),
        "save": ("f", [matrix()]),
        "split_v2": (matrix(), 1, 0),
        "zeros": ((2, 3),),
        "random_uniform": (0, 1, (2,)),
        "_full": ((2,), "cpu(0)", "float32", 1),
    },
    nd.contrib: {
        "adamw_update": (*[matrix()] * 4, 1.0, 0.1, 0.1),
        "multi_lamb_update": (*[[matrix()]] * 4, [1], [0.1], [0.1]),
    },
    mx.random: {"seed": (3,), "uniform": (0, 1, (2,)), "normal": (0, 1, (2,))},
    mx.context: {"Context": ("cpu", 0), "as_context": ("cpu",), "cpu": (0,), "placement": ("cpu",)},
    mx.engine: {
        "push": (lambda: None, mx.cpu(), [matrix()], [matrix()], "Normal", 0, "name"),
        "push_async": (lambda d: d(), mx.cpu(), [matrix()], [matrix()], "Async", 0, "name"),
        "new_operator": (lambda: None, [matrix()], [matrix()], "Normal", "name"),
        "delete_operator": (3,),
        "delete_variable": (3, lambda: None, mx.cpu()),
        "wait_to_write": (matrix(),),
        "wait_for_var": (matrix(),),
        "set_bulk_size": (0,),
    },
    mx.resource: {"request": (mx.cpu(), "temp_space")},
    mx.autograd: {
        "backward": ([matrix()], [matrix()]),
        "get_symbol": (matrix(),),
        "grad": ([matrix()], [matrix()]),
        "mark_variables": ([matrix()], [matrix()], "write"),
    },
    mx.io: {
        "DataBatch": ([matrix()], [matrix()]),
        "DataDesc": ("a", (2,), "float32", "NCHW"),
        "MNISTIter": ("f", "g", 3),
        "CSVIter": ("f", (3,), "NULL", (1,), 2, True, 4, "cpu", "float32"),
        "LibSVMIter": ("f", (3,), "NULL", (1,), 1, 0, 2, True),
        "MXDataIter": (rows(), "data", "label"),
        "PrefetchingIter": (rows(), [{"data": "a"}], [{"softmax_label": "b"}]),
        "ResizeIter": (rows(), 3, True),
        "NDArrayIter": (np.ones((4, 2)), np.ones(4), 2, False, "pad", "data", "l", "NCHW", 0),
        "read_idx": ("f",),
        "write_idx": ("f", np.ones((2, 2), np.uint8)),
    },
    mx.io.NDArrayIter(np.ones((4, 2))): {"load_state_dict": ({},)},
    mx.recordio: {
        "MXRecordIO": ("f", "r"),
        "MXIndexedRecordIO": ("f", "g", "r", int),
        "IRHeader": (0, 1, 2, 3),
        "pack": ((0, 1, 2, 3), b"data"),
        "unpack": (bytes(24),),
        "pack_img": ((0, 1, 2, 3), np.ones((2, 2), np.uint8), 9, ".png"),
        "unpack_img": (bytes(24), -1),
    },
    mx.io.DataDesc: {"get_list": ([("a", (1,))], [("a", "int8")]), "get_batch_axis": ("NC",)},
    mx.metric: {"create": ("acc",), "register": (3,), "TopKAccuracy": (2,), "Accuracy": (1,)},
    mx.metric.Accuracy(): {"update": ([nd.ones((2,))], [nd.ones((2, 3))]), "update_dict": ({}, {})},
    mx.metric.TopKAccuracy(2): {"update": ([nd.ones((2,))], [nd.ones((2,))])},
    mx.init: {"create": ("one",), "register": (3,), "Constant": (3,)},
    mx.init.Xavier(): {"__call__": ("a_weight", matrix())},
    mx.init.Zero(): {"__call__": ("a_bias", matrix())},
    mx.lr_scheduler: {
        "FactorScheduler": (3, 0.5),
        "MultiFactorScheduler": ([2, 4], 0.5),
    },
    mx.lr_scheduler.FactorScheduler(3): {"__call__": (3,), "get_warmup_lr": (3,)},
    mx.callback: {"do_checkpoint": ("f", 1), "log_train_metric": (2,), "Speedometer": (2, 2)},
    mx.callback.Speedometer(2): {"__call__": (mx.model.BatchEndParam(0, 0, None, None),)},
    mx.callback.ProgressBar(2): {"__call__": (3,)},
    mx.callback.TqdmBar(2): {"__call__": (3,)},
    mx.callback.do_checkpoint("f"): {"__call__": (0, mx.sym.Variable("a"), {}, {})},
    store(): {
        "init": ("b", matrix()),
        "is_capable": ("optimizer",),
        "pull": ("a", matrix()),
        "push": ("a", matrix()),
        "pushpull": ("a", matrix(), matrix()),
        "set_optimizer": (mx.optimizer.create("sgd"),),
        "set_updater": (lambda *_: None,),
    },
    mx.kv: {"create": ("local",)},
    counter(): {"set_value": (3,), "increment": (3,)},
    mx.profiler: {"Domain": ("a",), "set_config": (), "set_state": ("stop",), "dumps": (False,)},
}
METHODS = {
    "__getitem__": (0,),
    "__setitem__": (0, 1),
    "__add__": (1,),
    "__rsub__": (1,),
    "__eq__": (1,),
    "__lt__": (1,),
    "as_in_context": ("cpu",),
    "astype": ("int8",),
    "attach_grad": ("write",),
    "backward": (matrix(), False),
    "broadcast_to": ((2, 3),),
    "copyto": (matrix(),),
    "expand_dims": (0,),
    "reshape": ((3, 2),),
    "round": (0,),
    "slice_assign": (matrix(), (0, 0), (2, 3)),
    "slice_assign_scalar": (1.0, (0, 0), (2, 3)),
    "split_v2": (1, 0),
    "squeeze": (0,),
}
ROWS = [
    (f"{getattr(owner, '__name__', type(owner).__name__)}.{name}", getattr(owner, name), args)
    for owner, rows in FUNCTIONS.items()
    for name, args in rows.items()
]


@pytest.fixture(autouse=True)
def as_before(tmp_path, monkeypatch):
    """Files go to a folder of their own, and what calls have set goes back."""
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    mx.profiler.set_state("stop")
    mx.engine.set_bulk_size(0)


def attempt(act, *args, **kwargs):
    with contextlib.suppress(*EXPECTED):
        found = act(*args, **kwargs)
        if isinstance(found, nd.NDArray):
            found.wait_to_read()
        nd.waitall()


@pytest.mark.parametrize(("act", "args"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_functions(act, args):
    for odd in ODD:
        attempt(act, odd())
        attempt(act, odd(), odd())
        for place in range(len(args)):
            attempt(act, *args[:place], odd(), *args[place + 1 :])
        for name in inspect.signature(act).parameters:
            attempt(act, *args, **{name: odd()})


@pytest.mark.parametrize("name", METHODS)
def test_methods(name):
    args = METHODS[name]
    for make in (matrix, lambda: nd.array([]), lambda: nd.array(3), lambda: matrix()[::-1]):
        for odd in ODD:
            attempt(lambda *given, _make=make: getattr(_make(), name)(*given), odd(), odd())
            for place in range(len(args)):
                given = [*args[:place], odd(), *args[place + 1 :]]
                attempt(lambda *given, _make=make: getattr(_make(), name)(*given), *given)


# What is asked for, and what the message says.
MESSAGES = {
    "zeros": (lambda: nd.zeros((2,), -1), "ctx must be a Context such as ferromix.cpu"),
    "array": (lambda: nd.array([1], 3), "ctx must be a Context .* got 3"),
    "moveaxis": (lambda: nd.moveaxis(3, 0, 1), "moveaxis: tensor must be an NDArray, got 3"),
    "axis": (lambda: nd.moveaxis(matrix(), "0", 1), "an axis of source must be an int, got '0'"),
    "concatenate": (lambda: nd.concatenate((1, 2)), r"concatenate: arrays\[0\] must be an NDArray"),
    "no list": (lambda: nd.concatenate(matrix()), "arrays must be a list, got NDArray"),
    "split_v2": (lambda: nd.split_v2(3, 2), "split_v2: ary must be an NDArray, got 3"),
    "copyto": (lambda: matrix().copyto(3), "copyto: the target must be an NDArray or a Context"),
    "context": (lambda: matrix().as_in_context(3), "ctx must be a Context .* got 3"),
    "device": (lambda: mx.Context("cpu", "1"), "device_id must be an int, got '1'"),
    "inputs": (lambda: matrix().slice_assign(3, 0, 1), "inputs and out must be NDArrays, got"),
    "weights": (lambda: nd.contrib.adamw_update(3, 3, 3, 3, 1.0, 0.1, 1), "must be NDArrays, got"),
    "write_idx": (lambda: mx.io.write_idx("f", 3), "the array must be one of NumPy, got int"),
    "initializer": (lambda: mx.init.One()("a_bias", 3), "One: arr must be an NDArray, got int"),
    "capability": (lambda: store().is_capable(3), "capability must be a string, got int"),
    "speedometer": (lambda: mx.callback.Speedometer(1)(3), "takes a BatchEndParam, got int"),
    "checkpoint": (lambda: mx.callback.do_checkpoint("f")(0, 3, {}, {}), "symbol must be a Symbol"),
    "parameters": (lambda: mx.model.save_checkpoint("f", 1, None, 3, {}), "arg_params must be"),
    "reshape": (lambda: matrix().reshape((3, 2), order="C"), "reshape: unknown arguments order"),
}


@pytest.mark.parametrize(("act", "message"), MESSAGES.values(), ids=MESSAGES)
def test_messages_of_wrong_kinds(act, message):
    with pytest.raises(TypeError, match=message):
        act()


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: matrix().split_v2(2**70), r"split_v2: an array of shape \(2, 3\) has no 118059"),
        (lambda: nd.zeros((2,), mx.cpu_pinned(2**70)), "devices have the numbers 0 to 65535"),
        (lambda: nd._arange(start=0, stop=2**70), "more elements than 64 bits can count"),
        (lambda: nd.random_uniform(shape=(2**70,)), "does not fit into 64 bits"),
        (lambda: mx.metric.register(3), "3 is not a subclass of EvalMetric"),
        (lambda: mx.io.DataDesc.get_list([("a", ())], []), "types has none for 'a'"),
        (lambda: mx.lr_scheduler.FactorScheduler(3).get_warmup_lr(1), "not within a warm-up of 0"),
        (lambda: mx.callback.do_checkpoint("f", math.inf), "period must be a number of epochs"),
        (lambda: counter().set_value(10**400), "counter c: int too large"),
    ],
)
def test_messages_of_wrong_values(act, message):
    with pytest.raises(InvalidArgumentError, match=message):
        act()


def test_a_schedule_without_warm_up_takes_any_update():
    assert mx.lr_scheduler.FactorScheduler(3, base_lr=0.5)(-1) == 0.5


def test_a_wrong_kind_is_a_type_error_a_value_error_and_mxnets():
    assert {TypeError, ValueError, MXNetError} <= set(ArgumentTypeError.__mro__)
