"""The models: scans with the parameters of their reconstruction, over the compiled classes of the same names."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import ArrayLike, NDArray

from . import _core, files
from ._arrays import floats, indices, initial
from ._parameters import ModelParameters
from ._progress import InstanceLogger, Progress, observer

Floats = NDArray[numpy.float32]
Result = tuple[Floats, dict[str, Any]]


class _Operations(ModelParameters):
    """The operations of both geometries.

    Arrays may have any type and layout: they are read in place if they are dense float32, and converted otherwise.
    With `strict=True` nothing is converted, and other arrays are an error. `output_sharded` is accepted for scripts of
    MBIRJAX and changes nothing.
    """

    def forward_project(
        self,
        recon: ArrayLike,
        output_sharded: bool = False,
        *,
        out: Floats | None = None,
        threads: int = 0,
        strict: bool = False,
    ) -> Floats:
        x = floats(recon, "recon", "forward_project", strict)
        return super().forward_project(x, out=out, threads=threads)

    def back_project(
        self,
        sinogram: ArrayLike,
        output_sharded: bool = False,
        *,
        out: Floats | None = None,
        threads: int = 0,
        strict: bool = False,
    ) -> Floats:
        y = floats(sinogram, "sinogram", "back_project", strict)
        return super().back_project(y, out=out, threads=threads)

    def sparse_forward_project(
        self,
        voxel_values: ArrayLike,
        pixel_indices: ArrayLike,
        *,
        out: Floats | None = None,
        threads: int = 0,
        strict: bool = False,
    ) -> Floats:
        x = floats(voxel_values, "voxel_values", "sparse_forward_project", strict)
        pixels = indices(pixel_indices, "pixel_indices", "sparse_forward_project", strict)
        return super().sparse_forward_project(x, pixels, out=out, threads=threads)

    def sparse_back_project(
        self,
        sinogram: ArrayLike,
        pixel_indices: ArrayLike,
        coeff_power: int = 1,
        *,
        out: Floats | None = None,
        threads: int = 0,
        strict: bool = False,
    ) -> Floats:
        y = floats(sinogram, "sinogram", "sparse_back_project", strict)
        pixels = indices(pixel_indices, "pixel_indices", "sparse_back_project", strict)
        return super().sparse_back_project(y, pixels, coeff_power=coeff_power, out=out, threads=threads)

    def compute_hessian_diagonal(
        self,
        weights: ArrayLike | None = None,
        output_sharded: bool = False,
        *,
        out: Floats | None = None,
        threads: int = 0,
        strict: bool = False,
    ) -> Floats:
        w = floats(weights, "weights", "compute_hessian_diagonal", strict)
        return super().compute_hessian_diagonal(w, out=out, threads=threads)

    def direct_filter(
        self,
        sinogram: ArrayLike,
        filter_name: str = "ramp",
        output_sharded: bool = False,
        *,
        taps: str = "closed",
        method: str = "automatic",
        out: Floats | None = None,
        threads: int = 0,
        strict: bool = False,
    ) -> Floats:
        y = floats(sinogram, "sinogram", "direct_filter", strict)
        return super().direct_filter(y, filter_name, taps=taps, method=method, out=out, threads=threads)

    def direct_recon(
        self,
        sinogram: ArrayLike,
        filter_name: str = "ramp",
        output_sharded: bool = False,
        *,
        taps: str = "closed",
        method: str = "automatic",
        out: Floats | None = None,
        threads: int = 0,
        strict: bool = False,
    ) -> Floats:
        y = floats(sinogram, "sinogram", "direct_recon", strict)
        return super().direct_recon(y, filter_name, taps=taps, method=method, out=out, threads=threads)

    def auto_set_regularization_params(
        self, sinogram: ArrayLike, weights: ArrayLike | None = None, *, threads: int = 0, strict: bool = False
    ) -> dict[str, float]:
        y = floats(sinogram, "sinogram", "auto_set_regularization_params", strict)
        w = floats(weights, "weights", "auto_set_regularization_params", strict)
        return super().auto_set_regularization_params(y, w, threads=threads)

    def recon(
        self,
        sinogram: ArrayLike,
        weights: ArrayLike | None = None,
        init_recon: ArrayLike | float | None = None,
        max_iterations: int = 15,
        stop_threshold_change_pct: float = 0.2,
        first_iteration: int = 0,
        compute_prior_loss: bool = False,
        logfile_path: str | None = None,
        print_logs: bool = False,
        output_sharded: bool = False,
        *,
        seed: int = 0,
        progress: bool | Progress | None = None,
        checkpoint: Any = None,
        checkpoint_every: int = 1,
        resume: Any = None,
        mbirjax_rounding: bool = False,
        out: Floats | None = None,
        threads: int = 0,
        strict: bool = False,
    ) -> Result:
        with self._logged(logfile_path, print_logs) as logger:
            recon, record = super().recon(
                floats(sinogram, "sinogram", "recon", strict),
                floats(weights, "weights", "recon", strict),
                initial(init_recon, "init_recon", "recon", strict),
                max_iterations,
                stop_threshold_change_pct,
                first_iteration,
                compute_prior_loss,
                seed=seed,
                progress=observer(progress, logger),
                checkpoint=checkpoint,
                checkpoint_every=checkpoint_every,
                resume=resume,
                mbirjax_rounding=mbirjax_rounding,
                out=out,
                threads=threads,
            )
        return recon, self._with_log(record)

    def prox_map(
        self,
        prox_input: ArrayLike,
        sinogram: ArrayLike,
        sigma_prox: float | None = None,
        weights: ArrayLike | None = None,
        init_recon: ArrayLike | float | None = None,
        do_initialization: bool = True,
        stop_threshold_change_pct: float = 0.2,
        max_iterations: int = 3,
        first_iteration: int = 0,
        logfile_path: str | None = None,
        print_logs: bool = False,
        output_sharded: bool = False,
        *,
        seed: int = 0,
        progress: bool | Progress | None = None,
        mbirjax_rounding: bool = False,
        out: Floats | None = None,
        threads: int = 0,
        strict: bool = False,
    ) -> Result:
        with self._logged(logfile_path, print_logs) as logger:
            recon, record = super().prox_map(
                floats(prox_input, "prox_input", "prox_map", strict),
                floats(sinogram, "sinogram", "prox_map", strict),
                sigma_prox,
                floats(weights, "weights", "prox_map", strict),
                initial(init_recon, "init_recon", "prox_map", strict),
                do_initialization,
                stop_threshold_change_pct,
                max_iterations,
                first_iteration,
                seed=seed,
                progress=observer(progress, logger),
                mbirjax_rounding=mbirjax_rounding,
                out=out,
                threads=threads,
            )
        return recon, self._with_log(record)

    def gen_weights_mar(
        self,
        sinogram: ArrayLike,
        init_recon: ArrayLike | None = None,
        metal_threshold: float | None = None,
        beta: float = 1.0,
        gamma: float = 3.0,
        *,
        out: Floats | None = None,
        threads: int = 0,
        strict: bool = False,
    ) -> Floats:
        y = floats(sinogram, "sinogram", "gen_weights_mar", strict)
        x = floats(init_recon, "init_recon", "gen_weights_mar", strict)
        return super().gen_weights_mar(y, x, metal_threshold, beta, gamma, out=out, threads=threads)

    @staticmethod
    def gen_weights(sinogram: ArrayLike, weight_type: str, *, threads: int = 0, strict: bool = False) -> Floats:
        """Weights of the samples of a sinogram: mbirk.gen_weights."""
        return _core.gen_weights(floats(sinogram, "sinogram", "gen_weights", strict), weight_type, threads=threads)

    def save_recon_hdf5(
        self, filepath: str | os.PathLike[str], recon: ArrayLike, recon_dict: dict[str, Any] | None = None
    ) -> None:
        """Writes a reconstruction, its record and the parameters of this model to an HDF5 file, like MBIRJAX (needs
        h5py)."""
        record = dict(recon_dict or {})
        record.setdefault("model_params", self.params)
        files.export_recon_hdf5(filepath, recon, record)

    @classmethod
    def load_recon_hdf5(cls, filepath: str | os.PathLike[str]) -> Result:
        """(recon, recon_dict) from a file of save_recon_hdf5."""
        return files.import_recon_hdf5(filepath)

    def as_linear_operator(self, *, threads: int = 0) -> Any:
        """mbirk.linear_operator(self): the projections as a scipy.sparse.linalg.LinearOperator."""
        from .solvers import linear_operator

        return linear_operator(self, threads=threads)


class ParallelBeamModel(_Operations, _core.ParallelBeamModel):
    """A parallel-beam scan and the parameters of its reconstruction, with MBIRJAX's names and defaults."""

    def __init__(self, sinogram_shape: Sequence[int], angles: ArrayLike):
        """sinogram_shape: (views, rows, channels). angles: one per view, radians. The reconstruction is sized to
        fit."""
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


class ConeBeamModel(_Operations, _core.ConeBeamModel):
    """A cone-beam scan, circular or helical, and the parameters of its reconstruction, with MBIRJAX's names and
    defaults."""

    def __init__(
        self,
        sinogram_shape: Sequence[int],
        angles: ArrayLike,
        source_detector_dist: float,
        source_iso_dist: float,
        helical_z_shifts: ArrayLike | None = None,
        use_curved_detector: bool = False,
    ):
        """sinogram_shape: (views, rows, channels). angles: one per view, radians. source_detector_dist,
        source_iso_dist: lengths; the former may be infinite. helical_z_shifts: one length per view. The reconstruction
        is sized to fit."""
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
        with self._logged(logfile_path, print_logs) as logger:
            recon, record = super().split_sino_recon(
                floats(sinogram, "sinogram", "split_sino_recon", strict),
                floats(weights, "weights", "split_sino_recon", strict),
                half_overlap,
                initial(init_recon, "init_recon", "split_sino_recon", strict),
                max_iterations,
                stop_threshold_change_pct,
                first_iteration,
                compute_prior_loss,
                align_split_grid=align_split_grid,
                seed=seed,
                progress=observer(progress, logger),
                out=out,
                threads=threads,
            )
        return recon, self._with_log(record)


class QGGMRFDenoiser(_core.QGGMRFDenoiser):
    """Removes white Gaussian noise from an image by the qGGMRF prior; parameters as of the models, sharpness 0."""

    def __init__(self, image_shape: Sequence[int]):
        """image_shape: (rows, cols, slices); (1, rows, cols) for an image of two dimensions."""
        super().__init__(image_shape)
        self.logger = InstanceLogger(type(self).__name__)

    def denoise(
        self,
        image: ArrayLike,
        sigma_noise: float | None = None,
        use_ror_mask: Any = None,
        init_image: ArrayLike | None = None,
        max_iterations: int = 15,
        stop_threshold_change_pct: float = 0.2,
        first_iteration: int = 0,
        logfile_path: str | None = None,
        print_logs: bool = False,
        output_sharded: bool = False,
        *,
        seed: int = 0,
        progress: bool | Progress | None = None,
        out: Floats | None = None,
        threads: int = 0,
        strict: bool = False,
    ) -> Result:
        if first_iteration != 0:
            raise ValueError(
                f"denoise: first_iteration is {first_iteration}, expected 0; pass the image so far as init_image"
            )
        self.logger.restart(logfile_path, print_logs)
        try:
            return super().denoise(
                floats(image, "image", "denoise", strict),
                sigma_noise,
                use_ror_mask,
                floats(init_image, "init_image", "denoise", strict),
                max_iterations,
                stop_threshold_change_pct,
                seed=seed,
                progress=observer(progress, self.logger),
                out=out,
                threads=threads,
            )
        finally:
            self.logger.close()


def _copy_docstrings() -> None:
    """Methods that only convert their arguments take the docstrings of the compiled ones."""
    for own, compiled in (
        (_Operations, _core.ConeBeamModel),
        (ConeBeamModel, _core.ConeBeamModel),
        (QGGMRFDenoiser, _core.QGGMRFDenoiser),
    ):
        for name, method in vars(own).items():
            if callable(method) and not method.__doc__ and hasattr(compiled, name):
                signature, _, text = getattr(compiled, name).__doc__.partition("\n\n")
                method.__doc__ = text


_copy_docstrings()
