"""Denoising by the qGGMRF prior."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._docstrings import copy_docstrings
from ._progress import InstanceLogger, Progress, observer
from .devices import ChoosesDevice

Floats = NDArray[numpy.float32]
Result = tuple[Floats, dict[str, Any]]


class DenoiserMethods(ChoosesDevice):
    """The methods of a QGGMRFDenoiser, on the host and on devices."""

    def __init__(self, image_shape: Sequence[int], *, device: str = "host"):
        """image_shape: (rows, cols, slices); (1, rows, cols) for an image of two dimensions. device: "cuda" for a
        denoiser of mbirk.devices."""
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
            denoised, record = super().denoise(
                self._floats(image, "image", "denoise", strict),
                sigma_noise,
                use_ror_mask,
                self._floats(init_image, "init_image", "denoise", strict),
                max_iterations,
                stop_threshold_change_pct,
                seed=seed,
                progress=observer(progress, self.logger),
                out=out,
                threads=threads,
            )
        finally:
            self.logger.close()
        return self._result(denoised, out), record


class QGGMRFDenoiser(DenoiserMethods, _core.QGGMRFDenoiser):
    """Removes white Gaussian noise from an image by the qGGMRF prior; parameters as of the models, sharpness 0."""


copy_docstrings(DenoiserMethods, _core.QGGMRFDenoiser)
