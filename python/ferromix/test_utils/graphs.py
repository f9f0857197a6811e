"""Checks of symbols: their values, their gradients, and gradients against finite differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..base import require_kind
from ..context import Context, current_context
from ..error import InvalidArgumentError
from ..executor import Executor
from ..ndarray import NDArray, array
from ..symbol import Symbol, Variable
from ..symbol import op as operators
from .compare import assert_almost_equal
from .tolerance import Tolerance, default_numeric_eps, get_atol, get_rtol

__all__ = [
    "check_numeric_gradient",
    "check_symbolic_backward",
    "check_symbolic_forward",
    "numeric_grad",
    "simple_forward",
]

Values = Sequence[Any] | Mapping[str, Any]
Requests = str | Sequence[str] | Mapping[str, str]
Place = Context | str | None

_FLOATS = (np.float16, np.float32, np.float64)


def simple_forward(sym: Symbol, ctx: Place = None, is_train: bool = False, **inputs: Any) -> Any:
    """The outputs of a symbol as NumPy arrays, for inputs by name; one output is not in a list.

    >>> import ferromix as mx
    >>> mx.test_utils.simple_forward(mx.sym.square(mx.sym.var("x")), x=[2, 3]).tolist()
    [4.0, 9.0]
    """
    require_kind("simple_forward: sym", sym, Symbol, "a symbol")
    values = {name: array(value) for name, value in inputs.items()}
    executor = sym.bind(ctx or current_context(), values)
    outputs = [out.asnumpy() for out in executor.forward(is_train=is_train)]
    return outputs[0] if len(outputs) == 1 else outputs


def _named(what: str, names: Sequence[str], given: Values) -> dict[str, Any]:
    """Values by name.

    Raises
    ------
    InvalidArgumentError
        For names or a number of values that do not fit; says which ones there are.
    """
    if isinstance(given, Mapping):
        if set(given) != set(names):
            raise InvalidArgumentError(
                f"{what}s are {', '.join(names) or 'none'}, but values are given for "
                f"{', '.join(map(str, given)) or 'none'}"
            )
        return {name: given[name] for name in names}
    if len(given) != len(names):
        raise InvalidArgumentError(
            f"{len(names)} {what}s ({', '.join(names) or 'none'}), but {len(given)} values"
        )
    return dict(zip(names, given, strict=True))


def _arrays(what: str, names: Sequence[str], given: Values, ctx: Context, dtype: Any) -> Any:
    """NDArrays by name: NDArrays as they are, others in the element type `dtype`."""
    return {
        name: value if isinstance(value, NDArray) else _array(value, ctx, dtype)
        for name, value in _named(what, names, given).items()
    }


def _array(value: Any, ctx: Context, dtype: Any) -> NDArray:
    """A new array; for the element type ``"asnumpy"`` that of the values."""
    found = np.asarray(value)
    return array(found, ctx=ctx, dtype=found.dtype if dtype == "asnumpy" else dtype)


def _bound(
    sym: Symbol, location: Values, aux_states: Values | None, ctx: Context, dtype: Any, **more: Any
) -> Executor:
    """An executor with copies of the values."""
    args = _arrays("argument", sym.list_arguments(), location, ctx, dtype)
    states = _arrays("state", sym.list_auxiliary_states(), aux_states or [], ctx, dtype)
    return sym.bind(ctx, args, aux_states=states, **more)


def check_symbolic_forward(
    sym: Symbol,
    location: Values,
    expected: Values,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    aux_states: Values | None = None,
    ctx: Place = None,
    equal_nan: bool = False,
    dtype: Any = np.float32,
) -> list[NDArray]:
    """Raises AssertionError where the outputs of a symbol are not what is expected.

    Parameters
    ----------
    sym
        The symbol.
    location
        The values of the arguments, as a list in the order of ``list_arguments()`` or by name.
    expected
        The values of the outputs, in their order or by name.
    rtol, atol
        The tolerance, as for :func:`assert_almost_equal`.
    aux_states
        The auxiliary states, in their order or by name.
    ctx
        The device.
    equal_nan
        Whether NaN equals NaN.
    dtype
        The element type of the inputs; ``"asnumpy"`` leaves it to the values.

    Returns
    -------
    list
        The outputs.

    Examples
    --------
    >>> import ferromix as mx
    >>> y = mx.sym.var("a") * mx.sym.var("b")
    >>> out = mx.test_utils.check_symbolic_forward(y, [[1, 2], [3, 4]], [[3, 8]])
    """
    require_kind("check_symbolic_forward: sym", sym, Symbol, "a symbol")
    place = Context(ctx) if ctx is not None else current_context()
    wanted = _named("output", sym.list_outputs(), expected)
    executor = _bound(sym, location, aux_states, place, dtype)
    executor.forward(is_train=False)
    for (name, want), out in zip(wanted.items(), executor.outputs, strict=True):
        names = (f"EXPECTED_{name}", f"FORWARD_{name}")
        assert_almost_equal(want, out, rtol, atol, names, equal_nan)
    return executor.outputs


def check_symbolic_backward(
    sym: Symbol,
    location: Values,
    out_grads: Values | None,
    expected: Values,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    aux_states: Values | None = None,
    grad_req: Requests = "write",
    ctx: Place = None,
    grad_stypes: Mapping[str, str] | None = None,
    equal_nan: bool = False,
    dtype: Any = np.float32,
) -> dict[str, NDArray]:
    """Raises AssertionError where the gradients of a symbol are not what is expected.

    Parameters are those of :func:`check_symbolic_forward`, and:

    Parameters
    ----------
    out_grads
        The gradients of the outputs, in their order or by name; None for losses.
    expected
        The gradients of arguments, as a list of all of them, or by name of those that count.
    grad_req
        What is done with them: ``"write"``, ``"add"`` (what was there counts, too) or ``"null"``,
        for all, as a list or by name.
    grad_stypes
        Storage types of gradients by name; dense where none is given.

    Returns
    -------
    dict
        The gradients of the arguments that `expected` has, by name.

    Examples
    --------
    >>> import ferromix as mx
    >>> y = mx.sym.var("a") * mx.sym.var("b")
    >>> check = mx.test_utils.check_symbolic_backward
    >>> grads = check(y, [[1, 2], [3, 4]], [[1, 1]], {"a": [3, 4]})
    """
    require_kind("check_symbolic_backward: sym", sym, Symbol, "a symbol")
    place = Context(ctx) if ctx is not None else current_context()
    names = sym.list_arguments()
    if not isinstance(expected, Mapping):
        expected = _named("argument", names, expected)
    wanted = dict(expected)
    unknown = [name for name in wanted if name not in names]
    if unknown:
        raise InvalidArgumentError(f"gradients of {unknown}; arguments: {', '.join(names)}")
    requests = _requests(grad_req, names)
    args = _arrays("argument", names, location, place, dtype)
    before, grads = _started(list(wanted), args, place, grad_stypes or {})
    used = {name: request for name, request in requests.items() if name in wanted}
    executor = _bound(sym, args, aux_states, place, dtype, args_grad=grads, grad_req=used)
    executor.forward(is_train=True)
    executor.backward(_out_grads(sym, out_grads, place, dtype))
    for name, want in wanted.items():
        request, there = requests[name], before[name]
        sums = {"write": lambda w, _: w, "add": lambda w, t: w + t, "null": lambda _, t: t}
        want = sums[request](np.asarray(_plain(want)), there)
        shown = (f"EXPECTED_{name}", f"BACKWARD_{name}")
        assert_almost_equal(want, grads[name], rtol, atol, shown, equal_nan)
    return grads


def _started(
    names: Sequence[str], args: Mapping[str, NDArray], ctx: Context, stypes: Mapping[str, str]
) -> tuple[dict[str, np.ndarray], dict[str, NDArray]]:
    """Random values of gradients, and gradients that hold them before a pass."""
    before, grads = {}, {}
    for name in names:
        start = np.random.normal(size=args[name].shape)
        grads[name] = array(start, ctx=ctx, dtype=args[name].dtype)
        before[name] = grads[name].asnumpy()
        if stypes.get(name, "default") != "default":
            grads[name] = grads[name].tostype(stypes[name])
    return before, grads


def _plain(value: Any) -> Any:
    return value.asnumpy() if isinstance(value, NDArray) else value


def _out_grads(sym: Symbol, given: Values | None, ctx: Context, dtype: Any) -> list[NDArray] | None:
    """The gradients of all outputs in their order."""
    if given is None:
        return None
    found = _arrays("output", sym.list_outputs(), given, ctx, dtype)
    return [found[name] for name in sym.list_outputs()]


def _requests(grad_req: Requests, names: Sequence[str]) -> dict[str, str]:
    """What is done with the gradient of each argument."""
    if isinstance(grad_req, str):
        found = dict.fromkeys(names, grad_req)
    elif isinstance(grad_req, Mapping):
        found = {name: grad_req.get(name, "null") for name in names}
    else:
        found = _named("argument", names, grad_req)
    wrong = [r for r in found.values() if r not in ("write", "add", "null")]
    if wrong:
        raise InvalidArgumentError(f"grad_req must be write, add or null, got {wrong[0]!r}")
    return found


def numeric_grad(
    executor: Executor,
    location: Mapping[str, Any],
    aux_states: Mapping[str, Any] | None = None,
    eps: float = 1e-4,
    use_forward_train: bool = True,
    dtype: Any = np.float32,
) -> dict[str, np.ndarray]:
    """The gradients of the sum of an executor's first output, by central differences.

    Parameters
    ----------
    executor
        What computes; its arguments are overwritten, and hold `location` in the end.
    location
        The values of the arguments by name. Gradients are those of arguments of floats.
    aux_states
        The auxiliary states by name, which are the same for every step.
    eps
        The distance of the two values of an element.
    use_forward_train
        Whether operators train.
    dtype
        The element type of the gradients.

    Examples
    --------
    >>> import ferromix as mx
    >>> e = (mx.sym.var("x") ** 2).bind(mx.cpu(), {"x": mx.nd.zeros((2,))})
    >>> mx.test_utils.numeric_grad(e, {"x": [1.0, 3.0]}, eps=0.25)["x"].tolist()
    [2.0, 6.0]
    """
    require_kind("numeric_grad: executor", executor, Executor, "an executor")
    require_kind("numeric_grad: location", location, Mapping, "a dict")
    values = {name: np.array(_plain(value)) for name, value in location.items()}
    states = {name: _plain(value) for name, value in (aux_states or {}).items()}

    def total() -> float:
        for name, value in states.items():
            executor.aux_dict[name][:] = value
        outputs = executor.forward(is_train=use_forward_train)
        return float(outputs[0].asnumpy().astype(np.float64).sum())

    for name, value in values.items():
        executor.arg_dict[name][:] = value
    return {
        name: _differences(executor.arg_dict[name], value, eps, total).astype(dtype)
        for name, value in values.items()
        if value.dtype.kind == "f"
    }


def _differences(
    target: NDArray, value: np.ndarray, eps: float, total: Callable[[], float]
) -> np.ndarray:
    """How the total changes with each element of an argument."""
    found = np.zeros(value.shape)
    moved = value.astype(target.dtype)
    for place in np.ndindex(value.shape):
        ends = []
        for step in (eps / 2, -eps / 2):
            moved[place] = value[place] + step
            target[:] = moved
            ends.append(total())
        found[place] = (ends[0] - ends[1]) / eps
        moved[place] = value[place]
    target[:] = moved
    return found


def check_numeric_gradient(
    sym: Symbol,
    location: Values,
    aux_states: Values | None = None,
    numeric_eps: float | None = None,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    grad_nodes: Sequence[str] | Mapping[str, str] | None = None,
    use_forward_train: bool = True,
    ctx: Place = None,
    grad_stype_dict: Mapping[str, str] | None = None,
    dtype: Any = np.float32,
) -> None:
    """Raises AssertionError where the gradients of a symbol are not those of finite differences.

    What is differentiated is the sum of the output, each element times a random number.

    Parameters
    ----------
    sym
        A symbol with one output.
    location, aux_states
        The point, as for :func:`check_symbolic_forward`.
    numeric_eps
        The step; the larger the less precise `dtype` is where None.
    rtol, atol
        The tolerance, by default that of `dtype`.
    grad_nodes
        The arguments whose gradients are checked: all of them where None, a list, or by name what
        is done with their gradients (``"write"``, ``"add"``, ``"null"``).
    use_forward_train
        Whether operators train where the differences are computed.
    ctx
        The device.
    grad_stype_dict
        Storage types of gradients by name.
    dtype
        The element type of the inputs: float16, float32 or float64.

    Examples
    --------
    >>> import ferromix as mx
    >>> y = mx.sym.tanh(mx.sym.var("x"))
    >>> mx.test_utils.check_numeric_gradient(y, [[0.5, -1.0]], rtol=1e-2)
    """
    require_kind("check_numeric_gradient: sym", sym, Symbol, "a symbol")
    if dtype not in _FLOATS:
        raise InvalidArgumentError(f"dtype must be float16, float32 or float64, got {dtype!r}")
    place = Context(ctx) if ctx is not None else current_context()
    names = sym.list_arguments()
    args = _arrays("argument", names, location, place, dtype)
    states = _arrays("state", sym.list_auxiliary_states(), aux_states or [], place, dtype)
    requests = _checked(grad_nodes, names, args)
    shapes = sym.infer_shape(**{name: value.shape for name, value in args.items()})[1] or [()]
    weights = np.random.rand(*shapes[0]) + 0.1
    weight = "__weights_of_the_sum"
    out = operators.make_loss(operators.sum(sym * Variable(weight)))
    inputs = {**{n: a.copy() for n, a in args.items()}, weight: array(weights, place, dtype)}
    before, grads = _started(list(requests), args, place, grad_stype_dict or {})
    kept = {name: state.copy() for name, state in states.items()}
    executor = out.bind(place, inputs, grads, requests, kept)
    executor.forward(is_train=True)
    executor.backward()
    found = {name: grad.asnumpy() for name, grad in grads.items()}
    eps = default_numeric_eps()[np.dtype(dtype)] if numeric_eps is None else numeric_eps
    points = {name: args[name] for name in requests}
    steps = numeric_grad(executor, points, states, eps, use_forward_train, dtype)
    tolerances = get_rtol(rtol, dtype), get_atol(atol, dtype)
    for name, request in requests.items():
        shown = (f"NUMERICAL_{name}", f"BACKWARD_{name}")
        want = {"write": steps[name], "add": steps[name] + before[name], "null": before[name]}
        assert_almost_equal(want[request], found[name], *tolerances, shown)


def _checked(grad_nodes: Any, names: Sequence[str], args: Mapping[str, NDArray]) -> dict[str, str]:
    """What is done with the gradients that are checked."""
    if grad_nodes is None:
        return {name: "write" for name in names if np.dtype(args[name].dtype).kind == "f"}
    if isinstance(grad_nodes, Mapping):
        found = dict(grad_nodes)
    elif isinstance(grad_nodes, (list, tuple)):
        found = dict.fromkeys(grad_nodes, "write")
    else:
        raise InvalidArgumentError(f"grad_nodes must be a list or a dict, got {grad_nodes!r}")
    unknown = [name for name in found if name not in names]
    if unknown:
        raise InvalidArgumentError(f"grad_nodes: no {unknown}; arguments: {', '.join(names)}")
    return _requests(found, list(found))
