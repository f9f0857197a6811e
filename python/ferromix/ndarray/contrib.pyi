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
    num_deformable_group: int = 1,
    workspace: int = 1024,
    no_bias: bool = False,
    layout: str | None = None,
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
    num_deformable_group: int = 1,
    workspace: int = 1024,
    no_bias: bool = False,
    im2col_step: int = 64,
    layout: str | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def MultiBoxDetection(
    cls_prob: NDArray | None = None,
    loc_pred: NDArray | None = None,
    anchor: NDArray | None = None,
    clip: bool = True,
    threshold: float = 0.01,
    background_id: int = 0,
    nms_threshold: float = 0.5,
    force_suppress: bool = False,
    variances: float | Sequence[float] = (0.1, 0.1, 0.2, 0.2),
    nms_topk: int = -1,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def MultiBoxPrior(
    data: NDArray | None = None,
    sizes: float | Sequence[float] = (1.0,),
    ratios: float | Sequence[float] = (1.0,),
    clip: bool = False,
    steps: float | Sequence[float] = (-1.0, -1.0),
    offsets: float | Sequence[float] = (0.5, 0.5),
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def MultiBoxTarget(
    anchor: NDArray | None = None,
    label: NDArray | None = None,
    cls_pred: NDArray | None = None,
    overlap_threshold: float = 0.5,
    ignore_label: float = -1.0,
    negative_mining_ratio: float = -1.0,
    negative_mining_thresh: float = 0.5,
    minimum_negative_samples: int = 0,
    variances: float | Sequence[float] = (0.1, 0.1, 0.2, 0.2),
    *,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def MultiProposal(
    cls_prob: NDArray | None = None,
    bbox_pred: NDArray | None = None,
    im_info: NDArray | None = None,
    rpn_pre_nms_top_n: int = 6000,
    rpn_post_nms_top_n: int = 300,
    threshold: float = 0.7,
    rpn_min_size: int = 16,
    scales: float | Sequence[float] = (4.0, 8.0, 16.0, 32.0),
    ratios: float | Sequence[float] = (0.5, 1.0, 2.0),
    feature_stride: int = 16,
    output_score: bool = False,
    iou_loss: bool = False,
    *,
    out: Any = None,
    name: Any = None,
) -> Any: ...
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
def Proposal(
    cls_prob: NDArray | None = None,
    bbox_pred: NDArray | None = None,
    im_info: NDArray | None = None,
    rpn_pre_nms_top_n: int = 6000,
    rpn_post_nms_top_n: int = 300,
    threshold: float = 0.7,
    rpn_min_size: int = 16,
    scales: float | Sequence[float] = (4.0, 8.0, 16.0, 32.0),
    ratios: float | Sequence[float] = (0.5, 1.0, 2.0),
    feature_stride: int = 16,
    output_score: bool = False,
    iou_loss: bool = False,
    *,
    out: Any = None,
    name: Any = None,
) -> Any: ...
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
def bipartite_matching(
    data: NDArray | None = None,
    is_ascend: bool = False,
    threshold: float | None = None,
    topk: int = -1,
    *,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def boolean_mask(
    data: NDArray | None = None,
    index: NDArray | None = None,
    axis: int = 0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def box_decode(
    data: NDArray | None = None,
    anchors: NDArray | None = None,
    std0: float = 1.0,
    std1: float = 1.0,
    std2: float = 1.0,
    std3: float = 1.0,
    clip: float = -1.0,
    format: str = 'center',
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def box_encode(
    samples: NDArray | None = None,
    matches: NDArray | None = None,
    anchors: NDArray | None = None,
    refs: NDArray | None = None,
    means: NDArray | None = None,
    stds: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def box_iou(
    lhs: NDArray | None = None,
    rhs: NDArray | None = None,
    format: str = 'corner',
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def box_nms(
    data: NDArray | None = None,
    overlap_thresh: float = 0.5,
    valid_thresh: float = 0.0,
    topk: int = -1,
    coord_start: int = 2,
    score_index: int = 1,
    id_index: int = -1,
    background_id: int = -1,
    force_suppress: bool = False,
    in_format: str = 'corner',
    out_format: str = 'corner',
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def box_non_maximum_suppression(
    data: NDArray | None = None,
    overlap_thresh: float = 0.5,
    valid_thresh: float = 0.0,
    topk: int = -1,
    coord_start: int = 2,
    score_index: int = 1,
    id_index: int = -1,
    background_id: int = -1,
    force_suppress: bool = False,
    in_format: str = 'corner',
    out_format: str = 'corner',
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def calibrate_entropy(
    hist: NDArray | None = None,
    hist_edges: NDArray | None = None,
    num_quantized_bins: int = 255,
    *,
    out: Any = None,
    name: Any = None,
) -> Any: ...
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
def dequantize(
    data: NDArray | None = None,
    min_range: NDArray | None = None,
    max_range: NDArray | None = None,
    out_type: str = 'float32',
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def dgl_adjacency(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def dgl_csr_neighbor_non_uniform_sample(
    *args: NDArray | Sequence[NDArray],
    num_args: int | None = None,
    num_hops: int = 1,
    num_neighbor: int = 2,
    max_num_vertices: int = 100,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def dgl_csr_neighbor_uniform_sample(
    *args: NDArray | Sequence[NDArray],
    num_args: int | None = None,
    num_hops: int = 1,
    num_neighbor: int = 2,
    max_num_vertices: int = 100,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def dgl_graph_compact(
    *args: NDArray | Sequence[NDArray],
    num_args: int | None = None,
    return_mapping: bool | None = None,
    graph_sizes: int | Sequence[int] | None = None,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def dgl_subgraph(
    *args: NDArray | Sequence[NDArray],
    num_args: int | None = None,
    return_mapping: bool | None = None,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def div_sqrt_dim(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def edge_id(
    data: NDArray | None = None,
    u: NDArray | None = None,
    v: NDArray | None = None,
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
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    epsilon: float = 1e-05,
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
def quantize(
    data: NDArray | None = None,
    min_range: NDArray | None = None,
    max_range: NDArray | None = None,
    out_type: str = 'uint8',
    *,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def quantize_asym(
    data: NDArray | None = None,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def quantize_v2(
    data: NDArray | None = None,
    out_type: str = 'int8',
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def quantized_act(
    data: NDArray | None = None,
    min_data: NDArray | None = None,
    max_data: NDArray | None = None,
    act_type: str | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def quantized_batch_norm(
    data: NDArray | None = None,
    gamma: NDArray | None = None,
    beta: NDArray | None = None,
    moving_mean: NDArray | None = None,
    moving_var: NDArray | None = None,
    min_data: NDArray | None = None,
    max_data: NDArray | None = None,
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
) -> Any: ...
def quantized_concat(
    *args: NDArray | Sequence[NDArray],
    num_args: int | None = None,
    dim: int = 1,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def quantized_conv(
    data: NDArray | None = None,
    weight: NDArray | None = None,
    bias: NDArray | None = None,
    min_data: NDArray | None = None,
    max_data: NDArray | None = None,
    min_weight: NDArray | None = None,
    max_weight: NDArray | None = None,
    min_bias: NDArray | None = None,
    max_bias: NDArray | None = None,
    kernel: int | Sequence[int] | None = None,
    stride: int | Sequence[int] = (),
    dilate: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    num_filter: int | None = None,
    num_group: int = 1,
    workspace: int = 1024,
    no_bias: bool = False,
    cudnn_tune: str | None = None,
    cudnn_off: bool = False,
    layout: str | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def quantized_elemwise_add(
    lhs: NDArray | None = None,
    rhs: NDArray | None = None,
    lhs_min: NDArray | None = None,
    lhs_max: NDArray | None = None,
    rhs_min: NDArray | None = None,
    rhs_max: NDArray | None = None,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def quantized_elemwise_mul(
    lhs: NDArray | None = None,
    rhs: NDArray | None = None,
    lhs_min: NDArray | None = None,
    lhs_max: NDArray | None = None,
    rhs_min: NDArray | None = None,
    rhs_max: NDArray | None = None,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    enable_float_output: bool = False,
    *,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def quantized_embedding(
    data: NDArray | None = None,
    weight: NDArray | None = None,
    min_weight: NDArray | None = None,
    max_weight: NDArray | None = None,
    input_dim: int | None = None,
    output_dim: int | None = None,
    dtype: Any = 'float32',
    sparse_grad: bool = False,
    *,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def quantized_flatten(
    data: NDArray | None = None,
    min_data: NDArray | None = None,
    max_data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def quantized_fully_connected(
    data: NDArray | None = None,
    weight: NDArray | None = None,
    bias: NDArray | None = None,
    min_data: NDArray | None = None,
    max_data: NDArray | None = None,
    min_weight: NDArray | None = None,
    max_weight: NDArray | None = None,
    min_bias: NDArray | None = None,
    max_bias: NDArray | None = None,
    num_hidden: int | None = None,
    no_bias: bool = False,
    flatten: bool = True,
    *,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def quantized_pooling(
    data: NDArray | None = None,
    min_data: NDArray | None = None,
    max_data: NDArray | None = None,
    kernel: int | Sequence[int] = (),
    pool_type: str = 'max',
    global_pool: bool = False,
    cudnn_off: bool = False,
    pooling_convention: str = 'valid',
    stride: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    p_value: int | None = None,
    count_include_pad: bool | None = None,
    layout: str | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def quantized_rnn(
    data: NDArray | None = None,
    parameters: NDArray | None = None,
    state: NDArray | None = None,
    state_cell: NDArray | None = None,
    data_scale: NDArray | None = None,
    data_shift: NDArray | None = None,
    state_size: int | None = None,
    num_layers: int | None = None,
    bidirectional: bool = False,
    mode: str | None = None,
    p: float = 0.0,
    state_outputs: bool = False,
    projection_size: int | None = None,
    lstm_state_clip_min: float | None = None,
    lstm_state_clip_max: float | None = None,
    lstm_state_clip_nan: bool = False,
    use_sequence_length: bool = False,
    *,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def requantize(
    data: NDArray | None = None,
    min_range: NDArray | None = None,
    max_range: NDArray | None = None,
    out_type: str = 'int8',
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> Any: ...
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
