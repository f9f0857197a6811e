"""What scripts of MXNet do with modules and iterators, beyond what their documents say."""

import numpy as np
import pytest

import ferromix as mx

LABELS = ("softmax_label",)


def classifier(data=None):
    data = mx.sym.Variable("data") if data is None else data
    return mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(data, num_hidden=2, name="fc"), name="softmax"
    )


class Ones(mx.io.DataIter):
    """An iterator as scripts write them, which assign what they provide."""

    def __init__(self):
        super().__init__(4)
        self.provide_data = [("data", (4, 5))]
        self.provide_label = [("softmax_label", (4,))]
        self.left = 2

    def reset(self):
        self.left = 2

    def next(self):
        if not self.left:
            raise StopIteration
        self.left -= 1
        return mx.io.DataBatch([mx.nd.ones((4, 5))], [mx.nd.zeros(4)], pad=0)


def test_an_iterator_may_assign_what_it_provides():
    module = mx.mod.Module(classifier())
    module.fit(Ones(), num_epoch=1)
    assert module.score(Ones(), "acc") == [("accuracy", 1.0)]
    usual = mx.io.NDArrayIter(np.ones((4, 5)), np.zeros(4), 2)
    more = [*usual.provide_data, mx.io.DataDesc("state", (2, 3))]
    usual.provide_data = more
    assert usual.provide_data is more
    assert [d.name for d in usual.provide_label] == ["softmax_label"]
    with pytest.raises(NotImplementedError, match="must give provide_data"):
        list(mx.io.DataIter().provide_data)


def without_names(key):
    mean = mx.sym.mean(mx.sym.Variable("data"), axis=1, keepdims=True)
    net = mx.sym.FullyConnected(mean, num_hidden=2)
    return mx.sym.SoftmaxOutput(net, name="softmax"), ("data",), LABELS


def bucketed(keys=(6, 3)):
    module = mx.mod.BucketingModule(without_names, default_bucket_key=keys[0])
    for i, key in enumerate(keys):
        shapes = [("data", (4, 6 - i))], [("softmax_label", (4,))]
        if not i:
            module.bind(*shapes)
            module.init_params(mx.init.One())
        arrays = [mx.nd.ones((4, 6 - i))], [mx.nd.zeros(4)]
        module.forward(mx.io.DataBatch(*arrays, 0, None, key, *shapes))
    return module


def test_buckets_share_parameters_that_nobody_named():
    module = bucketed()
    assert sorted(module.get_params()[0]) == ["fullyconnected0_bias", "fullyconnected0_weight"]
    assert module.get_outputs()[0].shape == (4, 2)


def test_checkpoints_of_buckets_have_their_graphs_and_keys(tmp_path):
    prefix = str(tmp_path / "net")
    bucketed().save_checkpoint(prefix, 1)
    found = {path.name for path in tmp_path.iterdir()}
    graphs = {"net-3-symbol.json", "net-6-symbol.json"}
    assert found == {"net-0001.params", "net.buckets"} | graphs
    (keys,) = mx.nd.load(f"{prefix}.buckets")
    assert keys.dtype == np.int32
    assert keys.asnumpy().tolist() == [6, 3]
    load = mx.mod.BucketingModule.load
    again = load(prefix, 1, without_names, 6)
    again.bind([("data", (4, 6))], [("softmax_label", (4,))])
    assert again.get_params()[0]["fullyconnected0_weight"].asnumpy().tolist() == [[1], [1]]
    with pytest.raises(mx.error.InvalidArgumentError, match="sym_gen must be given"):
        load(prefix, 1)


def test_keys_that_are_no_numbers_are_left_out(tmp_path):
    bucketed(("long", "short")).save_checkpoint(str(tmp_path / "net"), 1)
    found = {path.name for path in tmp_path.iterdir()}
    assert found == {"net-0001.params", "net-long-symbol.json", "net-short-symbol.json"}


def test_graphs_of_buckets_may_be_given():
    net, _, _ = without_names(6)
    wider = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3))
    load = mx.mod.BucketingModule.load_dict
    made = load({6: net}, lambda key: (wider, ("data",), LABELS), 6, {}, {})
    assert made.symbol.list_arguments() == net.list_arguments()


def test_prediction_needs_no_label(tmp_path):
    prefix = str(tmp_path / "net")
    params = {"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.zeros(2)}
    mx.model.save_checkpoint(prefix, 1, classifier(), params, {})
    module = mx.mod.Module.load(prefix, 1, label_names=None)
    module.bind([("data", (1, 3))], for_training=False)
    module.prepare(mx.io.DataBatch([mx.nd.ones((1, 3))]), sparse_row_id_fn=lambda batch: {})
    module.forward(mx.io.DataBatch([mx.nd.ones((1, 3))]))
    assert module.get_outputs()[0].asnumpy().tolist() == [[0.5, 0.5]]


def test_labels_of_another_name_are_an_error():
    data = mx.io.NDArrayIter(np.ones((4, 2)), np.ones(4), 2, label_name="label")
    with pytest.raises(mx.error.InvalidArgumentError, match="label_name='softmax_label'"):
        mx.mod.Module(classifier()).fit(data, num_epoch=1)


def test_callbacks_see_the_arguments_of_fit_and_of_score():
    seen = []
    data = mx.io.NDArrayIter(np.ones((4, 2)), np.ones(4), 2)
    module = mx.mod.Module(classifier())
    module.fit(data, data, num_epoch=1, batch_end_callback=lambda param: seen.append(param.locals))
    assert [about["nbatch"] for about in seen] == [0, 1]
    assert [about["end_of_batch"] for about in seen] == [False, True]
    last = seen[-1]
    assert (last["num_epoch"], last["begin_epoch"], last["optimizer"]) == (1, 0, "sgd")
    assert last["self"] is module
    assert last["train_data"] is last["eval_data"] is data
    assert last["validation_metric"] == "acc"
    assert last["eval_metric"].get()[0] == "accuracy"
    assert last["tic"] > 0
    seen.clear()
    module.score(data, "acc", batch_end_callback=lambda param: seen.append(param.locals))
    assert seen[0]["reset"] is True
    assert seen[0]["eval_batch"].data[0].shape == (2, 2)


def test_callbacks_get_epoch_batch_metric_and_locals():
    param = mx.model.BatchEndParam(epoch=1, nbatch=2, eval_metric=None, locals={"a": 3})
    assert type(param).__name__ == "BatchEndParams"
    assert (param.epoch, param.nbatch, param.eval_metric, param.locals) == (1, 2, None, {"a": 3})
    assert param == (1, 2, None, {"a": 3})
    assert param._replace(epoch=5).epoch == 5
    with pytest.raises(TypeError, match="missing 2 required"):
        mx.model.BatchEndParam(1, 2)


def test_groups_have_no_attributes():
    net = classifier()
    group = mx.sym.Group([net, mx.sym.Variable("other")])
    assert group.attr("num_hidden") is group.attr("name") is None
    assert group.list_attr() == {}
    assert net.get_internals()["fc_output"].attr("name") == "fc"
