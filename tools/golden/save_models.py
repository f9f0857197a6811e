"""Writes the models of tests/golden/models again as Ferromix saves them, with their outputs.

usage: python save_models.py FOLDER        then  make_models.py check FOLDER  with MXNet 1.9.1
"""

import sys
from pathlib import Path

import numpy as np

import ferromix as mx


def main(folder: Path) -> None:
    for path in sorted(folder.glob("mxnet-*.npz")):
        prefix = path.with_suffix("")
        net, params, aux = mx.model.load_checkpoint(str(prefix), 1)
        data = np.load(path)["data"]
        executor = net.simple_bind(mx.cpu(), grad_req="null", data=data.shape)
        executor.copy_params_from(params, aux)
        output = executor.forward(is_train=False, data=mx.nd.array(data))[0].asnumpy()
        target = folder / prefix.name.replace("mxnet", "ferromix")
        mx.model.save_checkpoint(str(target), 1, net, params, aux)
        np.savez(f"{target}.npz", data=data, output=output)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
