"""The network whose listing is compared with MXNet's."""


def network(mx):
    """Layers with attributes, states, several outputs and a loss."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc")
    net = mx.sym.Activation(net, act_type="relu", name="act")
    net = mx.sym.Dropout(mx.sym.BatchNorm(net, name="bn"), name="drop")
    both = mx.sym.split(net, num_outputs=2, name="sp")
    return mx.sym.SoftmaxOutput(both[0] + both[1], name="softmax")
