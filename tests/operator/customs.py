"""Operators that the tests of registered ones share."""

from __future__ import annotations

import numpy as np

import ferromix as mx


class Scaled(mx.operator.CustomOp):
    """``out = scale * data + weight``, and its largest element; counts its runs in ``aux``."""

    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, is_train, req, in_data, out_data, aux):
        data, weight = in_data
        self.forwards = getattr(self, "forwards", 0) + 1
        self.assign(out_data[0], req[0], data * self.scale + weight)
        self.assign(out_data[1], req[1], data.max().reshape((1,)))
        aux[0][:] += 1 if is_train else 100

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        assert self.forwards
        self.assign(in_grad[0], req[0], out_grad[0] * self.scale)
        self.assign(in_grad[1], req[1], out_grad[0].asnumpy())
        aux[0][:] += 1000


@mx.operator.register("test_scaled")
class ScaledProp(mx.operator.CustomOpProp):
    def __init__(self, scale="1.0"):
        super().__init__(need_top_grad=True)
        assert isinstance(scale, str)
        self.scale = float(scale)

    def list_arguments(self):
        return ["data", "weight"]

    def list_outputs(self):
        return ["out", "largest"]

    def list_auxiliary_states(self):
        return ["runs"]

    def infer_shape(self, in_shape):
        return [in_shape[0], in_shape[0]], [in_shape[0], [1]], [[1]]

    def infer_type(self, in_type):
        return [in_type[0]] * 2, [in_type[0]] * 2, [np.float32]

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Scaled(self.scale)


class Function(mx.operator.CustomOp):
    """Calls functions with what it gets."""

    def __init__(self, forward=None, backward=None):
        super().__init__()
        self.run_forward, self.run_backward = forward, backward

    def forward(self, **given):
        return self.run_forward(self, **given)

    def backward(self, **given):
        return self.run_backward(self, **given)


def register(name, forward=None, backward=None, **methods):
    """Registers an operator of functions; `methods` are the property's."""

    class Prop(mx.operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Function(forward, backward)

    for key, method in methods.items():
        setattr(Prop, key, method)
    mx.operator.register(name)(Prop)
    return name


def copy_forward(op, req, in_data, out_data, **_):
    op.assign(out_data[0], req[0], in_data[0])


def copy_backward(op, req, out_grad, in_grad, **_):
    op.assign(in_grad[0], req[0], out_grad[0])


def scaled(**kwargs):
    return mx.sym.Custom(data=mx.sym.Variable("x"), op_type="test_scaled", scale=2, **kwargs)
