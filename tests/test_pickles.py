"""Everything that describes or remembers travels by pickle and by copy, and behaves as before."""

import copy
import inspect
import multiprocessing
import pickle

import numpy as np
import pytest

import ferromix as mx
from ferromix import sym as S

WAYS = {
    **{f"protocol {p}": lambda x, p=p: pickle.loads(pickle.dumps(x, p)) for p in range(6)},
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}
OPTIMIZERS = sorted(
    name
    for name, value in vars(mx.optimizer).items()
    if inspect.isclass(value) and issubclass(value, mx.optimizer.Optimizer) and name != "Optimizer"
)


def network():
    layer = S.FullyConnected(S.Variable("x", shape=(2, 3), lr_mult=0), num_hidden=3, name="fc")
    return S.BatchNorm(layer, output_mean_var=True, name="bn")


def steps(updater, weights, count, start=0):
    mx.random.seed(5)
    for i in range(start, start + count):
        for key, weight in weights.items():
            grad = mx.nd.array([0.1 * (i + 1), -0.2]).astype(weight.dtype)
            updater(key, grad, weight)
    return {key: weight.asnumpy().tolist() for key, weight in weights.items()}


def weights(dtype="float32"):
    return {key: mx.nd.array([1.0, 2.0]).astype(dtype) for key in (0, 1)}


def describe(thing):
    """What must be the same after a journey."""
    if isinstance(thing, S.Symbol):
        return thing.tojson(), thing.list_outputs(), thing.attr_dict()
    if isinstance(thing, mx.nd.NDArray):
        return thing.dtype, thing.shape, thing.asnumpy().tolist(), thing.context.device_type
    if isinstance(thing, mx.metric.EvalMetric):
        return type(thing), repr(thing.get()), repr(thing.get_global()), repr(thing.get_config())
    if isinstance(thing, mx.lr_scheduler.LRScheduler):
        return type(thing), [thing(n) for n in range(1, 9)]
    if isinstance(thing, mx.optimizer.Optimizer):
        updater = mx.optimizer.get_updater(copy.deepcopy(thing))
        return type(thing), steps(updater, weights(), 3), thing.lr_mult, thing.wd_mult
    if isinstance(thing, mx.init.InitDesc):
        return str(thing), thing.attrs, thing.global_init
    return type(thing), repr(thing)


def scored(metric):
    metric.update([mx.nd.array([0, 1])], [mx.nd.array([[0.3, 0.7], [0.2, 0.8]])])
    return metric


def optimizer(name):
    schedule = mx.lr_scheduler.FactorScheduler(2, 0.5)
    names = {0: "a_weight", 1: "b_bias"}
    kwargs = {"lr_scheduler": schedule, "param_idx2name": names, "sym": network()}
    wd = 0.0 if name == "GroupAdaGrad" else 0.01  # which has no decay
    return getattr(mx.optimizer, name)(learning_rate=0.1, wd=wd, **kwargs)


THINGS = {
    "symbol": network(),
    "group": S.Group([network()[1], S.Variable("y")]),
    "context": mx.cpu(3),
    "gpu": mx.gpu(1),
    "float16": mx.nd.array([[1.5, -2]]).astype("float16"),
    "bool": mx.nd.array([1, 0]).astype("bool"),
    "scalar": mx.nd.zeros(()),
    "empty": mx.nd.zeros((0, 3)),
    "view": mx.nd.array(np.arange(12).reshape(3, 4)).T[1:],
    "accuracy": scored(mx.metric.create("acc")),
    "metrics": scored(mx.metric.create(["acc", "ce"])),
    "xavier": mx.init.Xavier(magnitude=2),
    "constant": mx.init.Constant([1, 2]),
    "description": mx.init.InitDesc("w", {"__init__": "zeros"}, mx.init.Zero()),
    "factor": mx.lr_scheduler.FactorScheduler(3, 0.5),
    "multifactor": mx.lr_scheduler.MultiFactorScheduler([2, 4], 0.5, warmup_steps=2),
    **{name: optimizer(name) for name in OPTIMIZERS},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", THINGS)
def test_there_and_back(name, way):
    assert describe(WAYS[way](THINGS[name])) == describe(THINGS[name])


@pytest.mark.parametrize("way", WAYS)
def test_copies_are_independent(way):
    original = mx.nd.ones((2,))
    WAYS[way](original)[:] = 5
    assert original.asnumpy().tolist() == [1, 1]
    graph = network()
    WAYS[way](graph)._set_attr(__mood__="calm")
    assert graph.attr("__mood__") is None


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_goes_on_where_it_stopped(name, dtype):
    kind = getattr(mx.optimizer, name)
    one = mx.optimizer.get_updater(kind(learning_rate=0.1, multi_precision=dtype == "float16"))
    first = weights(dtype)
    steps(one, first, 3)
    second = {key: weight.copy() for key, weight in first.items()}
    two = mx.optimizer.get_updater(mx.optimizer.SGD())
    two.set_states(one.get_states(dump_optimizer=True))
    assert steps(one, first, 3, 3) == steps(two, second, 3, 3)


@pytest.mark.parametrize("states", [b"", b"nonsense", pickle.dumps([1]), pickle.dumps(({}, 3)), 3])
def test_states_that_are_none(states):
    updater = mx.optimizer.get_updater(mx.optimizer.SGD())
    with pytest.raises(mx.error.FileFormatError, match="saved states"):
        updater.set_states(states)


def _describe_all(things):
    return {name: describe(thing) for name, thing in things.items()}


def test_a_spawned_process_finds_the_same():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.apply(_describe_all, (THINGS,))
    assert found == _describe_all(THINGS)
