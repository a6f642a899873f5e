"""Aids for translation scans, with MBIRJAX's names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy
from numpy.typing import ArrayLike, NDArray

from .models import TranslationModel


def calc_tct_recon_params(
    source_det_dist: float,
    source_iso_dist: float,
    delta_det_row: float,
    delta_det_channel: float,
    sinogram_shape: Sequence[int],
    translation_vectors: ArrayLike,
    voxel_row_aspect: float = 1.0,
    voxel_slice_aspect: float = 1.0,
) -> tuple[tuple[int, int, int], float, float]:
    """What TranslationModel.auto_set_recon_geometry chooses: (recon_shape, delta_voxel, voxel_row_aspect).

    voxel_row_aspect 1 is replaced by what the depth resolution of the scan allows; other values stay."""
    model = TranslationModel(sinogram_shape, translation_vectors, source_det_dist, source_iso_dist)
    model.set_params(
        no_warning=True,
        delta_det_row=delta_det_row,
        delta_det_channel=delta_det_channel,
        voxel_row_aspect=voxel_row_aspect,
        voxel_slice_aspect=voxel_slice_aspect,
    )
    model.auto_set_recon_geometry()
    return tuple(model.recon_shape), model.get_params("delta_voxel"), model.get_params("voxel_row_aspect")


def gen_dot_phantom(recon_shape: Sequence[int], fill_rate: float) -> NDArray[numpy.float32]:
    """Ones at a random fraction fill_rate of the voxels of each row, without the sixths of the rows at both ends;
    (rows, cols, slices), always the same dots."""
    rows, cols, slices = recon_shape
    if not 0 <= fill_rate <= 1:
        raise ValueError(f"gen_dot_phantom: fill_rate is {fill_rate}, expected 0 to 1")
    draw = numpy.random.RandomState(42)
    phantom = numpy.zeros((rows, cols * slices), numpy.float32)
    for row in range(rows // 6, rows - rows // 6):
        phantom[row, draw.choice(cols * slices, int(cols * slices * fill_rate), replace=False)] = 1
    return phantom.reshape(rows, cols, slices)


def display_translation_vectors(translation_vectors: ArrayLike, recon_shape: Sequence[int]) -> None:
    """Shows where the views are in the plane of the translations, and the outline of the reconstruction (cols, slices)
    for voxels of unit size. Needs matplotlib."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("display_translation_vectors needs the package matplotlib: pip install matplotlib") from error
    vectors = numpy.asarray(translation_vectors, float)
    if vectors.ndim != 2 or vectors.shape[1] != 3:
        raise ValueError(f"display_translation_vectors: translation_vectors has shape {vectors.shape}, expected (n, 3)")
    _, axes = pyplot.subplots()
    axes.plot(vectors[:, 0], vectors[:, 2], "o", label="views")
    x, z = recon_shape[1] / 2, recon_shape[2] / 2
    axes.plot([-x, x, x, -x, -x], [-z, -z, z, z, -z], "--", label="reconstruction")
    axes.set_aspect("equal")
    axes.set_xlabel("x translation")
    axes.set_ylabel("z translation")
    axes.legend()
    pyplot.show()
