"""Training goes on from states that MXNet 1.9.1 saved; tools/golden/make_states.py wrote them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import ferromix as mx

FILE = Path(__file__).parents[1] / "golden" / "states.npz"
with np.load(FILE) as data:
    GOLDEN = dict(data)
ROWS = json.loads(str(GOLDEN["rows"]))
RTOL = {"float32": 5e-5, "float16": 1e-3}


@pytest.mark.parametrize("number", range(len(ROWS)), ids=lambda i: f"{ROWS[i][0]}-{i}")
def test_training_goes_on_where_mxnet_saved_it(number):
    name, options, dtype, dumped = ROWS[number]
    given = {key: GOLDEN[f"{number} {key}"] for key in ("states", "weight", "grads", "after")}
    updater = mx.optimizer.get_updater(mx.optimizer.create(name, learning_rate=0.1, **options))
    updater.set_states(given["states"].tobytes())
    assert updater.optimizer.num_update == (3 if dumped else 0)
    weight = mx.nd.array(given["weight"], dtype=dtype)
    for grad in given["grads"]:
        updater(0, mx.nd.array(grad, dtype=dtype), weight)
    assert weight.dtype == given["after"].dtype
    rtol = RTOL[dtype]
    np.testing.assert_allclose(weight.asnumpy(), given["after"], rtol=rtol, atol=rtol / 5)
    again = mx.optimizer.get_updater(mx.optimizer.create(name, learning_rate=0.1, **options))
    again.set_states(updater.get_states())
    assert again.optimizer.num_update == updater.optimizer.num_update
