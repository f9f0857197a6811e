"""Makes the golden models of tests/golden/models with MXNet 1.9.1.

usage: PYTHON_WITH_MXNET make_models.py write FOLDER     models that MXNet saved, with their outputs
       PYTHON_WITH_MXNET make_models.py check FOLDER     loads the models that Ferromix saved there,
                                                         compares the outputs, keeps MXNet's

Needs MXNet 1.9.1 (`pip install mxnet==1.9.1 "numpy<1.24"` in an environment of its own); nothing
else of Ferromix does.
"""

import os
import sys

import numpy as np

os.environ["MXNET_SUBGRAPH_BACKEND"] = "NONE"
import mxnet as mx

S = mx.sym


def convnet():
    """Every layer that a small convolutional network uses, with auxiliary states."""
    x = S.Variable("data")
    x = S.Convolution(x, num_filter=4, kernel=(3, 3), pad=(1, 1), name="conv1")
    x = S.BatchNorm(x, fix_gamma=False, eps=1e-5, name="bn1")
    x = S.LeakyReLU(x, act_type="leaky", slope=0.1, name="leaky1")
    x = S.Pooling(x, kernel=(3, 3), stride=(2, 2), pool_type="max", pooling_convention="full")
    y = S.Convolution(
        x,
        num_filter=4,
        num_group=2,
        kernel=(3, 3),
        pad=(2, 2),
        dilate=(2, 2),
        no_bias=True,
        name="conv2",
    )
    y = S.Activation(y, act_type="tanh", name="act2")
    x = S.Concat(x + y, S.Dropout(y, p=0.5), dim=1, name="join")
    x = S.Pooling(x, global_pool=True, kernel=(1, 1), pool_type="avg", name="gap")
    x = S.FullyConnected(S.Flatten(x), num_hidden=5, name="fc")
    return S.SoftmaxOutput(x, name="softmax"), {"data": (3, 2, 9, 9)}


def mlp():
    """A perceptron with scalar arithmetic between the layers."""
    x = S.Variable("data")
    x = S.FullyConnected(x, num_hidden=6, name="fc1")
    x = 1.5 * S.Activation(x, act_type="relu", name="relu1") - 0.25
    x = S.FullyConnected(x, num_hidden=4, no_bias=True, name="fc2")
    return S.SoftmaxOutput(x, S.Variable("softmax_label"), name="softmax"), {"data": (5, 7)}


MODELS = {"convnet": convnet, "mlp": mlp}


def outputs(net, params, aux, data):
    ex = net.simple_bind(mx.cpu(), grad_req="null", data=data.shape)
    ex.copy_params_from(params, aux)
    return ex.forward(is_train=False, data=mx.nd.array(data))[0].asnumpy()


def write(folder):
    rng = np.random.RandomState(7)
    for name, make in MODELS.items():
        net, shapes = make()
        ex = net.simple_bind(mx.cpu(), grad_req="null", **shapes)
        params = {
            n: mx.nd.array(rng.uniform(-0.5, 0.5, a.shape))
            for n, a in ex.arg_dict.items()
            if n not in ("data", "softmax_label")
        }
        aux = {n: mx.nd.array(rng.uniform(0.5, 1.5, a.shape)) for n, a in ex.aux_dict.items()}
        data = rng.uniform(-1, 1, shapes["data"]).astype("float32")
        mx.model.save_checkpoint(os.path.join(folder, "mxnet-" + name), 1, net, params, aux)
        np.savez(
            os.path.join(folder, f"mxnet-{name}.npz"),
            data=data,
            output=outputs(net, params, aux, data),
        )


def check(folder):
    for name in MODELS:
        prefix = os.path.join(folder, "ferromix-" + name)
        net, params, aux = mx.model.load_checkpoint(prefix, 1)
        saved = np.load(prefix + ".npz")
        found = outputs(net, params, aux, saved["data"])
        worst = float(np.abs(found - saved["output"]).max())
        print(f"{name}: largest difference of MXNet's outputs from Ferromix's: {worst:.3g}")
        if not worst <= 1e-5:
            sys.exit(f"{name}: outputs differ by more than 1e-5")
        np.savez(prefix + ".npz", data=saved["data"], output=saved["output"], mxnet_output=found)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("write", "check"):
        sys.exit(__doc__)
    {"write": write, "check": check}[sys.argv[1]](sys.argv[2])
