# Generated from the operator cards by `make gen`.

from collections.abc import Sequence
from typing import Any

from .ndarray import NDArray
from .control_flow import cond as cond
from .control_flow import foreach as foreach
from .control_flow import while_loop as while_loop
from .finite import isfinite as isfinite
from .finite import isinf as isinf
from .finite import isnan as isnan
from .masks import boolean_mask as boolean_mask
from .random import rand_zipfian as rand_zipfian
from .steps import adamw_update as adamw_update
from .steps import mp_adamw_update as mp_adamw_update
from .steps import multi_adamw_update as multi_adamw_update
from .steps import multi_lamb_update as multi_lamb_update
from .steps import multi_mp_adamw_update as multi_mp_adamw_update
from .steps import multi_mp_lamb_update as multi_mp_lamb_update

def __getattr__(name: str) -> Any: ...
def __dir__() -> list[str]: ...
def AdaptiveAvgPooling2D(
    data: NDArray | None = None,
    output_size: int | Sequence[int] = (),
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def BatchNormWithReLU(
    data: NDArray | None = None,
    gamma: NDArray | None = None,
    beta: NDArray | None = None,
    moving_mean: NDArray | None = None,
    moving_var: NDArray | None = None,
    eps: float = 0.001,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    axis: int = 1,
    cudnn_off: bool = False,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def BilinearResize2D(
    data: NDArray | None = None,
    like: NDArray | None = None,
    height: int = 1,
    width: int = 1,
    scale_height: float | None = None,
    scale_width: float | None = None,
    mode: str = 'size',
    align_corners: bool = True,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def CTCLoss(
    data: NDArray | None = None,
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
def DeformableConvolution(
    data: NDArray | None = None,
    offset: NDArray | None = None,
    weight: NDArray | None = None,
    bias: NDArray | None = None,
    kernel: int | Sequence[int] | None = None,
    stride: int | Sequence[int] = (),
    dilate: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    num_filter: int | None = None,
    num_group: int = 1,
    workspace: int = 1024,
    no_bias: bool = False,
    layout: str | None = None,
    num_deformable_group: int = 1,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def DeformablePSROIPooling(
    data: NDArray | None = None,
    rois: NDArray | None = None,
    trans: NDArray | None = None,
    spatial_scale: float | None = None,
    output_dim: int | None = None,
    group_size: int | None = None,
    pooled_size: int | None = None,
    part_size: int = 0,
    sample_per_part: int = 1,
    trans_std: float = 0.0,
    no_trans: bool = False,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def ModulatedDeformableConvolution(
    data: NDArray | None = None,
    offset: NDArray | None = None,
    mask: NDArray | None = None,
    weight: NDArray | None = None,
    bias: NDArray | None = None,
    kernel: int | Sequence[int] | None = None,
    stride: int | Sequence[int] = (),
    dilate: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    num_filter: int | None = None,
    num_group: int = 1,
    workspace: int = 1024,
    no_bias: bool = False,
    layout: str | None = None,
    num_deformable_group: int = 1,
    im2col_step: int = 64,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def PSROIPooling(
    data: NDArray | None = None,
    rois: NDArray | None = None,
    spatial_scale: float | None = None,
    output_dim: int | None = None,
    pooled_size: int | None = None,
    group_size: int = 0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def ROIAlign(
    data: NDArray | None = None,
    rois: NDArray | None = None,
    pooled_size: int | Sequence[int] | None = None,
    spatial_scale: float | None = None,
    sample_ratio: int = -1,
    position_sensitive: bool = False,
    aligned: bool = False,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def RROIAlign(
    data: NDArray | None = None,
    rois: NDArray | None = None,
    pooled_size: int | Sequence[int] | None = None,
    spatial_scale: float | None = None,
    sampling_ratio: int = -1,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def SparseEmbedding(
    data: NDArray | None = None,
    weight: NDArray | None = None,
    input_dim: int | None = None,
    output_dim: int | None = None,
    dtype: Any = 'float32',
    sparse_grad: bool = True,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def SyncBatchNorm(
    data: NDArray | None = None,
    gamma: NDArray | None = None,
    beta: NDArray | None = None,
    moving_mean: NDArray | None = None,
    moving_var: NDArray | None = None,
    eps: float = 0.001,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    ndev: int = 1,
    key: str | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def allclose(
    a: NDArray | None = None,
    b: NDArray | None = None,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = True,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def arange_like(
    data: NDArray | None = None,
    start: float = 0.0,
    step: float = 1.0,
    repeat: int = 1,
    ctx: str = '',
    axis: int | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def count_sketch(
    data: NDArray | None = None,
    h: NDArray | None = None,
    s: NDArray | None = None,
    out_dim: int | None = None,
    processing_batch_size: int = 32,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def ctc_loss(
    data: NDArray | None = None,
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
def div_sqrt_dim(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def fft(
    data: NDArray | None = None,
    compute_size: int = 128,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def getnnz(
    data: NDArray | None = None,
    axis: int | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def gradientmultiplier(
    data: NDArray | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def group_adagrad_update(
    weight: NDArray | None = None,
    grad: NDArray | None = None,
    history: NDArray | None = None,
    lr: float | None = None,
    epsilon: float = 1e-05,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def hawkesll(
    lda: NDArray | None = None,
    alpha: NDArray | None = None,
    beta: NDArray | None = None,
    state: NDArray | None = None,
    lags: NDArray | None = None,
    marks: NDArray | None = None,
    valid_length: NDArray | None = None,
    max_time: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def ifft(
    data: NDArray | None = None,
    compute_size: int = 128,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def index_array(
    data: NDArray | None = None,
    axes: int | Sequence[int] | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def index_copy(
    old_tensor: NDArray | None = None,
    index_vector: NDArray | None = None,
    new_tensor: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def interleaved_matmul_encdec_qk(
    queries: NDArray | None = None,
    keys_values: NDArray | None = None,
    heads: int | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def interleaved_matmul_encdec_valatt(
    keys_values: NDArray | None = None,
    attention: NDArray | None = None,
    heads: int | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def interleaved_matmul_selfatt_qk(
    queries_keys_values: NDArray | None = None,
    heads: int | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def interleaved_matmul_selfatt_valatt(
    queries_keys_values: NDArray | None = None,
    attention: NDArray | None = None,
    heads: int | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def quadratic(
    data: NDArray | None = None,
    a: float = 0.0,
    b: float = 0.0,
    c: float = 0.0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def round_ste(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def sign_ste(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
