# Generated from the operator cards by `make gen`.

from collections.abc import Sequence
from typing import Any

from . import _internal as _internal
from . import contrib as contrib
from . import image as image
from . import layout as layout
from . import linalg as linalg
from . import op as op
from . import protocol as protocol
from . import random as random
from . import sparse as sparse
from . import utils as utils
from . import subgraphs as subgraphs
from .arithmetic import add as add
from .arithmetic import divide as divide
from .arithmetic import equal as equal
from .arithmetic import greater as greater
from .arithmetic import greater_equal as greater_equal
from .arithmetic import lesser as lesser
from .arithmetic import lesser_equal as lesser_equal
from .arithmetic import logical_and as logical_and
from .arithmetic import logical_or as logical_or
from .arithmetic import logical_xor as logical_xor
from .arithmetic import maximum as maximum
from .arithmetic import minimum as minimum
from .arithmetic import modulo as modulo
from .arithmetic import multiply as multiply
from .arithmetic import not_equal as not_equal
from .arithmetic import power as power
from .arithmetic import subtract as subtract
from .arithmetic import true_divide as true_divide
from .cached_op import CachedOp as CachedOp
from .creation import arange as arange
from .creation import array as array
from .creation import concatenate as concatenate
from .creation import empty as empty
from .creation import eye as eye
from .creation import full as full
from .creation import linspace as linspace
from .creation import moveaxis as moveaxis
from .creation import ones as ones
from .creation import split_v2 as split_v2
from .creation import zeros as zeros
from .custom import Custom as Custom
from .dlpack import from_dlpack as from_dlpack
from .dlpack import from_numpy as from_numpy
from .dlpack import to_dlpack_for_read as to_dlpack_for_read
from .dlpack import to_dlpack_for_write as to_dlpack_for_write
from .elements import _copyto as _copyto
from .elements import _onehot_encode as _onehot_encode
from .elements import _set_value as _set_value
from .elements import onehot_encode as onehot_encode
from .function import function as function
from .function import function_names as function_names
from .function import install_methods as install_methods
from .histogram import histogram as histogram
from .keys import get_indexing_dispatch_code as get_indexing_dispatch_code
from .keys import get_oshape_of_gather_nd_op as get_oshape_of_gather_nd_op
from .keys import indexing_key_expand_implicit_axes as indexing_key_expand_implicit_axes
from .ndarray import NDArray as NDArray
from .ndarray import invoke as invoke
from .ndarray import waitall as waitall
from .operators import Operators as Operators
from .safetensors import load_safetensors as load_safetensors
from .safetensors import save_safetensors as save_safetensors
from .serialize import load as load
from .serialize import load_frombuffer as load_frombuffer
from .serialize import save as save
from .shared import from_shared_mem as from_shared_mem

def __getattr__(name: str) -> Any: ...
def __dir__() -> list[str]: ...
def Activation(
    data: NDArray | None = None,
    act_type: str | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def BatchNorm(
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
) -> Any: ...
def BatchNorm_v1(
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
) -> Any: ...
def BilinearSampler(
    data: NDArray | None = None,
    grid: NDArray | None = None,
    cudnn_off: bool | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def BlockGrad(
    data: NDArray | None = None,
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
def Cast(
    data: NDArray | None = None,
    dtype: Any = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def Concat(
    *args: NDArray | Sequence[NDArray],
    num_args: int | None = None,
    dim: int = 1,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def Convolution(
    data: NDArray | None = None,
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
    cudnn_tune: str | None = None,
    cudnn_off: bool = False,
    layout: str | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def Convolution_v1(
    data: NDArray | None = None,
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
    cudnn_tune: str | None = None,
    cudnn_off: bool = False,
    layout: str | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def Correlation(
    data1: NDArray | None = None,
    data2: NDArray | None = None,
    kernel_size: int = 1,
    max_displacement: int = 1,
    stride1: int = 1,
    stride2: int = 1,
    pad_size: int = 0,
    is_multiply: bool = True,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def Crop(
    *args: NDArray | Sequence[NDArray],
    num_args: int | None = None,
    offset: int | Sequence[int] = (0, 0),
    h_w: int | Sequence[int] = (0, 0),
    center_crop: bool = False,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def Deconvolution(
    data: NDArray | None = None,
    weight: NDArray | None = None,
    bias: NDArray | None = None,
    kernel: int | Sequence[int] | None = None,
    stride: int | Sequence[int] = (),
    dilate: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    adj: int | Sequence[int] = (),
    target_shape: int | Sequence[int] = (),
    num_filter: int | None = None,
    num_group: int = 1,
    workspace: int = 512,
    no_bias: bool = True,
    cudnn_tune: str | None = None,
    cudnn_off: bool = False,
    layout: str | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def Dropout(
    data: NDArray | None = None,
    p: float = 0.5,
    mode: str = 'training',
    axes: int | Sequence[int] = (),
    cudnn_off: bool | None = False,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def ElementWiseSum(
    *args: NDArray | Sequence[NDArray],
    num_args: int | None = None,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def Embedding(
    data: NDArray | None = None,
    weight: NDArray | None = None,
    input_dim: int | None = None,
    output_dim: int | None = None,
    dtype: Any = 'float32',
    sparse_grad: bool = False,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def Flatten(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def FullyConnected(
    data: NDArray | None = None,
    weight: NDArray | None = None,
    bias: NDArray | None = None,
    num_hidden: int | None = None,
    no_bias: bool = False,
    flatten: bool = True,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def GridGenerator(
    data: NDArray | None = None,
    transform_type: str | None = None,
    target_shape: int | Sequence[int] = (0, 0),
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def GroupNorm(
    data: NDArray | None = None,
    gamma: NDArray | None = None,
    beta: NDArray | None = None,
    num_groups: int = 1,
    eps: float = 1e-05,
    output_mean_var: bool = False,
    *,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def IdentityAttachKLSparseReg(
    data: NDArray | None = None,
    moving_avg: NDArray | None = None,
    sparseness_target: float = 0.1,
    penalty: float = 0.001,
    momentum: float = 0.9,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def InstanceNorm(
    data: NDArray | None = None,
    gamma: NDArray | None = None,
    beta: NDArray | None = None,
    eps: float = 0.001,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def L2Normalization(
    data: NDArray | None = None,
    eps: float = 1e-10,
    mode: str = 'instance',
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def LRN(
    data: NDArray | None = None,
    alpha: float = 0.0001,
    beta: float = 0.75,
    knorm: float = 2.0,
    nsize: int | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def LayerNorm(
    data: NDArray | None = None,
    gamma: NDArray | None = None,
    beta: NDArray | None = None,
    axis: int = -1,
    eps: float = 1e-05,
    output_mean_var: bool = False,
    *,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def LeakyReLU(
    data: NDArray | None = None,
    gamma: NDArray | None = None,
    act_type: str = 'leaky',
    slope: float = 0.25,
    lower_bound: float = 0.125,
    upper_bound: float = 0.334,
    *,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def LinearRegressionOutput(
    data: NDArray | None = None,
    label: NDArray | None = None,
    grad_scale: float = 1.0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def LogisticRegressionOutput(
    data: NDArray | None = None,
    label: NDArray | None = None,
    grad_scale: float = 1.0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def MAERegressionOutput(
    data: NDArray | None = None,
    label: NDArray | None = None,
    grad_scale: float = 1.0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def MakeLoss(
    data: NDArray | None = None,
    grad_scale: float = 1.0,
    valid_thresh: float = 0.0,
    normalization: str = 'null',
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def Pad(
    data: NDArray | None = None,
    mode: str | None = None,
    pad_width: int | Sequence[int] | None = None,
    constant_value: float = 0.0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def Pooling(
    data: NDArray | None = None,
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
) -> NDArray: ...
def Pooling_v1(
    data: NDArray | None = None,
    kernel: int | Sequence[int] = (),
    pool_type: str = 'max',
    global_pool: bool = False,
    pooling_convention: str = 'valid',
    stride: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def RNN(
    data: NDArray | None = None,
    parameters: NDArray | None = None,
    state: NDArray | None = None,
    state_cell: NDArray | None = None,
    sequence_length: NDArray | None = None,
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
def ROIPooling(
    data: NDArray | None = None,
    rois: NDArray | None = None,
    pooled_size: int | Sequence[int] | None = None,
    spatial_scale: float | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def Reshape(
    data: NDArray | None = None,
    shape: int | Sequence[int] = (),
    reverse: bool = False,
    target_shape: int | Sequence[int] = (),
    keep_highest: bool = False,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def SVMOutput(
    data: NDArray | None = None,
    label: NDArray | None = None,
    margin: float = 1.0,
    regularization_coefficient: float = 1.0,
    use_linear: bool = False,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def SequenceLast(
    data: NDArray | None = None,
    sequence_length: NDArray | None = None,
    use_sequence_length: bool = False,
    axis: int = 0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def SequenceMask(
    data: NDArray | None = None,
    sequence_length: NDArray | None = None,
    use_sequence_length: bool = False,
    value: float = 0.0,
    axis: int = 0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def SequenceReverse(
    data: NDArray | None = None,
    sequence_length: NDArray | None = None,
    use_sequence_length: bool = False,
    axis: int = 0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def SliceChannel(
    data: NDArray | None = None,
    num_outputs: int | None = None,
    axis: int = 1,
    squeeze_axis: bool = False,
    *,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def Softmax(
    data: NDArray | None = None,
    label: NDArray | None = None,
    grad_scale: float = 1.0,
    ignore_label: float = -1.0,
    multi_output: bool = False,
    use_ignore: bool = False,
    preserve_shape: bool = False,
    normalization: str = 'null',
    out_grad: bool = False,
    smooth_alpha: float = 0.0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def SoftmaxActivation(
    data: NDArray | None = None,
    mode: str = 'instance',
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def SoftmaxOutput(
    data: NDArray | None = None,
    label: NDArray | None = None,
    grad_scale: float = 1.0,
    ignore_label: float = -1.0,
    multi_output: bool = False,
    use_ignore: bool = False,
    preserve_shape: bool = False,
    normalization: str = 'null',
    out_grad: bool = False,
    smooth_alpha: float = 0.0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def SpatialTransformer(
    data: NDArray | None = None,
    loc: NDArray | None = None,
    target_shape: int | Sequence[int] = (0, 0),
    transform_type: str | None = None,
    sampler_type: str | None = None,
    cudnn_off: bool | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def SwapAxis(
    data: NDArray | None = None,
    dim1: int = 0,
    dim2: int = 0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def UpSampling(
    *args: NDArray | Sequence[NDArray],
    scale: int | None = None,
    num_filter: int = 0,
    sample_type: str | None = None,
    multi_input_mode: str = 'concat',
    num_args: int = 1,
    workspace: int = 512,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def abs(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def adam_update(
    weight: NDArray | None = None,
    grad: NDArray | None = None,
    mean: NDArray | None = None,
    var: NDArray | None = None,
    lr: float | None = None,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-08,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def add_n(
    *args: NDArray | Sequence[NDArray],
    num_args: int | None = None,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def all_finite(
    data: NDArray | None = None,
    init_output: bool = True,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def amp_cast(
    data: NDArray | None = None,
    dtype: Any = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def amp_multicast(
    *args: NDArray | Sequence[NDArray],
    num_outputs: int | None = None,
    cast_narrow: bool = False,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def arccos(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def arccosh(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def arcsin(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def arcsinh(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def arctan(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def arctanh(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def argmax(
    data: NDArray | None = None,
    axis: int | None = None,
    keepdims: bool = False,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def argmax_channel(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def argmin(
    data: NDArray | None = None,
    axis: int | None = None,
    keepdims: bool = False,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def argsort(
    data: NDArray | None = None,
    axis: int | None = -1,
    is_ascend: bool = True,
    dtype: Any = 'float32',
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def batch_dot(
    lhs: NDArray | None = None,
    rhs: NDArray | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: str | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def batch_take(
    a: NDArray | None = None,
    indices: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def broadcast_add(
    lhs: NDArray | None = None,
    rhs: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def broadcast_axes(
    data: NDArray | None = None,
    axis: int | Sequence[int] = (),
    size: int | Sequence[int] = (),
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def broadcast_axis(
    data: NDArray | None = None,
    axis: int | Sequence[int] = (),
    size: int | Sequence[int] = (),
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def broadcast_div(
    lhs: NDArray | None = None,
    rhs: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def broadcast_equal(
    lhs: NDArray | None = None,
    rhs: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def broadcast_greater(
    lhs: NDArray | None = None,
    rhs: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def broadcast_greater_equal(
    lhs: NDArray | None = None,
    rhs: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def broadcast_hypot(
    lhs: NDArray | None = None,
    rhs: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def broadcast_lesser(
    lhs: NDArray | None = None,
    rhs: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def broadcast_lesser_equal(
    lhs: NDArray | None = None,
    rhs: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def broadcast_like(
    lhs: NDArray | None = None,
    rhs: NDArray | None = None,
    lhs_axes: int | Sequence[int] | None = None,
    rhs_axes: int | Sequence[int] | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def broadcast_logical_and(
    lhs: NDArray | None = None,
    rhs: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def broadcast_logical_or(
    lhs: NDArray | None = None,
    rhs: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def broadcast_logical_xor(
    lhs: NDArray | None = None,
    rhs: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def broadcast_maximum(
    lhs: NDArray | None = None,
    rhs: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def broadcast_minimum(
    lhs: NDArray | None = None,
    rhs: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def broadcast_minus(
    lhs: NDArray | None = None,
    rhs: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def broadcast_mod(
    lhs: NDArray | None = None,
    rhs: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def broadcast_mul(
    lhs: NDArray | None = None,
    rhs: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def broadcast_not_equal(
    lhs: NDArray | None = None,
    rhs: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def broadcast_plus(
    lhs: NDArray | None = None,
    rhs: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def broadcast_power(
    lhs: NDArray | None = None,
    rhs: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def broadcast_sub(
    lhs: NDArray | None = None,
    rhs: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def broadcast_to(
    data: NDArray | None = None,
    shape: int | Sequence[int] = (),
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def cast(
    data: NDArray | None = None,
    dtype: Any = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def cast_storage(
    data: NDArray | None = None,
    stype: str | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def cbrt(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def ceil(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def choose_element_0index(
    data: NDArray | None = None,
    index: NDArray | None = None,
    axis: int | None = -1,
    keepdims: bool = False,
    mode: str = 'clip',
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def clip(
    data: NDArray | None = None,
    a_min: float | None = None,
    a_max: float | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def col2im(
    data: NDArray | None = None,
    output_size: int | Sequence[int] | None = None,
    kernel: int | Sequence[int] | None = None,
    stride: int | Sequence[int] = (),
    dilate: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def concat(
    *args: NDArray | Sequence[NDArray],
    num_args: int | None = None,
    dim: int = 1,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def cos(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def cosh(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def crop(
    data: NDArray | None = None,
    begin: int | Sequence[int | None] | None = None,
    end: int | Sequence[int | None] | None = None,
    step: int | Sequence[int | None] = (),
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
def cumsum(
    a: NDArray | None = None,
    axis: int | None = None,
    dtype: Any = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def degrees(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def depth_to_space(
    data: NDArray | None = None,
    block_size: int | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def diag(
    data: NDArray | None = None,
    k: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def digamma(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def dot(
    lhs: NDArray | None = None,
    rhs: NDArray | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: str | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def elemwise_add(
    lhs: NDArray | None = None,
    rhs: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def elemwise_div(
    lhs: NDArray | None = None,
    rhs: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def elemwise_mul(
    lhs: NDArray | None = None,
    rhs: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def elemwise_sub(
    lhs: NDArray | None = None,
    rhs: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def erf(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def erfinv(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def exp(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def expand_dims(
    data: NDArray | None = None,
    axis: int | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def expm1(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def fill_element_0index(
    lhs: NDArray | None = None,
    mhs: NDArray | None = None,
    rhs: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def fix(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def flatten(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def flip(
    data: NDArray | None = None,
    axis: int | Sequence[int] | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def floor(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def ftml_update(
    weight: NDArray | None = None,
    grad: NDArray | None = None,
    d: NDArray | None = None,
    v: NDArray | None = None,
    z: NDArray | None = None,
    lr: float | None = None,
    beta1: float = 0.6,
    beta2: float = 0.999,
    epsilon: float = 1e-08,
    t: int | None = None,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_grad: float = -1.0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def ftrl_update(
    weight: NDArray | None = None,
    grad: NDArray | None = None,
    z: NDArray | None = None,
    n: NDArray | None = None,
    lr: float | None = None,
    lamda1: float = 0.01,
    beta: float = 1.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def gamma(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def gammaln(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def gather_nd(
    data: NDArray | None = None,
    indices: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def hard_sigmoid(
    data: NDArray | None = None,
    alpha: float = 0.2,
    beta: float = 0.5,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def identity(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def im2col(
    data: NDArray | None = None,
    kernel: int | Sequence[int] | None = None,
    stride: int | Sequence[int] = (),
    dilate: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def khatri_rao(
    *args: NDArray | Sequence[NDArray],
    num_args: int | None = None,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def lamb_update_phase1(
    weight: NDArray | None = None,
    grad: NDArray | None = None,
    mean: NDArray | None = None,
    var: NDArray | None = None,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-06,
    t: int | None = None,
    bias_correction: bool = True,
    wd: float | None = None,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def lamb_update_phase2(
    weight: NDArray | None = None,
    g: NDArray | None = None,
    r1: NDArray | None = None,
    r2: NDArray | None = None,
    lr: float | None = None,
    lower_bound: float = -1.0,
    upper_bound: float = -1.0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def linalg_det(
    A: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def linalg_extractdiag(
    A: NDArray | None = None,
    offset: int = 0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def linalg_extracttrian(
    A: NDArray | None = None,
    offset: int = 0,
    lower: bool = True,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def linalg_gelqf(
    A: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def linalg_gemm(
    A: NDArray | None = None,
    B: NDArray | None = None,
    C: NDArray | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    beta: float = 1.0,
    axis: int = -2,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def linalg_gemm2(
    A: NDArray | None = None,
    B: NDArray | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    axis: int = -2,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def linalg_inverse(
    A: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def linalg_makediag(
    A: NDArray | None = None,
    offset: int = 0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def linalg_maketrian(
    A: NDArray | None = None,
    offset: int = 0,
    lower: bool = True,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def linalg_potrf(
    A: NDArray | None = None,
    lower: bool = True,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def linalg_potri(
    A: NDArray | None = None,
    lower: bool = True,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def linalg_slogdet(
    A: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def linalg_sumlogdiag(
    A: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def linalg_syevd(
    A: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def linalg_syrk(
    A: NDArray | None = None,
    transpose: bool = False,
    alpha: float = 1.0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def linalg_trmm(
    A: NDArray | None = None,
    B: NDArray | None = None,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def linalg_trsm(
    A: NDArray | None = None,
    B: NDArray | None = None,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def log(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def log10(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def log1p(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def log2(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def log_sigmoid(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def log_softmax(
    data: NDArray | None = None,
    axis: int = -1,
    temperature: float | None = None,
    dtype: Any = None,
    use_length: bool = False,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def logical_not(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def make_loss(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def max(
    data: NDArray | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def max_axis(
    data: NDArray | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def mean(
    data: NDArray | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def min(
    data: NDArray | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def min_axis(
    data: NDArray | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def mish(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def moments(
    data: NDArray | None = None,
    axes: int | Sequence[int] | None = None,
    keepdims: bool = False,
    *,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def mp_lamb_update_phase1(
    weight: NDArray | None = None,
    grad: NDArray | None = None,
    mean: NDArray | None = None,
    var: NDArray | None = None,
    weight32: NDArray | None = None,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-06,
    t: int | None = None,
    bias_correction: bool = True,
    wd: float | None = None,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def mp_lamb_update_phase2(
    weight: NDArray | None = None,
    g: NDArray | None = None,
    r1: NDArray | None = None,
    r2: NDArray | None = None,
    weight32: NDArray | None = None,
    lr: float | None = None,
    lower_bound: float = -1.0,
    upper_bound: float = -1.0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def mp_nag_mom_update(
    weight: NDArray | None = None,
    grad: NDArray | None = None,
    mom: NDArray | None = None,
    weight32: NDArray | None = None,
    lr: float | None = None,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def mp_sgd_mom_update(
    weight: NDArray | None = None,
    grad: NDArray | None = None,
    mom: NDArray | None = None,
    weight32: NDArray | None = None,
    lr: float | None = None,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def mp_sgd_update(
    weight: NDArray | None = None,
    grad: NDArray | None = None,
    weight32: NDArray | None = None,
    lr: float | None = None,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def multi_all_finite(
    *args: NDArray | Sequence[NDArray],
    num_arrays: int = 1,
    init_output: bool = True,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def multi_lars(
    lrs: NDArray | None = None,
    weights_sum_sq: NDArray | None = None,
    grads_sum_sq: NDArray | None = None,
    wds: NDArray | None = None,
    eta: float | None = None,
    eps: float | None = None,
    rescale_grad: float = 1.0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def multi_mp_sgd_mom_update(
    *args: NDArray | Sequence[NDArray],
    lrs: float | Sequence[float] | None = None,
    wds: float | Sequence[float] | None = None,
    momentum: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def multi_mp_sgd_update(
    *args: NDArray | Sequence[NDArray],
    lrs: float | Sequence[float] | None = None,
    wds: float | Sequence[float] | None = None,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def multi_sgd_mom_update(
    *args: NDArray | Sequence[NDArray],
    lrs: float | Sequence[float] | None = None,
    wds: float | Sequence[float] | None = None,
    momentum: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def multi_sgd_update(
    *args: NDArray | Sequence[NDArray],
    lrs: float | Sequence[float] | None = None,
    wds: float | Sequence[float] | None = None,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def multi_sum_sq(
    *args: NDArray | Sequence[NDArray],
    num_arrays: int | None = None,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def nag_mom_update(
    weight: NDArray | None = None,
    grad: NDArray | None = None,
    mom: NDArray | None = None,
    lr: float | None = None,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def nanprod(
    data: NDArray | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def nansum(
    data: NDArray | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def negative(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def norm(
    data: NDArray | None = None,
    ord: int = 2,
    axis: int | Sequence[int] | None = None,
    out_dtype: Any = None,
    keepdims: bool = False,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def normal(
    loc: float = 0.0,
    scale: float = 1.0,
    shape: int | Sequence[int] | None = (),
    ctx: str = '',
    dtype: Any = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def one_hot(
    indices: NDArray | None = None,
    depth: int | None = None,
    on_value: float = 1.0,
    off_value: float = 0.0,
    dtype: Any = 'float32',
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def ones_like(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def pad(
    data: NDArray | None = None,
    mode: str | None = None,
    pad_width: int | Sequence[int] | None = None,
    constant_value: float = 0.0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def pick(
    data: NDArray | None = None,
    index: NDArray | None = None,
    axis: int | None = -1,
    keepdims: bool = False,
    mode: str = 'clip',
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def preloaded_multi_mp_sgd_mom_update(
    *args: NDArray | Sequence[NDArray],
    momentum: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def preloaded_multi_mp_sgd_update(
    *args: NDArray | Sequence[NDArray],
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def preloaded_multi_sgd_mom_update(
    *args: NDArray | Sequence[NDArray],
    momentum: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def preloaded_multi_sgd_update(
    *args: NDArray | Sequence[NDArray],
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def prod(
    data: NDArray | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def radians(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def random_exponential(
    lam: float = 1.0,
    shape: int | Sequence[int] | None = (),
    ctx: str = '',
    dtype: Any = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def random_gamma(
    alpha: float = 1.0,
    beta: float = 1.0,
    shape: int | Sequence[int] | None = (),
    ctx: str = '',
    dtype: Any = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def random_generalized_negative_binomial(
    mu: float = 1.0,
    alpha: float = 1.0,
    shape: int | Sequence[int] | None = (),
    ctx: str = '',
    dtype: Any = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def random_negative_binomial(
    k: int = 1,
    p: float = 1.0,
    shape: int | Sequence[int] | None = (),
    ctx: str = '',
    dtype: Any = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def random_normal(
    loc: float = 0.0,
    scale: float = 1.0,
    shape: int | Sequence[int] | None = (),
    ctx: str = '',
    dtype: Any = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def random_pdf_dirichlet(
    sample: NDArray | None = None,
    alpha: NDArray | None = None,
    is_log: bool = False,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def random_pdf_exponential(
    sample: NDArray | None = None,
    lam: NDArray | None = None,
    is_log: bool = False,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def random_pdf_gamma(
    sample: NDArray | None = None,
    alpha: NDArray | None = None,
    beta: NDArray | None = None,
    is_log: bool = False,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def random_pdf_generalized_negative_binomial(
    sample: NDArray | None = None,
    mu: NDArray | None = None,
    alpha: NDArray | None = None,
    is_log: bool = False,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def random_pdf_negative_binomial(
    sample: NDArray | None = None,
    k: NDArray | None = None,
    p: NDArray | None = None,
    is_log: bool = False,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def random_pdf_normal(
    sample: NDArray | None = None,
    mu: NDArray | None = None,
    sigma: NDArray | None = None,
    is_log: bool = False,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def random_pdf_poisson(
    sample: NDArray | None = None,
    lam: NDArray | None = None,
    is_log: bool = False,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def random_pdf_uniform(
    sample: NDArray | None = None,
    low: NDArray | None = None,
    high: NDArray | None = None,
    is_log: bool = False,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def random_poisson(
    lam: float = 1.0,
    shape: int | Sequence[int] | None = (),
    ctx: str = '',
    dtype: Any = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def random_randint(
    low: int | None = None,
    high: int | None = None,
    shape: int | Sequence[int] | None = (),
    ctx: str = '',
    dtype: Any = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def random_uniform(
    low: float = 0.0,
    high: float = 1.0,
    shape: int | Sequence[int] | None = (),
    ctx: str = '',
    dtype: Any = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def ravel_multi_index(
    data: NDArray | None = None,
    shape: int | Sequence[int] | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def rcbrt(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def reciprocal(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def relu(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def repeat(
    data: NDArray | None = None,
    repeats: int | None = None,
    axis: int | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def reset_arrays(
    *args: NDArray | Sequence[NDArray],
    num_arrays: int | None = None,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def reshape(
    data: NDArray | None = None,
    shape: int | Sequence[int] = (),
    reverse: bool = False,
    target_shape: int | Sequence[int] = (),
    keep_highest: bool = False,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def reshape_like(
    lhs: NDArray | None = None,
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
    data: NDArray | None = None,
    axis: int | Sequence[int] | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def rint(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def rmsprop_update(
    weight: NDArray | None = None,
    grad: NDArray | None = None,
    n: NDArray | None = None,
    lr: float | None = None,
    gamma1: float = 0.95,
    epsilon: float = 1e-08,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    clip_weights: float = -1.0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def rmspropalex_update(
    weight: NDArray | None = None,
    grad: NDArray | None = None,
    n: NDArray | None = None,
    g: NDArray | None = None,
    delta: NDArray | None = None,
    lr: float | None = None,
    gamma1: float = 0.95,
    gamma2: float = 0.9,
    epsilon: float = 1e-08,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    clip_weights: float = -1.0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def round(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def rsqrt(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def sample_exponential(
    lam: NDArray | None = None,
    shape: int | Sequence[int] = (),
    dtype: Any = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def sample_gamma(
    alpha: NDArray | None = None,
    beta: NDArray | None = None,
    shape: int | Sequence[int] = (),
    dtype: Any = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def sample_generalized_negative_binomial(
    mu: NDArray | None = None,
    alpha: NDArray | None = None,
    shape: int | Sequence[int] = (),
    dtype: Any = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def sample_multinomial(
    data: NDArray | None = None,
    shape: int | Sequence[int] = (),
    get_prob: bool = False,
    dtype: Any = 'int32',
    *,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def sample_negative_binomial(
    k: NDArray | None = None,
    p: NDArray | None = None,
    shape: int | Sequence[int] = (),
    dtype: Any = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def sample_normal(
    mu: NDArray | None = None,
    sigma: NDArray | None = None,
    shape: int | Sequence[int] = (),
    dtype: Any = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def sample_poisson(
    lam: NDArray | None = None,
    shape: int | Sequence[int] = (),
    dtype: Any = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def sample_uniform(
    low: NDArray | None = None,
    high: NDArray | None = None,
    shape: int | Sequence[int] = (),
    dtype: Any = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def scatter_nd(
    data: NDArray | None = None,
    indices: NDArray | None = None,
    shape: int | Sequence[int] | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def sgd_mom_update(
    weight: NDArray | None = None,
    grad: NDArray | None = None,
    mom: NDArray | None = None,
    lr: float | None = None,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def sgd_update(
    weight: NDArray | None = None,
    grad: NDArray | None = None,
    lr: float | None = None,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def shape_array(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def shuffle(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def sigmoid(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def sign(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def signsgd_update(
    weight: NDArray | None = None,
    grad: NDArray | None = None,
    lr: float | None = None,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def signum_update(
    weight: NDArray | None = None,
    grad: NDArray | None = None,
    mom: NDArray | None = None,
    lr: float | None = None,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    wd_lh: float = 0.0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def sin(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def sinh(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def size_array(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def slice(
    data: NDArray | None = None,
    begin: int | Sequence[int | None] | None = None,
    end: int | Sequence[int | None] | None = None,
    step: int | Sequence[int | None] = (),
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def slice_axis(
    data: NDArray | None = None,
    axis: int | None = None,
    begin: int | None = None,
    end: int | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def slice_like(
    data: NDArray | None = None,
    shape_like: NDArray | None = None,
    axes: int | Sequence[int] = (),
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def smooth_l1(
    data: NDArray | None = None,
    scalar: float = 1.0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def softmax(
    data: NDArray | None = None,
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
    data: NDArray | None = None,
    label: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def softmin(
    data: NDArray | None = None,
    axis: int = -1,
    temperature: float | None = None,
    dtype: Any = None,
    use_length: bool = False,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def softsign(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def sort(
    data: NDArray | None = None,
    axis: int | None = -1,
    is_ascend: bool = True,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def space_to_depth(
    data: NDArray | None = None,
    block_size: int | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def split(
    data: NDArray | None = None,
    num_outputs: int | None = None,
    axis: int = 1,
    squeeze_axis: bool = False,
    *,
    out: Any = None,
    name: Any = None,
) -> Any: ...
def sqrt(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def square(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def squeeze(
    data: NDArray | None = None,
    axis: int | Sequence[int] | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def stack(
    *args: NDArray | Sequence[NDArray],
    axis: int = 0,
    num_args: int | None = None,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def stop_gradient(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def sum(
    data: NDArray | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def sum_axis(
    data: NDArray | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def swapaxes(
    data: NDArray | None = None,
    dim1: int = 0,
    dim2: int = 0,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def take(
    a: NDArray | None = None,
    indices: NDArray | None = None,
    axis: int = 0,
    mode: str = 'clip',
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def tan(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def tanh(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def tile(
    data: NDArray | None = None,
    reps: int | Sequence[int] | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def topk(
    data: NDArray | None = None,
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
    data: NDArray | None = None,
    axes: int | Sequence[int] = (),
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def trunc(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def uniform(
    low: float = 0.0,
    high: float = 1.0,
    shape: int | Sequence[int] | None = (),
    ctx: str = '',
    dtype: Any = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def unravel_index(
    data: NDArray | None = None,
    shape: int | Sequence[int] | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def where(
    condition: NDArray | None = None,
    x: NDArray | None = None,
    y: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
def zeros_like(
    data: NDArray | None = None,
    *,
    out: Any = None,
    name: Any = None,
) -> NDArray: ...
