# Generated from the operator cards by `make gen`.

from collections.abc import Sequence
from typing import Any

from .symbol import Symbol
from .control_flow import cond as cond
from .control_flow import foreach as foreach
from .control_flow import while_loop as while_loop
from .masks import boolean_mask as boolean_mask
from .random import rand_zipfian as rand_zipfian
from .random import uniform as uniform
from .steps import adamw_update as adamw_update
from .steps import mp_adamw_update as mp_adamw_update

def __getattr__(name: str) -> Any: ...
def __dir__() -> list[str]: ...
def AdaptiveAvgPooling2D(
    data: Symbol | None = None,
    output_size: int | Sequence[int] = (),
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def BatchNormWithReLU(
    data: Symbol | None = None,
    gamma: Symbol | None = None,
    beta: Symbol | None = None,
    moving_mean: Symbol | None = None,
    moving_var: Symbol | None = None,
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
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def BilinearResize2D(
    data: Symbol | None = None,
    like: Symbol | None = None,
    height: int = 1,
    width: int = 1,
    scale_height: float | None = None,
    scale_width: float | None = None,
    mode: str = 'size',
    align_corners: bool = True,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def CTCLoss(
    data: Symbol | None = None,
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
def DeformableConvolution(
    data: Symbol | None = None,
    offset: Symbol | None = None,
    weight: Symbol | None = None,
    bias: Symbol | None = None,
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
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def DeformablePSROIPooling(
    data: Symbol | None = None,
    rois: Symbol | None = None,
    trans: Symbol | None = None,
    spatial_scale: float | None = None,
    output_dim: int | None = None,
    group_size: int | None = None,
    pooled_size: int | None = None,
    part_size: int = 0,
    sample_per_part: int = 1,
    trans_std: float = 0.0,
    no_trans: bool = False,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def ModulatedDeformableConvolution(
    data: Symbol | None = None,
    offset: Symbol | None = None,
    mask: Symbol | None = None,
    weight: Symbol | None = None,
    bias: Symbol | None = None,
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
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def PSROIPooling(
    data: Symbol | None = None,
    rois: Symbol | None = None,
    spatial_scale: float | None = None,
    output_dim: int | None = None,
    pooled_size: int | None = None,
    group_size: int = 0,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def ROIAlign(
    data: Symbol | None = None,
    rois: Symbol | None = None,
    pooled_size: int | Sequence[int] | None = None,
    spatial_scale: float | None = None,
    sample_ratio: int = -1,
    position_sensitive: bool = False,
    aligned: bool = False,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def RROIAlign(
    data: Symbol | None = None,
    rois: Symbol | None = None,
    pooled_size: int | Sequence[int] | None = None,
    spatial_scale: float | None = None,
    sampling_ratio: int = -1,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def SparseEmbedding(
    data: Symbol | None = None,
    weight: Symbol | None = None,
    input_dim: int | None = None,
    output_dim: int | None = None,
    dtype: Any = 'float32',
    sparse_grad: bool = True,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def SyncBatchNorm(
    data: Symbol | None = None,
    gamma: Symbol | None = None,
    beta: Symbol | None = None,
    moving_mean: Symbol | None = None,
    moving_var: Symbol | None = None,
    eps: float = 0.001,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    ndev: int = 1,
    key: str | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Any: ...
def allclose(
    a: Symbol | None = None,
    b: Symbol | None = None,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = True,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def arange_like(
    data: Symbol | None = None,
    start: float = 0.0,
    step: float = 1.0,
    repeat: int = 1,
    ctx: str = '',
    axis: int | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def count_sketch(
    data: Symbol | None = None,
    h: Symbol | None = None,
    s: Symbol | None = None,
    out_dim: int | None = None,
    processing_batch_size: int = 32,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def ctc_loss(
    data: Symbol | None = None,
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
def div_sqrt_dim(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def fft(
    data: Symbol | None = None,
    compute_size: int = 128,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def getnnz(
    data: Symbol | None = None,
    axis: int | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def gradientmultiplier(
    data: Symbol | None = None,
    scalar: float = 1.0,
    is_int: bool = True,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def group_adagrad_update(
    weight: Symbol | None = None,
    grad: Symbol | None = None,
    history: Symbol | None = None,
    lr: float | None = None,
    epsilon: float = 1e-05,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def hawkesll(
    lda: Symbol | None = None,
    alpha: Symbol | None = None,
    beta: Symbol | None = None,
    state: Symbol | None = None,
    lags: Symbol | None = None,
    marks: Symbol | None = None,
    valid_length: Symbol | None = None,
    max_time: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Any: ...
def ifft(
    data: Symbol | None = None,
    compute_size: int = 128,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def index_array(
    data: Symbol | None = None,
    axes: int | Sequence[int] | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def index_copy(
    old_tensor: Symbol | None = None,
    index_vector: Symbol | None = None,
    new_tensor: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def interleaved_matmul_encdec_qk(
    queries: Symbol | None = None,
    keys_values: Symbol | None = None,
    heads: int | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def interleaved_matmul_encdec_valatt(
    keys_values: Symbol | None = None,
    attention: Symbol | None = None,
    heads: int | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def interleaved_matmul_selfatt_qk(
    queries_keys_values: Symbol | None = None,
    heads: int | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def interleaved_matmul_selfatt_valatt(
    queries_keys_values: Symbol | None = None,
    attention: Symbol | None = None,
    heads: int | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def quadratic(
    data: Symbol | None = None,
    a: float = 0.0,
    b: float = 0.0,
    c: float = 0.0,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def round_ste(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def sign_ste(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
