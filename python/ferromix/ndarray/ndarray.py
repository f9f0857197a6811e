"""The NDArray: a view of memory whose users the engine orders.

Every method that computes returns at once; the work runs on the engine. Whatever reads values
(:meth:`NDArray.asnumpy`, printing, ``bool``) waits for them.
"""

from __future__ import annotations

import os
import reprlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .. import _core, dispatch
from ..base import as_shape
from ..context import Context, as_context, placement
from ..error import ArgumentTypeError, InvalidArgumentError
from ..ops.card import OperatorProperty, make
from ..ops.join import split_v2_attrs
from ..ops.own import OwnOperator
from ..ops.param import dtype_name
from ..ops.storage import DENSE, makes_sparse
from . import gradients, indexing, recorded, values
from .members import Members
from .operators import Operators

__all__ = ["NDArray", "invoke", "waitall"]

_BFLOAT16 = np.dtype([("bfloat16", np.uint16)])


def invoke(
    card: OperatorProperty, inputs: Sequence[NDArray], out: Any = None, is_train: bool | None = None
) -> list[NDArray]:
    """Pushes one run of an operator and returns its visible outputs.

    Parameters
    ----------
    card
        The operator with its attributes.
    inputs
        Arguments, then auxiliary states.
    out
        An array, or a list of arrays, to be overwritten instead of making new ones.
    is_train
        Whether to train or to predict, for operators that tell the two apart; by default as
        :func:`ferromix.autograd.is_training` says.
    """
    given = [] if out is None else [out] if isinstance(out, NDArray) else list(out)
    try:
        casts = makes_sparse(card.name, card.attrs)
        casts = casts or card.by_values or (isinstance(card, OwnOperator) and card.gives_sparse)
        if casts or any(a.stype != DENSE for a in (*inputs, *given)):
            return sparse_run(card, inputs, given, is_train)
        arrays, into = [a.handle for a in inputs], [o.handle for o in given]
    except AttributeError:
        kinds = ", ".join(type(a).__name__ for a in (*inputs, *given))
        raise ArgumentTypeError(
            f"{card.name}: inputs and out must be NDArrays, got {kinds}"
        ) from None
    handles = dispatch.invoke(card, arrays, into, is_train)
    visible = card.num_visible_outputs()
    return [given[i] if i < len(given) else NDArray(handles[i]) for i in range(visible)]


def sparse_run(
    card: OperatorProperty,
    inputs: Sequence[NDArray],
    out: Sequence[NDArray],
    is_train: bool | None = None,
) -> list[NDArray]:
    """As :func:`invoke`, where an array is sparse, or becomes so."""
    from .sparse.run import run  # sparse arrays are built on this module

    return run(card, inputs, out, is_train)


def waitall() -> None:
    """Waits for everything pushed before; raises the first error not raised yet."""
    _core.wait_all()


class NDArray(Members, Operators):
    """An array of one element type, of any number of dimensions.

    Made by :func:`ferromix.nd.array`, :func:`ferromix.nd.zeros` and the like, and by operators.

    Parameters
    ----------
    handle
        The core's array.

    Examples
    --------
    >>> import ferromix as mx
    >>> a = mx.nd.array([[1, 2], [3, 4]])
    >>> (a * 2 + 1).asnumpy()
    array([[3., 5.],
           [7., 9.]], dtype=float32)
    """

    __slots__ = ()
    # Operators between NumPy's arrays or numbers and this one are this one's.
    __array_priority__ = 1000.0

    # -- description ---------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return self.handle.shape

    @property
    def dtype(self) -> Any:
        """The NumPy type of the elements; for bfloat16 MXNet's structured type of that name."""
        name = self.handle.dtype
        return _BFLOAT16 if name == "bfloat16" else np.dtype(name).type

    @property
    def dtype_name(self) -> str:
        """The name of the element type, such as ``"float32"``."""
        return self.handle.dtype

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.handle.size

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.handle.shape)

    @property
    def context(self) -> Context:
        """Where the array lives."""
        kind, number = self.handle.context
        return Context(Context.devtype2str[kind], number)

    @property
    def ctx(self) -> Context:
        """Where the array lives."""
        return self.context

    @property
    def T(self) -> NDArray:  # noqa: N802 - NumPy's and MXNet's name
        """A copy with the axes reversed."""
        return invoke(make("transpose", {}), [self])[0]

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d array")
        return self.shape[0]

    def __repr__(self) -> str:
        shape = "x".join(map(str, self.shape))
        return f"\n{self.asnumpy()}\n<NDArray {shape} @{self.context}>"

    # -- values --------------------------------------------------------------------------------

    def asscalar(self) -> Any:
        """The only element as a NumPy scalar.

        Raises
        ------
        InvalidArgumentError
            If there is not exactly one.
        """
        if self.size != 1:
            raise InvalidArgumentError(
                f"asscalar() needs exactly one element, the shape is {self.shape}"
            )
        return self.asnumpy().reshape(-1)[0]

    def item(self) -> int | float | bool:
        """The only element as a Python number."""
        if self.size != 1:
            raise InvalidArgumentError(
                f"item() needs exactly one element, the shape is {self.shape}"
            )
        return self.handle.item()

    def __bool__(self) -> bool:
        if self.size == 1:
            return bool(self.item())
        if self.size == 0:
            return False
        raise InvalidArgumentError(
            f"the truth value of an array of shape {self.shape} is ambiguous; "
            "compare element by element and reduce, for instance by sum()"
        )

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __bytes__(self) -> bytes:
        """The elements in C order; otherwise Python would take an integer for a length."""
        return self.asnumpy().tobytes()

    def __index__(self) -> int:
        if self.size != 1:
            raise ArgumentTypeError(
                f"an index needs exactly one element, the shape is {self.shape}"
            )
        value = self.item()
        if isinstance(value, float):
            raise TypeError(f"an array of {self.dtype_name} cannot be an index")
        return int(value)

    def wait_to_read(self) -> None:
        """Waits until the writes pushed before are done; raises their error."""
        self.handle.wait_to_read()

    def tolist(self) -> Any:
        """The values as nested lists of Python numbers."""
        return self.asnumpy().tolist()

    # -- copies --------------------------------------------------------------------------------

    def copy(self) -> NDArray:
        """A new array with the same values."""
        return self.astype(self.dtype_name)

    def copyto(self, other: NDArray | Context | str) -> NDArray:
        """Copies the values into `other`, or into a new array on the device `other`.

        Raises
        ------
        ArgumentTypeError
            For another `other`.
        InvalidArgumentError
            For an array of another shape.
        """
        if isinstance(other, (Context, str)):
            other = NDArray(_core.Array(self.shape, self.dtype_name, *placement(other)))
        if not isinstance(other, NDArray):
            raise ArgumentTypeError(
                f"copyto: the target must be an NDArray or a Context, got {reprlib.repr(other)}"
            )
        if other.shape != self.shape:
            raise InvalidArgumentError(
                f"copyto: the target has shape {other.shape}, the source {self.shape}"
            )
        if other.stype != DENSE:
            invoke(make("cast_storage", {"stype": other.stype}), [self], other)
        elif other is not self:
            gradients.copy(self, other.handle)
        return other

    def astype(self, dtype: Any, copy: bool = True) -> NDArray:
        """The values in another element type; a copy, unless `copy` is False and none is needed."""
        name = dtype_name(dtype)
        if not copy and name == self.dtype_name:
            return self
        result = NDArray(_core.Array(self.shape, name, *self.handle.context))
        gradients.copy(self, result.handle)
        return result

    def tostype(self, stype: str) -> NDArray:
        """A copy in another storage type.

        Raises
        ------
        InvalidArgumentError
            For an unknown one, or ``"csr"`` for other than two dimensions.
        """
        return invoke(make("cast_storage", {"stype": stype}), [self])[0]

    def as_in_context(self, context: Context | str) -> NDArray:
        """This array, if it lives on `context`, or a copy there."""
        if placement(context) == self.handle.context:
            return self
        return self.copyto(as_context(context))

    def __reduce__(self) -> tuple[Any, ...]:
        return from_values, (self.asnumpy(), self.dtype_name)

    def _to_shared_mem(self) -> tuple[int, int, tuple[int, ...], Any]:
        """What :func:`ferromix.nd.from_shared_mem` takes: process, descriptor, shape, type.

        The array must be on ``cpu_shared`` and lie in C order from the start of its memory. The
        descriptor stays open as long as the memory is in use here.
        """
        if not self.handle.contiguous or self.handle.offset:
            raise InvalidArgumentError(
                "only a whole array can be shared by its descriptor; copy it"
            )
        return os.getpid(), self.handle.share(), self.shape, self.dtype

    def reshape(self, *shape: Any, **attrs: Any) -> NDArray:
        """The same elements in another shape, sharing memory where they lie in C order.

        Parameters
        ----------
        *shape
            Extents, or one tuple of them, with MXNet's codes: 0 keeps an extent, -1 infers one,
            -2 takes all that remain, -3 merges two, -4 splits one.
        reverse
            Whether to match the codes from the right.
        """
        unknown = attrs.keys() - {"shape", "reverse"}
        if unknown:  # numpy.reshape looks for a TypeError
            raise TypeError(
                f"reshape: unknown arguments {', '.join(sorted(unknown))}; known: shape, reverse"
            )
        given = shape or (attrs.pop("shape", ()),)
        wanted = given[0] if len(given) == 1 else given
        if isinstance(wanted, np.ndarray):
            wanted = wanted.tolist()
        if isinstance(wanted, list):
            wanted = tuple(wanted)
        card = make("Reshape", {"shape": () if wanted is None else wanted, **attrs})
        ((target, _),) = dispatch.infer(card, ((self.shape, self.dtype_name),))
        view = self.handle.reshape(target)
        if view is None:
            return invoke(card, [self])[0]
        dispatch.record_view(card, self.handle, view)
        return NDArray(view)

    def broadcast_to(self, shape: Any) -> NDArray:
        """A copy that repeats extents of 1 up to `shape`."""
        return invoke(make("broadcast_to", {"shape": as_shape(shape)}), [self])[0]

    def split_v2(
        self, indices_or_sections: int | Sequence[int], axis: int = 0, squeeze_axis: bool = False
    ) -> list[NDArray] | NDArray:
        """Copies of parts along an axis; see :func:`ferromix.nd.split_v2`."""
        # Each part is an output, and too many of them could not even be counted.
        if isinstance(indices_or_sections, int) and indices_or_sections > max(
            self.shape, default=1
        ):
            raise InvalidArgumentError(
                f"split_v2: an array of shape {self.shape} has no {indices_or_sections} parts"
            )
        attrs = split_v2_attrs(indices_or_sections, axis, squeeze_axis)
        parts = invoke(make("_split_v2", attrs), [self])
        return parts[0] if len(parts) == 1 else parts

    # -- indexing ------------------------------------------------------------------------------

    def __setitem__(self, key: Any, value: Any) -> None:
        self._target("_copyto").require_unrecorded("_copyto")
        key = indexing.without_bools(key)
        if isinstance(key, slice) and key == slice(None) and not self.shape:
            key = ()
        view = self.handle.index(key)
        if isinstance(value, NDArray) and gradients.is_taped(value):
            gradients.assign(self, view, value)
        elif view is not None:
            assign(view, value)
        else:
            new = self.asnumpy()
            new[indexing.to_numpy(key)] = np.asarray(value)
            values.write(self.handle, new)

    def __iter__(self) -> Iterator[NDArray]:
        for i in range(len(self)):
            yield self[i]

    # -- gradients -----------------------------------------------------------------------------

    @property
    def grad(self) -> NDArray | None:
        """The array that gradients with respect to this one go to; None before `attach_grad`."""
        gradient = self.handle.gradient
        return None if gradient is None else gradients.gradient_of(self, gradient)

    def attach_grad(self, grad_req: str = "write", stype: str | None = None) -> None:
        """Makes this array a variable that gradients are computed for, apart from what gave it.

        Parameters
        ----------
        grad_req
            Whether a backward pass overwrites :attr:`grad` (``"write"``), adds to it (``"add"``)
            or leaves it alone (``"null"``). It starts with zeros.
        stype
            The storage type of the gradient; that of the array where None.

        Raises
        ------
        InvalidArgumentError
            For another `grad_req` or `stype`.

        Examples
        --------
        >>> import ferromix as mx
        >>> x = mx.nd.array([1, 2, 3])
        >>> x.attach_grad()
        >>> with mx.autograd.record():
        ...     y = x * x
        >>> y.backward()
        >>> x.grad.asnumpy().tolist()
        [2.0, 4.0, 6.0]
        """
        gradients.mark(self, gradients.zeros(self, stype or self.stype), grad_req)

    def detach(self) -> NDArray:
        """The same memory as a constant, through which no gradient flows."""
        return NDArray(self.handle.detach())

    def backward(
        self, out_grad: NDArray | None = None, retain_graph: bool = False, train_mode: bool = True
    ) -> None:
        """Computes the gradients of this array; see :func:`ferromix.autograd.backward`."""
        gradients.backward([self], [out_grad], retain_graph, train_mode)


def from_values(source: np.ndarray, dtype: str, place: tuple[int, int] = (1, 0)) -> NDArray:
    """A new array of `dtype`, in the memory `place`, with the values of a NumPy array."""
    result = _core.Array(source.shape, dtype, *place)
    values.write(result, source)
    return NDArray(result)


def assign(target: _core.Array, value: Any) -> None:
    """Writes a scalar, an array or anything that NumPy takes into `target`, broadcasting."""
    if isinstance(value, NDArray):
        if value.stype != DENSE:
            value = value.tostype(DENSE)
        if value.handle is not target:
            target.copy_from(values.trimmed(value.handle, len(target.shape)))
        return
    values.write(target, value)


def select(array: NDArray, key: Any) -> NDArray:
    """``array[key]`` where the core alone cannot do it: for other indices than basic ones, of which
    the result is a copy, and on the tape.
    """
    key = indexing.without_bools(key)
    view = array.handle.index(key)
    if view is None:
        picked = array.asnumpy()[indexing.to_numpy(key)]
        place = placement(array.context.compute)
        result = from_values(np.asarray(picked), array.dtype_name, place).handle
    else:
        result = view
    recorded.record(array.handle, key, result, is_view=view is not None)
    return NDArray(result)
