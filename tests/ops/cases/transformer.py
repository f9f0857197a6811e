"""Parts of attention."""

import numpy as np

from ferromix.ops.family import FLOATS, NUMBERS

from ..case import EDGES, Case

SOME = ("float32", "float64")
WHOLE = tuple(t for t in NUMBERS if t not in FLOATS)


def scaled(root):
    return lambda x: x / root(max(x.shape[-1:], default=1))


CASES = [
    Case("_contrib_div_sqrt_dim", scaled(np.sqrt), ((3, 5),), dtypes=FLOATS),
    Case("_contrib_div_sqrt_dim", scaled(lambda n: np.floor(np.sqrt(n))), ((3, 5),), dtypes=WHOLE),
    *[Case("_contrib_div_sqrt_dim", scaled(np.sqrt), (s,), dtypes=SOME) for s in EDGES],
]
