"""Channels of images that lie in blocks between convolutions in inference."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx
from ferromix import _core
from ferromix import sym as S

SWITCH = "FERROMIX_BLOCK_CHANNELS"
BLOCK = _core.channel_block("float32")
halves = pytest.mark.skipif(
    not _core.channel_block("bfloat16"), reason="this CPU multiplies no pairs of bfloat16"
)
pytestmark = pytest.mark.skipif(not BLOCK, reason="this CPU has no convolutions of such")


def conv(x, name, filters, kernel=1, stride=1, pad=0, groups=1, dilate=1):
    sizes = {"kernel": kernel, "stride": stride, "pad": pad, "dilate": dilate}
    pairs = {k: (v, v) for k, v in sizes.items()}
    return S.Convolution(x, num_filter=filters, num_group=groups, name=name, **pairs)


def unit(x, name, filters, kernel=1, stride=1, pad=0, groups=1):
    x = conv(x, name, filters, kernel, stride, pad, groups)
    x = S.BatchNorm(x, fix_gamma=False, eps=1e-3, name=f"{name}_bn")
    return S.Activation(x, act_type="relu")


def pool(x, kind, kernel, stride=1, pad=0, **more):
    sizes = {"kernel": kernel, "stride": stride, "pad": pad}
    pairs = {k: (v, v) for k, v in sizes.items()}
    return S.Pooling(x, pool_type=kind, **pairs, **more)


def residual():
    x = pool(unit(S.Variable("x"), "stem", 32, 7, 2, 3), "max", 3, 2, 1)
    y = unit(x, "a", 48, 1)
    y = unit(y, "b", 48, 3, 2, 1)
    y = conv(y, "c", 80) + conv(x, "d", 80, 1, 2)
    y = S.relu(y)
    return S.Flatten(S.Pooling(y, global_pool=True, kernel=(1, 1), pool_type="avg"))


def separable():
    x = unit(S.Variable("x"), "stem", 16, 3, 2, 1)
    for i, (filters, stride) in enumerate([(32, 1), (48, 2), (48, 1)]):
        width = (16, 32, 48)[i]
        x = unit(x, f"deep{i}", width, 3, stride, 1, groups=width)
        x = unit(x, f"wide{i}", filters)
    return S.FullyConnected(x, num_hidden=5, name="fc")


def inception():
    x = unit(S.Variable("x"), "stem", 16, 3, 1, 1)
    parts = [
        unit(x, "one", 16),
        unit(unit(x, "low", 32), "three", 64, 3, 1, 1),
        unit(unit(x, "few", 16), "five", 32, 5, 1, 2),
        unit(pool(x, "max", 3, 1, 1), "after", 16),
    ]
    x = S.Concat(*parts, dim=1)
    x = pool(x, "avg", 3, 2, 1, pooling_convention="full", count_include_pad=False)
    return S.softmax(unit(unit(x, "last", 64), "end", 16, 3))


def grouped():
    x = unit(unit(unit(S.Variable("x"), "a", 32, 3, 1, 1), "b", 32), "c", 32)
    x = unit(x, "groups", 32, 3, 1, 1, groups=4)
    return unit(unit(unit(x, "d", 16, 3, 1, 1), "e", 16), "f", 16, 3)


def normal_first():
    x = conv(S.Variable("x"), "stem", 16, 3, 1, 1)
    for i in range(3):
        y = S.relu(S.BatchNorm(x, fix_gamma=i == 1, eps=1e-3, name=f"bn{i}"))
        y = conv(unit(y, f"low{i}", 32), f"high{i}", 16, 3, 1, 1)
        x = S.Concat(x, y, dim=1) if i < 2 else S.broadcast_add(conv(x, "last", 16), y)
    return S.Pooling(x, global_pool=True, kernel=(1, 1), pool_type="max")


def pointwise():
    x = conv(unit(S.Variable("x"), "a", 16, 3, 1, 1), "b", 32, 3, 1, 2, dilate=2)
    x = S.tanh(x) * 0.5 + S.sigmoid(x)
    return S.sum(conv(S.exp(conv(x, "c", 16)), "d", 16), axis=(2, 3))


NETS = {f.__name__: f for f in (residual, separable, inception, grouped, normal_first, pointwise)}


def bound(net, blocks, monkeypatch, shape=(2, 3, 37, 30), dtype="float32"):
    """An executor for prediction with numbers in all its arrays."""
    monkeypatch.setenv(SWITCH, "1" if blocks else "0")
    executor = net.simple_bind(mx.cpu(), "null", type_dict={"x": dtype}, x=shape)
    draw = np.random.RandomState(3)
    for name, array in {**executor.arg_dict, **executor.aux_dict}.items():
        low = 0.5 if name.endswith("var") else -1
        fan = np.prod(array.shape[1:]) ** 0.5 if name.endswith("weight") else 1
        array[:] = draw.uniform(low, 1.5, array.shape) / fan
    return executor


def kinds(executor):
    return [n.op.name for n in executor.handle.main_program().order]


def blocks_of(executor):
    return [getattr(n.op, "blocks", None) for n in executor.handle.main_program().order]


def close(got, want):
    assert np.isfinite(want).all()
    assert np.abs(got - want).max() <= 2e-5 * np.abs(want).max()


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("batch", [1, 3])
def test_networks_give_what_they_give_with_planes(name, batch, monkeypatch):
    shape = (batch, 3, 37, 30)
    plain = bound(NETS[name](), False, monkeypatch, shape).forward()
    want = [o.asnumpy() for o in plain]
    executor = bound(NETS[name](), True, monkeypatch, shape)
    for _ in range(2):  # the second time with weights that are kept
        for got, value in zip(executor.forward(), want, strict=True):
            close(got.asnumpy(), value)
    assert 2 in blocks_of(executor)


def test_only_those_results_are_turned_back_that_somebody_needs(monkeypatch):
    monkeypatch.setenv("FERROMIX_FUSE_CONVOLUTION", "1")
    assert kinds(bound(residual(), True, monkeypatch)).count("_channel_blocks") == 0
    assert kinds(bound(separable(), True, monkeypatch)).count("_channel_blocks") == 1
    # The grouped convolution reads planes, and the last result has to be there.
    assert kinds(bound(grouped(), True, monkeypatch)).count("_channel_blocks") == 2
    assert [b for b in blocks_of(bound(grouped(), True, monkeypatch)) if b is not None] == [
        *(1, 2, 2, 0),
        *(1, 2, 2),
    ]
    assert kinds(bound(normal_first(), True, monkeypatch)).count("_channel_blocks") == 0
    assert kinds(bound(normal_first(), True, monkeypatch)).count("_norm_block") == 3


def test_convolutions_agree_with_their_definition(monkeypatch):
    x = S.Variable("x")
    net = conv(conv(conv(x, "a", 16, 1), "b", 32, 3, 2, 1), "c", 48, 3, 1, 2, dilate=2)
    net = conv(net, "d", 16)
    executor = bound(net, True, monkeypatch, (2, 16, 11, 17))
    assert blocks_of(executor)[:4] == [1, 2, 2, 2]
    value = executor.arg_dict["x"].asnumpy().astype(np.float64)
    for name, stride, pad, dilate in [
        ("a", 1, 0, 1),
        ("b", 2, 1, 1),
        ("c", 1, 2, 2),
        ("d", 1, 0, 1),
    ]:
        weight = executor.arg_dict[f"{name}_weight"].asnumpy().astype(np.float64)
        padded = np.pad(value, [(0, 0), (0, 0), (pad, pad), (pad, pad)])
        reach = (weight.shape[2] - 1) * dilate + 1
        windows = np.lib.stride_tricks.sliding_window_view(padded, (reach, reach), (2, 3))
        windows = windows[:, :, ::stride, ::stride, ::dilate, ::dilate]
        value = np.einsum("nchwij,ocij->nohw", windows, weight)
        value += executor.arg_dict[f"{name}_bias"].asnumpy()[:, None, None]
    close(executor.forward()[0].asnumpy(), value)


def test_results_that_are_asked_for_lie_as_planes(monkeypatch):
    net = inception()
    inner = [n for n in net.get_internals().list_outputs() if "relu" in n or "activation" in n]
    every = S.Group([net.get_internals()[n] for n in inner] + [net])
    want = [o.asnumpy() for o in bound(every, False, monkeypatch).forward()]
    got = [o.asnumpy() for o in bound(every, True, monkeypatch).forward()]
    for a, b in zip(got, want, strict=True):
        close(a, b)


def test_monitors_see_planes(monkeypatch):
    def seen(blocks):
        found = {}
        with mx.name.NameManager():
            executor = bound(residual(), blocks, monkeypatch)
        executor.set_monitor_callback(lambda name, x: found.setdefault(name, x.asnumpy()))
        executor.forward()
        mx.nd.waitall()
        return found

    want, got = seen(False), seen(True)
    assert got.keys() == want.keys()
    for name, value in want.items():
        close(got[name], value)


@halves
@pytest.mark.parametrize("name", NETS)
def test_halves_give_what_single_precision_gives(name, monkeypatch):
    half = bound(NETS[name](), True, monkeypatch, dtype="bfloat16")
    assert 2 in blocks_of(half)
    plain = bound(NETS[name](), False, monkeypatch, dtype="bfloat16")
    single = bound(NETS[name](), False, monkeypatch)
    for source, target in ((half.arg_dict, single.arg_dict), (half.aux_dict, single.aux_dict)):
        for key, array in source.items():
            plain_of = plain.arg_dict if key in plain.arg_dict else plain.aux_dict
            assert (plain_of[key].astype("float32") == array.astype("float32")).min().asscalar()
            target[key][:] = array.astype("float32")
    want = [o.asnumpy() for o in single.forward()]
    for _ in range(2):  # the second time with weights that are kept
        outputs = zip(half.forward(), plain.forward(), want, strict=True)
        for got, other, value in outputs:
            error, usual = (
                np.abs(o.astype("float32").asnumpy() - value).max() for o in (got, other)
            )
            # Every result is rounded on its way, in either layout: to 8 bits.
            assert error <= max(2 * usual, np.abs(value).max() / 64)


@halves
@pytest.mark.parametrize("seed", range(20))
def test_halves_of_networks_that_are_drawn(seed, monkeypatch):
    draw = np.random.RandomState(seed)
    shape = (int(draw.randint(1, 3)), int(draw.choice([3, 16])), *map(int, draw.randint(1, 20, 2)))
    with mx.name.NameManager():
        net = drawn(draw)
    want = bound(net, False, monkeypatch, shape, "bfloat16").forward()
    got = bound(net, True, monkeypatch, shape, "bfloat16").forward()
    for a, b in zip(got, want, strict=True):
        a, b = (o.astype("float32").asnumpy() for o in (a, b))
        assert np.abs(a - b).max() <= np.abs(b).max() / 16


@halves
@pytest.mark.parametrize("kind", ["max", "avg"])
def test_poolings_of_no_numbers_in_halves(kind, monkeypatch):
    x = conv(conv(conv(S.Variable("x"), "a", 16, 3, 1, 1), "b", 16), "c", 16)
    net = pool(x, kind, 1, global_pool=True)
    got = []
    for blocks in (True, False):
        executor = bound(net, blocks, monkeypatch, (1, 3, 8, 8), "bfloat16")
        executor.arg_dict["x"][:] = np.nan
        got.append(executor.forward()[0].astype("float32").asnumpy())
    np.testing.assert_array_equal(*got)


@halves
def test_what_no_window_reaches_does_not_spoil_halves(monkeypatch):
    monkeypatch.setenv("FERROMIX_WINOGRAD", "0")  # a tile of its outputs is spoilt as a whole
    net = conv(conv(conv(S.Variable("x"), "a", 16, 7, 2, 3), "b", 16, 3, 1, 1), "c", 16)
    executor = bound(net, True, monkeypatch, dtype="bfloat16")
    assert blocks_of(executor)[:3] == [1, 2, 2]
    clean = executor.forward()[0].astype("float32").asnumpy()
    executor.arg_dict["x"][1, 2, 20, 11] = np.inf
    spoilt = ~np.isfinite(executor.forward()[0].astype("float32").asnumpy())
    # Rows 9 to 11 and columns 4 to 7 read it; a window of 3 by 3 reads one more around.
    rows, columns = (np.flatnonzero(spoilt.any(axis=(0, 1, a))) for a in (3, 2))
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (8, 12, 3, 8)
    got = executor.outputs[0].astype("float32").asnumpy()
    assert not spoilt[0].any()
    assert (got[~spoilt] == clean[~spoilt]).all()


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_other_types_stay_as_they_are(dtype, monkeypatch):
    executor = bound(residual(), True, monkeypatch, dtype=dtype)
    assert not {1, 2}.intersection(blocks_of(executor))


def test_what_would_only_be_turned_back_stays_as_it_is(monkeypatch):
    single = bound(S.Flatten(unit(S.Variable("x"), "a", 32, 3)), True, monkeypatch)
    assert not {1, 2}.intersection(blocks_of(single))
    odd = unit(unit(S.Variable("x"), "a", 24, 3), "b", 20)
    assert not {1, 2}.intersection(blocks_of(bound(odd, True, monkeypatch)))


def test_training_keeps_planes(monkeypatch):
    monkeypatch.setenv(SWITCH, "1")
    executor = residual().simple_bind(mx.cpu(), "write", x=(2, 3, 37, 30))
    executor.forward(is_train=True)
    assert not {1, 2}.intersection(blocks_of(executor))


def test_new_weights_and_shapes_are_taken(monkeypatch):
    executor = bound(residual(), True, monkeypatch)
    first = executor.forward()[0].asnumpy()
    executor.arg_dict["c_weight"][:] *= 2
    plain = bound(residual(), False, monkeypatch)
    plain.arg_dict["c_weight"][:] *= 2
    want = plain.forward()[0].asnumpy()
    assert np.abs(want - first).max() > 1e-3
    close(executor.forward()[0].asnumpy(), want)
    monkeypatch.setenv(SWITCH, "1")
    larger = executor.reshape(x=(1, 3, 64, 50), allow_up_sizing=True)
    monkeypatch.setenv(SWITCH, "0")
    other = plain.reshape(x=(1, 3, 64, 50), allow_up_sizing=True)
    for e in (larger, other):
        e.arg_dict["x"][:] = np.random.RandomState(5).uniform(-1, 1, (1, 3, 64, 50))
    close(larger.forward()[0].asnumpy(), other.forward()[0].asnumpy())


@pytest.mark.parametrize("shape", [(1, 3, 1, 1), (1, 3, 8, 9), (5, 3, 2, 40)])
def test_small_images(shape, monkeypatch):
    want = bound(separable(), False, monkeypatch, shape).forward()[0].asnumpy()
    close(bound(separable(), True, monkeypatch, shape).forward()[0].asnumpy(), want)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_plans_are_no_larger(dtype, monkeypatch):
    for make in NETS.values():
        plain, blocks = (
            bound(make(), on, monkeypatch, (4, 3, 64, 64), dtype).memory_planned()
            for on in (False, True)
        )
        assert blocks <= plain * 1.001


def drawn(draw):
    """A network of steps that are drawn, some of which cannot go in blocks."""
    pool_of = [S.relu(conv(S.Variable("x"), "stem", 16, 3, 1, 1))]
    widths = [16]

    def add(x, width):
        pool_of.append(x)
        widths.append(width)

    for i in range(draw.randint(4, 12)):
        at = draw.randint(max(0, len(widths) - 3), len(widths))
        x, width = pool_of[at], widths[at]
        kind = draw.choice(
            ["one", "three", "deep", "groups", "odd", "pool", "norm", "join", "sum", "act", "view"]
        )
        filters = int(draw.choice([16, 32, 48]))
        if kind == "one":
            add(conv(x, f"one{i}", filters), filters)
        elif kind == "three":
            add(unit(x, f"three{i}", filters, 3, 1, 1), filters)
        elif kind == "deep":
            add(unit(x, f"deep{i}", width, 3, 1, 1, groups=width), width)
        elif kind == "groups":
            add(conv(x, f"groups{i}", width, 3, 1, 1, groups=4 if width % 4 == 0 else 1), width)
        elif kind == "odd":
            add(conv(x, f"odd{i}", 20), 20)
        elif kind == "pool":
            add(pool(x, str(draw.choice(["max", "avg", "sum"])), 3, 1, 1), width)
        elif kind == "norm":
            add(S.BatchNorm(x, fix_gamma=bool(draw.randint(2)), eps=1e-3, name=f"bn{i}"), width)
        elif kind == "join":
            other = draw.randint(len(widths))
            add(S.Concat(x, pool_of[other], dim=1), width + widths[other])
        elif kind == "sum":
            same = [k for k, w in enumerate(widths) if w == width]
            add(x + pool_of[draw.choice(same)], width)
        elif kind == "act":
            add(S.relu(x) if draw.randint(2) else S.tanh(x) * 2, width)
        else:
            add(S.transpose(x, axes=(0, 1, 3, 2)).swapaxes(2, 3), width)
    outs = [pool_of[-1], *(pool_of[k] for k in draw.randint(len(widths), size=draw.randint(3)))]
    return S.Group([S.identity(o) if draw.randint(2) else o for o in outs])


@pytest.mark.parametrize("seed", range(40))
def test_networks_that_are_drawn_give_what_they_give_with_planes(seed, monkeypatch):
    draw = np.random.RandomState(seed)
    shape = (int(draw.randint(1, 3)), int(draw.choice([3, 16])), *map(int, draw.randint(1, 20, 2)))
    with mx.name.NameManager():
        net = drawn(draw)
    want = bound(net, False, monkeypatch, shape).forward()
    got = bound(net, True, monkeypatch, shape).forward()
    for a, b in zip(got, want, strict=True):
        close(a.asnumpy(), b.asnumpy())


def test_results_that_are_weights_lie_as_weights(monkeypatch):
    x = unit(unit(S.Variable("x"), "a", 16, 3, 1, 1), "b", 32)
    made = unit(unit(x, "c", 16, 1), "d", 16)
    weight = S.slice_axis(made, axis=0, begin=0, end=1)
    weight = S.relu(S.broadcast_to(weight, shape=(16, 16, 3, 3)))
    both = S.Convolution(made, weight, num_filter=16, kernel=(3, 3), no_bias=True, name="both")
    net = conv(conv(both, "e", 16), "f", 16)
    want = bound(net, False, monkeypatch, (1, 3, 3, 3)).forward()[0].asnumpy()
    close(bound(net, True, monkeypatch, (1, 3, 3, 3)).forward()[0].asnumpy(), want)
    # The same result as data and as weight.
    square = conv(conv(unit(S.Variable("x"), "a", 16, 3, 1, 1), "b", 16), "c", 16)
    twice = S.Convolution(square, square, num_filter=16, kernel=(3, 3), no_bias=True, name="twice")
    net = conv(conv(twice, "d", 16), "e", 16)
    want = bound(net, False, monkeypatch, (16, 3, 3, 3)).forward()[0].asnumpy()
    executor = bound(net, True, monkeypatch, (16, 3, 3, 3))
    assert 2 in blocks_of(executor)
    close(executor.forward()[0].asnumpy(), want)
