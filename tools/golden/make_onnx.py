"""ONNX models as MXNet 1.9.1 writes them: tests/golden/onnx/mxnet-NAME.onnx, with its own outputs.

usage: PYTHON tools/golden/make_onnx.py, with an interpreter that has MXNet 1.9.1 and onnx 1.14

MXNet names the newest version of operators that onnx knows, and writes reductions as in version
13: with this onnx its LayerNorm and its mean fail.
"""

import os
import sys
from pathlib import Path

import numpy as np

os.environ["MXNET_SUBGRAPH_BACKEND"] = "NONE"
import mxnet as mx

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "tests" / "golden" / "onnx"
S = mx.sym


def convnet():
    x = S.Variable("data")
    x = S.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=4, name="conv1")
    x = S.BatchNorm(x, fix_gamma=False, eps=1e-5, name="bn1")
    x = S.LeakyReLU(x, act_type="leaky", slope=0.1, name="leaky1")
    x = S.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool1")
    y = S.Deconvolution(x, kernel=(3, 3), pad=(1, 1), num_filter=4, no_bias=True, name="deconv1")
    x = S.Concat(x, S.Activation(y, act_type="tanh"), dim=1, name="join")
    x = S.Pooling(x, global_pool=True, kernel=(1, 1), pool_type="avg", name="gap")
    x = S.FullyConnected(S.Flatten(x), num_hidden=5, name="fc")
    return S.softmax(x, name="softmax"), {"data": (2, 3, 8, 8)}, None


def sequence():
    x = S.Embedding(S.Variable("data"), input_dim=9, output_dim=4, name="embed")
    x = S.FullyConnected(x, num_hidden=4, flatten=False, name="mix")
    x = S.slice_axis(x, axis=1, begin=1, end=4)
    scores = S.softmax(S.batch_dot(x, x, transpose_b=True) / 2, axis=-1)
    return S.sum(S.batch_dot(scores, x), axis=1), {"data": (2, 5)}, 9


def main():
    FOLDER.mkdir(exist_ok=True)
    for make in (convnet, sequence):
        net, shapes, words = make()
        name, random = f"mxnet-{make.__name__}", np.random.RandomState(3)
        ex = net.simple_bind(mx.cpu(), grad_req="null", **shapes)
        args = {
            n: mx.nd.array(random.uniform(-0.5, 0.5, a.shape))
            for n, a in ex.arg_dict.items()
            if n != "data"
        }
        auxs = {n: mx.nd.array(random.uniform(0.5, 1.5, a.shape)) for n, a in ex.aux_dict.items()}
        shape = shapes["data"]
        data = random.randint(0, words, shape) if words else random.uniform(-1, 1, shape)
        ex.copy_params_from(args, auxs)
        found = ex.forward(is_train=False, data=mx.nd.array(data))[0].asnumpy()
        path = FOLDER / f"{name}.onnx"
        mx.onnx.export_model(net, [args, auxs], [shape], np.float32, str(path))
        np.savez_compressed(path.with_suffix(".npz"), input=data.astype("float32"), output0=found)
        print(name, path.stat().st_size)


if __name__ == "__main__":
    sys.exit(main())
