"""Parameters in a key-value store: devices push gradients, an updater uses them, all pull.

First the calls one by one, with values small enough to follow; then what they are for: a linear
model whose samples are spread over the devices, each of which computes a gradient of its own. The
devices are parts of one machine, ``cpu(0)``, ``cpu(1)`` and so on, each with memory of its own.
"""

from __future__ import annotations

import argparse

import numpy as np

import ferromix as mx

SHAPE = (2, 3)
FEATURES, SAMPLES = 5, 64


def show(what: str, array: mx.NDArray) -> None:
    """Prints the one value that all elements of `array` have."""
    values = np.unique(array.asnumpy())
    print(f"{what}: {', '.join(f'{v:g}' for v in values)} on {array.context}")


def call_by_call(store: mx.kv.KVStore, devices: list[mx.Context]) -> None:
    """Init, push, pull; sums over devices; an updater; several keys at once."""
    store.init(3, mx.nd.ones(SHAPE) * 2)
    a = mx.nd.zeros(SHAPE)
    store.pull(3, out=a)
    show("first value", a)

    store.push(3, mx.nd.ones(SHAPE) * 8)
    store.pull(3, out=a)
    show("pushed", a)

    # Arrays of several devices are summed; without an updater the sum takes the value's place.
    b = [mx.nd.ones(SHAPE, device) for device in devices]
    store.push(3, b)
    store.pull(3, out=a)
    show(f"sum over {len(devices)} devices", a)

    def update(key: int | str, received: mx.NDArray, stored: mx.NDArray) -> None:
        print(f"update on key {key}")
        stored += received * 2

    store.set_updater(update)
    store.push(3, b)
    store.pull(3, out=b)
    for array in b:
        show("after the update", array)

    keys = [5, 7, 9]
    store.init(keys, [mx.nd.ones(SHAPE)] * len(keys))
    lists = [[mx.nd.ones(SHAPE, device) for device in devices] for _ in keys]
    store.push(keys, lists)
    store.pull(keys, out=lists)
    show("the last of three keys", lists[-1][-1])


def train(store: mx.kv.KVStore, devices: list[mx.Context], rate: float, steps: int) -> float:
    """Descends the gradient of a linear model; returns the largest error of a weight."""
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((1, FEATURES))
    data = rng.standard_normal((SAMPLES, FEATURES))
    label = data @ truth.T

    x = mx.sym.Variable("data")
    net = mx.sym.FullyConnected(x, num_hidden=1, no_bias=True, name="fc")
    net = mx.sym.make_loss(mx.sym.sum(mx.sym.square(net - mx.sym.Variable("label"))) / 2)
    requests = {"fc_weight": "write"}
    share = SAMPLES // len(devices)
    executors = []
    for i, device in enumerate(devices):
        executor = net.simple_bind(device, requests, data=(share, FEATURES), label=(share, 1))
        rows = slice(i * share, (i + 1) * share)
        executor.arg_dict["data"][:] = data[rows]
        executor.arg_dict["label"][:] = label[rows]
        executors.append(executor)
    weights = [executor.arg_dict["fc_weight"] for executor in executors]
    gradients = [executor.grad_dict["fc_weight"] for executor in executors]

    def update(key: int | str, received: mx.NDArray, stored: mx.NDArray) -> None:
        stored -= rate / SAMPLES * received

    key = 0
    store.set_updater(update)
    store.init(key, mx.nd.zeros((1, FEATURES)))
    for _ in range(steps):
        store.pull(key, out=weights)
        for executor in executors:
            executor.forward(is_train=True)
            executor.backward()
        store.push(key, gradients)
    store.pull(key, out=weights)
    return float(np.abs(weights[0].asnumpy() - truth).max())


def main() -> None:
    """Runs both parts with the chosen store."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kv-store", default="local", choices=["local", "device"])
    parser.add_argument("--devices", type=int, default=2)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--steps", type=int, default=200)
    args = parser.parse_args()

    devices = [mx.cpu(i) for i in range(args.devices)]
    store = mx.kv.create(args.kv_store)
    call_by_call(store, devices)
    error = train(store, devices, args.lr, args.steps)
    print(f"linear model: largest error of a weight {error:.1e}")


if __name__ == "__main__":
    main()
