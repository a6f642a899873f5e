"""The models: scans with the parameters of their reconstruction, over the compiled classes of the same names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from . import _core
from ._docstrings import copy_docstrings
from ._progress import InstanceLogger, Progress
from .tomography import Floats, Result, TomographyModel


class ParallelBeamMethods(TomographyModel):
    """The methods of a ParallelBeamModel, on the host and on devices."""

    def __init__(self, sinogram_shape: Sequence[int], angles: ArrayLike, *, device: str = "host"):
        """sinogram_shape: (views, rows, channels). angles: one per view, radians. The reconstruction is sized to
        fit. device: "cuda" for a model of mbirk.devices."""
        super().__init__(sinogram_shape, angles)
        self.logger = InstanceLogger(type(self).__name__)
        self.verify_valid_params()

    def fbp_filter(
        self, sinogram: ArrayLike, filter_name: str = "ramp", output_sharded: bool = False, **options: Any
    ) -> Floats:
        """direct_filter under its usual name."""
        return self.direct_filter(sinogram, filter_name, **options)

    def fbp_recon(
        self, sinogram: ArrayLike, filter_name: str = "ramp", output_sharded: bool = False, **options: Any
    ) -> Floats:
        """direct_recon under its usual name: filtered back projection."""
        return self.direct_recon(sinogram, filter_name, **options)


class ParallelBeamModel(ParallelBeamMethods, _core.ParallelBeamModel):
    """A parallel-beam scan and the parameters of its reconstruction, with MBIRJAX's names and defaults."""


class MultiAxisParallelModel(TomographyModel, _core.MultiAxisParallelModel):
    """A parallel-beam scan with an azimuth and an elevation per view (laminography is a special case), and the
    parameters of its reconstruction, with MBIRJAX's names and defaults."""

    def __init__(self, sinogram_shape: Sequence[int], angles: ArrayLike):
        """sinogram_shape: (views, rows, channels). angles: (views, 2), azimuth and elevation, radians. The
        reconstruction is sized to fit."""
        super().__init__(sinogram_shape, angles)
        self.logger = InstanceLogger(type(self).__name__)
        self.verify_valid_params()

    fbp_filter = ParallelBeamModel.fbp_filter
    fbp_recon = ParallelBeamModel.fbp_recon


class ConeBeamMethods(TomographyModel):
    """The methods of a ConeBeamModel, on the host and on devices."""

    def __init__(
        self,
        sinogram_shape: Sequence[int],
        angles: ArrayLike,
        source_detector_dist: float,
        source_iso_dist: float,
        helical_z_shifts: ArrayLike | None = None,
        use_curved_detector: bool = False,
        *,
        device: str = "host",
    ):
        """sinogram_shape: (views, rows, channels). angles: one per view, radians. source_detector_dist,
        source_iso_dist: lengths; the former may be infinite. helical_z_shifts: one length per view. The reconstruction
        is sized to fit. device: "cuda" for a model of mbirk.devices."""
        super().__init__(sinogram_shape, angles, source_detector_dist, source_iso_dist, helical_z_shifts)
        self.logger = InstanceLogger(type(self).__name__)
        if use_curved_detector:
            self.set_params(use_curved_detector=True)
        self.verify_valid_params()

    def fdk_filter(
        self, sinogram: ArrayLike, filter_name: str = "ramp", output_sharded: bool = False, **options: Any
    ) -> Floats:
        """direct_filter under its usual name."""
        return self.direct_filter(sinogram, filter_name, **options)

    def fdk_recon(
        self, sinogram: ArrayLike, filter_name: str = "ramp", output_sharded: bool = False, **options: Any
    ) -> Floats:
        """direct_recon under its usual name: Feldkamp, Davis and Kress."""
        return self.direct_recon(sinogram, filter_name, **options)

    def split_sino_recon(
        self,
        sinogram: ArrayLike,
        weights: ArrayLike | None = None,
        half_overlap: int = 5,
        init_recon: ArrayLike | float | None = None,
        max_iterations: int = 15,
        stop_threshold_change_pct: float = 0.2,
        first_iteration: int = 0,
        compute_prior_loss: bool = False,
        logfile_path: str | None = None,
        print_logs: bool = False,
        align_split_grid: bool = False,
        *,
        seed: int = 0,
        progress: bool | Progress | None = None,
        out: Floats | None = None,
        threads: int = 0,
        strict: bool = False,
    ) -> Result:
        return self._reconstruct(
            "split_sino_recon",
            {"sinogram": sinogram, "weights": weights, "init_recon": init_recon},
            (logfile_path, print_logs, progress),
            strict,
            half_overlap=half_overlap,
            max_iterations=max_iterations,
            stop_threshold_change_pct=stop_threshold_change_pct,
            first_iteration=first_iteration,
            compute_prior_loss=compute_prior_loss,
            align_split_grid=align_split_grid,
            seed=seed,
            out=out,
            threads=threads,
        )


class ConeBeamModel(ConeBeamMethods, _core.ConeBeamModel):
    """A cone-beam scan, circular or helical, and the parameters of its reconstruction, with MBIRJAX's names and
    defaults."""


class TranslationModel(TomographyModel, _core.TranslationModel):
    """A cone-beam scan without rotation, whose views shift the object, and the parameters of its reconstruction, with
    MBIRJAX's names and defaults."""

    def __init__(
        self,
        sinogram_shape: Sequence[int],
        translation_vectors: ArrayLike,
        source_detector_dist: float,
        source_iso_dist: float,
    ):
        """sinogram_shape: (views, rows, channels). translation_vectors: (views, 3), the (x, y, z) by which each view
        shifts the object: x towards lower channels, y away from the source, z towards lower rows. source_detector_dist,
        source_iso_dist: lengths. The reconstruction is sized to the range of the translations; if that has no extent,
        set recon_shape."""
        super().__init__(sinogram_shape, translation_vectors, source_detector_dist, source_iso_dist)
        self.logger = InstanceLogger(type(self).__name__)
        if 0 not in self.recon_shape:
            self.verify_valid_params()

    def fdk_filter(
        self, sinogram: ArrayLike, filter_name: str = "ramp", output_sharded: bool = False, **options: Any
    ) -> Floats:
        """direct_filter under its usual name."""
        return self.direct_filter(sinogram, filter_name, **options)

    def fdk_recon(
        self, sinogram: ArrayLike, filter_name: str = "ramp", output_sharded: bool = False, **options: Any
    ) -> Floats:
        """direct_recon under its usual name: Feldkamp, Davis and Kress."""
        return self.direct_recon(sinogram, filter_name, **options)


class GeneralViewsModel(TomographyModel, _core.GeneralViewsModel):
    """A scan whose views have a source or ray direction, a detector centre and detector axes each, as in ASTRA's
    cone_vec and parallel3d_vec, and the parameters of its reconstruction. Not in MBIRJAX."""

    def __init__(
        self,
        sinogram_shape: Sequence[int],
        view_vectors: ArrayLike,
        recon_shape: Sequence[int],
        delta_voxel: float,
        *,
        parallel_rays: bool = False,
    ):
        """sinogram_shape: (views, rows, channels). view_vectors: (views, 12), the source or, with parallel_rays, the
        direction of the rays, then the centre of the detector, the step from channel to channel and the step from row
        to row, (x, y, z) each. recon_shape: (rows, cols, slices). delta_voxel: length."""
        super().__init__(sinogram_shape, view_vectors, recon_shape, delta_voxel, parallel_rays=parallel_rays)
        self.logger = InstanceLogger(type(self).__name__)
        self.verify_valid_params()

    def direct_filter(self, *arguments: Any, **options: Any) -> Floats:
        """Raises a TypeError: general views have no direct reconstruction."""
        raise TypeError("GeneralViewsModel has no direct reconstruction, expected recon or prox_map")

    direct_recon = direct_filter


copy_docstrings(ConeBeamMethods, _core.ConeBeamModel)
copy_docstrings(TranslationModel, _core.TranslationModel)
copy_docstrings(MultiAxisParallelModel, _core.MultiAxisParallelModel)

MultiAxisParallelBeamModel = MultiAxisParallelModel  # MBIRJAX has both names
