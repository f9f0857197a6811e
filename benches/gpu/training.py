"""Samples a second of whole networks, in training and in inference; data is on the GPU already.

Training is a step of SGD with momentum and weight decay on one batch, for all weights in one call.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import networks
from .packages import Package
from .table import Line
from .timing import Call, Clock

NAMES = ("mlp", "resnet18", "resnet50")
RATES = {"momentum": 0.9, "rescale_grad": 1.0}
LR, DECAY = 1e-3, 1e-4


@dataclass(frozen=True)
class Task:
    """A network, and how it is run."""

    name: str
    batch: int
    extent: int
    width: int
    dtype: str
    train: bool

    @property
    def shape(self) -> tuple[int, ...]:
        images = (self.batch, 3, self.extent, self.extent)
        return (self.batch, 784) if self.name == "mlp" else images

    @property
    def title(self) -> str:
        return f"{self.name}, {self.batch}, {'train' if self.train else 'infer'}"

    def batch_of(self) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(0)
        data = rng.uniform(-1, 1, self.shape).astype(self.dtype)
        return data, rng.integers(0, networks.CLASSES[self.name], self.batch)


def tasks(size: str, dtypes: list[str]) -> Iterator[Task]:
    """What is run in a size."""
    large = size == "large"
    batches = {"mlp": 128, "resnet18": 64, "resnet50": 64}
    for name in NAMES:
        for dtype in dtypes:
            for train in (True, False):
                batch, extent, width = (batches[name], 224, 64) if large else (2, 32, 4)
                yield Task(name, batch, extent, width, dtype, train)


def lines(size: str, dtypes: list[str], found: dict[str, Package], clock: Clock) -> Iterator[Line]:
    """Each task in Ferromix and torch."""
    makers = {"ferromix": ferromix, "torch": torch}
    for task in tasks(size, dtypes):
        what = f"{task.title}, {task.dtype}"
        calls = {}
        for name in makers.keys() & found.keys():
            package = found[name]
            call = clock.attempt(
                what, name, lambda n=name, p=package, t=task: makers[n](p.module, t)
            )
            if call is not None:
                calls[name] = package, call
        seconds = clock.times(what, calls)
        rates = {name: task.batch / s for name, s in seconds.items()}
        yield Line(task.title, task.dtype, "samples/s", rates)


def ferromix(mx: Any, task: Task) -> Call:
    """A step of a bound executor."""
    scores = networks.symbol(mx.sym, task.name, task.width)
    net = mx.sym.SoftmaxOutput(scores, normalization="batch", name="softmax")
    given = ("data", "softmax_label")
    names = [n for n in net.list_arguments() if n not in given]
    request = {n: "null" if n in given or not task.train else "write" for n in net.list_arguments()}
    gpu = mx.gpu(0)
    executor = net.simple_bind(
        gpu, grad_req=request, type_dict={"data": task.dtype}, data=task.shape
    )
    rng = np.random.default_rng(1)
    for name in names:
        place = executor.arg_dict[name]
        gamma = name.endswith("gamma")
        place[:] = 1 if gamma else rng.uniform(-0.05, 0.05, place.shape).astype(np.float32)
    for name, array in executor.aux_dict.items():
        array[:] = name.endswith("var")
    data, label = task.batch_of()
    executor.arg_dict["data"][:] = data
    executor.arg_dict["softmax_label"][:] = label
    if not task.train:
        return lambda: executor.forward(is_train=False)
    update = updates(mx, [(executor.arg_dict[n], executor.grad_dict[n]) for n in names])

    def step() -> None:
        executor.forward(is_train=True)
        executor.backward()
        update()

    return step


def updates(mx: Any, pairs: list[tuple[Any, Any]]) -> Call:
    """One call for all weights of each type."""
    groups: dict[Any, list[tuple[Any, Any, Any]]] = {}
    for weight, gradient in pairs:
        groups.setdefault(weight.dtype, []).append((weight, gradient, mx.nd.zeros_like(weight)))

    def update() -> None:
        for group in groups.values():
            count = len(group)
            mx.nd.multi_sgd_mom_update(
                *(array for triple in group for array in triple),
                out=[triple[0] for triple in group],
                num_weights=count,
                lrs=(LR,) * count,
                wds=(DECAY,) * count,
                **RATES,
            )

    return update


def torch(torch: Any, task: Task) -> Call:
    """The same in eager mode; halves of all parameters but those of normalisation, as there."""
    kind = getattr(torch, task.dtype)
    net = networks.module(torch, task.name, task.width).to("cuda", kind)
    for layer in net.modules():
        if isinstance(layer, torch.nn.BatchNorm2d):
            layer.float()
    data, label = (torch.from_numpy(x).to("cuda") for x in task.batch_of())
    if not task.train:
        net.eval()

        def infer() -> Any:
            with torch.inference_mode():
                return net(data).softmax(1)

        return infer
    optimizer = torch.optim.SGD(net.parameters(), LR, momentum=0.9, weight_decay=DECAY, fused=True)

    def step() -> None:
        loss = torch.nn.functional.cross_entropy(net(data).float(), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step
