"""Networks that say something about places in an image: boxes, masks, other images."""

from .inputs import Input
from .layers import conv, conv_bn, conv_relu, pool


def ssd_heads(S):
    """Classes and offsets of boxes at two scales, joined, with both losses."""
    x = conv_relu(S, S.Variable("data"), 4, stride=(2, 2))
    scales = [x, conv_relu(S, x, 6, stride=(2, 2))]
    scores, offsets = [], []
    for i, layer in enumerate(scales):
        score = S.transpose(conv(S, layer, 2 * 4, name=f"score{i}"), axes=(0, 2, 3, 1))
        offset = S.transpose(conv(S, layer, 2 * 4, name=f"offset{i}"), axes=(0, 2, 3, 1))
        scores.append(S.Flatten(score))
        offsets.append(S.Flatten(offset))
    score = S.Reshape(S.Concat(*scores, dim=1), shape=(0, -1, 4))
    score = S.transpose(score, axes=(0, 2, 1), name="multibox_cls_pred")
    target, mask = S.Variable("loc_target"), S.Variable("loc_mask")
    cls = S.SoftmaxOutput(
        score, S.Variable("cls_target"), ignore_label=-1, use_ignore=True,
        multi_output=True, normalization="valid", name="cls_prob",
    )  # fmt: skip
    difference = mask * (S.Concat(*offsets, dim=1, name="multibox_loc_pred") - target)
    loc = S.MakeLoss(
        S.smooth_l1(difference, scalar=1.0), grad_scale=1.0, normalization="valid", name="loc_loss"
    )
    boxes = 2 * (16 + 4)
    inputs = {"data": (2, 3, 8, 8), "loc_target": (2, boxes * 4)}
    inputs["loc_mask"] = Input((2, boxes * 4), 2)
    return S.Group([cls, loc]), inputs | {"cls_target": Input((2, boxes), 4, -1)}


def _multibox(S):
    """Anchors, scores and offsets of two scales of features of an image."""
    x = conv_relu(S, S.Variable("data"), 4, stride=(2, 2))
    anchors, scores, offsets = [], [], []
    for i, size in enumerate((0.3, 0.6)):
        score = conv(S, x, 3 * 4, name=f"score{i}")
        offset = conv(S, x, 3 * 4, name=f"offset{i}")
        scores.append(S.Flatten(S.transpose(score, axes=(0, 2, 3, 1))))
        offsets.append(S.Flatten(S.transpose(offset, axes=(0, 2, 3, 1))))
        found = S.contrib.MultiBoxPrior(
            x, sizes=(size, size * 1.4), ratios=(1, 2), clip=bool(i), name=f"anchors{i}"
        )
        anchors.append(S.Flatten(found))
        x = conv_relu(S, x, 6, stride=(2, 2))
    anchors = S.Reshape(S.Concat(*anchors, dim=1), shape=(0, -1, 4), name="multibox_anchors")
    score = S.Reshape(S.Concat(*scores, dim=1), shape=(0, -1, 4))
    score = S.transpose(score, axes=(0, 2, 1), name="multibox_cls_pred")
    return anchors, score, S.Concat(*offsets, dim=1, name="multibox_loc_pred")


def ssd(S):
    """Boxes are given to anchors, both losses follow, and what is found can be measured."""
    anchors, score, offsets = _multibox(S)
    found = S.contrib.MultiBoxTarget(
        anchors, S.Variable("label"), score, overlap_threshold=0.5, ignore_label=-1,
        negative_mining_ratio=3, minimum_negative_samples=0, negative_mining_thresh=0.5,
        variances=(0.1, 0.1, 0.2, 0.2), name="multibox_target",
    )  # fmt: skip
    target, mask, classes = found[0], found[1], found[2]
    cls = S.SoftmaxOutput(
        score, classes, ignore_label=-1, use_ignore=True, grad_scale=1.0, multi_output=True,
        normalization="valid", name="cls_prob",
    )  # fmt: skip
    loc = S.smooth_l1(mask * (offsets - target), scalar=1.0, name="loc_loss_")
    loc = S.MakeLoss(loc, grad_scale=1.0, normalization="valid", name="loc_loss")
    classes = S.MakeLoss(classes, grad_scale=0, name="cls_label")
    boxes = S.contrib.MultiBoxDetection(
        cls, offsets, anchors, nms_threshold=0.45, force_suppress=False,
        variances=(0.1, 0.1, 0.2, 0.2), nms_topk=20, name="detection",
    )  # fmt: skip
    boxes = S.MakeLoss(boxes, grad_scale=0, name="det_out")
    inputs = {"data": (2, 3, 8, 8), "label": Input((2, 3, 5), 3, -1, boxes=True)}
    return S.Group([cls, loc, classes, boxes]), inputs


def ssd_deployed(S):
    """The same features without labels: boxes are all that it gives."""
    anchors, score, offsets = _multibox(S)
    cls = S.SoftmaxActivation(score, mode="channel", name="cls_prob")
    boxes = S.contrib.MultiBoxDetection(
        cls, offsets, anchors, threshold=0.1, nms_threshold=0.3, force_suppress=True,
        variances=(0.1, 0.1, 0.2, 0.2), name="detection",
    )  # fmt: skip
    return boxes, {"data": (2, 3, 8, 8)}


def region_heads(S):
    """Boxes are cut out of the features, then classified and moved."""
    x = conv_relu(S, S.Variable("data"), 4, stride=(2, 2))
    x = S.ROIPooling(x, S.Variable("rois"), pooled_size=(2, 2), spatial_scale=0.5)
    x = S.Activation(S.FullyConnected(S.Flatten(x), num_hidden=8), act_type="relu")
    cls = S.SoftmaxOutput(S.FullyConnected(x, num_hidden=3), name="cls", normalization="batch")
    move = S.FullyConnected(x, num_hidden=12) - S.Variable("target")
    loss = S.MakeLoss(S.smooth_l1(move, scalar=3.0), grad_scale=1 / 4)
    inputs = {"data": (1, 3, 16, 16), "rois": Input((4, 5), 1), "cls_label": Input((4,), 3)}
    return S.Group([cls, loss]), inputs | {"target": (4, 12)}


def fcn(S):
    """Skips of several strides, made larger and cut to the size of the image."""
    data = S.Variable("data")
    first = pool(S, conv_relu(S, data, 4, pad=(3, 3)))
    second = pool(S, conv_relu(S, first, 6))
    score = conv(S, second, 3, (1, 1), name="score2")
    score = S.Deconvolution(score, kernel=(4, 4), stride=(2, 2), num_filter=3, no_bias=True)
    skip = conv(S, first, 3, (1, 1))
    score = S.Crop(score, skip, offset=(1, 1), num_args=2) + skip
    big = S.Deconvolution(score, kernel=(4, 4), stride=(2, 2), adj=(1, 1), num_filter=3, name="big")
    out = S.Crop(big, data, offset=(2, 2), num_args=2)
    softmax = S.SoftmaxOutput(
        out, multi_output=True, use_ignore=True, ignore_label=2, name="softmax"
    )
    return softmax, {"data": (1, 3, 12, 12), "softmax_label": Input((1, 12, 12), 3)}


def unet(S):
    x, skips = S.Variable("data"), []
    for filters in (4, 6):
        x = conv_bn(S, x, filters)
        skips.append(x)
        x = pool(S, x)
    x = conv_bn(S, x, 6)
    for skip, filters in zip(skips[::-1], (6, 4)):
        x = S.UpSampling(x, scale=2, sample_type="nearest", num_args=1)
        x = conv_bn(S, S.Concat(x, skip, dim=1), filters)
    x = conv(S, x, 1, (1, 1))
    return S.LogisticRegressionOutput(S.Flatten(x), name="mask"), {
        "data": (2, 2, 8, 8), "mask_label": Input((2, 64), 2),
    }  # fmt: skip


def segnet(S):
    """Holes in the kernels, a pyramid of pools, and bilinear growth."""
    x = conv_bn(S, S.Variable("data"), 4, stride=(2, 2))
    x = conv_bn(S, x, 5, pad=(2, 2), dilate=(2, 2))
    whole = S.Pooling(x, global_pool=True, kernel=(1, 1), pool_type="avg")
    whole = S.contrib.BilinearResize2D(conv_relu(S, whole, 3, (1, 1)), height=6, width=6)
    parts = S.contrib.AdaptiveAvgPooling2D(x, output_size=(2, 2))
    parts = S.contrib.BilinearResize2D(conv_relu(S, parts, 3, (1, 1)), height=6, width=6)
    x = conv(S, S.Concat(x, whole, parts), 3, (1, 1))
    x = S.UpSampling(x, scale=2, sample_type="nearest")
    loss = S.log_softmax(x, axis=1)
    loss = S.pick(loss, S.Variable("label"), axis=1)
    return S.make_loss(-S.mean(loss)), {"data": (2, 3, 12, 12), "label": Input((2, 12, 12), 3)}


def super_resolution(S):
    """Channels become pixels."""
    x = S.Activation(conv(S, S.Variable("data"), 6, (5, 5)), act_type="tanh")
    x = S.Reshape(conv(S, x, 4), shape=(-1, 1, 2, 2, 6, 6))
    x = S.Reshape(S.transpose(x, axes=(0, 1, 4, 2, 5, 3)), shape=(-1, 1, 12, 12))
    return S.LinearRegressionOutput(x, name="lro"), {
        "data": (2, 1, 6, 6), "lro_label": (2, 1, 12, 12),
    }  # fmt: skip


def spatial_transformer(S):
    """A network that finds how to look at its image."""
    data = S.Variable("data")
    loc = S.Activation(pool(S, conv(S, data, 3, (5, 5))), act_type="relu")
    loc = S.FullyConnected(S.Flatten(loc), num_hidden=6, name="theta")
    loc = S.Activation(loc, act_type="tanh") * 0.5
    x = S.SpatialTransformer(
        data, loc, target_shape=(8, 8), transform_type="affine", sampler_type="bilinear"
    )
    x = S.Activation(conv(S, x, 4), act_type="relu")
    x = S.FullyConnected(S.Flatten(x), num_hidden=3)
    return S.SoftmaxOutput(x, name="softmax"), {
        "data": (2, 1, 10, 10), "softmax_label": Input((2,), 3),
    }  # fmt: skip


def optical_flow(S):
    """Two images are compared at shifts, and one is moved onto the other one."""
    one, two = S.Variable("one"), S.Variable("two")
    cost = S.Correlation(
        one, two, kernel_size=1, max_displacement=2, stride1=1, stride2=1, pad_size=2
    )
    flow = conv(S, S.LeakyReLU(cost, act_type="leaky", slope=0.1), 2, name="flow")
    grid = S.GridGenerator(flow, transform_type="warp")
    moved = S.BilinearSampler(two, grid)
    loss = S.MakeLoss(S.sum(S.abs(moved - one)) + 0.01 * S.sum(S.square(flow)))
    return loss, {"one": (1, 3, 6, 6), "two": (1, 3, 6, 6)}


def deformable(S):
    """Kernels whose points move by what a convolution says."""
    x = conv_relu(S, S.Variable("data"), 4)
    offset = conv(S, x, 18, name="offset")
    x = S.contrib.DeformableConvolution(
        x, offset, kernel=(3, 3), pad=(1, 1), num_filter=4, num_deformable_group=1, no_bias=True
    )
    x = S.FullyConnected(S.Flatten(S.Activation(x, act_type="relu")), num_hidden=3)
    return S.SoftmaxOutput(x, name="softmax"), {
        "data": (2, 2, 6, 6), "softmax_label": Input((2,), 3),
    }  # fmt: skip


def hourglass(S):
    """Heat maps of points."""
    x = conv_bn(S, S.Variable("data"), 4)
    low = S.UpSampling(conv_bn(S, pool(S, x), 4), scale=2, sample_type="nearest")
    x = conv(S, x + low, 3, (1, 1))
    loss = S.MakeLoss(S.mean(S.square(x - S.Variable("heat"))), name="loss")
    return S.Group([loss, S.BlockGrad(x)]), {"data": (2, 3, 8, 8), "heat": (2, 3, 8, 8)}


NETWORKS = (
    ssd_heads,
    ssd,
    ssd_deployed,
    region_heads,
    fcn,
    unet,
    segnet,
    super_resolution,
    spatial_transformer,
    optical_flow,
    deformable,
    hourglass,
)
