"""What the core asks of Python: the other half of ``rust/py/src/protocol.rs``.

The core asks by the names of these functions. Importing this package installs the module.
"""

from __future__ import annotations

import sys
from typing import Any

from .. import _core, dispatch
from ..context import spelled
from ..dispatch import gpu, tape
from ..dispatch.python_lane import bind_arrays
from ..graph.gradient import reads as gradient_reads
from ..ops import call
from ..ops.card import OperatorProperty
from ..ops.storage import makes_sparse
from . import arithmetic
from .ndarray import NDArray, invoke, select

__all__ = [
    "apply",
    "apply_alone",
    "backward_program",
    "call_sparse",
    "compares",
    "gradient_reads",
    "install",
    "load_gpus",
    "open_gpu",
    "prepare",
    "resolve",
    "run_card",
    "scalar_call",
    "select",
]

prepare = dispatch.answer
backward_program = tape.backward_program
run_card = tape.run_card
load_gpus = gpu.load_gpus
open_gpu = gpu.open_gpu
apply = arithmetic.apply
apply_alone = arithmetic.apply_alone
compares = arithmetic.compares
scalar_call = arithmetic.scalar_call


def resolve(
    operator: type[OperatorProperty], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[_core.Call, list[NDArray]] | None:
    """The call that belongs to what a user passed to an operator's function, and its arrays.

    None where it makes something sparse of dense arrays: that is :func:`call_sparse`'s.

    Raises
    ------
    InvalidArgumentError
        As :func:`ferromix.ops.call.bind`.
    """
    card, inputs = call.bind(operator, *spelled(args, kwargs), _is_array)
    return None if makes_sparse(card.name, card.attrs) else (dispatch.call(card), inputs)


def call_sparse(
    operator: type[OperatorProperty], args: tuple[Any, ...], kwargs: dict[str, Any], out: Any
) -> Any:
    """What an operator's function gives where an argument or `out` is sparse: one or all outputs.

    Raises
    ------
    InvalidArgumentError
        As :func:`ferromix.ops.call.bind`.
    """
    card, inputs = call.bind(operator, *spelled(args, kwargs), _is_array)
    found = invoke(card, inputs, out)
    return found[0] if len(found) == 1 else found


def _is_array(value: object) -> bool:
    return isinstance(value, NDArray)


def install() -> None:
    """Has the core ask here, and its arithmetic make NDArrays."""
    _core.install(sys.modules[__name__])
    bind_arrays(NDArray)
    _core.set_arithmetic(NDArray, arithmetic.calls())
