"""From detector counts to line integrals and a model, with MBIRJAX's names; arrays of any type.

`nsi`, `zeiss` and `pymbir` read scans of North Star Imaging and Zeiss and sinograms of ORNL's pyMBIR. The program
`mbirk prepare` reads more formats, and scans larger than the memory.
"""

from . import nsi, pymbir, utilities, zeiss
from .alignment import align_sino_views, estimate_sino_view_offset, sino_high_pass_filtering
from .beam_hardening import (
    apply_beam_hardening_curve,
    apply_inverse_beam_hardening_curve,
    fit_beam_hardening_curve,
    fit_inverse_beam_hardening_curve,
)
from .corrections import correct_det_rotation, correct_zinger_pixels, interpolate_defective_pixels
from .images import read_tif_img, read_tif_stack_dir
from .stripes import find_rotation_axis, remove_all_stripe, remove_sino_offset, remove_stripe_fw
from .utilities import (
    apply_config_crop,
    apply_cylindrical_mask,
    apply_detector_crop,
    compute_sino_transmission,
    correct_background_offset,
    crop_view_data,
    detect_blank_margins,
    downsample_view_data,
    finalize_model,
    load_cone_preprocessing,
    multi_threshold_otsu,
    save_cone_preprocessing,
    scan_to_sino,
    to_alu,
)

__all__ = [
    "align_sino_views",
    "apply_beam_hardening_curve",
    "apply_config_crop",
    "apply_cylindrical_mask",
    "apply_detector_crop",
    "apply_inverse_beam_hardening_curve",
    "compute_sino_transmission",
    "correct_background_offset",
    "correct_det_rotation",
    "correct_zinger_pixels",
    "crop_view_data",
    "detect_blank_margins",
    "downsample_view_data",
    "estimate_sino_view_offset",
    "finalize_model",
    "find_rotation_axis",
    "fit_beam_hardening_curve",
    "fit_inverse_beam_hardening_curve",
    "interpolate_defective_pixels",
    "load_cone_preprocessing",
    "multi_threshold_otsu",
    "nsi",
    "pymbir",
    "read_tif_img",
    "read_tif_stack_dir",
    "remove_all_stripe",
    "remove_sino_offset",
    "remove_stripe_fw",
    "save_cone_preprocessing",
    "scan_to_sino",
    "sino_high_pass_filtering",
    "to_alu",
    "utilities",
    "zeiss",
]
