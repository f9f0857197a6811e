"""One symbol in several places and element types, its speed, and two optimizers side by side."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..base import as_int, require_kind
from ..context import Context, current_context
from ..error import InvalidArgumentError
from ..executor import Executor
from ..ndarray import NDArray, array, waitall
from ..optimizer import Optimizer
from ..symbol import Symbol
from .arrays import random_uniform_arrays
from .compare import assert_almost_equal, compare_ndarray_tuple
from .sparse import rand_ndarray
from .tolerance import Tolerance, get_tols

__all__ = ["check_consistency", "check_speed", "compare_optimizer"]


def check_consistency(
    sym: Symbol | Sequence[Symbol],
    ctx_list: Sequence[Mapping[str, Any]],
    scale: float = 1.0,
    grad_req: Any = "write",
    arg_params: Mapping[str, Any] | None = None,
    aux_params: Mapping[str, Any] | None = None,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    raise_on_err: bool = True,
    ground_truth: Mapping[str, Any] | None = None,
    equal_nan: bool = False,
    use_uniform: bool = False,
    rand_type: Any = np.float64,
) -> dict[str, Any]:
    """Raises AssertionError where a symbol has other results in one place or type than in another.

    Parameters
    ----------
    sym
        A symbol, or one for each place, with the same arguments and outputs.
    ctx_list
        For each place a dict: ``"ctx"``, ``"type_dict"`` (element types by name) and shapes of
        arguments by name. At least two.
    scale
        The size of random inputs.
    grad_req
        What is done with gradients, as for ``simple_bind``; with ``"null"`` there are none.
    arg_params, aux_params
        Values of arguments and of auxiliary states by name, instead of random numbers and zeros.
    rtol, atol
        The tolerance; by default that of the less precise of two element types.
    raise_on_err
        False prints what is wrong, and goes on.
    ground_truth
        What results by name should be; by default those in the most precise element type.
    equal_nan
        Whether NaN equals NaN.
    use_uniform
        Whether random inputs are drawn evenly, instead of normally distributed.
    rand_type
        The element type to which random inputs are rounded first.

    Returns
    -------
    dict
        The outputs and the gradients by name, in the most precise element type.

    Examples
    --------
    >>> import ferromix as mx
    >>> y, types = mx.sym.exp(mx.sym.var("x"), name="y"), ("float32", "float64")
    >>> places = [{"ctx": mx.cpu(), "x": (2,), "type_dict": {"x": t}} for t in types]
    >>> sorted(mx.test_utils.check_consistency(y, places))
    ['x', 'y_output']
    """
    require_kind("check_consistency: ctx_list", ctx_list, (list, tuple), "a list of dicts")
    if len(ctx_list) < 2:
        raise InvalidArgumentError(f"check_consistency: {len(ctx_list)} place to compare")
    symbols = [sym] * len(ctx_list) if isinstance(sym, Symbol) else list(sym)
    _require_alike(symbols, len(ctx_list))
    runs = [s.simple_bind(grad_req=grad_req, **c) for s, c in zip(symbols, ctx_list, strict=True)]
    params = dict(arg_params or {})
    for name, target in runs[0].arg_dict.items():
        if name not in params:
            params[name] = _random(target.shape, scale, use_uniform).astype(rand_type)
    for run in runs:
        for name, target in run.arg_dict.items():
            target[:] = params[name]
        for name, target in run.aux_dict.items():
            target[:] = 0 if aux_params is None else aux_params[name]
    best = max(range(len(runs)), key=lambda i: _precision(runs[i]))
    check = _Check(best, rtol, atol, equal_nan, raise_on_err)
    for run in runs:
        run.forward(is_train=False)
    check(runs, dict(ground_truth or {}) or _outputs(runs[best]), "prediction")
    found = _outputs(runs[best])
    if grad_req != "null":
        for run in runs:
            run.forward(is_train=True)
        outs = [out.asnumpy() for out in runs[best].outputs]
        for run in runs:
            heads = [array(o, run.outputs[0].context, t.dtype) for o, t in _pairs(outs, run)]
            run.backward(heads)
        found = {**_outputs(runs[best]), **runs[best].grad_dict}
        check(runs, dict(ground_truth or {}) or found, "training")
    return dict(ground_truth) if ground_truth else _copied(found)


def _require_alike(symbols: Sequence[Symbol], count: int) -> None:
    for symbol in symbols:
        require_kind("check_consistency: sym", symbol, Symbol, "a symbol or a list of symbols")
    if len(symbols) != count:
        raise InvalidArgumentError(f"{len(symbols)} symbols for {count} places")
    for symbol in symbols[1:]:
        for what in ("list_arguments", "list_outputs"):
            first, other = getattr(symbols[0], what)(), getattr(symbol, what)()
            if first != other:
                raise InvalidArgumentError(f"symbols differ: {what}() gives {first} and {other}")


def _random(shape: Sequence[int], scale: float, even: bool) -> np.ndarray:
    if even:
        return np.random.uniform(-scale, scale, shape)
    return np.random.normal(size=shape, scale=scale)


def _precision(run: Executor) -> float:
    """How precise the outputs of an executor are."""
    dtypes = [np.dtype(out.dtype) for out in run.outputs]
    return min((t.itemsize if t.kind == "f" else 0.5 for t in dtypes), default=0)


def _pairs(values: Sequence[np.ndarray], run: Executor) -> list[tuple[np.ndarray, NDArray]]:
    return list(zip(values, run.outputs, strict=True))


def _outputs(run: Executor) -> dict[str, Any]:
    return dict(run.output_dict)


def _copied(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Copies, which later passes leave alone."""
    return {name: None if a is None else a.copy() for name, a in arrays.items()}


class _Check:
    """Compares the results of all executors but the best with what they should be."""

    def __init__(
        self, best: int, rtol: Tolerance, atol: Tolerance, equal_nan: bool, strict: bool
    ) -> None:
        self.best, self.rtol, self.atol = best, rtol, atol
        self.equal_nan, self.strict = equal_nan, strict

    def __call__(self, runs: Sequence[Executor], wanted: Mapping[str, Any], when: str) -> None:
        for number, run in enumerate(runs):
            there = {**run.output_dict, **run.grad_dict} if when == "training" else run.output_dict
            for name, array_ in there.items():
                want = wanted.get(name)
                if array_ is None or want is None or array_ is want:
                    continue
                tolerances = get_tols(want, array_, self.rtol, self.atol)
                names = (f"wanted_{name}", f"place_{number}_{name}")
                try:
                    assert_almost_equal(want, array_, *tolerances, names, self.equal_nan)
                except AssertionError as e:
                    if self.strict:
                        raise
                    print(f"{when}: place {number} differs in {name}: {e}")


def check_speed(
    sym: Symbol,
    location: Mapping[str, Any] | None = None,
    ctx: Context | str | None = None,
    N: int = 20,  # noqa: N803 - MXNet's name
    grad_req: Any = None,
    typ: str = "whole",
    **kwargs: Any,
) -> float:
    """The seconds that a pass of a symbol takes, on average.

    Parameters
    ----------
    sym
        The symbol.
    location
        Values of the arguments by name; random ones of the shapes in `kwargs` where None.
    ctx
        The device.
    N
        How many passes are timed, after one that is not.
    grad_req
        What is done with gradients; ``"write"`` where None.
    typ
        ``"whole"`` for passes forward and backward, ``"forward"`` for those of prediction.
    **kwargs
        Shapes of arguments by name.
    """
    require_kind("check_speed: sym", sym, Symbol, "a symbol")
    require_kind("check_speed: location", location, (Mapping, type(None)), "a dict or None")
    repeats = as_int("check_speed: N", N, 1)
    if typ not in ("whole", "forward"):
        raise InvalidArgumentError(f"typ must be whole or forward, got {typ!r}")
    place = Context(ctx) if ctx is not None else current_context()
    shapes: dict[str, Any] = (
        kwargs if location is None else {n: np.shape(v) for n, v in location.items()}
    )
    run = sym.simple_bind(place, grad_req=grad_req or "write", **shapes)
    for name, target in run.arg_dict.items():
        given = None if location is None else location[name]
        target[:] = _random(target.shape, 1.0, False) if given is None else given

    def once() -> None:
        run.forward(is_train=typ == "whole")
        if typ == "whole":
            run.backward(run.outputs)

    once()
    waitall()
    start = time.perf_counter()
    for _ in range(repeats):
        once()
    waitall()
    return (time.perf_counter() - start) / repeats


def compare_optimizer(
    opt1: Optimizer,
    opt2: Optimizer,
    shape: Any,
    dtype: Any,
    w_stype: str = "default",
    g_stype: str = "default",
    rtol: Tolerance = 1e-4,
    atol: Tolerance = 1e-5,
    compare_states: bool = True,
    ntensors: int = 1,
) -> None:
    """Raises AssertionError where a step of two optimizers gives other weights or states.

    Parameters
    ----------
    opt1, opt2
        The optimizers.
    shape
        The shape of the weight, or where there are several a list of shapes.
    dtype
        Their element type.
    w_stype, g_stype
        The storage types of weights and gradients.
    rtol, atol
        The tolerance.
    compare_states
        Whether states count; weights always do.
    ntensors
        How many weights take the step; with one, `shape` is no list.

    Examples
    --------
    >>> import ferromix as mx
    >>> sgd = mx.optimizer.SGD(learning_rate=0.1)
    >>> mx.test_utils.compare_optimizer(sgd, mx.optimizer.create("sgd"), (2, 3), "float32", rtol=1)
    """
    for opt in (opt1, opt2):
        require_kind("compare_optimizer: an argument", opt, Optimizer, "an optimizer")
    shapes = [shape] if ntensors == 1 else list(shape)
    if len(shapes) != ntensors:
        raise InvalidArgumentError(f"{len(shapes)} shapes for {ntensors} weights")
    weights = [_drawn(s, w_stype, dtype) for s in shapes]
    grads = [_drawn(s, g_stype, dtype) for s in shapes]
    ends = [_step(opt, weights, grads) for opt in (opt1, opt2)]
    (starts1, w1, states1), (starts2, w2, states2) = ends
    if compare_states:
        compare_ndarray_tuple(starts1, starts2, rtol=rtol, atol=atol)
        compare_ndarray_tuple(states1, states2, rtol=rtol, atol=atol)
    compare_ndarray_tuple(w1, w2, rtol=rtol, atol=atol)


def _drawn(shape: Sequence[int], stype: str, dtype: Any) -> NDArray:
    if stype == "default":
        return array(random_uniform_arrays(tuple(shape))[0], dtype=dtype)
    return rand_ndarray(tuple(shape), stype, density=1, dtype=dtype)


def _step(opt: Optimizer, weights: Sequence[NDArray], grads: Sequence[NDArray]) -> tuple[Any, ...]:
    """The states before a step of copies, and the weights and states after it."""
    w = [x.copy() for x in weights]
    states = [opt.create_state_multi_precision(i, x) for i, x in enumerate(w)]
    starts = [_kept(state) for state in states]
    for i, (weight, grad, state) in enumerate(zip(w, grads, states, strict=True)):
        opt.update_multi_precision(i, weight, grad.copy(), state)
    return starts, w, states


def _kept(state: Any) -> Any:
    """A copy of a state: arrays in tuples at any depth."""
    if isinstance(state, (list, tuple)):
        return [_kept(part) for part in state]
    return state.copy() if isinstance(state, NDArray) else None
