"""Gradients of imperative code: operations are recorded as they run, and differentiated later.

Arrays with :meth:`~ferromix.nd.NDArray.attach_grad` are variables. Inside of :func:`record`, what
is computed from them goes on a tape, of each thread its own; :func:`backward` follows it back, by
the same gradient rules that serve symbols (reverse mode; Linnainmaa, 1970), and frees it.

An array on the tape must keep its values until the backward pass: writing into it raises an error,
at once while recording, else from the backward pass that would have needed the values.

Examples
--------
>>> import ferromix as mx
>>> x = mx.nd.array([0.0, 1.0, 2.0])
>>> x.attach_grad()
>>> with mx.autograd.record():
...     loss = (mx.nd.exp(x) * x).sum()
>>> loss.backward()
>>> print(x.grad.asnumpy().round(3))
[ 1.     5.437 22.167]

Second derivatives need the first ones to be recorded:

>>> with mx.autograd.record():
...     y = x**3
...     (dy,) = mx.autograd.grad(y, x, create_graph=True)
>>> dy.backward()
>>> x.grad.asnumpy().tolist()
[0.0, 6.0, 12.0]
"""

from .function import Function
from .passes import backward, get_symbol, grad, mark_variables
from .state import (
    is_recording,
    is_training,
    pause,
    predict_mode,
    record,
    set_recording,
    set_training,
    train_mode,
)

__all__ = [
    "Function",
    "backward",
    "get_symbol",
    "grad",
    "is_recording",
    "is_training",
    "mark_variables",
    "pause",
    "predict_mode",
    "record",
    "set_recording",
    "set_training",
    "train_mode",
]
