"""The functions of ``mx.sym``: variables, arithmetic by name, and one for each operator card."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from ..attribute import AttrScope
from ..error import DTypeError, InvalidArgumentError
from ..graph.node import Entry, Node
from ..literal import brief
from ..numeric import of_numbers
from ..ops.call import describe, signature
from ..ops.card import find
from ..ops.param import dtype_name
from ..ops.storage import STORAGE_TYPES
from .arithmetic import is_scalar
from .create import EXTRA, call
from .inference import DTYPE_CODES, shape_text
from .methods import split_v2_attrs
from .operators import Operators, method_names
from .symbol import Symbol

__all__ = [
    "Custom",
    "Variable",
    "arange",
    "eye",
    "full",
    "function",
    "histogram",
    "hypot",
    "install_methods",
    "linspace",
    "maximum",
    "member",
    "minimum",
    "ones",
    "pow",
    "power",
    "split_v2",
    "var",
    "zeros",
]


def Variable(  # noqa: N802 - MXNet's name
    name: str,
    attr: Mapping[str, str] | None = None,
    shape: Any = None,
    lr_mult: float | None = None,
    wd_mult: float | None = None,
    dtype: Any = None,
    init: Any = None,
    stype: str | None = None,
    **kwargs: Any,
) -> Symbol:
    """A variable: an input of the computation that is bound to an array later.

    Parameters
    ----------
    name
        Its name, which should be unique; taken as it is, whatever name manager is in force.
    attr
        Attributes, besides those of the scope in force.
    shape
        Its shape, if it is known already: an int, a sequence of ints or its text. An extent of 0
        is unknown.
    lr_mult, wd_mult
        Factors for its learning rate and its weight decay; 0 keeps it as it is.
    dtype
        Its element type.
    init
        The initializer for it, or its JSON description.
    stype
        Its storage type.
    **kwargs
        Further attributes; their keys take the form ``__key__``, and their values become text.

    Raises
    ------
    InvalidArgumentError
        For a wrong shape, or an attribute of another form.
    DTypeError
        For a name that is no string, or an initializer that is none.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.sym.Variable("x", shape=(2, 0), lr_mult=2.0).list_attr()
    {'__shape__': '(2, 0)', '__lr_mult__': '2.0', 'lr_mult': '2.0'}
    """
    if not isinstance(name, str):
        raise DTypeError(f"the name of a variable must be a string, got {name!r}")
    attrs = AttrScope._current.value.get(attr)
    if shape is not None:
        attrs["__shape__"] = shape_text(shape, name)
    if lr_mult is not None:
        attrs["__lr_mult__"] = str(lr_mult)
    if wd_mult is not None:
        attrs["__wd_mult__"] = str(wd_mult)
    if dtype is not None:
        attrs["__dtype__"] = str(DTYPE_CODES[dtype_name(dtype)])
    if init is not None:
        attrs["__init__"] = _initializer(init)
    if stype is not None:
        attrs["__storage_type__"] = _storage_type(stype)
    for key, value in kwargs.items():
        if not (key.startswith("__") and key.endswith("__")):
            raise InvalidArgumentError(
                f"Variable: unknown attribute '{key}'; further attributes take the form '__{key}__'"
            )
        attrs[key] = str(value)
    return Symbol([Entry(Node(None, str(name), [], attrs), 0)])


var = Variable


def _initializer(init: Any) -> str:
    """The text of an initializer; these are not known here, but all can write themselves."""
    if isinstance(init, str):
        return init
    if not callable(getattr(init, "dumps", None)):
        raise DTypeError(
            f"Variable: init must be an Initializer, or its name or JSON, got {init!r}"
        )
    return init.dumps()


def _storage_type(stype: str) -> str:
    if stype not in STORAGE_TYPES:
        raise InvalidArgumentError(
            f"stype must be one of {', '.join(STORAGE_TYPES)}, got {stype!r}"
        )
    return str(STORAGE_TYPES.index(stype))


@cache
def function(name: str) -> Callable[..., Symbol]:
    """The function that makes symbols of the operator `name`, with its signature and its
    documentation.

    Raises
    ------
    InvalidArgumentError
        For an unknown operator.
    """
    return member(name, name, "ferromix.symbol")


def member(name: str, called: str, module: str) -> Callable[..., Symbol]:
    """The function of the operator `name` in a namespace, where it is called otherwise, and from
    where symbols without a name have theirs.
    """
    card = find(name)

    def operator(*args: Any, **kwargs: Any) -> Symbol:
        return Symbol(call(name, args, kwargs, called))

    operator.__name__ = operator.__qualname__ = called
    operator.__module__ = module
    operator.__doc__ = describe(card)
    operator.__signature__ = signature(card, extra=EXTRA)  # type: ignore[attr-defined]
    return operator


def install_methods(cls: type[Operators]) -> None:
    """Gives the class the operators of :func:`method_names` as methods."""
    for name in method_names():
        setattr(cls, name, _method(name))


def _method(name: str) -> Callable[..., Any]:
    card = find(name)

    def run(self: Operators, *args: Any, **kwargs: Any) -> Any:
        return self._call(name, args, kwargs)

    run.__name__ = run.__qualname__ = name
    run.__module__ = "ferromix.symbol"
    run.__doc__ = describe(card)
    run.__signature__ = signature(card, extra=EXTRA)  # type: ignore[attr-defined]
    return run


def _either(name: str, left: Any, right: Any) -> Any:
    """A binary operator of which at least one side is a symbol; two numbers are computed."""
    if isinstance(left, Symbol):
        return left._binary(name, right)
    if isinstance(right, Symbol):
        return right._binary(name, left, True)
    for value in (left, right):
        if not is_scalar(value):
            raise InvalidArgumentError(
                f"{name}: an operand must be a symbol or a number, got {brief(value)}"
            )
    return of_numbers(name, left, right)


def maximum(left: Any, right: Any) -> Any:
    """The larger of two symbols, or of a symbol and a number, element by element."""
    return _either("maximum", left, right)


def minimum(left: Any, right: Any) -> Any:
    """The smaller of two symbols, or of a symbol and a number, element by element."""
    return _either("minimum", left, right)


def power(base: Any, exp: Any) -> Any:
    """A symbol or a number to the power of a symbol or a number, element by element."""
    return _either("power", base, exp)


pow = power


def hypot(left: Any, right: Any) -> Any:
    """The hypotenuse over two symbols, or a symbol and a number, element by element."""
    return _either("hypot", left, right)


def split_v2(
    ary: Symbol,
    indices_or_sections: int | Sequence[int],
    axis: int = 0,
    squeeze_axis: bool = False,
) -> Symbol:
    """The parts of a symbol along `axis`: equal ones, or those that begin at the indices."""
    return function("_split_v2")(ary, **split_v2_attrs(indices_or_sections, axis, squeeze_axis))


def histogram(a: Symbol, bins: int | Symbol = 10, range: Any = None, **kwargs: Any) -> Symbol:
    """How many elements of a symbol fall into each of `bins` bins over `range`, or between the
    edges that `bins` gives, and the edges."""
    if isinstance(bins, Symbol):
        return function("_histogram")(a, bins, **kwargs)
    if range is None:
        raise InvalidArgumentError(
            "histogram: range must be given for a number of bins, as a symbol has no values"
        )
    return function("_histogram")(a, bin_cnt=bins, range=range, **kwargs)


def zeros(shape: Any, dtype: Any = "float32", **kwargs: Any) -> Symbol:
    """A symbol of zeros."""
    return function("_zeros")(shape=shape, dtype=dtype or "float32", **kwargs)


def ones(shape: Any, dtype: Any = "float32", **kwargs: Any) -> Symbol:
    """A symbol of ones."""
    return function("_ones")(shape=shape, dtype=dtype or "float32", **kwargs)


def full(shape: Any, val: float, dtype: Any = "float32", **kwargs: Any) -> Symbol:
    """A symbol of which every element is `val`."""
    value = float(val) if is_scalar(val) else val  # A float in the graph, too, as in MXNet.
    return function("_full")(shape=shape, value=value, dtype=dtype or "float32", **kwargs)


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool = False,
    name: str | None = None,
    dtype: Any = "float32",
    **kwargs: Any,
) -> Symbol:
    """A symbol of evenly spaced numbers from `start` (or 0) to before `stop`.

    With `infer_range` and without `stop`, the length is what the shapes of others ask for.
    """
    attrs = {"start": start, "stop": stop, "step": step, "repeat": repeat}
    attrs["infer_range"] = infer_range
    return function("_arange")(**attrs, name=name, dtype=dtype or "float32", **kwargs)


def linspace(
    start: float,
    stop: float,
    num: int,
    endpoint: bool = True,
    name: str | None = None,
    dtype: Any = "float32",
    **kwargs: Any,
) -> Symbol:
    """A symbol of `num` evenly spaced numbers from `start` to `stop`."""
    attrs = {"start": start, "stop": stop, "num": num, "endpoint": endpoint}
    return function("_linspace")(**attrs, name=name, dtype=dtype or "float32", **kwargs)


def eye(N: int, M: int = 0, k: int = 0, dtype: Any = None, **kwargs: Any) -> Symbol:  # noqa: N803
    """A symbol of a matrix of `N` rows and `M` columns with ones on the diagonal `k`."""
    return function("_eye")(N=N, M=M, k=k, dtype=dtype or "float32", **kwargs)


Custom = function("Custom")
