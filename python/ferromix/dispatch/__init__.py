"""From cards to the core: how operators are called and differentiated, on every device."""

from . import cpu, gpu_backend
from .backend import device_of
from .operators import (
    ADD,
    INPLACE,
    NULL,
    WRITE,
    Desc,
    answer,
    call,
    infer,
    invoke,
    maker,
    prepare,
    record_view,
    require_fit,
    state_request,
)

__all__ = [
    "ADD",
    "INPLACE",
    "NULL",
    "WRITE",
    "Desc",
    "answer",
    "call",
    "cpu",
    "device_of",
    "gpu_backend",
    "infer",
    "invoke",
    "maker",
    "prepare",
    "record_view",
    "require_fit",
    "state_request",
]
