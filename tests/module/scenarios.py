"""Trainings that Ferromix and MXNet do alike: each gives arrays by name."""

from __future__ import annotations

from typing import Any

import numpy as np


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.RandomState(seed).standard_normal(shape).astype("float32")


def samples(mx: Any, count: int = 50, batch: int = 8) -> Any:
    """An iterator over points of three classes."""
    x = numbers(count, 5)
    return mx.io.NDArrayIter(x, (x[:, 0] > 0).astype("float32") + (x[:, 1] > 0.5), batch)


def perceptron(mx: Any) -> Any:
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=8, name="f1")
    net = mx.sym.BatchNorm(mx.sym.Activation(net, act_type="tanh"), name="bn", fix_gamma=False)
    net = mx.sym.FullyConnected(net, num_hidden=3, name="f2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def start(mx: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    args = {
        "f1_weight": numbers(8, 5, seed=1) * 0.3,
        "f1_bias": np.zeros(8),
        "bn_gamma": np.ones(8),
        "bn_beta": np.zeros(8),
        "f2_weight": numbers(3, 8, seed=2) * 0.3,
        "f2_bias": np.zeros(3),
    }
    auxs = {"bn_moving_mean": np.zeros(8), "bn_moving_var": np.ones(8)}
    return tuple({k: mx.nd.array(v) for k, v in part.items()} for part in (args, auxs))


def fitted(mx: Any, devices: int, kvstore: Any, optimizer: str, **params: Any) -> dict[str, Any]:
    args, auxs = start(mx)
    places = [mx.cpu(i) for i in range(devices)]
    module = mx.mod.Module(perceptron(mx), context=places if devices > 1 else places[0])
    scores = []
    module.fit(
        samples(mx),
        samples(mx),
        eval_metric=["acc", "ce"],
        num_epoch=3,
        kvstore=kvstore,
        optimizer=optimizer,
        optimizer_params=params,
        arg_params=args,
        aux_params=auxs,
        eval_end_callback=lambda p: scores.append([v for _, v in p.eval_metric.get_name_value()]),
    )
    args, auxs = module.get_params()
    found = {k: v.asnumpy() for k, v in {**args, **auxs}.items()}
    predicted = module.predict(samples(mx)).asnumpy()
    return {**found, "scores": np.array(scores), "predicted": predicted}


def one_device(mx: Any) -> dict[str, Any]:
    return fitted(mx, 1, "local", "sgd", learning_rate=0.1, momentum=0.9, wd=1e-3)


def two_devices_and_a_store(mx: Any) -> dict[str, Any]:
    return fitted(mx, 2, "device", "adam", learning_rate=0.01)


def three_devices_without(mx: Any) -> dict[str, Any]:
    return fitted(mx, 3, None, "sgd", learning_rate=0.1)


def buckets(mx: Any) -> dict[str, Any]:
    """Sentences of several lengths."""

    def graph(_key: int) -> tuple[Any, tuple[str], tuple[str]]:
        words = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=11, output_dim=4, name="emb")
        net = mx.sym.FullyConnected(mx.sym.mean(words, axis=1), num_hidden=3, name="fc")
        return mx.sym.SoftmaxOutput(net, name="softmax"), ("data",), ("softmax_label",)

    module = mx.mod.BucketingModule(graph, default_bucket_key=10, context=mx.cpu())
    module.bind([("data", (4, 10))], [("softmax_label", (4,))])
    values = {"emb_weight": numbers(11, 4), "fc_weight": numbers(3, 4), "fc_bias": np.zeros(3)}
    module.init_params(arg_params={k: mx.nd.array(v) for k, v in values.items()}, aux_params={})
    module.init_optimizer(optimizer="sgd", optimizer_params={"learning_rate": 0.5, "momentum": 0.5})
    random, outputs = np.random.RandomState(5), []
    for length in (10, 5, 7, 5, 10, 3, 7):
        batch = mx.io.DataBatch(
            [mx.nd.array(random.randint(0, 11, (4, length)))],
            [mx.nd.array(random.randint(0, 3, 4))],
            bucket_key=length,
            provide_data=[("data", (4, length))],
            provide_label=[("softmax_label", (4,))],
        )
        module.prepare(batch)
        module.forward(batch, is_train=True)
        outputs.append(module.get_outputs()[0].asnumpy())
        module.backward()
        module.update()
    args, _ = module.get_params()
    return {**{k: v.asnumpy() for k, v in args.items()}, "outputs": np.stack(outputs)}


def chain(mx: Any) -> dict[str, Any]:
    """Two modules and a loss in Python."""
    data = mx.sym.Variable("data")
    first = mx.sym.FullyConnected(data, num_hidden=4, name="f1")
    first = mx.mod.Module(mx.sym.Activation(first, act_type="relu"), label_names=[])
    last = mx.sym.FullyConnected(data, num_hidden=3, name="f2")
    loss = mx.mod.PythonLossModule(grad_func=lambda x, y: x - mx.nd.one_hot(y, 3))
    modules = mx.mod.SequentialModule()
    modules.add(first).add(mx.mod.Module(last, label_names=[]), auto_wiring=True)
    modules.add(loss, take_labels=True, auto_wiring=True)
    values = {"f1_weight": numbers(4, 5, seed=3), "f1_bias": np.zeros(4)}
    values |= {"f2_weight": numbers(3, 4, seed=4), "f2_bias": np.zeros(3)}
    modules.fit(
        samples(mx, 40),
        num_epoch=2,
        optimizer_params={"learning_rate": 0.1},
        arg_params={k: mx.nd.array(v) for k, v in values.items()},
        aux_params={},
    )
    args, _ = modules.get_params()
    score = modules.score(samples(mx, 40), "acc")
    return {**{k: v.asnumpy() for k, v in args.items()}, "score": np.array([v for _, v in score])}


SCENARIOS = [one_device, two_devices_and_a_store, three_devices_without, buckets, chain]
