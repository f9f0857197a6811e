"""Networks that people trained with MXNet, small, as builders that either package runs.

Each takes the module of symbols, such as ``mx.sym``, and returns a symbol and its inputs. Names
that are not given are made by a fresh name manager, and so are the same in both packages.
"""

from . import dense, faces, generative, images, language, mobile, recommend, residual, sequences
from .inputs import Input, draw, inputs_of, seeded

__all__ = ["FLOAT32", "NETWORKS", "Input", "draw", "inputs_of", "seeded"]

_FAMILIES = (images, residual, mobile, faces, dense, generative, sequences, language, recommend)
NETWORKS = {f.__name__: f for family in _FAMILIES for f in family.NETWORKS}
FLOAT32 = (
    *("alexnet", "googlenet", "fcn", "optical_flow", "sparse_autoencoder", "fast_style"),
    *("ctc", "actor_and_critic", "ssd", "ssd_deployed"),
)
"""Networks with an operator that MXNet has in float32 alone."""
