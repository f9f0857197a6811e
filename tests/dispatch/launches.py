"""Runs recipes on the host: what a GPU would launch, with the same grids and arguments."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
from host import Kernels, build, walk

import ferromix.dispatch.recipes  # noqa: F401 - registers them
from ferromix import _core
from ferromix.dispatch.recipe import Arg, Job, Limits, Recipe, find
from ferromix.ops.card import OperatorProperty

LIMITS = Limits(processors=1, threads=32)
GUARD = 64
"""Bytes after the temporary memory that no kernel may change."""
NAN = 0xFF

Arrays = Sequence[np.ndarray]


class Sources(dict[str, Kernels]):
    """The CUDA sources by stem, each compiled when it is first asked for."""

    def __missing__(self, stem: str) -> Kernels:
        self[stem] = build(stem)
        return self[stem]


def described(arrays: Arrays) -> list[tuple[tuple[int, ...], str]]:
    return [(x.shape, x.dtype.name) for x in arrays]


def job_of(card: OperatorProperty, inputs: Arrays, outputs: Arrays, is_train: bool = False) -> Job:
    """What is to run; `outputs` are those of the card, then the inputs that it changes."""
    return Job(
        card=card,
        name=card.kernel_name(),
        attrs=card.kernel_attrs(is_train),
        inputs=described(inputs),
        outputs=described(outputs),
        is_train=is_train,
        dynamic=card.dynamic_params(),
        limits=LIMITS,
    )


class Run:
    """One run of a recipe: what its arguments are filled in with."""

    def __init__(
        self,
        made: Recipe,
        inputs: Arrays,
        outputs: Arrays,
        reqs: Sequence[int],
        dynamic: Sequence[float] = (),
        draws: tuple[int, int] = (0, 0),
    ) -> None:
        self.recipe, self.reqs, self.dynamic, self.draws = made, reqs, dynamic, draws
        self.operands = {"input": inputs, "output": outputs}
        self.temporary = np.full(made.temporary + GUARD, NAN, np.uint8)
        self.refusal = np.zeros(2, np.int64)
        arrays = [*inputs, *outputs]
        gaps = [x for x in arrays if not x.flags.c_contiguous]
        if gaps and not made.strided:
            raise ValueError("this recipe takes arrays without gaps")

    def bytes_of(self, arg: Arg) -> bytes:
        kind, what = arg
        match kind:
            case "bytes":
                return what
            case "input":
                return struct.pack("=Q", self.operands[kind][what].ctypes.data)
            case "output":
                asked = self.reqs[what] != 0
                return struct.pack("=Q", self.operands[kind][what].ctypes.data if asked else 0)
            case "workspace":
                if not 0 <= what <= self.recipe.temporary:
                    raise ValueError(f"no temporary memory at {what}")
                return struct.pack("=Q", self.temporary.ctypes.data + what)
            case "behind":
                (start,) = struct.unpack("=Q", self.bytes_of(what[0]))
                return struct.pack("=Q", start + what[1] if start else 0)
            case "refusal":
                return struct.pack("=Q", self.refusal.ctypes.data)
            case "req":
                return struct.pack("=i", self.reqs[what])
            case "dynamic":
                return struct.pack("=d", self.dynamic[what])
            case "draws":
                return struct.pack("=QQ", *self.draws)
            case "walk":
                out, *rest = [self.operands[k][i] for k, i in what]
                strided = not all(x.flags.c_contiguous for x in (out, *rest))
                return bytes(walk(out, rest, strided))
            case "struct":
                return aligned([self.bytes_of(part) for part in what])
        raise ValueError(f"unknown argument {arg}")

    def launch(self, sources: Sources, seed: int = 0) -> None:
        """Runs all launches in order; an error where one writes behind the temporary memory."""
        for one in self.recipe.launches:
            given = [self.bytes_of(arg) for arg in one.args]
            values: list[Any] = [(ctypes.c_char * len(b)).from_buffer_copy(b) for b in given]
            sources[one.stem].launch(one.entry, one.grid, one.block, *values, seed=seed)
        if (self.temporary[self.recipe.temporary :] != NAN).any():
            raise RuntimeError(f"{self.recipe}: wrote behind its temporary memory")
        if code := self.refusal[0] & 0xFFFFFFFF:
            kind, sentence = self.recipe.refusals[code - 1]
            error = IndexError if kind == "index" else ValueError
            raise error(sentence.format(self.refusal[1]))


def aligned(parts: list[bytes]) -> bytes:
    """Parts in one struct of C, each aligned to its own size."""
    text = b""
    for part in parts:
        text += bytes(-len(text) % len(part)) + part
    return text + bytes(-len(text) % max(map(len, parts)))


def launch(
    sources: Sources,
    card: OperatorProperty,
    inputs: Arrays,
    outputs: Arrays,
    reqs: Sequence[int],
    *,
    is_train: bool = False,
    draws: tuple[int, int] = (0, 0),
    seed: int = 0,
) -> bool:
    """Runs the recipe of a card; False where it leaves this case to the CPU."""
    job = job_of(card, inputs, outputs, is_train)
    make = find(job.name)
    made = make(job) if make else None
    if made is None:
        return False
    dynamic = [float(job.attrs[name]) for name in job.dynamic]
    Run(made, inputs, outputs, reqs, dynamic, draws).launch(sources, seed)
    return True


def on_the_cpu(
    card: OperatorProperty,
    inputs: Arrays,
    outputs: Arrays,
    reqs: Sequence[int],
    is_train: bool = False,
) -> list[np.ndarray]:
    """What the Rust kernel makes of the same arrays, which stay as they are.

    `outputs` are those of the card, then the inputs that it changes.
    """
    changed = card.mutated_inputs()
    prepared = _core.Prepared(
        card.label,
        card.kernel_name(),
        card.kernel_attrs(is_train),
        described(inputs),
        described(outputs),
        len(changed),
        card,
        card.dynamic_params(),
    )
    ins = [held(x) for x in inputs]
    outs = [held(x) for x in outputs[: len(outputs) - len(changed)]]
    outs += [ins[i] for i in changed]
    given = [out if req else None for out, req in zip(outs, reqs, strict=True)]
    prepared.invoke(ins, given, reqs)
    return [fetched(a, x) for a, x in zip(outs, outputs, strict=True)]


def held(x: np.ndarray) -> _core.Array:
    array = _core.Array(x.shape, x.dtype.name)
    array.write_from(np.ascontiguousarray(x).view(np.uint8).reshape(-1))
    return array


def fetched(array: _core.Array, like: np.ndarray) -> np.ndarray:
    memory = np.empty(like.nbytes, np.uint8)
    array.read_into(memory)
    return memory.view(like.dtype).reshape(like.shape)


def same(got: np.ndarray, want: np.ndarray) -> bool:
    """Whether all elements are equal, signs of zeros included; one NaN is as good as another."""
    if got.dtype.kind in "iub":
        return bool(np.array_equal(got, want))
    g, w = got.astype(np.float64), want.astype(np.float64)
    both_nan = np.isnan(g) & np.isnan(w)
    return bool(np.all(both_nan | (g == w) & (np.signbit(g) == np.signbit(w))))


def check(
    sources: Sources,
    card: OperatorProperty,
    inputs: Arrays,
    outputs: Arrays,
    reqs: Sequence[int] = (),
) -> None:
    """Runs a card with each request for all outputs (or with `reqs`); bits are the CPU's."""
    for some in [reqs] if reqs else [[r] * len(outputs) for r in (0, 1, 3)]:
        want = on_the_cpu(card, inputs, outputs, some)
        got = [x.copy() for x in outputs]
        what = f"{card.name} {card.given} {described(inputs)} {some}"
        assert launch(sources, card, inputs, got, some, seed=3), f"no recipe for {what}"
        for k, (found, wanted) in enumerate(zip(got, want, strict=True)):
            assert same(found, wanted), f"{what}, output {k}: {found} instead of {wanted}"
