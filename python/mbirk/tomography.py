"""The operations of all models, on arrays of the host or of a device."""

from __future__ import annotations

import os
from typing import Any

import numpy
from numpy.typing import ArrayLike, NDArray

from . import _core, files
from ._arrays import floats, indices
from ._docstrings import copy_docstrings
from ._parameters import ModelParameters, _restore
from ._progress import Progress, observer
from .devices import ChoosesDevice, class_on

Floats = NDArray[numpy.float32]
Result = tuple[Floats, dict[str, Any]]


class TomographyModel(ModelParameters, ChoosesDevice):
    """The operations of all geometries; make a ParallelBeamModel, a ConeBeamModel, a MultiAxisParallelModel or a
    TranslationModel, or a GeneralViewsModel, which has no direct reconstruction.

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
        x = self._floats(recon, "recon", "forward_project", strict)
        return self._result(super().forward_project(x, out=out, threads=threads), out)

    def back_project(
        self,
        sinogram: ArrayLike,
        output_sharded: bool = False,
        *,
        out: Floats | None = None,
        threads: int = 0,
        strict: bool = False,
    ) -> Floats:
        y = self._floats(sinogram, "sinogram", "back_project", strict)
        return self._result(super().back_project(y, out=out, threads=threads), out)

    def sparse_forward_project(
        self,
        voxel_values: ArrayLike,
        pixel_indices: ArrayLike,
        *,
        out: Floats | None = None,
        threads: int = 0,
        strict: bool = False,
    ) -> Floats:
        x = self._floats(voxel_values, "voxel_values", "sparse_forward_project", strict)
        pixels = indices(pixel_indices, "pixel_indices", "sparse_forward_project", strict)
        return self._result(super().sparse_forward_project(x, pixels, out=out, threads=threads), out)

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
        y = self._floats(sinogram, "sinogram", "sparse_back_project", strict)
        pixels = indices(pixel_indices, "pixel_indices", "sparse_back_project", strict)
        back = super().sparse_back_project(y, pixels, coeff_power=coeff_power, out=out, threads=threads)
        return self._result(back, out)

    def compute_hessian_diagonal(
        self,
        weights: ArrayLike | None = None,
        output_sharded: bool = False,
        *,
        out: Floats | None = None,
        threads: int = 0,
        strict: bool = False,
    ) -> Floats:
        w = self._floats(weights, "weights", "compute_hessian_diagonal", strict)
        return self._result(super().compute_hessian_diagonal(w, out=out, threads=threads), out)

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
        y = self._floats(sinogram, "sinogram", "direct_filter", strict)
        filtered = super().direct_filter(y, filter_name, taps=taps, method=method, out=out, threads=threads)
        return self._result(filtered, out)

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
        y = self._floats(sinogram, "sinogram", "direct_recon", strict)
        recon = super().direct_recon(y, filter_name, taps=taps, method=method, out=out, threads=threads)
        return self._result(recon, out)

    def auto_set_regularization_params(
        self, sinogram: ArrayLike, weights: ArrayLike | None = None, *, threads: int = 0, strict: bool = False
    ) -> dict[str, float]:
        y = self._floats(sinogram, "sinogram", "auto_set_regularization_params", strict)
        w = self._floats(weights, "weights", "auto_set_regularization_params", strict)
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
        return self._reconstruct(
            "recon",
            {"sinogram": sinogram, "weights": weights, "init_recon": init_recon},
            (logfile_path, print_logs, progress),
            strict,
            max_iterations=max_iterations,
            stop_threshold_change_pct=stop_threshold_change_pct,
            first_iteration=first_iteration,
            compute_prior_loss=compute_prior_loss,
            seed=seed,
            checkpoint=checkpoint,
            checkpoint_every=checkpoint_every,
            resume=resume,
            mbirjax_rounding=mbirjax_rounding,
            out=out,
            threads=threads,
        )

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
        return self._reconstruct(
            "prox_map",
            {"prox_input": prox_input, "sinogram": sinogram, "weights": weights, "init_recon": init_recon},
            (logfile_path, print_logs, progress),
            strict,
            sigma_prox=sigma_prox,
            do_initialization=do_initialization,
            stop_threshold_change_pct=stop_threshold_change_pct,
            max_iterations=max_iterations,
            first_iteration=first_iteration,
            seed=seed,
            mbirjax_rounding=mbirjax_rounding,
            out=out,
            threads=threads,
        )

    def _reconstruct(
        self,
        operation: str,
        arrays: dict[str, Any],
        reports: tuple[str | None, bool, bool | Progress | None],
        strict: bool,
        **options: Any,
    ) -> Result:
        """Calls the compiled method of this name: arrays are converted, and `reports` is (logfile_path, print_logs,
        progress)."""
        logfile_path, print_logs, progress = reports
        for name, array in arrays.items():
            convert = self._initial if name == "init_recon" else self._floats
            arrays[name] = convert(array, name, operation, strict)
        with self._logged(logfile_path, print_logs) as logger:
            method = getattr(super(), operation)
            recon, record = method(**arrays, progress=observer(progress, logger), **options)
        return self._result(recon, options["out"]), self._with_log(record)

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
        y = self._floats(sinogram, "sinogram", "gen_weights_mar", strict)
        x = self._floats(init_recon, "init_recon", "gen_weights_mar", strict)
        return self._result(super().gen_weights_mar(y, x, metal_threshold, beta, gamma, out=out, threads=threads), out)

    @staticmethod
    def gen_weights(sinogram: ArrayLike, weight_type: str, *, threads: int = 0, strict: bool = False) -> Floats:
        """Weights of the samples of a sinogram: mbirk.gen_weights."""
        return _core.gen_weights(floats(sinogram, "sinogram", "gen_weights", strict), weight_type, threads=threads)

    def to(self, device: str) -> Any:
        """A model with the same parameters on a device, "cuda", or on the "host": see mbirk.devices."""
        host = getattr(self, "_host_class", type(self))
        return _restore(host if device == "host" else class_on(device, host), self.params)

    def configure_devices(self, *devices: Any, **options: Any) -> None:
        """Accepted for scripts of MBIRJAX and ignored; `threads` of each call is what divides the work here."""

    set_devices = configure_devices

    def get_recon_dict(
        self,
        recon_params: Any = None,
        notes: str | None = None,
        save_log: bool = True,
        save_model: bool = True,
        str_format: bool = False,
    ) -> dict[str, Any]:
        """A record as recon returns it, of a reconstruction by other means, such as direct_recon: recon_params, notes,
        logs and model_params. str_format: every entry as text."""
        record: dict[str, Any] = {"recon_params": recon_params or {}, "notes": notes or ""}
        record["logs"] = self.log_buffer.getvalue() if save_log else ""
        if save_model:
            record["model_params"] = self.params
        return {name: str(entry) for name, entry in record.items()} if str_format else record

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


copy_docstrings(TomographyModel, _core.ConeBeamModel)
