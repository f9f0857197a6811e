"""Runs cards on GPUs: by the recipes of the CUDA sources, or on the CPU where there is none."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import astuple

from .. import _core
from ..ops.card import OperatorProperty
from ..ops.fused import Fused
from . import backend, fusion, gpu, recipes  # noqa: F401 - the recipes register themselves
from .backend import Desc, Device
from .cpu import CpuBackend
from .reasons import reason
from .recipe import Convolved, Job, Launch, Product, Recipe, Step, find

__all__ = ["GpuBackend"]


class GpuBackend:
    """Launches of kernels; the CPU's kernels on copies for operators that have none."""

    def __init__(self) -> None:
        self._cpu = CpuBackend()
        self._told: set[str] = set()

    def maker(self, card: OperatorProperty, is_train: bool) -> None:
        """None: kernels differ with the shapes."""

    def prepare(
        self,
        card: OperatorProperty,
        inputs: Sequence[Desc],
        outputs: Sequence[Desc],
        is_train: bool,
        device: Device,
    ) -> _core.Prepared:
        """The launches for a card and the arrays described.

        Raises
        ------
        InvalidArgumentError
            As on the CPU, which is asked first.
        DeviceError
            A kernel that does not compile.
        """
        changed = [inputs[i] for i in card.mutated_inputs()]
        number, given, made = device[1], list(inputs), [*outputs, *changed]
        dynamic = card.dynamic_params()
        attrs = card.kernel_attrs(is_train)
        limits = gpu.limits(number)
        job = Job(card, card.kernel_name(), attrs, given, made, is_train, dynamic, limits)
        random = False
        if isinstance(card, Fused):
            found = fusion.recipe_of(job, card)
        else:
            on_cpu = self._cpu.prepare(card, inputs, outputs, is_train, device)
            random = on_cpu.random
            make = find(job.name)
            found = make(job) if make else None
            if found is None:
                self._tell(card)
                return on_cpu
        scalars = [float(attrs[name]) for name in dynamic]
        launches = _launches(found, number)
        return _core.Prepared.gpu(
            card.label,
            number,
            launches,
            found.temporary,
            found.strided,
            random,
            found.refusals,
            given,
            made,
            len(changed),
            card,
            scalars,
        )

    def _tell(self, card: OperatorProperty) -> None:
        """Says once that an operator runs on the CPU, and why."""
        if card.name in self._told or os.environ.get("FERROMIX_GPU_FALLBACK_LOG") == "0":
            return
        self._told.add(card.name)
        warnings.warn(
            f"{card.name} runs on the CPU, on copies: {reason(card.kernel_name())}. "
            "FERROMIX_GPU_FALLBACK_LOG=0 silences this.",
            RuntimeWarning,
            stacklevel=2,
        )


def _launches(recipe: Recipe, number: int) -> list[_core.GpuLaunch]:
    return [_launch(step, number) for step in recipe.launches]


def _launch(step: Step, number: int) -> _core.GpuLaunch:
    if isinstance(step, Product):
        return astuple(step)
    if isinstance(step, Convolved):
        return step.plan, step.operands, step.out, step.number, step.adds
    return _address(step, number), step.grid, step.block, 0, step.args


def _address(step: Launch, number: int) -> int:
    if step.text:
        return gpu.fused(step.text, step.entry, number)
    return gpu.function(step.stem, step.entry, number)


backend.install("gpu", GpuBackend())
