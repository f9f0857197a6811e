"""Why the CPU runs what is on a GPU: rows without a CUDA kernel, and cases that a kernel leaves."""

from __future__ import annotations

__all__ = ["in_part", "reason", "without"]

_OWN = "an operator that was compiled for the CPU runs there"
_GRAPHS = "parts of graphs are found on the CPU"
_BLOCKS = "graphs make it on the CPU alone"

_WITHOUT = {
    "_call_address": _OWN,
    "_map_address": _OWN,
    "_contrib_calibrate_entropy": "ranges are chosen by their entropy on the CPU",
    "_batch_norm_relu_again": _BLOCKS,
    "_backward_batch_norm_relu": _BLOCKS,
    "_channel_blocks": _BLOCKS,
    "_convolution_block": _BLOCKS,
    "_norm_block": _BLOCKS,
    "_fused": "chains of operators are one kernel on the CPU, GPUs have generated ones",
    "_needs_csr": _GRAPHS,
}

_IN_PART = {
    "_linalg_gemm2": "matrices whose rows run between two large batches are multiplied on the CPU",
}


def without() -> dict[str, str]:
    """The kernel rows that have no CUDA kernel at all, each with the reason."""
    return dict(_WITHOUT)


def in_part() -> dict[str, str]:
    """Kernel rows with a CUDA kernel that leaves some cases to the CPU, and which those are."""
    return dict(_IN_PART)


def reason(row: str) -> str:
    """Why the CPU runs a kernel row on a GPU's arrays."""
    known = _WITHOUT.get(row) or _IN_PART.get(row)
    return known or "no kernel for GPUs takes these arguments"
