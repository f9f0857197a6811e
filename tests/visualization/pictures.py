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


def others_of(mx: Any) -> Any:
    """What has a label, a colour or edges of its own besides; texts as MXNet keeps them."""
    data = mx.sym.Variable("data")
    net = mx.sym.Convolution(data, kernel=[3, 3], stride="(2,2)", num_filter="8", name="c")
    net = mx.sym.Deconvolution(net, kernel=(2, 2), stride=(2, 2), num_filter=8, name="d")
    net = mx.sym.contrib.BilinearResize2D(net, mx.sym.Variable("like"), mode="like", name="b")
    net = mx.sym.softmax(mx.sym.LeakyReLU(net, act_type="elu", name="l"), name="s")
    parts = mx.sym.split(net, num_outputs=2, name="sp")
    net = mx.sym.Concat(parts[0], parts[1], mx.sym.Variable("odd name:x"), name="a b")
    return mx.sym.Pooling(net, global_pool=True, pool_type="avg", name="p")


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
    given = {"shape": {"data": (2, 3, 28, 28)}, "dtype": {"data": "float16"}}
    typed = mx.viz.plot_network(net, **given).source
    weights = mx.viz.plot_network(net, hide_weights=False, **given).source
    attrs = {"shape": "circle", "fontsize": "9"}
    others = mx.viz.plot_network(others_of(mx), title="of others", node_attrs=attrs).source
    drawings = {"drawing": drawn, "plain": plain, "typed": typed}
    drawings |= {"weights": weights, "others": others}
    return {"summary": printed.getvalue(), **drawings}
