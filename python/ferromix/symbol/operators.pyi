# Generated from the operator cards by `make gen`.

from collections.abc import Mapping, Sequence
from typing import Any

from .symbol import Symbol

class Operators:
    __slots__ = ()
    def _call(self, op: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any: ...
    def adam_update(
        self,
        grad: Symbol | None = None,
        mean: Symbol | None = None,
        var: Symbol | None = None,
        lr: float | None = None,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        lazy_update: bool = True,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def add_n(
        self,
        *args: Symbol | Sequence[Symbol],
        num_args: int | None = None,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def all_finite(
        self,
        init_output: bool = True,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def amp_cast(
        self,
        dtype: Any = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def amp_multicast(
        self,
        *args: Symbol | Sequence[Symbol],
        num_outputs: int | None = None,
        cast_narrow: bool = False,
        name: Any = None,
        attr: Any = None,
    ) -> Any: ...
    def arccos(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def arccosh(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def arcsin(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def arcsinh(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def arctan(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def arctanh(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def argmax(
        self,
        axis: int | None = None,
        keepdims: bool = False,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def argmax_channel(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def argmin(
        self,
        axis: int | None = None,
        keepdims: bool = False,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def argsort(
        self,
        axis: int | None = -1,
        is_ascend: bool = True,
        dtype: Any = 'float32',
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def batch_dot(
        self,
        rhs: Symbol | None = None,
        transpose_a: bool = False,
        transpose_b: bool = False,
        forward_stype: str | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def batch_take(
        self,
        indices: Symbol | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def broadcast_add(
        self,
        rhs: Symbol | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def broadcast_axes(
        self,
        axis: int | Sequence[int] = (),
        size: int | Sequence[int] = (),
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def broadcast_axis(
        self,
        axis: int | Sequence[int] = (),
        size: int | Sequence[int] = (),
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def broadcast_div(
        self,
        rhs: Symbol | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def broadcast_equal(
        self,
        rhs: Symbol | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def broadcast_greater(
        self,
        rhs: Symbol | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def broadcast_greater_equal(
        self,
        rhs: Symbol | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def broadcast_hypot(
        self,
        rhs: Symbol | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def broadcast_lesser(
        self,
        rhs: Symbol | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def broadcast_lesser_equal(
        self,
        rhs: Symbol | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def broadcast_like(
        self,
        rhs: Symbol | None = None,
        lhs_axes: int | Sequence[int] | None = None,
        rhs_axes: int | Sequence[int] | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def broadcast_logical_and(
        self,
        rhs: Symbol | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def broadcast_logical_or(
        self,
        rhs: Symbol | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def broadcast_logical_xor(
        self,
        rhs: Symbol | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def broadcast_maximum(
        self,
        rhs: Symbol | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def broadcast_minimum(
        self,
        rhs: Symbol | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def broadcast_minus(
        self,
        rhs: Symbol | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def broadcast_mod(
        self,
        rhs: Symbol | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def broadcast_mul(
        self,
        rhs: Symbol | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def broadcast_not_equal(
        self,
        rhs: Symbol | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def broadcast_plus(
        self,
        rhs: Symbol | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def broadcast_power(
        self,
        rhs: Symbol | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def broadcast_sub(
        self,
        rhs: Symbol | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def cast(
        self,
        dtype: Any = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def cast_storage(
        self,
        stype: str | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def cbrt(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def ceil(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def choose_element_0index(
        self,
        index: Symbol | None = None,
        axis: int | None = -1,
        keepdims: bool = False,
        mode: str = 'clip',
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def clip(
        self,
        a_min: float | None = None,
        a_max: float | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def col2im(
        self,
        output_size: int | Sequence[int] | None = None,
        kernel: int | Sequence[int] | None = None,
        stride: int | Sequence[int] = (),
        dilate: int | Sequence[int] = (),
        pad: int | Sequence[int] = (),
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def concat(
        self,
        *args: Symbol | Sequence[Symbol],
        num_args: int | None = None,
        dim: int = 1,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def cos(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def cosh(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def crop(
        self,
        begin: int | Sequence[int | None] | None = None,
        end: int | Sequence[int | None] | None = None,
        step: int | Sequence[int | None] = (),
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def ctc_loss(
        self,
        label: Symbol | None = None,
        data_lengths: Symbol | None = None,
        label_lengths: Symbol | None = None,
        use_data_lengths: bool = False,
        use_label_lengths: bool = False,
        blank_label: str = 'first',
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def cumsum(
        self,
        axis: int | None = None,
        dtype: Any = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def degrees(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def depth_to_space(
        self,
        block_size: int | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def diag(
        self,
        k: int = 0,
        axis1: int = 0,
        axis2: int = 1,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def digamma(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def dot(
        self,
        rhs: Symbol | None = None,
        transpose_a: bool = False,
        transpose_b: bool = False,
        forward_stype: str | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def elemwise_add(
        self,
        rhs: Symbol | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def elemwise_div(
        self,
        rhs: Symbol | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def elemwise_mul(
        self,
        rhs: Symbol | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def elemwise_sub(
        self,
        rhs: Symbol | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def erf(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def erfinv(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def exp(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def expm1(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def fill_element_0index(
        self,
        mhs: Symbol | None = None,
        rhs: Symbol | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def fix(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def flip(
        self,
        axis: int | Sequence[int] | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def floor(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def ftml_update(
        self,
        grad: Symbol | None = None,
        d: Symbol | None = None,
        v: Symbol | None = None,
        z: Symbol | None = None,
        lr: float | None = None,
        beta1: float = 0.6,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        t: int | None = None,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_grad: float = -1.0,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def ftrl_update(
        self,
        grad: Symbol | None = None,
        z: Symbol | None = None,
        n: Symbol | None = None,
        lr: float | None = None,
        lamda1: float = 0.01,
        beta: float = 1.0,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def gamma(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def gammaln(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def gather_nd(
        self,
        indices: Symbol | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def hard_sigmoid(
        self,
        alpha: float = 0.2,
        beta: float = 0.5,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def identity(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def im2col(
        self,
        kernel: int | Sequence[int] | None = None,
        stride: int | Sequence[int] = (),
        dilate: int | Sequence[int] = (),
        pad: int | Sequence[int] = (),
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def khatri_rao(
        self,
        *args: Symbol | Sequence[Symbol],
        num_args: int | None = None,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def lamb_update_phase1(
        self,
        grad: Symbol | None = None,
        mean: Symbol | None = None,
        var: Symbol | None = None,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-06,
        t: int | None = None,
        bias_correction: bool = True,
        wd: float | None = None,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def lamb_update_phase2(
        self,
        g: Symbol | None = None,
        r1: Symbol | None = None,
        r2: Symbol | None = None,
        lr: float | None = None,
        lower_bound: float = -1.0,
        upper_bound: float = -1.0,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def linalg_det(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def linalg_extractdiag(
        self,
        offset: int = 0,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def linalg_extracttrian(
        self,
        offset: int = 0,
        lower: bool = True,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def linalg_gelqf(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Any: ...
    def linalg_gemm(
        self,
        B: Symbol | None = None,
        C: Symbol | None = None,
        transpose_a: bool = False,
        transpose_b: bool = False,
        alpha: float = 1.0,
        beta: float = 1.0,
        axis: int = -2,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def linalg_gemm2(
        self,
        B: Symbol | None = None,
        transpose_a: bool = False,
        transpose_b: bool = False,
        alpha: float = 1.0,
        axis: int = -2,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def linalg_inverse(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def linalg_makediag(
        self,
        offset: int = 0,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def linalg_maketrian(
        self,
        offset: int = 0,
        lower: bool = True,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def linalg_potrf(
        self,
        lower: bool = True,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def linalg_potri(
        self,
        lower: bool = True,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def linalg_slogdet(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Any: ...
    def linalg_sumlogdiag(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def linalg_syevd(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Any: ...
    def linalg_syrk(
        self,
        transpose: bool = False,
        alpha: float = 1.0,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def linalg_trmm(
        self,
        B: Symbol | None = None,
        transpose: bool = False,
        rightside: bool = False,
        lower: bool = True,
        alpha: float = 1.0,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def linalg_trsm(
        self,
        B: Symbol | None = None,
        transpose: bool = False,
        rightside: bool = False,
        lower: bool = True,
        alpha: float = 1.0,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def log(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def log10(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def log1p(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def log2(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def log_sigmoid(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def log_softmax(
        self,
        axis: int = -1,
        temperature: float | None = None,
        dtype: Any = None,
        use_length: bool = False,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def logical_not(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def make_loss(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def max(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def max_axis(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def mean(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def min(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def min_axis(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def mish(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def moments(
        self,
        axes: int | Sequence[int] | None = None,
        keepdims: bool = False,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Any: ...
    def mp_lamb_update_phase1(
        self,
        grad: Symbol | None = None,
        mean: Symbol | None = None,
        var: Symbol | None = None,
        weight32: Symbol | None = None,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-06,
        t: int | None = None,
        bias_correction: bool = True,
        wd: float | None = None,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def mp_lamb_update_phase2(
        self,
        g: Symbol | None = None,
        r1: Symbol | None = None,
        r2: Symbol | None = None,
        weight32: Symbol | None = None,
        lr: float | None = None,
        lower_bound: float = -1.0,
        upper_bound: float = -1.0,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def mp_nag_mom_update(
        self,
        grad: Symbol | None = None,
        mom: Symbol | None = None,
        weight32: Symbol | None = None,
        lr: float | None = None,
        momentum: float = 0.0,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def mp_sgd_mom_update(
        self,
        grad: Symbol | None = None,
        mom: Symbol | None = None,
        weight32: Symbol | None = None,
        lr: float | None = None,
        momentum: float = 0.0,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        lazy_update: bool = True,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def mp_sgd_update(
        self,
        grad: Symbol | None = None,
        weight32: Symbol | None = None,
        lr: float | None = None,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        lazy_update: bool = True,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def multi_all_finite(
        self,
        *args: Symbol | Sequence[Symbol],
        num_arrays: int = 1,
        init_output: bool = True,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def multi_lars(
        self,
        weights_sum_sq: Symbol | None = None,
        grads_sum_sq: Symbol | None = None,
        wds: Symbol | None = None,
        eta: float | None = None,
        eps: float | None = None,
        rescale_grad: float = 1.0,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def multi_mp_sgd_mom_update(
        self,
        *args: Symbol | Sequence[Symbol],
        lrs: float | Sequence[float] | None = None,
        wds: float | Sequence[float] | None = None,
        momentum: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        num_weights: int = 1,
        name: Any = None,
        attr: Any = None,
    ) -> Any: ...
    def multi_mp_sgd_update(
        self,
        *args: Symbol | Sequence[Symbol],
        lrs: float | Sequence[float] | None = None,
        wds: float | Sequence[float] | None = None,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        num_weights: int = 1,
        name: Any = None,
        attr: Any = None,
    ) -> Any: ...
    def multi_sgd_mom_update(
        self,
        *args: Symbol | Sequence[Symbol],
        lrs: float | Sequence[float] | None = None,
        wds: float | Sequence[float] | None = None,
        momentum: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        num_weights: int = 1,
        name: Any = None,
        attr: Any = None,
    ) -> Any: ...
    def multi_sgd_update(
        self,
        *args: Symbol | Sequence[Symbol],
        lrs: float | Sequence[float] | None = None,
        wds: float | Sequence[float] | None = None,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        num_weights: int = 1,
        name: Any = None,
        attr: Any = None,
    ) -> Any: ...
    def multi_sum_sq(
        self,
        *args: Symbol | Sequence[Symbol],
        num_arrays: int | None = None,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def nag_mom_update(
        self,
        grad: Symbol | None = None,
        mom: Symbol | None = None,
        lr: float | None = None,
        momentum: float = 0.0,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def nanprod(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def nansum(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def negative(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def norm(
        self,
        ord: int = 2,
        axis: int | Sequence[int] | None = None,
        out_dtype: Any = None,
        keepdims: bool = False,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def normal(
        self,
        loc: float = 0.0,
        scale: float = 1.0,
        shape: int | Sequence[int] | None = (),
        ctx: str = '',
        dtype: Any = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def one_hot(
        self,
        depth: int | None = None,
        on_value: float = 1.0,
        off_value: float = 0.0,
        dtype: Any = 'float32',
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def ones_like(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def pad(
        self,
        mode: str | None = None,
        pad_width: int | Sequence[int] | None = None,
        constant_value: float = 0.0,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def pick(
        self,
        index: Symbol | None = None,
        axis: int | None = -1,
        keepdims: bool = False,
        mode: str = 'clip',
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def preloaded_multi_mp_sgd_mom_update(
        self,
        *args: Symbol | Sequence[Symbol],
        momentum: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        num_weights: int = 1,
        name: Any = None,
        attr: Any = None,
    ) -> Any: ...
    def preloaded_multi_mp_sgd_update(
        self,
        *args: Symbol | Sequence[Symbol],
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        num_weights: int = 1,
        name: Any = None,
        attr: Any = None,
    ) -> Any: ...
    def preloaded_multi_sgd_mom_update(
        self,
        *args: Symbol | Sequence[Symbol],
        momentum: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        num_weights: int = 1,
        name: Any = None,
        attr: Any = None,
    ) -> Any: ...
    def preloaded_multi_sgd_update(
        self,
        *args: Symbol | Sequence[Symbol],
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        num_weights: int = 1,
        name: Any = None,
        attr: Any = None,
    ) -> Any: ...
    def prod(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def radians(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def random_exponential(
        self,
        lam: float = 1.0,
        shape: int | Sequence[int] | None = (),
        ctx: str = '',
        dtype: Any = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def random_gamma(
        self,
        alpha: float = 1.0,
        beta: float = 1.0,
        shape: int | Sequence[int] | None = (),
        ctx: str = '',
        dtype: Any = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def random_generalized_negative_binomial(
        self,
        mu: float = 1.0,
        alpha: float = 1.0,
        shape: int | Sequence[int] | None = (),
        ctx: str = '',
        dtype: Any = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def random_negative_binomial(
        self,
        k: int = 1,
        p: float = 1.0,
        shape: int | Sequence[int] | None = (),
        ctx: str = '',
        dtype: Any = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def random_normal(
        self,
        loc: float = 0.0,
        scale: float = 1.0,
        shape: int | Sequence[int] | None = (),
        ctx: str = '',
        dtype: Any = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def random_pdf_dirichlet(
        self,
        alpha: Symbol | None = None,
        is_log: bool = False,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def random_pdf_exponential(
        self,
        lam: Symbol | None = None,
        is_log: bool = False,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def random_pdf_gamma(
        self,
        alpha: Symbol | None = None,
        beta: Symbol | None = None,
        is_log: bool = False,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def random_pdf_generalized_negative_binomial(
        self,
        mu: Symbol | None = None,
        alpha: Symbol | None = None,
        is_log: bool = False,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def random_pdf_negative_binomial(
        self,
        k: Symbol | None = None,
        p: Symbol | None = None,
        is_log: bool = False,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def random_pdf_normal(
        self,
        mu: Symbol | None = None,
        sigma: Symbol | None = None,
        is_log: bool = False,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def random_pdf_poisson(
        self,
        lam: Symbol | None = None,
        is_log: bool = False,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def random_pdf_uniform(
        self,
        low: Symbol | None = None,
        high: Symbol | None = None,
        is_log: bool = False,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def random_poisson(
        self,
        lam: float = 1.0,
        shape: int | Sequence[int] | None = (),
        ctx: str = '',
        dtype: Any = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def random_randint(
        self,
        low: int | None = None,
        high: int | None = None,
        shape: int | Sequence[int] | None = (),
        ctx: str = '',
        dtype: Any = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def random_uniform(
        self,
        low: float = 0.0,
        high: float = 1.0,
        shape: int | Sequence[int] | None = (),
        ctx: str = '',
        dtype: Any = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def ravel_multi_index(
        self,
        shape: int | Sequence[int] | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def rcbrt(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def reciprocal(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def relu(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def repeat(
        self,
        repeats: int | None = None,
        axis: int | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def reset_arrays(
        self,
        *args: Symbol | Sequence[Symbol],
        num_arrays: int | None = None,
        name: Any = None,
        attr: Any = None,
    ) -> Any: ...
    def reshape_like(
        self,
        rhs: Symbol | None = None,
        lhs_begin: int | None = None,
        lhs_end: int | None = None,
        rhs_begin: int | None = None,
        rhs_end: int | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def reverse(
        self,
        axis: int | Sequence[int] | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def rint(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def rmsprop_update(
        self,
        grad: Symbol | None = None,
        n: Symbol | None = None,
        lr: float | None = None,
        gamma1: float = 0.95,
        epsilon: float = 1e-08,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        clip_weights: float = -1.0,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def rmspropalex_update(
        self,
        grad: Symbol | None = None,
        n: Symbol | None = None,
        g: Symbol | None = None,
        delta: Symbol | None = None,
        lr: float | None = None,
        gamma1: float = 0.95,
        gamma2: float = 0.9,
        epsilon: float = 1e-08,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        clip_weights: float = -1.0,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def round(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def rsqrt(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def sample_exponential(
        self,
        shape: int | Sequence[int] = (),
        dtype: Any = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def sample_gamma(
        self,
        beta: Symbol | None = None,
        shape: int | Sequence[int] = (),
        dtype: Any = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def sample_generalized_negative_binomial(
        self,
        alpha: Symbol | None = None,
        shape: int | Sequence[int] = (),
        dtype: Any = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def sample_multinomial(
        self,
        shape: int | Sequence[int] = (),
        get_prob: bool = False,
        dtype: Any = 'int32',
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Any: ...
    def sample_negative_binomial(
        self,
        p: Symbol | None = None,
        shape: int | Sequence[int] = (),
        dtype: Any = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def sample_normal(
        self,
        sigma: Symbol | None = None,
        shape: int | Sequence[int] = (),
        dtype: Any = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def sample_poisson(
        self,
        shape: int | Sequence[int] = (),
        dtype: Any = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def sample_uniform(
        self,
        high: Symbol | None = None,
        shape: int | Sequence[int] = (),
        dtype: Any = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def scatter_nd(
        self,
        indices: Symbol | None = None,
        shape: int | Sequence[int] | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def sgd_mom_update(
        self,
        grad: Symbol | None = None,
        mom: Symbol | None = None,
        lr: float | None = None,
        momentum: float = 0.0,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        lazy_update: bool = True,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def sgd_update(
        self,
        grad: Symbol | None = None,
        lr: float | None = None,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        lazy_update: bool = True,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def shape_array(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def shuffle(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def sigmoid(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def sign(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def signsgd_update(
        self,
        grad: Symbol | None = None,
        lr: float | None = None,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def signum_update(
        self,
        grad: Symbol | None = None,
        mom: Symbol | None = None,
        lr: float | None = None,
        momentum: float = 0.0,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        wd_lh: float = 0.0,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def sin(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def sinh(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def size_array(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def slice(
        self,
        begin: int | Sequence[int | None] | None = None,
        end: int | Sequence[int | None] | None = None,
        step: int | Sequence[int | None] = (),
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def slice_axis(
        self,
        axis: int | None = None,
        begin: int | None = None,
        end: int | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def slice_like(
        self,
        shape_like: Symbol | None = None,
        axes: int | Sequence[int] = (),
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def smooth_l1(
        self,
        scalar: float = 1.0,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def softmax(
        self,
        length: Symbol | None = None,
        axis: int = -1,
        temperature: float | None = None,
        dtype: Any = None,
        use_length: bool = False,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def softmax_cross_entropy(
        self,
        label: Symbol | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def softmin(
        self,
        axis: int = -1,
        temperature: float | None = None,
        dtype: Any = None,
        use_length: bool = False,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def softsign(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def sort(
        self,
        axis: int | None = -1,
        is_ascend: bool = True,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def space_to_depth(
        self,
        block_size: int | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def split(
        self,
        num_outputs: int | None = None,
        axis: int = 1,
        squeeze_axis: bool = False,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Any: ...
    def sqrt(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def square(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def stack(
        self,
        *args: Symbol | Sequence[Symbol],
        axis: int = 0,
        num_args: int | None = None,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def stop_gradient(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def sum(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def sum_axis(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def swapaxes(
        self,
        dim1: int = 0,
        dim2: int = 0,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def take(
        self,
        indices: Symbol | None = None,
        axis: int = 0,
        mode: str = 'clip',
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def tan(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def tanh(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def tile(
        self,
        reps: int | Sequence[int] | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def topk(
        self,
        axis: int | None = -1,
        k: int = 1,
        ret_typ: str = 'indices',
        is_ascend: bool = False,
        dtype: Any = 'float32',
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Any: ...
    def trunc(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def uniform(
        self,
        low: float = 0.0,
        high: float = 1.0,
        shape: int | Sequence[int] | None = (),
        ctx: str = '',
        dtype: Any = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def unravel_index(
        self,
        shape: int | Sequence[int] | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def where(
        self,
        x: Symbol | None = None,
        y: Symbol | None = None,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...
    def zeros_like(
        self,
        *,
        name: Any = None,
        attr: Any = None,
    ) -> Symbol: ...

def method_names() -> list[str]: ...
