"""Trains a small network, writes it as an ONNX model, and compares ONNX Runtime's results.

Needs ``pip install "ferromix[onnx]"``, and ``pip install onnxruntime`` for the comparison.
"""

from __future__ import annotations

import argparse

import numpy as np

import ferromix as mx


def network() -> mx.sym.Symbol:
    """A convolution, a pooling and two layers."""
    x = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), num_filter=4, name="conv")
    x = mx.sym.Pooling(mx.sym.relu(x), kernel=(2, 2), stride=(2, 2), pool_type="max")
    x = mx.sym.FullyConnected(mx.sym.Flatten(x), num_hidden=2, name="fc")
    return mx.sym.SoftmaxOutput(x, name="softmax")


def samples(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Images that are brighter above or below."""
    random = np.random.default_rng(0)
    labels = random.integers(0, 2, count)
    images = random.uniform(0, 0.5, (count, 1, 8, 8)).astype("float32")
    images[labels == 1, :, :4] += 0.5
    images[labels == 0, :, 4:] += 0.5
    return images, labels.astype("float32")


def main() -> None:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--path", default="stripes.onnx", help="the model that is written")
    path = parser.parse_args().path
    mx.random.seed(1)
    images, labels = samples(400)
    module = mx.mod.Module(network())
    module.fit(mx.io.NDArrayIter(images, labels, 20), num_epoch=4, initializer=mx.init.Xavier())
    params = list(module.get_params())
    # Any number of images: the first extent has a name in place of a number.
    shapes = [("batch", 1, 8, 8)]
    mx.onnx.export_model(
        *(module.symbol, params, [(20, 1, 8, 8)], np.float32, path),
        dynamic=True,
        dynamic_input_shapes=shapes,
    )
    print(f"{path}: {mx.onnx.get_model_metadata(path)['input_tensor_data']}")

    wanted = module.predict(mx.io.NDArrayIter(images, batch_size=20)).asnumpy()
    print(f"accuracy {np.mean(wanted.argmax(axis=1) == labels):.3f}")
    try:
        import onnxruntime
    except ImportError:
        print("pip install onnxruntime compares it")
        return
    (found,) = onnxruntime.InferenceSession(path).run(None, {"data": images})
    print(f"largest difference in ONNX Runtime {np.abs(found - wanted).max():.1e}")


if __name__ == "__main__":
    main()
