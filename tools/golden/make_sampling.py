"""Writes tests/golden/ops/sampling.npz: what MXNet 1.9.1 reads of feature maps between pixels, and
its gradients, in the form that make_ops.py describes.

Run it once with a Python that has MXNet 1.9.1; nothing else in Ferromix needs MXNet.
"""

import numpy as np
from make_ops import Recorder

REGIONS = [[0, 1, 2, 9, 8.3], [1, 0.5, 0.2, 12.6, 6.6], [0, -3.3, -2, 17, 15.2], [1, 5, 5, 5.3, 6]]


def warps(r: Recorder) -> None:
    """Grids of both kinds, and images read at them, partly outside."""
    turn = r.normal(2, 6)
    affine = {"transform_type": "affine", "target_shape": (3, 4)}
    r.symbolic("GridGenerator", affine, {"data": turn})
    r.symbolic("GridGenerator", {"transform_type": "warp"}, {"data": r.normal(2, 2, 3, 4)})
    data = r.normal(2, 3, 4, 5)
    r.symbolic("BilinearSampler", {}, {"data": data, "grid": r.normal(2, 2, 3, 4)})
    attrs = {**affine, "sampler_type": "bilinear"}
    r.symbolic("SpatialTransformer", attrs, {"data": data, "loc": turn}, train=False)


def regions(r: Recorder) -> None:
    """Aligned, with channels for each bin, moved and turned."""
    inputs = {"data": r.normal(2, 8, 5, 6), "rois": np.array(REGIONS, np.float32)}
    size = {"pooled_size": (2, 2), "spatial_scale": 0.5}
    for more in (
        {},
        {"sample_ratio": 2, "aligned": True},
        {"position_sensitive": True, "aligned": True},
    ):
        r.symbolic("_contrib_ROIAlign", {**size, **more}, inputs)
    pool = {"spatial_scale": 0.5, "output_dim": 2, "pooled_size": 3, "group_size": 2}
    r.symbolic("_contrib_PSROIPooling", pool, inputs)
    trans = {"trans": np.tanh(r.normal(4, 4, 3, 3))}
    moved = {**pool, "sample_per_part": 2, "part_size": 3, "trans_std": 0.25}
    r.symbolic("_contrib_DeformablePSROIPooling", moved, {**inputs, **trans})
    r.symbolic("_contrib_DeformablePSROIPooling", {**moved, "no_trans": True}, inputs)
    turned = np.array([[0, 6, 5, 7, 4, 30], [1, 5, 6, 3, 9, -100.5], [1, 0, 0, 8, 6, 45]])
    inputs["rois"] = turned.astype(np.float32)
    r.symbolic("_contrib_RROIAlign", {**size, "pooled_size": (3, 2)}, inputs, train=False)


def deformable(r: Recorder) -> None:
    """Groups of both kinds; the gradients of the modulated one are not on the CPU."""
    sizes = {"kernel": (2, 3), "num_filter": 4, "num_group": 2, "num_deformable_group": 2}
    sizes |= {"stride": (2, 1), "dilate": (1, 2), "pad": (1, 2)}
    moving = {"data": r.normal(2, 4, 5, 4), "offset": r.normal(2, 24, 3, 4) * 2}
    weights = {"weight": r.normal(4, 2, 2, 3), "bias": r.normal(4)}
    r.symbolic("_contrib_DeformableConvolution", sizes, {**moving, **weights})
    masked = {**moving, "mask": r.normal(2, 12, 3, 4), **weights}
    r.symbolic("_contrib_ModulatedDeformableConvolution", sizes, masked, train=False)


def heads(r: Recorder) -> None:
    """Products of attention."""
    own, pair, query = r.normal(4, 3, 18), r.normal(5, 3, 12), r.normal(4, 3, 6)
    name, attrs = "_contrib_interleaved_matmul_", {"heads": 2}
    r.symbolic(name + "selfatt_qk", attrs, {"queries_keys_values": own})
    inputs = {"queries_keys_values": own, "attention": r.normal(6, 4, 4)}
    r.symbolic(name + "selfatt_valatt", attrs, inputs)
    r.symbolic(name + "encdec_qk", attrs, {"queries": query, "keys_values": pair})
    inputs = {"keys_values": pair, "attention": r.normal(6, 4, 5)}
    r.symbolic(name + "encdec_valatt", attrs, inputs)


def main() -> None:
    """All of it into one file."""
    recorder = Recorder("sampling")
    for family in (warps, regions, deformable, heads):
        family(recorder)
    recorder.save()


if __name__ == "__main__":
    main()
