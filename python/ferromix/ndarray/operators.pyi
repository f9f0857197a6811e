# Generated from the operator cards by `make gen`.

from collections.abc import Mapping, Sequence
from typing import Any

from .ndarray import NDArray

class Operators:
    __slots__ = ()
    def broadcast_like(self, other: NDArray, lhs_axes: int | Sequence[int] | None=None, rhs_axes: int | Sequence[int] | None=None, out: NDArray | None=None) -> NDArray: ...
    def expand_dims(self, axis: int, inplace: bool=False) -> NDArray: ...
    def squeeze(self, axis: int | Sequence[int] | None=None, inplace: bool=False) -> NDArray: ...
    def flatten(self, inplace: bool=False) -> NDArray: ...
    def round(self, decimals: int=0, out: NDArray | None=None) -> NDArray: ...
    def slice_assign(self, rhs: NDArray, begin: int | Sequence[int | None], end: int | Sequence[int | None], step: int | Sequence[int | None]=()) -> NDArray: ...
    def slice_assign_scalar(self, value: float, begin: int | Sequence[int | None], end: int | Sequence[int | None], step: int | Sequence[int | None]=()) -> NDArray: ...
    def abs(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def all_finite(
        self,
        init_output: bool = True,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def amp_cast(
        self,
        dtype: Any = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def arccos(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def arccosh(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def arcsin(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def arcsinh(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def arctan(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def arctanh(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def argmax(
        self,
        axis: int | None = None,
        keepdims: bool = False,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def argmax_channel(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def argmin(
        self,
        axis: int | None = None,
        keepdims: bool = False,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def argsort(
        self,
        axis: int | None = -1,
        is_ascend: bool = True,
        dtype: Any = 'float32',
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def batch_dot(
        self,
        rhs: NDArray | None = None,
        transpose_a: bool = False,
        transpose_b: bool = False,
        forward_stype: str | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def batch_take(
        self,
        indices: NDArray | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def broadcast_add(
        self,
        rhs: NDArray | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def broadcast_axes(
        self,
        axis: int | Sequence[int] = (),
        size: int | Sequence[int] = (),
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def broadcast_axis(
        self,
        axis: int | Sequence[int] = (),
        size: int | Sequence[int] = (),
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def broadcast_div(
        self,
        rhs: NDArray | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def broadcast_equal(
        self,
        rhs: NDArray | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def broadcast_greater(
        self,
        rhs: NDArray | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def broadcast_greater_equal(
        self,
        rhs: NDArray | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def broadcast_hypot(
        self,
        rhs: NDArray | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def broadcast_lesser(
        self,
        rhs: NDArray | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def broadcast_lesser_equal(
        self,
        rhs: NDArray | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def broadcast_logical_and(
        self,
        rhs: NDArray | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def broadcast_logical_or(
        self,
        rhs: NDArray | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def broadcast_logical_xor(
        self,
        rhs: NDArray | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def broadcast_maximum(
        self,
        rhs: NDArray | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def broadcast_minimum(
        self,
        rhs: NDArray | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def broadcast_minus(
        self,
        rhs: NDArray | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def broadcast_mod(
        self,
        rhs: NDArray | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def broadcast_mul(
        self,
        rhs: NDArray | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def broadcast_not_equal(
        self,
        rhs: NDArray | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def broadcast_plus(
        self,
        rhs: NDArray | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def broadcast_power(
        self,
        rhs: NDArray | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def broadcast_sub(
        self,
        rhs: NDArray | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def cast(
        self,
        dtype: Any = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def cast_storage(
        self,
        stype: str | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def cbrt(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def ceil(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def choose_element_0index(
        self,
        index: NDArray | None = None,
        axis: int | None = -1,
        keepdims: bool = False,
        mode: str = 'clip',
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def clip(
        self,
        a_min: float | None = None,
        a_max: float | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def col2im(
        self,
        output_size: int | Sequence[int] | None = None,
        kernel: int | Sequence[int] | None = None,
        stride: int | Sequence[int] = (),
        dilate: int | Sequence[int] = (),
        pad: int | Sequence[int] = (),
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def cos(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def cosh(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def crop(
        self,
        begin: int | Sequence[int | None] | None = None,
        end: int | Sequence[int | None] | None = None,
        step: int | Sequence[int | None] = (),
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def ctc_loss(
        self,
        label: NDArray | None = None,
        data_lengths: NDArray | None = None,
        label_lengths: NDArray | None = None,
        use_data_lengths: bool = False,
        use_label_lengths: bool = False,
        blank_label: str = 'first',
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def cumsum(
        self,
        axis: int | None = None,
        dtype: Any = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def degrees(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def depth_to_space(
        self,
        block_size: int | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def diag(
        self,
        k: int = 0,
        axis1: int = 0,
        axis2: int = 1,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def digamma(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def dot(
        self,
        rhs: NDArray | None = None,
        transpose_a: bool = False,
        transpose_b: bool = False,
        forward_stype: str | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def elemwise_add(
        self,
        rhs: NDArray | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def elemwise_div(
        self,
        rhs: NDArray | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def elemwise_mul(
        self,
        rhs: NDArray | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def elemwise_sub(
        self,
        rhs: NDArray | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def erf(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def erfinv(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def exp(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def expm1(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def fill_element_0index(
        self,
        mhs: NDArray | None = None,
        rhs: NDArray | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def fix(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def flip(
        self,
        axis: int | Sequence[int] | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def floor(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def gamma(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def gammaln(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def gather_nd(
        self,
        indices: NDArray | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def hard_sigmoid(
        self,
        alpha: float = 0.2,
        beta: float = 0.5,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def identity(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def im2col(
        self,
        kernel: int | Sequence[int] | None = None,
        stride: int | Sequence[int] = (),
        dilate: int | Sequence[int] = (),
        pad: int | Sequence[int] = (),
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def log(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def log10(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def log1p(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def log2(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def log_sigmoid(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def log_softmax(
        self,
        axis: int = -1,
        temperature: float | None = None,
        dtype: Any = None,
        use_length: bool = False,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def logical_not(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def make_loss(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def max(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def max_axis(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def mean(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def min(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def min_axis(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def mish(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def moments(
        self,
        axes: int | Sequence[int] | None = None,
        keepdims: bool = False,
        *,
        out: Any = None,
        name: Any = None,
    ) -> Any: ...
    def nanprod(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def nansum(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def negative(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def norm(
        self,
        ord: int = 2,
        axis: int | Sequence[int] | None = None,
        out_dtype: Any = None,
        keepdims: bool = False,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def one_hot(
        self,
        depth: int | None = None,
        on_value: float = 1.0,
        off_value: float = 0.0,
        dtype: Any = 'float32',
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def ones_like(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def pad(
        self,
        mode: str | None = None,
        pad_width: int | Sequence[int] | None = None,
        constant_value: float = 0.0,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def pick(
        self,
        index: NDArray | None = None,
        axis: int | None = -1,
        keepdims: bool = False,
        mode: str = 'clip',
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def prod(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def radians(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def ravel_multi_index(
        self,
        shape: int | Sequence[int] | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def rcbrt(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def reciprocal(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def relu(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def repeat(
        self,
        repeats: int | None = None,
        axis: int | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def reshape_like(
        self,
        rhs: NDArray | None = None,
        lhs_begin: int | None = None,
        lhs_end: int | None = None,
        rhs_begin: int | None = None,
        rhs_end: int | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def reverse(
        self,
        axis: int | Sequence[int] | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def rint(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def rsqrt(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def sample_multinomial(
        self,
        shape: int | Sequence[int] = (),
        get_prob: bool = False,
        dtype: Any = 'int32',
        *,
        out: Any = None,
        name: Any = None,
    ) -> Any: ...
    def scatter_nd(
        self,
        indices: NDArray | None = None,
        shape: int | Sequence[int] | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def shape_array(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def shuffle(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def sigmoid(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def sign(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def sin(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def sinh(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def size_array(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def slice(
        self,
        begin: int | Sequence[int | None] | None = None,
        end: int | Sequence[int | None] | None = None,
        step: int | Sequence[int | None] = (),
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def slice_axis(
        self,
        axis: int | None = None,
        begin: int | None = None,
        end: int | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def slice_like(
        self,
        shape_like: NDArray | None = None,
        axes: int | Sequence[int] = (),
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def smooth_l1(
        self,
        scalar: float = 1.0,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def softmax(
        self,
        length: NDArray | None = None,
        axis: int = -1,
        temperature: float | None = None,
        dtype: Any = None,
        use_length: bool = False,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def softmax_cross_entropy(
        self,
        label: NDArray | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def softmin(
        self,
        axis: int = -1,
        temperature: float | None = None,
        dtype: Any = None,
        use_length: bool = False,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def softsign(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def sort(
        self,
        axis: int | None = -1,
        is_ascend: bool = True,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def space_to_depth(
        self,
        block_size: int | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def split(
        self,
        num_outputs: int | None = None,
        axis: int = 1,
        squeeze_axis: bool = False,
        *,
        out: Any = None,
        name: Any = None,
    ) -> Any: ...
    def sqrt(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def square(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def stop_gradient(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def sum(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def sum_axis(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def swapaxes(
        self,
        dim1: int = 0,
        dim2: int = 0,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def take(
        self,
        indices: NDArray | None = None,
        axis: int = 0,
        mode: str = 'clip',
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def tan(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def tanh(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def tile(
        self,
        reps: int | Sequence[int] | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def topk(
        self,
        axis: int | None = -1,
        k: int = 1,
        ret_typ: str = 'indices',
        is_ascend: bool = False,
        dtype: Any = 'float32',
        *,
        out: Any = None,
        name: Any = None,
    ) -> Any: ...
    def transpose(
        self,
        axes: int | Sequence[int] = (),
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def trunc(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def unravel_index(
        self,
        shape: int | Sequence[int] | None = None,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
    def zeros_like(
        self,
        *,
        out: Any = None,
        name: Any = None,
    ) -> NDArray: ...
