# Generated from the operator cards by `make gen`.

from collections.abc import Sequence
from typing import Any

from ..attribute import AttrScope as AttrScope
from ..name import NameManager as NameManager
from ..name import Prefix as Prefix
from ..ops.card import exists as exists
from ..ops.card import names as names
from . import _internal as _internal
from . import contrib as contrib
from . import image as image
from . import layout as layout
from . import linalg as linalg
from . import op as op
from . import random as random
from . import sparse as sparse
from .functions import Custom as Custom
from .functions import Variable as Variable
from .functions import arange as arange
from .functions import eye as eye
from .functions import full as full
from .functions import function as function
from .functions import histogram as histogram
from .functions import hypot as hypot
from .functions import install_methods as install_methods
from .functions import linspace as linspace
from .functions import maximum as maximum
from .functions import minimum as minimum
from .functions import ones as ones
from .functions import pow as pow
from .functions import power as power
from .functions import split_v2 as split_v2
from .functions import var as var
from .functions import zeros as zeros
from .operators import Operators as Operators
from .symbol import Group as Group
from .symbol import Symbol as Symbol
from .symbol import load as load
from .symbol import load_json as load_json
fromjson = load_json

def __getattr__(name: str) -> Any: ...
def __dir__() -> list[str]: ...
def Activation(
    data: Symbol | None = None,
    act_type: str | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def BatchNorm(
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
) -> Any: ...
def BatchNorm_v1(
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
) -> Any: ...
def BilinearSampler(
    data: Symbol | None = None,
    grid: Symbol | None = None,
    cudnn_off: bool | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def BlockGrad(
    data: Symbol | None = None,
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
def Cast(
    data: Symbol | None = None,
    dtype: Any = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def Concat(
    *args: Symbol | Sequence[Symbol],
    num_args: int | None = None,
    dim: int = 1,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def Convolution(
    data: Symbol | None = None,
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
    cudnn_tune: str | None = None,
    cudnn_off: bool = False,
    layout: str | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def Convolution_v1(
    data: Symbol | None = None,
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
    cudnn_tune: str | None = None,
    cudnn_off: bool = False,
    layout: str | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def Correlation(
    data1: Symbol | None = None,
    data2: Symbol | None = None,
    kernel_size: int = 1,
    max_displacement: int = 1,
    stride1: int = 1,
    stride2: int = 1,
    pad_size: int = 0,
    is_multiply: bool = True,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def Crop(
    *args: Symbol | Sequence[Symbol],
    num_args: int | None = None,
    offset: int | Sequence[int] = (0, 0),
    h_w: int | Sequence[int] = (0, 0),
    center_crop: bool = False,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def Deconvolution(
    data: Symbol | None = None,
    weight: Symbol | None = None,
    bias: Symbol | None = None,
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
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def Dropout(
    data: Symbol | None = None,
    p: float = 0.5,
    mode: str = 'training',
    axes: int | Sequence[int] = (),
    cudnn_off: bool | None = False,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def ElementWiseSum(
    *args: Symbol | Sequence[Symbol],
    num_args: int | None = None,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def Embedding(
    data: Symbol | None = None,
    weight: Symbol | None = None,
    input_dim: int | None = None,
    output_dim: int | None = None,
    dtype: Any = 'float32',
    sparse_grad: bool = False,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def Flatten(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def FullyConnected(
    data: Symbol | None = None,
    weight: Symbol | None = None,
    bias: Symbol | None = None,
    num_hidden: int | None = None,
    no_bias: bool = False,
    flatten: bool = True,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def GridGenerator(
    data: Symbol | None = None,
    transform_type: str | None = None,
    target_shape: int | Sequence[int] = (0, 0),
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def GroupNorm(
    data: Symbol | None = None,
    gamma: Symbol | None = None,
    beta: Symbol | None = None,
    num_groups: int = 1,
    eps: float = 1e-05,
    output_mean_var: bool = False,
    *,
    name: Any = None,
    attr: Any = None,
) -> Any: ...
def IdentityAttachKLSparseReg(
    data: Symbol | None = None,
    moving_avg: Symbol | None = None,
    sparseness_target: float = 0.1,
    penalty: float = 0.001,
    momentum: float = 0.9,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def InstanceNorm(
    data: Symbol | None = None,
    gamma: Symbol | None = None,
    beta: Symbol | None = None,
    eps: float = 0.001,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def L2Normalization(
    data: Symbol | None = None,
    eps: float = 1e-10,
    mode: str = 'instance',
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def LRN(
    data: Symbol | None = None,
    alpha: float = 0.0001,
    beta: float = 0.75,
    knorm: float = 2.0,
    nsize: int | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def LayerNorm(
    data: Symbol | None = None,
    gamma: Symbol | None = None,
    beta: Symbol | None = None,
    axis: int = -1,
    eps: float = 1e-05,
    output_mean_var: bool = False,
    *,
    name: Any = None,
    attr: Any = None,
) -> Any: ...
def LeakyReLU(
    data: Symbol | None = None,
    gamma: Symbol | None = None,
    act_type: str = 'leaky',
    slope: float = 0.25,
    lower_bound: float = 0.125,
    upper_bound: float = 0.334,
    *,
    name: Any = None,
    attr: Any = None,
) -> Any: ...
def LinearRegressionOutput(
    data: Symbol | None = None,
    label: Symbol | None = None,
    grad_scale: float = 1.0,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def LogisticRegressionOutput(
    data: Symbol | None = None,
    label: Symbol | None = None,
    grad_scale: float = 1.0,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def MAERegressionOutput(
    data: Symbol | None = None,
    label: Symbol | None = None,
    grad_scale: float = 1.0,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def MakeLoss(
    data: Symbol | None = None,
    grad_scale: float = 1.0,
    valid_thresh: float = 0.0,
    normalization: str = 'null',
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def Pad(
    data: Symbol | None = None,
    mode: str | None = None,
    pad_width: int | Sequence[int] | None = None,
    constant_value: float = 0.0,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def Pooling(
    data: Symbol | None = None,
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
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def Pooling_v1(
    data: Symbol | None = None,
    kernel: int | Sequence[int] = (),
    pool_type: str = 'max',
    global_pool: bool = False,
    pooling_convention: str = 'valid',
    stride: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def RNN(
    data: Symbol | None = None,
    parameters: Symbol | None = None,
    state: Symbol | None = None,
    state_cell: Symbol | None = None,
    sequence_length: Symbol | None = None,
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
    name: Any = None,
    attr: Any = None,
) -> Any: ...
def ROIPooling(
    data: Symbol | None = None,
    rois: Symbol | None = None,
    pooled_size: int | Sequence[int] | None = None,
    spatial_scale: float | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def Reshape(
    data: Symbol | None = None,
    shape: int | Sequence[int] = (),
    reverse: bool = False,
    target_shape: int | Sequence[int] = (),
    keep_highest: bool = False,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def SVMOutput(
    data: Symbol | None = None,
    label: Symbol | None = None,
    margin: float = 1.0,
    regularization_coefficient: float = 1.0,
    use_linear: bool = False,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def SequenceLast(
    data: Symbol | None = None,
    sequence_length: Symbol | None = None,
    use_sequence_length: bool = False,
    axis: int = 0,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def SequenceMask(
    data: Symbol | None = None,
    sequence_length: Symbol | None = None,
    use_sequence_length: bool = False,
    value: float = 0.0,
    axis: int = 0,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def SequenceReverse(
    data: Symbol | None = None,
    sequence_length: Symbol | None = None,
    use_sequence_length: bool = False,
    axis: int = 0,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def SliceChannel(
    data: Symbol | None = None,
    num_outputs: int | None = None,
    axis: int = 1,
    squeeze_axis: bool = False,
    *,
    name: Any = None,
    attr: Any = None,
) -> Any: ...
def Softmax(
    data: Symbol | None = None,
    label: Symbol | None = None,
    grad_scale: float = 1.0,
    ignore_label: float = -1.0,
    multi_output: bool = False,
    use_ignore: bool = False,
    preserve_shape: bool = False,
    normalization: str = 'null',
    out_grad: bool = False,
    smooth_alpha: float = 0.0,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def SoftmaxActivation(
    data: Symbol | None = None,
    mode: str = 'instance',
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def SoftmaxOutput(
    data: Symbol | None = None,
    label: Symbol | None = None,
    grad_scale: float = 1.0,
    ignore_label: float = -1.0,
    multi_output: bool = False,
    use_ignore: bool = False,
    preserve_shape: bool = False,
    normalization: str = 'null',
    out_grad: bool = False,
    smooth_alpha: float = 0.0,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def SpatialTransformer(
    data: Symbol | None = None,
    loc: Symbol | None = None,
    target_shape: int | Sequence[int] = (0, 0),
    transform_type: str | None = None,
    sampler_type: str | None = None,
    cudnn_off: bool | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def SwapAxis(
    data: Symbol | None = None,
    dim1: int = 0,
    dim2: int = 0,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def UpSampling(
    *args: Symbol | Sequence[Symbol],
    scale: int | None = None,
    num_filter: int = 0,
    sample_type: str | None = None,
    multi_input_mode: str = 'concat',
    num_args: int = 1,
    workspace: int = 512,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def abs(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def adam_update(
    weight: Symbol | None = None,
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
    *args: Symbol | Sequence[Symbol],
    num_args: int | None = None,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def all_finite(
    data: Symbol | None = None,
    init_output: bool = True,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def amp_cast(
    data: Symbol | None = None,
    dtype: Any = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def amp_multicast(
    *args: Symbol | Sequence[Symbol],
    num_outputs: int | None = None,
    cast_narrow: bool = False,
    name: Any = None,
    attr: Any = None,
) -> Any: ...
def arccos(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def arccosh(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def arcsin(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def arcsinh(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def arctan(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def arctanh(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def argmax(
    data: Symbol | None = None,
    axis: int | None = None,
    keepdims: bool = False,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def argmax_channel(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def argmin(
    data: Symbol | None = None,
    axis: int | None = None,
    keepdims: bool = False,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def argsort(
    data: Symbol | None = None,
    axis: int | None = -1,
    is_ascend: bool = True,
    dtype: Any = 'float32',
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def batch_dot(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: str | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def batch_take(
    a: Symbol | None = None,
    indices: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def broadcast_add(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def broadcast_axes(
    data: Symbol | None = None,
    axis: int | Sequence[int] = (),
    size: int | Sequence[int] = (),
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def broadcast_axis(
    data: Symbol | None = None,
    axis: int | Sequence[int] = (),
    size: int | Sequence[int] = (),
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def broadcast_div(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def broadcast_equal(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def broadcast_greater(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def broadcast_greater_equal(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def broadcast_hypot(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def broadcast_lesser(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def broadcast_lesser_equal(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def broadcast_like(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    lhs_axes: int | Sequence[int] | None = None,
    rhs_axes: int | Sequence[int] | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def broadcast_logical_and(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def broadcast_logical_or(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def broadcast_logical_xor(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def broadcast_maximum(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def broadcast_minimum(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def broadcast_minus(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def broadcast_mod(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def broadcast_mul(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def broadcast_not_equal(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def broadcast_plus(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def broadcast_power(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def broadcast_sub(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def broadcast_to(
    data: Symbol | None = None,
    shape: int | Sequence[int] = (),
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def cast(
    data: Symbol | None = None,
    dtype: Any = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def cast_storage(
    data: Symbol | None = None,
    stype: str | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def cbrt(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def ceil(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def choose_element_0index(
    data: Symbol | None = None,
    index: Symbol | None = None,
    axis: int | None = -1,
    keepdims: bool = False,
    mode: str = 'clip',
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def clip(
    data: Symbol | None = None,
    a_min: float | None = None,
    a_max: float | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def col2im(
    data: Symbol | None = None,
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
    *args: Symbol | Sequence[Symbol],
    num_args: int | None = None,
    dim: int = 1,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def cos(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def cosh(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def crop(
    data: Symbol | None = None,
    begin: int | Sequence[int | None] | None = None,
    end: int | Sequence[int | None] | None = None,
    step: int | Sequence[int | None] = (),
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
def cumsum(
    a: Symbol | None = None,
    axis: int | None = None,
    dtype: Any = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def degrees(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def depth_to_space(
    data: Symbol | None = None,
    block_size: int | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def diag(
    data: Symbol | None = None,
    k: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def digamma(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def dot(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: str | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def elemwise_add(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def elemwise_div(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def elemwise_mul(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def elemwise_sub(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def erf(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def erfinv(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def exp(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def expand_dims(
    data: Symbol | None = None,
    axis: int | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def expm1(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def fill_element_0index(
    lhs: Symbol | None = None,
    mhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def fix(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def flatten(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def flip(
    data: Symbol | None = None,
    axis: int | Sequence[int] | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def floor(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def ftml_update(
    weight: Symbol | None = None,
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
    weight: Symbol | None = None,
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
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def gammaln(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def gather_nd(
    data: Symbol | None = None,
    indices: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def hard_sigmoid(
    data: Symbol | None = None,
    alpha: float = 0.2,
    beta: float = 0.5,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def identity(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def im2col(
    data: Symbol | None = None,
    kernel: int | Sequence[int] | None = None,
    stride: int | Sequence[int] = (),
    dilate: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def khatri_rao(
    *args: Symbol | Sequence[Symbol],
    num_args: int | None = None,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def lamb_update_phase1(
    weight: Symbol | None = None,
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
    weight: Symbol | None = None,
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
    A: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def linalg_extractdiag(
    A: Symbol | None = None,
    offset: int = 0,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def linalg_extracttrian(
    A: Symbol | None = None,
    offset: int = 0,
    lower: bool = True,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def linalg_gelqf(
    A: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Any: ...
def linalg_gemm(
    A: Symbol | None = None,
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
    A: Symbol | None = None,
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
    A: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def linalg_makediag(
    A: Symbol | None = None,
    offset: int = 0,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def linalg_maketrian(
    A: Symbol | None = None,
    offset: int = 0,
    lower: bool = True,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def linalg_potrf(
    A: Symbol | None = None,
    lower: bool = True,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def linalg_potri(
    A: Symbol | None = None,
    lower: bool = True,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def linalg_slogdet(
    A: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Any: ...
def linalg_sumlogdiag(
    A: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def linalg_syevd(
    A: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Any: ...
def linalg_syrk(
    A: Symbol | None = None,
    transpose: bool = False,
    alpha: float = 1.0,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def linalg_trmm(
    A: Symbol | None = None,
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
    A: Symbol | None = None,
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
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def log10(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def log1p(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def log2(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def log_sigmoid(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def log_softmax(
    data: Symbol | None = None,
    axis: int = -1,
    temperature: float | None = None,
    dtype: Any = None,
    use_length: bool = False,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def logical_not(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def make_loss(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def max(
    data: Symbol | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def max_axis(
    data: Symbol | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def mean(
    data: Symbol | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def min(
    data: Symbol | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def min_axis(
    data: Symbol | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def mish(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def moments(
    data: Symbol | None = None,
    axes: int | Sequence[int] | None = None,
    keepdims: bool = False,
    *,
    name: Any = None,
    attr: Any = None,
) -> Any: ...
def mp_lamb_update_phase1(
    weight: Symbol | None = None,
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
    weight: Symbol | None = None,
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
    weight: Symbol | None = None,
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
    weight: Symbol | None = None,
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
    weight: Symbol | None = None,
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
    *args: Symbol | Sequence[Symbol],
    num_arrays: int = 1,
    init_output: bool = True,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def multi_lars(
    lrs: Symbol | None = None,
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
    *args: Symbol | Sequence[Symbol],
    num_arrays: int | None = None,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def nag_mom_update(
    weight: Symbol | None = None,
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
    data: Symbol | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def nansum(
    data: Symbol | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def negative(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def norm(
    data: Symbol | None = None,
    ord: int = 2,
    axis: int | Sequence[int] | None = None,
    out_dtype: Any = None,
    keepdims: bool = False,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def normal(
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
    indices: Symbol | None = None,
    depth: int | None = None,
    on_value: float = 1.0,
    off_value: float = 0.0,
    dtype: Any = 'float32',
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def ones_like(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def pad(
    data: Symbol | None = None,
    mode: str | None = None,
    pad_width: int | Sequence[int] | None = None,
    constant_value: float = 0.0,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def pick(
    data: Symbol | None = None,
    index: Symbol | None = None,
    axis: int | None = -1,
    keepdims: bool = False,
    mode: str = 'clip',
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def preloaded_multi_mp_sgd_mom_update(
    *args: Symbol | Sequence[Symbol],
    momentum: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    name: Any = None,
    attr: Any = None,
) -> Any: ...
def preloaded_multi_mp_sgd_update(
    *args: Symbol | Sequence[Symbol],
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    name: Any = None,
    attr: Any = None,
) -> Any: ...
def preloaded_multi_sgd_mom_update(
    *args: Symbol | Sequence[Symbol],
    momentum: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    name: Any = None,
    attr: Any = None,
) -> Any: ...
def preloaded_multi_sgd_update(
    *args: Symbol | Sequence[Symbol],
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    name: Any = None,
    attr: Any = None,
) -> Any: ...
def prod(
    data: Symbol | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def radians(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def random_exponential(
    lam: float = 1.0,
    shape: int | Sequence[int] | None = (),
    ctx: str = '',
    dtype: Any = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def random_gamma(
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
    sample: Symbol | None = None,
    alpha: Symbol | None = None,
    is_log: bool = False,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def random_pdf_exponential(
    sample: Symbol | None = None,
    lam: Symbol | None = None,
    is_log: bool = False,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def random_pdf_gamma(
    sample: Symbol | None = None,
    alpha: Symbol | None = None,
    beta: Symbol | None = None,
    is_log: bool = False,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def random_pdf_generalized_negative_binomial(
    sample: Symbol | None = None,
    mu: Symbol | None = None,
    alpha: Symbol | None = None,
    is_log: bool = False,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def random_pdf_negative_binomial(
    sample: Symbol | None = None,
    k: Symbol | None = None,
    p: Symbol | None = None,
    is_log: bool = False,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def random_pdf_normal(
    sample: Symbol | None = None,
    mu: Symbol | None = None,
    sigma: Symbol | None = None,
    is_log: bool = False,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def random_pdf_poisson(
    sample: Symbol | None = None,
    lam: Symbol | None = None,
    is_log: bool = False,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def random_pdf_uniform(
    sample: Symbol | None = None,
    low: Symbol | None = None,
    high: Symbol | None = None,
    is_log: bool = False,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def random_poisson(
    lam: float = 1.0,
    shape: int | Sequence[int] | None = (),
    ctx: str = '',
    dtype: Any = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def random_randint(
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
    data: Symbol | None = None,
    shape: int | Sequence[int] | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def rcbrt(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def reciprocal(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def relu(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def repeat(
    data: Symbol | None = None,
    repeats: int | None = None,
    axis: int | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def reset_arrays(
    *args: Symbol | Sequence[Symbol],
    num_arrays: int | None = None,
    name: Any = None,
    attr: Any = None,
) -> Any: ...
def reshape(
    data: Symbol | None = None,
    shape: int | Sequence[int] = (),
    reverse: bool = False,
    target_shape: int | Sequence[int] = (),
    keep_highest: bool = False,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def reshape_like(
    lhs: Symbol | None = None,
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
    data: Symbol | None = None,
    axis: int | Sequence[int] | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def rint(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def rmsprop_update(
    weight: Symbol | None = None,
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
    weight: Symbol | None = None,
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
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def rsqrt(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def sample_exponential(
    lam: Symbol | None = None,
    shape: int | Sequence[int] = (),
    dtype: Any = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def sample_gamma(
    alpha: Symbol | None = None,
    beta: Symbol | None = None,
    shape: int | Sequence[int] = (),
    dtype: Any = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def sample_generalized_negative_binomial(
    mu: Symbol | None = None,
    alpha: Symbol | None = None,
    shape: int | Sequence[int] = (),
    dtype: Any = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def sample_multinomial(
    data: Symbol | None = None,
    shape: int | Sequence[int] = (),
    get_prob: bool = False,
    dtype: Any = 'int32',
    *,
    name: Any = None,
    attr: Any = None,
) -> Any: ...
def sample_negative_binomial(
    k: Symbol | None = None,
    p: Symbol | None = None,
    shape: int | Sequence[int] = (),
    dtype: Any = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def sample_normal(
    mu: Symbol | None = None,
    sigma: Symbol | None = None,
    shape: int | Sequence[int] = (),
    dtype: Any = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def sample_poisson(
    lam: Symbol | None = None,
    shape: int | Sequence[int] = (),
    dtype: Any = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def sample_uniform(
    low: Symbol | None = None,
    high: Symbol | None = None,
    shape: int | Sequence[int] = (),
    dtype: Any = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def scatter_nd(
    data: Symbol | None = None,
    indices: Symbol | None = None,
    shape: int | Sequence[int] | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def sgd_mom_update(
    weight: Symbol | None = None,
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
    weight: Symbol | None = None,
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
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def shuffle(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def sigmoid(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def sign(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def signsgd_update(
    weight: Symbol | None = None,
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
    weight: Symbol | None = None,
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
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def sinh(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def size_array(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def slice(
    data: Symbol | None = None,
    begin: int | Sequence[int | None] | None = None,
    end: int | Sequence[int | None] | None = None,
    step: int | Sequence[int | None] = (),
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def slice_axis(
    data: Symbol | None = None,
    axis: int | None = None,
    begin: int | None = None,
    end: int | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def slice_like(
    data: Symbol | None = None,
    shape_like: Symbol | None = None,
    axes: int | Sequence[int] = (),
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def smooth_l1(
    data: Symbol | None = None,
    scalar: float = 1.0,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def softmax(
    data: Symbol | None = None,
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
    data: Symbol | None = None,
    label: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def softmin(
    data: Symbol | None = None,
    axis: int = -1,
    temperature: float | None = None,
    dtype: Any = None,
    use_length: bool = False,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def softsign(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def sort(
    data: Symbol | None = None,
    axis: int | None = -1,
    is_ascend: bool = True,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def space_to_depth(
    data: Symbol | None = None,
    block_size: int | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def split(
    data: Symbol | None = None,
    num_outputs: int | None = None,
    axis: int = 1,
    squeeze_axis: bool = False,
    *,
    name: Any = None,
    attr: Any = None,
) -> Any: ...
def sqrt(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def square(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def squeeze(
    data: Symbol | None = None,
    axis: int | Sequence[int] | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def stack(
    *args: Symbol | Sequence[Symbol],
    axis: int = 0,
    num_args: int | None = None,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def stop_gradient(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def sum(
    data: Symbol | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def sum_axis(
    data: Symbol | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def swapaxes(
    data: Symbol | None = None,
    dim1: int = 0,
    dim2: int = 0,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def take(
    a: Symbol | None = None,
    indices: Symbol | None = None,
    axis: int = 0,
    mode: str = 'clip',
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def tan(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def tanh(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def tile(
    data: Symbol | None = None,
    reps: int | Sequence[int] | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def topk(
    data: Symbol | None = None,
    axis: int | None = -1,
    k: int = 1,
    ret_typ: str = 'indices',
    is_ascend: bool = False,
    dtype: Any = 'float32',
    *,
    name: Any = None,
    attr: Any = None,
) -> Any: ...
def transpose(
    data: Symbol | None = None,
    axes: int | Sequence[int] = (),
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def trunc(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def uniform(
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
    data: Symbol | None = None,
    shape: int | Sequence[int] | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def where(
    condition: Symbol | None = None,
    x: Symbol | None = None,
    y: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
def zeros_like(
    data: Symbol | None = None,
    *,
    name: Any = None,
    attr: Any = None,
) -> Symbol: ...
