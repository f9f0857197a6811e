"""Why the CPU runs what is on a GPU: rows without a CUDA kernel, and cases that a kernel leaves."""

from __future__ import annotations

__all__ = ["in_part", "reason", "without"]

_CSR = "products and sums of csr matrices are computed on the CPU"
_ROWS = "rows of row_sparse arrays are found and joined on the CPU"
_STEP = "steps of optimizers on row_sparse gradients are computed on the CPU"
_DRAWN = "classes, orders and slopes are drawn on the CPU"
_DENSITY = "densities of distributions are computed on the CPU"
_IMAGES = "images are cut to columns, compared and pooled by regions on the CPU"
_AUGMENT = "images are prepared on the CPU"
_OWN = "an operator that was compiled for the CPU runs there"
_RECURRENT = "recurrent networks are computed on the CPU"

_LINALG = "matrices that may have no factors or inverse are looked at on the CPU"
_TABLE = "sketches, histograms and Fourier transforms are computed on the CPU"

_SAMPLES = "feature maps are read between their pixels on the CPU"
_POINTS = "likelihoods of points in time are computed on the CPU"

_MATCHED = "boxes that labels and matches name are checked and encoded on the CPU"
_GRAPHS = "parts of graphs are found on the CPU"
_BLOCKS = "graphs make it on the CPU alone"

_WITHOUT = {
    "_call_address": _OWN,
    "_map_address": _OWN,
    "_csr_dot": _CSR,
    "_csr_dot_rows": _CSR,
    "_csr_row_sums": _CSR,
    "_csr_sample": _CSR,
    "_csr_to_dense": "csr matrices become dense on the CPU",
    "_row_numbers": _ROWS,
    "_rows_gather": _ROWS,
    "_rows_take": _ROWS,
    "_rows_to_dense": "row_sparse arrays become dense on the CPU",
    "_rows_write": _ROWS,
    "_sparse_retain": _ROWS,
    "_rows_adagrad_update": _STEP,
    "_rows_adam_update": _STEP,
    "_rows_ftrl_update": _STEP,
    "_rows_group_adagrad_update": _STEP,
    "_rows_sgd_mom_update": _STEP,
    "_rows_sgd_update": _STEP,
    "CTCLoss": "paths through sequences of labels are counted on the CPU",
    "IdentityAttachKLSparseReg": "running means of activations are kept on the CPU",
    "_leaky_random": _DRAWN,
    "_sample_multinomial": _DRAWN,
    "_backward_sample_multinomial": _DRAWN,
    "_sample_uniform": "intervals that tensors give are drawn from on the CPU",
    "_sample_unique_zipfian": _DRAWN,
    "_shuffled_places": _DRAWN,
    "_random_pdf_uniform": _DENSITY,
    "_backward_pdf_uniform": _DENSITY,
    "_random_pdf_normal": _DENSITY,
    "_backward_pdf_normal": _DENSITY,
    "_random_pdf_exponential": _DENSITY,
    "_backward_pdf_exponential": _DENSITY,
    "_random_pdf_gamma": _DENSITY,
    "_backward_pdf_gamma": _DENSITY,
    "_random_pdf_poisson": _DENSITY,
    "_backward_pdf_poisson": _DENSITY,
    "_random_pdf_negative_binomial": _DENSITY,
    "_backward_pdf_negative_binomial": _DENSITY,
    "_random_pdf_generalized_negative_binomial": _DENSITY,
    "_backward_pdf_generalized_negative_binomial": _DENSITY,
    "_random_pdf_dirichlet": _DENSITY,
    "_backward_pdf_dirichlet": _DENSITY,
    "im2col": _IMAGES,
    "col2im": _IMAGES,
    "_backward_im2col": _IMAGES,
    "Correlation": _IMAGES,
    "_backward_Correlation": _IMAGES,
    "ROIPooling": _IMAGES,
    "_backward_ROIPooling": _IMAGES,
    "_image_to_tensor": _AUGMENT,
    "_image_normalize": _AUGMENT,
    "_image_resize": _AUGMENT,
    "_image_random_flip_left_right": _AUGMENT,
    "_image_random_flip_top_bottom": _AUGMENT,
    "_image_random_brightness": _AUGMENT,
    "_image_random_contrast": _AUGMENT,
    "_image_random_saturation": _AUGMENT,
    "_image_random_hue": _AUGMENT,
    "_image_random_color_jitter": _AUGMENT,
    "_image_adjust_lighting": _AUGMENT,
    "_image_random_lighting": _AUGMENT,
    "_linalg_potrf": _LINALG,
    "_linalg_potri": _LINALG,
    "_linalg_syevd": _LINALG,
    "_linalg_inverse": _LINALG,
    "_contrib_fft": _TABLE,
    "_contrib_ifft": _TABLE,
    "_contrib_count_sketch": _TABLE,
    "_backward_count_sketch": _TABLE,
    "_histogram": _TABLE,
    "_ravel_multi_index": _TABLE,
    "_unravel_index": _TABLE,
    "RNN": _RECURRENT,
    "_backward_RNN": _RECURRENT,
    "GridGenerator": _SAMPLES,
    "_backward_GridGenerator": _SAMPLES,
    "BilinearSampler": _SAMPLES,
    "_backward_BilinearSampler": _SAMPLES,
    "_contrib_ROIAlign": _SAMPLES,
    "_backward_ROIAlign": _SAMPLES,
    "_contrib_RROIAlign": _SAMPLES,
    "_contrib_PSROIPooling": _SAMPLES,
    "_backward__contrib_PSROIPooling": _SAMPLES,
    "_contrib_DeformablePSROIPooling": _SAMPLES,
    "_backward__contrib_DeformablePSROIPooling": _SAMPLES,
    "_contrib_DeformableConvolution": _SAMPLES,
    "_backward__contrib_DeformableConvolution": _SAMPLES,
    "_contrib_ModulatedDeformableConvolution": _SAMPLES,
    "_backward__contrib_ModulatedDeformableConvolution": _SAMPLES,
    "_contrib_hawkesll": _POINTS,
    "_backward_contrib_hawkesll": _POINTS,
    "_batch_norm_again": "what BatchNorm gave before is computed again on the CPU alone",
    "_batch_norm_relu_again": _BLOCKS,
    "_backward_batch_norm_relu": _BLOCKS,
    "_convolution_block": _BLOCKS,
    "_fused": "chains of operators are one kernel on the CPU, GPUs have generated ones",
    "_contrib_index_copy": "slices are put in at indices on the CPU",
    "_contrib_box_encode": _MATCHED,
    "_contrib_MultiBoxTarget": _MATCHED,
    "_contrib_calibrate_entropy": "ranges are chosen by their entropy on the CPU",
    "_needs_csr": _GRAPHS,
}

_CHECKED = "indices that mode='raise' checks are looked at on the CPU"
_MIXED = "running sums of another type than the data are added up on the CPU"

_IN_PART = {
    "take": _CHECKED,
    "_backward_take": _CHECKED,
    "_linalg_gemm2": "matrices whose rows run between two batches are multiplied on the CPU",
    "cumsum": _MIXED,
    "_backward_cumsum": _MIXED,
}


def without() -> dict[str, str]:
    """The kernel rows that have no CUDA kernel at all, each with the reason."""
    return dict(_WITHOUT)


def in_part() -> dict[str, str]:
    """Kernel rows with a CUDA kernel that leaves some cases to the CPU, and which those are."""
    return dict(_IN_PART)


def reason(row: str) -> str:
    """Why the CPU runs a kernel row on a GPU's arrays."""
    known = _WITHOUT.get(row) or _IN_PART.get(row)
    return known or "no kernel for GPUs takes these arguments"
