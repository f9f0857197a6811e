"""Long use of a GPU: memory stays what it was over many steps, and exhaustion is survived.

usage: python tools/gpu/soak.py [--iterations N] [--fill]

Steps train a small network, bound and by autograd, with arrays that come and go. ``--fill`` takes
all memory of the GPU, which nobody else should be using then.
"""

from __future__ import annotations

import argparse
import resource
import sys

import numpy as np

import ferromix as mx

WARM = 0.2
"""The part of the steps after which memory must not grow."""
SLACK = 8 << 20
"""Bytes that the process may grow by nonetheless, as its allocator has pieces."""


def network() -> mx.Symbol:
    """A convolution with normalisation, and a layer."""
    x = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), num_filter=4, name="conv")
    x = mx.sym.Activation(mx.sym.BatchNorm(x, name="norm"), act_type="relu")
    x = mx.sym.FullyConnected(mx.sym.Flatten(x), num_hidden=5, name="layer")
    return mx.sym.SoftmaxOutput(x, name="softmax")


def used(device: mx.Context) -> tuple[int, int]:
    """Bytes of the device, and most bytes of the process until now."""
    free, total = mx.context.gpu_memory_info(device.device_id)
    return total - free, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def steps(device: mx.Context, count: int) -> None:
    """Trains, and says how memory grew after the first part."""
    executor = network().simple_bind(device, data=(4, 2, 8, 8))
    rng = np.random.default_rng(0)
    for name, array in executor.arg_dict.items():
        array[:] = rng.uniform(-1, 1, array.shape) if name != "softmax_label" else 0
    weight = executor.arg_dict["layer_weight"]
    start = (0, 0)
    for step in range(count):
        executor.forward(is_train=True)
        executor.backward()
        weight -= 1e-4 * executor.grad_dict["layer_weight"]
        x = mx.nd.array(rng.standard_normal((1 + step % 50, 7)), ctx=device)
        x.attach_grad()
        with mx.autograd.record():
            y = (mx.nd.exp(x) * x).sum(axis=1)
        y.backward()
        if step % 100 == 0:
            x.grad.wait_to_read()
        if step == int(WARM * count):
            mx.nd.waitall()
            start = used(device)
    if not np.isfinite(executor.outputs[0].asnumpy()).all():
        sys.exit("the network has gone astray")
    grown = [end - begin for begin, end in zip(start, used(device), strict=True)]
    print(f"{count} steps: the GPU's memory grew by {grown[0]} bytes, the process by {grown[1]}")
    if max(grown) > SLACK:
        sys.exit("memory grew")


def fill(device: mx.Context) -> None:
    """Takes memory until there is none, and goes on with what there was."""
    total = mx.context.gpu_memory_info(device.device_id)[1]
    size = max(1 << 16, total >> 6)
    held: list[mx.nd.NDArray] = []
    try:
        while True:
            array = mx.nd.ones((size // 4,), ctx=device)
            array.wait_to_read()
            held.append(array)
    except mx.error.OutOfMemoryError as error:
        print(f"{len(held)} arrays of {size} bytes, then: {error}")
    if len(held) * size < total // 2:
        sys.exit("half of the memory was not to be had")
    if not all(float(array[-1].asscalar()) == 1 for array in held[:: max(1, len(held) // 8)]):
        sys.exit("arrays changed")
    del held[::2]
    again = [array + 1 for array in held[:4]]
    if [float(array.mean().asscalar()) for array in again] != [2.0] * len(again):
        sys.exit("what was given back is of no use")


def main() -> None:
    """Runs both."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--iterations", type=int, default=100_000)
    parser.add_argument("--fill", action="store_true", help="take all memory of the GPU, too")
    args = parser.parse_args()
    device = mx.gpu(0)
    steps(device, args.iterations)
    if args.fill:
        fill(device)


if __name__ == "__main__":
    main()
