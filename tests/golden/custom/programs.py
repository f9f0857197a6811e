"""Programs with custom operators that run on MXNet and on Ferromix; each gives arrays by name.

`tools/golden/make_custom.py` keeps what MXNet's gave.
"""

import numpy as np

REGISTERED = set()


def numbers(*shape, seed=0):
    """Numbers that are the same everywhere."""
    return np.random.RandomState(seed).uniform(-1.5, 1.5, shape).astype("float32")


def define(mx):
    """Registers the operators with a library, once."""
    if mx.__name__ in REGISTERED:
        return
    REGISTERED.add(mx.__name__)

    class Softmax(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            x = in_data[0].asnumpy()
            y = np.exp(x - x.max(axis=1).reshape((x.shape[0], 1)))
            y /= y.sum(axis=1).reshape((x.shape[0], 1))
            self.assign(out_data[0], req[0], mx.nd.array(y))

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            label = in_data[1].asnumpy().ravel().astype(int)
            y = out_data[0].asnumpy()
            y[np.arange(label.shape[0]), label] -= 1.0
            self.assign(in_grad[0], req[0], mx.nd.array(y))

    @mx.operator.register("golden_softmax")
    class SoftmaxProp(mx.operator.CustomOpProp):
        def __init__(self):
            super().__init__(need_top_grad=False)

        def list_arguments(self):
            return ["data", "label"]

        def infer_shape(self, in_shape):
            return [in_shape[0], (in_shape[0][0],)], [in_shape[0]], []

        def create_operator(self, ctx, shapes, dtypes):
            return Softmax()

    class Running(mx.operator.CustomOp):
        """The distance to the mean of all rows so far, which is a state, and a count of runs.

        With one output: MXNet refuses the gradient of several where there are states.
        """

        def forward(self, is_train, req, in_data, out_data, aux):
            mean = mx.nd.mean(in_data[0], axis=0)
            if is_train:
                aux[0][:] = 0.75 * aux[0] + 0.25 * mean
                aux[1][:] += 1
            away = mx.nd.broadcast_sub(in_data[0], aux[0].reshape((1, -1)))
            self.assign(out_data[0], req[0], away)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0] + out_data[0])
            aux[1][:] += 100

    @mx.operator.register("golden_running")
    class RunningProp(mx.operator.CustomOpProp):
        def list_outputs(self):
            return ["distance"]

        def list_auxiliary_states(self):
            return ["running", "count"]

        def infer_shape(self, in_shape):
            width = (in_shape[0][1],)
            return in_shape, [in_shape[0]], [width, (1,)]

        def create_operator(self, ctx, shapes, dtypes):
            return Running()

    class Typed(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] * 3)
            self.assign(out_data[1], req[1], (in_data[0] > 0).astype("int32"))

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0] * 3)

    @mx.operator.register("golden_typed")
    class TypedProp(mx.operator.CustomOpProp):
        def list_outputs(self):
            return ["scaled", "positive"]

        def infer_shape(self, in_shape):
            return in_shape, [in_shape[0]] * 2, []

        def infer_type(self, in_type):
            return in_type, [in_type[0], np.int32], []

        def create_operator(self, ctx, shapes, dtypes):
            return Typed()

    _define_sparse(mx)


def _define_sparse(mx):
    class Square(mx.operator.CustomOp):
        """Of what is stored; the gradient is stored alike."""

        def forward(self, is_train, req, in_data, out_data, aux):
            x = in_data[0]
            if x.stype == "csr":
                stored = (x.data * x.data, x.indices, x.indptr)
                self.assign(out_data[0], req[0], mx.nd.sparse.csr_matrix(stored, shape=x.shape))
            else:
                self.assign(out_data[0], req[0], x * x)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            product = mx.nd.sparse.elemwise_mul(in_data[0], out_grad[0])
            self.assign(in_grad[0], req[0], 2 * product)

    @mx.operator.register("golden_square")
    class SquareProp(mx.operator.CustomOpProp):
        def infer_storage_type(self, in_stype):
            return in_stype, in_stype, []

        def infer_storage_type_backward(self, ograd, in_data, out_data, igrad, aux):
            return ograd, in_data, out_data, in_data, aux

        def create_operator(self, ctx, shapes, dtypes):
            return Square()


def loss(mx):
    """A loss, recorded and bound, whose gradient reads no gradient of its output."""
    x, label = numbers(4, 3), np.array([0, 2, 1, 1], "float32")
    data = mx.nd.array(x)
    data.attach_grad()
    with mx.autograd.record():
        out = mx.nd.Custom(data, mx.nd.array(label), op_type="golden_softmax")
    out.backward()
    symbol = mx.sym.Custom(mx.sym.var("x") * 2, mx.sym.var("label"), op_type="golden_softmax")
    executor = symbol.simple_bind(
        mx.cpu(), x=(4, 3), label=(4,), grad_req={"x": "write", "label": "null"}
    )
    executor.forward(is_train=True, x=mx.nd.array(x), label=mx.nd.array(label))
    executor.backward()
    return {
        "out": out,
        "grad": data.grad,
        "bound": executor.outputs[0],
        "bound_grad": executor.grad_dict["x"],
    }


def states(mx):
    """Auxiliary states, in training and not, recorded and bound."""
    found = {}
    data, running, count = mx.nd.array(numbers(5, 3)), mx.nd.zeros((3,)), mx.nd.zeros((1,))
    data.attach_grad()
    for step, train in enumerate((True, True, False)):
        with mx.autograd.record(train_mode=train):
            distance = mx.nd.Custom(data, running, count, op_type="golden_running")
            total = (distance * distance).sum()
        total.backward()
        found[f"distance{step}"], found[f"grad{step}"] = distance, data.grad.copy()
    found.update(running=running, count=count)
    symbol = mx.sym.Custom(mx.sym.var("x"), op_type="golden_running", name="r")
    executor = symbol.simple_bind(mx.cpu(), x=(5, 3))
    for _ in range(2):
        executor.forward(is_train=True, x=mx.nd.array(numbers(5, 3, seed=1)))
        executor.backward(mx.nd.array(numbers(5, 3, seed=2)))
    found["bound"] = executor.outputs[0]
    found["bound_grad"] = executor.grad_dict["x"]
    found["bound_running"] = executor.aux_dict["r_running"]
    found["bound_count"] = executor.aux_dict["r_count"]
    return found


def requests(mx):
    """Gradients that are written, added and not asked for; results that others read, and not."""
    found = {}
    for request in ("write", "add", "null"):
        x, y = mx.sym.var("x"), mx.sym.var("y")
        inner = mx.sym.Custom(x * y, op_type="golden_typed", name="t")[0]
        symbol = inner + mx.sym.Custom(inner, op_type="golden_typed", name="u")[0] * x
        executor = symbol.simple_bind(
            mx.cpu(), x=(2, 3), y=(2, 3), grad_req={"x": request, "y": "write"}
        )
        for _ in range(2):
            values = {"x": mx.nd.array(numbers(2, 3)), "y": mx.nd.array(numbers(2, 3, seed=1))}
            executor.forward(is_train=True, **values)
            executor.backward(mx.nd.array(numbers(2, 3, seed=2)))
        found[f"out_{request}"] = executor.outputs[0]
        found[f"y_{request}"] = executor.grad_dict["y"]
        if request != "null":
            found[f"x_{request}"] = executor.grad_dict["x"]
    data = mx.nd.array(numbers(2, 3))
    data.attach_grad("add")
    for _ in range(3):
        with mx.autograd.record():
            z = mx.nd.Custom(data, op_type="golden_typed")[0] * data
        z.backward()
    found["recorded_add"] = data.grad
    return found


def types(mx):
    """Element types by infer_type, of which one is another than the input's."""
    found = {}
    for dtype in ("float16", "float32", "float64", "int32", "int64", "uint8", "int8"):
        data = mx.nd.array(np.abs(numbers(2, 3)) * 9 // 1, dtype=dtype)
        scaled, positive = mx.nd.Custom(data, op_type="golden_typed")
        found[f"scaled_{dtype}"], found[f"positive_{dtype}"] = scaled, positive
        if dtype.startswith("float"):
            data.attach_grad()
            with mx.autograd.record():
                out = mx.nd.Custom(data, op_type="golden_typed")[0]
            out.backward(mx.nd.array(numbers(2, 3, seed=5), dtype=dtype))
            found[f"grad_{dtype}"] = data.grad
            symbol = mx.sym.Custom(mx.sym.var("x"), op_type="golden_typed")
            executor = symbol.simple_bind(mx.cpu(), x=(2, 3), type_dict={"x": dtype})
            executor.forward(x=data)
            found[f"bound_{dtype}"], found[f"bound_positive_{dtype}"] = executor.outputs
    return found


def sparse(mx):
    """Inputs of all storage types, and gradients stored as the property says."""
    found = {}
    value = numbers(4, 5) * (numbers(4, 5, seed=1) > 0.3)
    value[2] = 0
    for stype in ("default", "csr", "row_sparse"):
        data = mx.nd.array(value).tostype(stype)
        data.attach_grad()
        with mx.autograd.record():
            out = mx.nd.Custom(data, op_type="golden_square")
        out.backward(mx.nd.array(numbers(4, 5, seed=2)))
        found[f"out_{stype}"], found[f"grad_{stype}"] = out, data.grad
        x = mx.sym.var("x", stype=stype)
        executor = mx.sym.Custom(x, op_type="golden_square").simple_bind(mx.cpu(), x=(4, 5))
        for _ in range(2):
            executor.forward(is_train=True, x=data)
        executor.backward(mx.nd.array(numbers(4, 5, seed=2)))
        found[f"bound_{stype}"] = executor.outputs[0]
        found[f"bound_grad_{stype}"] = executor.grad_dict["x"]
    return found


PROGRAMS = (loss, states, requests, types, sparse)
