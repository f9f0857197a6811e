"""Tables and drawings of a network, for Ferromix and MXNet alike."""

from __future__ import annotations

import contextlib
import io
from typing import Any


def network(mx: Any) -> Any:
    data = mx.sym.Variable("data")
    net = mx.sym.Convolution(data, kernel=(3, 3), num_filter=8, name="c1")
    net = mx.sym.Activation(mx.sym.BatchNorm(net, name="bn1"), act_type="relu", name="a1")
    net = net + mx.sym.Convolution(net, kernel=(1, 1), num_filter=8, no_bias=True, name="c2")
    net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max", name="p1")
    net = mx.sym.FullyConnected(mx.sym.Flatten(net, name="flat"), num_hidden=10, name="fc1")
    return mx.sym.SoftmaxOutput(mx.sym.LeakyReLU(net, name="leaky"), name="softmax")


def texts(mx: Any) -> dict[str, str]:
    printed = io.StringIO()
    # Names such as _plus0 are counted anew.
    with contextlib.redirect_stdout(printed), mx.name.NameManager():
        net = network(mx)
        mx.viz.print_summary(net, shape={"data": (2, 3, 28, 28)})
        table = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=5, output_dim=3, name="e") * 2
        mx.viz.print_summary(table, shape={"data": (2, 3)}, line_length=80)
    drawn = mx.viz.plot_network(net, shape={"data": (2, 3, 28, 28)}, title="net").source
    plain = mx.viz.plot_network(net, node_attrs={"fixedsize": "false"}).source
    whole = mx.viz.plot_network(net, shape={"data": (2, 3, 28, 28)}, hide_weights=False).source
    # MXNet leaves the nodes of weights to their edges.
    edges = "\n".join(line for line in whole.splitlines() if "->" in line)
    return {"summary": printed.getvalue(), "drawing": drawn, "plain": plain, "edges": edges}
