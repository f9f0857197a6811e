"""The interface of scikit-learn's: fit, predict, score, and files."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import DTypeError, InvalidArgumentError

pytestmark = pytest.mark.filterwarnings("ignore:mx.model.FeedForward:DeprecationWarning")


def network():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="f")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def samples(count=90):
    random = np.random.default_rng(0)
    labels = np.arange(count) % 3
    return (np.eye(3)[labels] * 3 + random.normal(size=(count, 3))).astype("float32"), labels


def fitted(**kwargs):
    mx.random.seed(1)
    np.random.seed(1)
    model = mx.model.FeedForward(
        network(), num_epoch=10, numpy_batch_size=30, learning_rate=0.5, **kwargs
    )
    model.fit(*samples())
    return model


def test_it_learns_from_arrays_and_scores():
    x, y = samples()
    model = fitted()
    predicted = model.predict(x)
    assert isinstance(predicted, np.ndarray)
    assert predicted.shape == (90, 3)
    assert (predicted.argmax(1) == y).mean() > 0.9
    score = model.score(mx.io.NDArrayIter(x, y, 32))
    assert score == pytest.approx((predicted.argmax(1) == y).mean(), abs=0.03)
    found, data, label = model.predict(mx.io.NDArrayIter(x, y, 32), return_data=True)
    assert np.array_equal(data, x)
    assert np.array_equal(label, y)
    assert np.allclose(found, predicted)
    assert model.predict(mx.io.NDArrayIter(x, y, 30), num_batch=1).shape == (30, 3)


def test_what_is_saved_goes_on(tmp_path):
    prefix = str(tmp_path / "net")
    model = fitted()
    model.save(prefix)
    again = mx.model.FeedForward.load(prefix, 10, num_epoch=11, numpy_batch_size=30)
    assert again.begin_epoch == 10
    assert np.array_equal(again.predict(samples()[0]), model.predict(samples()[0]))
    again.fit(*samples())
    with pytest.raises(InvalidArgumentError, match="give epoch"):
        mx.model.FeedForward(network()).save(prefix)


def test_create_fits_with_callbacks_on_two_devices():
    told, epochs = [], []
    model = mx.model.FeedForward.create(
        network(),
        *samples(),
        ctx=[mx.cpu(0), mx.cpu(1)],
        num_epoch=2,
        epoch_size=2,
        numpy_batch_size=30,
        eval_data=samples(30),
        batch_end_callback=lambda p: told.append((p.epoch, p.nbatch)),
        epoch_end_callback=lambda *args: epochs.append(args[0]),
    )
    assert told == [(0, 1), (0, 2), (1, 1), (1, 2)]
    assert epochs == [0, 1]
    assert set(model.arg_params) == {"f_weight", "f_bias"}


def test_parameters_that_the_graph_lacks():
    extra = {"f_weight": mx.nd.ones((3, 3)), "f_bias": mx.nd.zeros(3), "more": mx.nd.ones(1)}
    model = mx.model.FeedForward(network(), arg_params=extra, allow_extra_params=True)
    assert set(model.arg_params) == {"f_weight", "f_bias"}
    assert np.allclose(model.predict(np.ones((2, 3), "float32")), 1 / 3)


class Plain(mx.io.DataIter):
    """Batches of one bucket, which are described by names and shapes alone."""

    default_bucket_key = 3
    provide_data = (("data", (30, 3)),)
    provide_label = (("softmax_label", (30,)),)

    def __init__(self):
        super().__init__(30)
        self.done = 0

    def reset(self):
        self.done = 0

    def next(self):
        if self.done == 3:
            raise StopIteration
        rows = slice(self.done * 30, self.done * 30 + 30)
        x, y = (mx.nd.array(a[rows]) for a in samples())
        self.done += 1
        return mx.io.DataBatch(
            [x], [y], pad=0, bucket_key=3,
            provide_data=self.provide_data, provide_label=self.provide_label,
        )  # fmt: skip


@pytest.mark.parametrize("symbol", [network(), lambda key: network()], ids=["symbol", "function"])
def test_data_described_by_pairs(symbol):
    model = mx.model.FeedForward(symbol, num_epoch=8, learning_rate=0.5)
    model.fit(Plain())
    assert model.symbol.list_outputs() == ["softmax_output"]
    assert model.predict(samples()[0]).shape == (90, 3)


def test_an_epoch_of_a_size_goes_on_where_the_one_before_ended():
    seen = []
    data = Plain()
    model = mx.model.FeedForward(network(), num_epoch=2, epoch_size=4)
    model.fit(data, batch_end_callback=lambda p: seen.append((p.epoch, p.nbatch, data.done)))
    assert seen == [(0, n + 1, d) for n, d in enumerate((1, 2, 3, 1))] + [
        (1, n + 1, d) for n, d in enumerate((2, 3, 1, 2))
    ]


def test_scores_of_several_metrics_and_of_arrays():
    x, y = samples()
    ends = []
    model = mx.model.FeedForward(network(), num_epoch=2, numpy_batch_size=40, learning_rate=0.5)
    model.fit(
        x,
        y[:, None],
        eval_data=(x.tolist(), y.tolist()),
        eval_end_callback=lambda p: ends.append((p.epoch, p.nbatch, p.eval_metric.num_inst)),
    )
    assert ends[0] == (0, 2, 80)
    accuracy, entropy = model.score(mx.io.NDArrayIter(x, y, 30), ["acc", "ce"])
    assert accuracy > 0.5
    assert entropy < 1.2


def test_what_is_refused():
    x, y = samples()
    fresh = mx.model.FeedForward(network(), num_epoch=1)
    with pytest.raises(DTypeError, match=r"X must be an iterator.*list"):
        fresh.fit(x.tolist(), y)
    with pytest.raises(DTypeError, match=r"eval_data must be.*ndarray"):
        fresh.fit(x, y, eval_data=x)
    with pytest.raises(InvalidArgumentError, match=r"one column, got shape \(90, 2\)"):
        fresh.fit(x, np.stack([y, y], 1))
    with pytest.raises(InvalidArgumentError, match="num_epoch must be given"):
        mx.model.FeedForward(network()).fit(x, y)
    with pytest.raises(InvalidArgumentError, match="fit first"):
        mx.model.FeedForward(lambda key: network()).predict(x)
    empty = Plain()
    empty.next = lambda: next(iter(()))
    with pytest.raises(InvalidArgumentError, match="the data has no batches"):
        fresh.fit(empty)
    with pytest.raises(InvalidArgumentError, match="y must be given"):
        mx.model.FeedForward(network(), num_epoch=1).fit(samples()[0])
    with pytest.raises(InvalidArgumentError, match="90 samples, and y 89"):
        mx.model.FeedForward(network(), num_epoch=1).fit(samples()[0], samples()[1][:-1])
    with pytest.warns(DeprecationWarning, match="mx.mod.Module"):
        mx.model.FeedForward(network())
