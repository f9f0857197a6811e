"""Symbols give what arrays give: outputs bit by bit, gradients by the same rules."""

import numpy as np

import ferromix as mx
from ferromix.ndarray import NDArray

from .by_operator import by_operator
from .run import backward, forward, to_array, to_arrays, to_numpy
from .table import CASES, EDGES, ONE_EACH
from .tolerance import assert_close


def is_public(case):
    return not case.card.hidden and case.shapes


PUBLIC = list(filter(is_public, CASES))


def is_differentiated(case):
    return case.card.differentiable and "float64" in case.types()


REQUESTS = [(c, "write") for c in filter(is_public, EDGES) if is_differentiated(c)]
REQUESTS += [(c, "add") for c in filter(is_public, ONE_EACH) if is_differentiated(c)]


def bound(case, arrays, grad_req):
    names = case.card.list_arguments() + case.card.list_auxiliary_states()
    symbol = getattr(mx.sym, case.op)(*[mx.sym.Variable(n) for n in names], **case.attrs)
    values = {n: NDArray(a).copy() for n, a in zip(names, arrays, strict=True)}
    args = {n: values[n] for n in symbol.list_arguments()}
    aux = {n: values[n] for n in symbol.list_auxiliary_states()}
    grads = {n: mx.nd.ones(a.shape, dtype=a.dtype_name) for n, a in args.items()}
    return symbol.bind(mx.current_context(), args, grads, grad_req, aux)


@by_operator(PUBLIC)
def test_symbol_is_array(case):
    dtype = case.types()[0]
    arrays = to_arrays(case, case.inputs(dtype), dtype)
    mx.random.seed(5)
    expected = forward(case, [NDArray(a).copy().handle for a in arrays])
    executor = bound(case, arrays, "null")
    mx.random.seed(5)
    outputs = executor.forward(is_train=case.train)
    assert len(outputs) == case.card.num_visible_outputs()
    for found, wanted in zip(outputs, expected, strict=False):
        assert to_numpy(found.handle).tobytes() == to_numpy(wanted).tobytes()


@by_operator(REQUESTS)
def test_gradients_of_a_symbol(case, grad_req):
    arrays = to_arrays(case, case.inputs("float64"), "float64")
    outputs = forward(case, arrays)[: case.card.num_visible_outputs()]
    random = np.random.default_rng(4)
    heads = [to_array(random.standard_normal(o.shape), o.dtype) for o in outputs]
    heads[1:] = [to_array(np.zeros(h.shape), h.dtype) for h in heads[1:]]
    copies = [NDArray(a).copy().handle for a in arrays]
    expected, _ = backward(case, copies, heads)
    executor = bound(case, arrays, grad_req)
    executor.forward(is_train=case.train)
    executor.backward([NDArray(h) for h in heads])
    for name, wanted in zip(case.card.list_arguments(), expected, strict=True):
        found = executor.grad_dict[name].asnumpy()
        old = 1.0 if grad_req == "add" else 0.0
        value = np.zeros(found.shape) if wanted is None else to_numpy(wanted)
        assert_close(found, value + old, "float64", 4, f"{case.id} {name}")
