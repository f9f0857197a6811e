"""Backward passes over what was recorded."""

from __future__ import annotations

from collections.abc import Sequence

from .. import _core
from ..dispatch import tape
from ..error import InvalidArgumentError
from ..graph.node import Node, topological
from ..ndarray import NDArray
from ..ndarray.gradients import arrays_of, mark
from ..ndarray.gradients import backward as run_backward
from ..ndarray.sparse import taped
from ..symbol import Symbol

__all__ = ["backward", "get_symbol", "grad", "mark_variables"]

Arrays = NDArray | Sequence[NDArray]
HeadGrads = NDArray | Sequence[NDArray | None] | None


def mark_variables(
    variables: Arrays, gradients: Arrays, grad_reqs: str | Sequence[str] = "write"
) -> None:
    """Makes arrays variables whose gradients go to given arrays.

    Parameters
    ----------
    variables, gradients
        Arrays, pairwise of the same shape and type.
    grad_reqs
        ``"write"``, ``"add"`` or ``"null"``, one for all or a list of them.

    Raises
    ------
    InvalidArgumentError
        Lists of different lengths, gradients that do not fit, an unknown request.

    Examples
    --------
    >>> import ferromix as mx
    >>> x, g = mx.nd.array([3.0]), mx.nd.zeros((1,))
    >>> mx.autograd.mark_variables([x], [g])
    >>> with mx.autograd.record():
    ...     y = x * x
    >>> y.backward()
    >>> g.item()
    6.0
    """
    marked = arrays_of("variables", variables)
    places = arrays_of("gradients", gradients, len(marked))
    requests = [grad_reqs] * len(marked) if isinstance(grad_reqs, str) else list(grad_reqs)
    if len(requests) != len(marked):
        raise InvalidArgumentError(f"grad_reqs: expected {len(marked)}, got {len(requests)}")
    for variable, gradient, request in zip(marked, places, requests, strict=True):
        mark(variable, gradient, request)


def backward(
    heads: Arrays,
    head_grads: HeadGrads = None,
    retain_graph: bool = False,
    train_mode: bool = True,
) -> None:
    """Computes the gradients of `heads` with respect to all variables that they depend on.

    They go to the arrays of :meth:`~ferromix.nd.NDArray.attach_grad`. With several heads the sum
    is differentiated.

    Parameters
    ----------
    heads
        Recorded results, or variables.
    head_grads
        What each head's gradient starts from, of its shape and type; ones where None. Losses, such
        as SoftmaxOutput, ignore it.
    retain_graph
        Whether the graph is kept, to be differentiated again. Otherwise its memory is freed, and
        its arrays are constants from then on.
    train_mode
        Whether operators such as BatchNorm compute the gradients of training or of prediction.

    Raises
    ------
    InvalidArgumentError
        A head that was not recorded or whose graph was freed; no variable that needs a gradient;
        gradients of heads that do not fit; an array that was overwritten although its values are
        needed, or an operator without a gradient rule: these name the operator, and the line that
        ran it. Of these, nothing is computed. An error that a :class:`Function` raises comes in the
        middle: some gradients may have been written then.

    Examples
    --------
    >>> import ferromix as mx
    >>> x = mx.nd.array([1.0, 2.0])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y, z = x * x, 3 * x
    >>> mx.autograd.backward([y, z], [None, mx.nd.array([10.0, 100.0])])
    >>> x.grad.asnumpy().tolist()
    [32.0, 304.0]
    """
    run_backward(heads, head_grads, retain_graph, train_mode)


def grad(
    heads: Arrays,
    variables: Arrays,
    head_grads: HeadGrads = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    train_mode: bool = True,
) -> list[NDArray]:
    """The gradients of `heads` with respect to `variables`, as new arrays.

    Parameters
    ----------
    heads, head_grads, train_mode
        As for :func:`backward`.
    variables
        Arrays with :meth:`~ferromix.nd.NDArray.attach_grad`, whose own gradients stay as they are.
    retain_graph
        Whether the graph is kept; by default if `create_graph`.
    create_graph
        Whether the gradients are recorded too, so that they can be differentiated. For derivatives
        of any order, if every operator has them; an error names the one that lacks them.

    Returns
    -------
    list of NDArray
        One for each variable, also where there is only one, as in MXNet.

    Raises
    ------
    InvalidArgumentError
        As for :func:`backward`; also a variable that is none, or on which no head depends.

    Examples
    --------
    >>> import ferromix as mx
    >>> x = mx.nd.array([1.0, 2.0])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = x**4
    ...     (first,) = mx.autograd.grad(y, x, create_graph=True)
    ...     (second,) = mx.autograd.grad(first, x)
    >>> second.asnumpy().tolist()
    [12.0, 48.0]
    """
    found = arrays_of("heads", heads)
    seeds = arrays_of("head_grads", head_grads, len(found), optional=True)
    wanted = arrays_of("variables", variables)
    keeps = bool(create_graph if retain_graph is None else retain_graph)
    modes = keeps, bool(create_graph), bool(train_mode)
    sparse = taped.gradients(found, seeds, wanted, *modes)
    if sparse is not None:
        return sparse
    handles = _core.gradients(
        [h.handle for h in found],
        [None if s is None else s.handle for s in seeds],
        [v.handle for v in wanted],
        *modes,
    )
    return [NDArray(h) for h in handles]


def get_symbol(x: NDArray) -> Symbol:
    """The recorded graph of `x` as a symbol, with variables ``var0``, ``var1``, ... for its inputs.

    Raises
    ------
    InvalidArgumentError
        An array that is not recorded, or a graph with something that is no public operator, such
        as indexing or a :class:`Function`.

    Examples
    --------
    >>> import ferromix as mx
    >>> x = mx.nd.array([1.0, 2.0])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = mx.nd.exp(x) * x
    >>> mx.autograd.get_symbol(y).list_arguments()
    ['var0']
    """
    (array,) = arrays_of("x", x, 1)
    heads = tape.entries([array.handle])
    nodes = topological(heads)
    counts = {True: 0, False: 0}
    for node in nodes:
        if node.op is not None and node.op.hidden:
            raise InvalidArgumentError(
                f"get_symbol: '{node.op.name}' has no symbol; compute the array from operators of "
                "mx.nd, for instance slice_axis in the place of an index"
            )
        _rename(node, counts)
    return Symbol(heads)


def _rename(node: Node, counts: dict[bool, int]) -> None:
    is_variable = node.op is None
    node.name = f"{'var' if is_variable else 'node_'}{counts[is_variable]}"
    counts[is_variable] += 1
