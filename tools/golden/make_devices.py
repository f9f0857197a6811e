"""Makes tests/golden/devices: networks on two devices, as MXNet 1.9.1 runs them.

usage: python tools/golden/make_devices.py, with a Python that has mxnet==1.9.1 and numpy<1.24
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mxnet as mx
import numpy as np

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "golden" / "devices"
GROUPS = {"first": mx.cpu(1), "second": mx.cpu(2)}
STEPS = 5


def network() -> Any:
    """A convolution in one group, a classifier in the other; what joins them is in none."""
    sym = mx.sym
    with mx.AttrScope(ctx_group="first"):
        x = sym.Convolution(sym.Variable("data"), kernel=(3, 3), num_filter=4, name="conv")
        x = sym.BatchNorm(x, fix_gamma=False, name="bn")
        x = sym.Activation(x, act_type="tanh", name="act")
        skip = sym.Pooling(x, global_pool=True, pool_type="avg", kernel=(1, 1), name="pool")
    with mx.AttrScope(ctx_group="second"):
        x = sym.FullyConnected(sym.Flatten(x), num_hidden=6, name="fc1")
        x = sym.Activation(x, act_type="relu", name="relu")
    x = sym.Concat(x, sym.Flatten(skip), name="join")
    with mx.AttrScope(ctx_group="second"):
        x = sym.FullyConnected(x, num_hidden=3, name="fc2")
        return sym.SoftmaxOutput(x, sym.Variable("label"), name="softmax")


def values(net: Any, batch: int) -> dict[str, np.ndarray]:
    """Arguments for a batch."""
    rng = np.random.RandomState(7)
    names = net.list_arguments()
    shapes, _, _ = net.infer_shape(data=(batch, 2, 7, 6), label=(batch,))
    found = {n: rng.uniform(-1, 1, s).astype("float32") for n, s in zip(names, shapes)}
    found["label"] = (np.arange(batch) % 3).astype("float32")
    return found


def grouped(net: Any) -> dict[str, np.ndarray]:
    """A training step by group2ctx, and where its arrays are."""
    requests = {n: "write" for n in net.list_arguments() if n != "label"}
    args = values(net, 4)
    executor = net.simple_bind(
        mx.cpu(0), grad_req=requests, group2ctx=GROUPS, data=(4, 2, 7, 6), label=(4,)
    )
    for name, array in executor.arg_dict.items():
        array[:] = args[name]
    for array in executor.aux_dict.values():
        array[:] = 1
    (out,) = executor.forward(is_train=True)
    executor.backward()
    found = {f"arg:{k}": v for k, v in args.items()}
    found["out:0"] = out.asnumpy()
    arrays = {f"grad:{k}": v for k, v in executor.grad_dict.items() if v is not None}
    arrays.update({f"aux:{k}": v for k, v in executor.aux_dict.items()})
    found.update({k: v.asnumpy() for k, v in arrays.items()})
    arrays.update({f"arg:{k}": v for k, v in executor.arg_dict.items()})
    found.update({f"at:{k}": np.array(str(v.context)) for k, v in arrays.items()})
    found["at:out:0"] = np.array(str(out.context))
    return found


def replicas(net: Any) -> dict[str, np.ndarray]:
    """Weights after some steps of two replicas, each with half of the batch."""
    args = values(net, 8)
    places = [mx.cpu(1), mx.cpu(2)]
    executors = [net.simple_bind(c, data=(4, 2, 7, 6), label=(4,)) for c in places]
    store = mx.kv.create("local")
    store.set_optimizer(mx.optimizer.SGD(learning_rate=0.1, momentum=0.9, rescale_grad=1 / 8))
    names = [n for n in args if n not in ("data", "label")]
    for name in names:
        store.init(name, mx.nd.array(args[name]))
    for i, executor in enumerate(executors):
        for name, array in executor.arg_dict.items():
            part = slice(4 * i, 4 * i + 4) if name in ("data", "label") else slice(None)
            array[:] = args[name][part]
    for _ in range(STEPS):
        for executor in executors:
            executor.forward(is_train=True)
            executor.backward()
        for name in names:
            store.push(name, [e.grad_dict[name] for e in executors])
            store.pull(name, [e.arg_dict[name] for e in executors])
    found = {f"arg:{k}": v for k, v in args.items()}
    found.update({f"after:{n}": executors[1].arg_dict[n].asnumpy() for n in names})
    return found


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    net = network()
    net.save(str(FOLDER / "network.json"))
    np.savez_compressed(FOLDER / "grouped.npz", **grouped(net))
    np.savez_compressed(FOLDER / "replicas.npz", **replicas(net))


if __name__ == "__main__":
    main()
