"""Operators of Ferromix as bound symbols, and functions of torch with their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .row import Make
from .timing import Call


def symbol(name: str, backward: bool, **attributes: Any) -> Make:
    """An operator in training, bound to the arrays, with or without the gradients of all of them.

    Arguments for which there is no array hold ones, and states zeros.
    """

    def make(mx: Any, *arrays: Any) -> Call:
        names = [f"x{i}" for i in range(len(arrays))]
        built = getattr(mx.sym, name)(*map(mx.sym.Variable, names), name="op", **attributes)
        executor = built.simple_bind(
            mx.gpu(0),
            grad_req="write" if backward else "null",
            type_dict={n: a.dtype for n, a in zip(names, arrays, strict=True)},
            **{n: a.shape for n, a in zip(names, arrays, strict=True)},
        )
        for argument, place in executor.arg_dict.items():
            place[:] = arrays[names.index(argument)] if argument in names else 1
        heads = [mx.nd.ones_like(out) for out in executor.forward(is_train=True)[:1]]

        def both() -> None:
            executor.forward(is_train=True)
            executor.backward(heads)

        return both if backward else lambda: executor.forward(is_train=True)

    return make


def torch(work: Callable[..., Any], backward: bool) -> Make:
    """A function of ``torch.nn.functional`` and tensors, with or without all gradients."""

    def make(torch: Any, *tensors: Any) -> Call:
        call = work(torch.nn.functional, *tensors)
        if not backward:

            def forward() -> Any:
                with torch.no_grad():
                    return call()

            return forward
        for tensor in tensors:
            tensor.requires_grad_()
        head = torch.ones_like(call())
        return lambda: torch.autograd.grad(call(), tensors, head)

    return make


def ones(like: Any, count: int) -> Any:
    """Ones in float32 on torch's GPU, as parameters of a normalisation are."""
    return like.new_tensor(np.ones(count, np.float32)).float()
