"""The other side of `run.py`: runs operators in MXNet 1.9.1, in an interpreter that has it.

Reads requests from its standard input and writes answers to its standard output, each as a pickle
with its length in front. Arrays travel as (type, shape, bytes), since the two interpreters have
versions of NumPy whose pickles differ.
"""

import os
import pickle
import struct
import sys
import warnings


def serve(run):
    """Answers with `run(name, inputs, attrs)`, or with the text of what it raised."""
    source = sys.stdin.buffer
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print must not get among the answers
    while True:
        head = source.read(4)
        if len(head) < 4:
            return
        request = pickle.loads(source.read(struct.unpack("<I", head)[0]))
        try:
            answer = ("ok", run(*request))
        except Exception as e:
            answer = ("error", f"{type(e).__name__}: {e}"[:300])
        data = pickle.dumps(answer, protocol=4)
        sink.write(struct.pack("<I", len(data)) + data)
        sink.flush()


def main():
    warnings.simplefilter("ignore")
    import mxnet as mx
    import numpy as np

    def run(name, inputs, attrs):
        arrays = []
        for dtype, shape, data in inputs:
            values = np.frombuffer(data, dtype).reshape(shape)
            arrays.append(mx.nd.array(values, dtype=dtype))
        contrib = getattr(mx.nd.contrib, name.removeprefix("_contrib_"), None)
        function = contrib if name.startswith("_contrib_") else getattr(mx.nd, name, None)
        if name.startswith("_image_"):
            function = getattr(mx.nd.image, name.removeprefix("_image_"))
        function = function or getattr(mx.nd.linalg, name.removeprefix("_linalg_"), None)
        function = function or getattr(mx.nd._internal, name, None)
        function = function or getattr(mx.nd.random, name.removeprefix("_random_"))
        found = function(*arrays, **attrs)
        found = found if isinstance(found, (list, tuple)) else [found]
        outputs = [a.asnumpy() for a in found]
        # Operators that update their inputs in place show it there.
        outputs += [a.asnumpy() for a in arrays] if "_update" in name else []
        return [(o.dtype.name, o.shape, o.tobytes()) for o in outputs]

    serve(run)


if __name__ == "__main__":
    main()
