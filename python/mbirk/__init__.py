"""mbirk: model-based iterative reconstruction for tomography, in parallel, cone, translation and general views.

Names, parameters and units are those of MBIRJAX; docs/python.md lists the differences. Arrays may have any type and
layout, from anything that NumPy or DLPack reads (PyTorch, JAX): float32 in C order (int32 for indices) is read in
place, everything else is converted, or refused with `strict=True`. Results are NumPy arrays, or the array passed as
`out`. Long operations take `threads` (0: all) and release the GIL; results do not depend on the number of threads. An
invalid argument raises a ValueError (a TypeError for a wrong type) that states what was expected.
"""

from . import preprocess
from ._core import (
    IterationReport,
    ReconState,
    __version__,
    cost,
    gen_cube_phantom,
    gen_full_indices,
    gen_partition_sequence,
    gen_pixel_partition,
    gen_pixel_partition_blue_noise,
    gen_pixel_partition_grid,
    gen_translation_vectors,
    generate_3d_shepp_logan_reference,
    get_2d_ror_mask,
    instruction_set,
    instruction_sets,
    load_checkpoint,
    nested_ellipsoids,
    save_checkpoint,
    scale_recon_shape,
)
from .convenience import build_model, copy_ct_model, gen_weights_mar, generate_demo_data, get_ct_model
from .denoiser import QGGMRFDenoiser
from .devices import Device, DeviceArray
from .files import export_recon_hdf5, import_recon_hdf5, load_data_hdf5, makedirs, merge_log_files, save_data_hdf5
from .mace4d import MACE4DModel
from .memory import get_memory_stats
from .models import (
    ConeBeamModel,
    GeneralViewsModel,
    MultiAxisParallelBeamModel,
    MultiAxisParallelModel,
    ParallelBeamModel,
    TranslationModel,
)
from .operations import (
    apply_cylindrical_mask,
    counts_to_line_integrals,
    frame_mean,
    gen_set_of_pixel_partitions,
    gen_weights,
    generate_3d_shepp_logan_low_dynamic_range,
    get_b_from_nbr_wts,
    median_filter3d,
    multi_threshold_otsu,
    qggmrf_gradient_and_hessian_at_indices,
    qggmrf_loss,
    stitch_arrays,
)
from .prior import b_tilde_by_definition, compute_qggmrf_grad_and_hessian, compute_surrogate_and_grad
from .solvers import cgls, fista_tv, linear_operator, sirt
from .tomography import TomographyModel
from .translation import calc_tct_recon_params, display_translation_vectors, gen_dot_phantom
from .view_selection import (
    compute_cov_matrix,
    compute_opt_angle_subset,
    compute_vcl,
    compute_view_basis_functions,
    get_2d_subsampling_indices,
    get_opt_views,
    reorder_by_priority,
    subsample_R_gamma,
)
from .viewer import slice_viewer

__all__ = [
    "ConeBeamModel",
    "Device",
    "DeviceArray",
    "GeneralViewsModel",
    "IterationReport",
    "MACE4DModel",
    "MultiAxisParallelBeamModel",
    "MultiAxisParallelModel",
    "ParallelBeamModel",
    "QGGMRFDenoiser",
    "ReconState",
    "TomographyModel",
    "TranslationModel",
    "__version__",
    "apply_cylindrical_mask",
    "b_tilde_by_definition",
    "build_model",
    "calc_tct_recon_params",
    "cgls",
    "compute_cov_matrix",
    "compute_opt_angle_subset",
    "compute_qggmrf_grad_and_hessian",
    "compute_surrogate_and_grad",
    "compute_vcl",
    "compute_view_basis_functions",
    "copy_ct_model",
    "cost",
    "counts_to_line_integrals",
    "display_translation_vectors",
    "export_recon_hdf5",
    "fista_tv",
    "frame_mean",
    "gen_cube_phantom",
    "gen_dot_phantom",
    "gen_full_indices",
    "gen_partition_sequence",
    "gen_pixel_partition",
    "gen_pixel_partition_blue_noise",
    "gen_pixel_partition_grid",
    "gen_set_of_pixel_partitions",
    "gen_translation_vectors",
    "gen_weights",
    "gen_weights_mar",
    "generate_3d_shepp_logan_low_dynamic_range",
    "generate_3d_shepp_logan_reference",
    "generate_demo_data",
    "get_2d_ror_mask",
    "get_2d_subsampling_indices",
    "get_b_from_nbr_wts",
    "get_ct_model",
    "get_memory_stats",
    "get_opt_views",
    "import_recon_hdf5",
    "instruction_set",
    "instruction_sets",
    "linear_operator",
    "load_checkpoint",
    "load_data_hdf5",
    "makedirs",
    "median_filter3d",
    "merge_log_files",
    "multi_threshold_otsu",
    "nested_ellipsoids",
    "preprocess",
    "qggmrf_gradient_and_hessian_at_indices",
    "qggmrf_loss",
    "reorder_by_priority",
    "save_checkpoint",
    "save_data_hdf5",
    "scale_recon_shape",
    "sirt",
    "slice_viewer",
    "stitch_arrays",
    "subsample_R_gamma",
]
