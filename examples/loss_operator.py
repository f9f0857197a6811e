"""A loss as an operator of one's own: logistic regression with labels of -1 and 1.

The operator's output is the margin, so that predictions come from it; its gradient is that of
log(1 + exp(-label * margin)), whatever comes after it, as a loss reads no gradient of its output.
The property says so by ``declare_backward_dependency``. A line is fitted between two clouds of
points.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

import ferromix as mx


class Logistic(mx.operator.Operator):
    """Forward hands the margin on; backward is the gradient of the loss."""

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def forward(
        self,
        ctx: mx.operator.OpContext,
        in_data: list[Any],
        req: list[str],
        out_data: list[Any],
        aux: list[Any],
    ) -> None:
        """The margin as it is."""
        mx.operator.assign(out_data[0], req[0], in_data[0])

    def backward(
        self,
        ctx: mx.operator.OpContext,
        out_grad: list[Any],
        in_data: list[Any],
        out_data: list[Any],
        req: list[str],
        in_grad: list[Any],
        aux: list[Any],
    ) -> None:
        """``-label / (1 + exp(label * margin))`` for the margin, nothing for the label."""
        margin, label = in_data
        slope = -label * mx.nd.sigmoid(-label * margin)
        mx.operator.assign(in_grad[0], req[0], self.scale * slope)
        mx.operator.assign(in_grad[1], req[1], 0)


@mx.operator.register
class LogisticProperty(mx.operator.OperatorProperty):
    """The logistic loss of a margin and a label of -1 or 1."""

    name = "my_logistic_loss"
    arguments = ("data", "label")
    params = {"grad_scale": mx.operator.Param("float", 1.0, "Multiplies the gradient.")}  # noqa: RUF012

    def declare_backward_dependency(
        self, out_grad: Sequence[int], in_data: Sequence[int], out_data: Sequence[int]
    ) -> list[int]:
        """The inputs alone."""
        return list(in_data)

    def create_operator(self, ctx: mx.Context) -> Logistic:
        """One operator for every device."""
        return Logistic(self.attrs["grad_scale"])


def main() -> None:
    """Descends the gradient, telling loss and accuracy."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", type=int, default=50)
    args = parser.parse_args()

    rng = np.random.default_rng(0)
    label = np.where(rng.random(200) < 0.5, -1.0, 1.0)
    points = rng.normal(size=(200, 2)) + label[:, None] * [1.5, -1.0]

    margin = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, name="line")
    margin = mx.sym.Reshape(margin, shape=(-1,))
    loss = mx.sym.my_logistic_loss(margin, name="loss", grad_scale=1 / len(label))
    requests = {"data": "null", "loss_label": "null", "line_weight": "write", "line_bias": "write"}
    executor = loss.simple_bind(mx.cpu(), data=points.shape, grad_req=requests)
    executor.copy_params_from({"data": mx.nd.array(points), "loss_label": mx.nd.array(label)})
    for step in range(args.steps + 1):
        margins = executor.forward(is_train=True)[0].asnumpy()
        if step % 10 == 0:
            cost = np.log1p(np.exp(-label * margins)).mean()
            right = (label * margins > 0).mean()
            print(f"step {step}: loss {cost:.4f}, accuracy {right:.3f}")
        executor.backward()
        for name in ("line_weight", "line_bias"):
            executor.arg_dict[name][:] -= executor.grad_dict[name]


if __name__ == "__main__":
    main()
