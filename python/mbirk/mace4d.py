"""Reconstructions over time from one continuous scan: multi-slice fusion of a prior in space and time."""

from __future__ import annotations

import csv
import os
import pathlib
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import ArrayLike, NDArray

from .convenience import copy_ct_model
from .denoiser import QGGMRFDenoiser

__all__ = ["MACE4DModel"]

Floats = NDArray[numpy.float32]

INITIAL_ITERATIONS = 15
# The axis of (frames, rows, cols, slices) along which a denoiser's hyperplanes lie beside each other.
HYPERPLANE_AXES = (3, 1, 2)
TIMING = ("iteration", "prox_total_sec", "denoise_total_sec", "iteration_total_sec", "consensus_change_pct")
TASKS = ("iteration", "kind", "index", "start_sec", "end_sec")
# A denoiser of hyperplanes that are mostly background would otherwise get a scale of 0.
SMALLEST_SIGMA_X = 1e-6
PIXELS_PER_SUBSET = 64


def agent_weights(prior_weight: float | Sequence[float]) -> list[float]:
    """Weights of the data term and of the three priors, with the sum 1. @throws ValueError"""
    given = [float(w) for w in numpy.ravel(prior_weight)]
    priors = given if len(given) == 3 else given * 3
    if len(given) == 1:
        priors = [w / 3 for w in priors]
    if len(priors) != 3 or min(priors) < 0 or sum(priors) > 1:
        raise ValueError(
            f"mace_prior_weight is {prior_weight}, expected a number or three, at least 0 and at most 1 together"
        )
    return [1 - sum(priors), *priors]


def remove_period(volumes: Floats, period: float) -> Floats:
    """Removes what repeats every `period` frames along the first axis, with its harmonics: their modes of the cosine
    transform (DCT-I), and one on each side, become 0. Needs SciPy."""
    from scipy.fft import dct, idct

    frames = volumes.shape[0]
    if frames < 2:
        return volumes
    modes = dct(volumes, type=1, axis=0)
    for harmonic in range(1, int(period / 2) + 1):
        mode = round(2 * (frames - 1) * harmonic / period)
        modes[max(mode - 1, 0) : mode + 2] = 0
    return idct(modes, type=1, axis=0).astype(numpy.float32, copy=False)


class MACE4DModel:
    """A series of volumes from one continuous scan, whose views come one after the other in time.

    The scan is cut into frames of overlapping angular ranges. The proximal maps of the frames' data, and three qGGMRF
    denoisers of the hyperplanes (rows, cols, time), (cols, slices, time) and (rows, slices, time), are agents of a
    consensus equilibrium (Buzzard, Chan, Sreehari, Bouman 2018; Majee et al. 2021), found by Mann iterations. Takes a
    proximal map of each frame and three denoisings per iteration, and eight volumes of all frames in memory."""

    def __init__(
        self,
        ct_model: Any,
        frames_per_rotation: float = 6,
        frame_overlap_factor: float = 2.0,
        num_frames: int | None = None,
    ):
        """ct_model: the model of the whole scan, with uniform angles. A frame covers frame_overlap_factor * 360 /
        frames_per_rotation degrees, and the next one begins 360 / frames_per_rotation degrees later. num_frames: at
        most so many."""
        if num_frames is not None and num_frames < 1:
            raise ValueError(f"num_frames is {num_frames}, expected at least 1")
        if frames_per_rotation <= 0 or frame_overlap_factor <= 0:
            raise ValueError(
                f"frames_per_rotation is {frames_per_rotation} and frame_overlap_factor {frame_overlap_factor}, "
                "expected more than 0"
            )
        self.ct_model, self.frames_per_rotation, self.frame_overlap_factor = (
            ct_model,
            frames_per_rotation,
            frame_overlap_factor,
        )
        self.sinogram_shape, self.recon_shape = tuple(ct_model.sinogram_shape), tuple(ct_model.recon_shape)
        self.view_slices = self._frames(numpy.asarray(ct_model.get_params("angles")))[:num_frames]
        self.num_frames = len(self.view_slices)
        self.model_list = [self._frame_model(views) for views in self.view_slices]
        self.params: dict[str, Any] = {
            "mace_prior_weight": 0.5,
            "rho_mann": 0.5,
            "prox_num_iterations": 3,
            "prox_stop_threshold": 0.02,
            "sigma_prox": None,
            "dejitter": True,
            "verbose": 1,
        }

    def _frames(self, angles: NDArray[Any]) -> list[slice]:
        steps = numpy.diff(angles)
        if not steps.size or steps[0] == 0 or not numpy.allclose(steps, steps[0], rtol=1e-3, atol=1e-6):
            raise ValueError("MACE4DModel: the angles of ct_model are not uniform, expected views in equal steps")
        step = (
            2 * numpy.pi / abs(float(steps[0])) / self.frames_per_rotation
        )  # views from the start of a frame to the next
        length = round(step * self.frame_overlap_factor)
        first = (
            [round(k * step) for k in range(int((len(angles) - length) / step + 1e-6) + 1)]
            if length <= len(angles)
            else []
        )
        if not first or length < 1:
            raise ValueError(
                f"MACE4DModel: a frame takes {length} views, expected 1 to {len(angles)}, the views of the scan"
            )
        return [slice(v, v + length) for v in first if v + length <= len(angles)]

    def _frame_model(self, views: slice) -> Any:
        shifts = self.ct_model.params.get("helical_z_shifts", ())
        moved = {"new_helical_z_shifts": numpy.asarray(shifts)[views]} if len(shifts) else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return copy_ct_model(self.ct_model, numpy.asarray(self.ct_model.get_params("angles"))[views], **moved)

    def set_params(self, no_warning: bool = False, no_compile: bool = False, **values: Any) -> None:
        """Sets mace_prior_weight (of the three priors together, or of each), rho_mann (step of the Mann iterations),
        prox_num_iterations, prox_stop_threshold (percent), sigma_prox (None: automatic), dejitter (remove what repeats
        every rotation), verbose."""
        for name in values:
            if name not in self.params:
                raise ValueError(f"set_params: {name} is not a parameter, expected one of {', '.join(self.params)}")
        if "mace_prior_weight" in values:
            agent_weights(values["mace_prior_weight"])
        self.params |= values

    def get_params(self, parameter_names: str | Sequence[str]) -> Any:
        """The value of one parameter, or a list of values for a list of names."""
        if isinstance(parameter_names, str):
            return self.params[parameter_names]
        return [self.params[name] for name in parameter_names]

    def set_device_pool(self, devices: Any) -> None:
        """Accepted for scripts of MBIRJAX and ignored: recon(threads=...) is what divides the work here."""

    def recon(
        self,
        sinogram: ArrayLike,
        weights: ArrayLike | None = None,
        init_recon: ArrayLike | None = None,
        max_iterations: int = 10,
        stop_threshold_change_pct: float = 0.2,
        init_dir: str | os.PathLike[str] | None = None,
        log_dir: str | os.PathLike[str] | None = None,
        *,
        threads: int = 0,
        seed: int = 0,
    ) -> tuple[Floats, dict[str, Any]]:
        """The volumes of all frames, (frames, rows, cols, slices), from the sinogram of the whole scan (views, rows,
        channels).

        init_recon: the volumes to begin with; without them each frame is reconstructed by itself, and kept in init_dir
        if that is given. The iterations end when the consensus changes by less than stop_threshold_change_pct. log_dir
        gets run_info.txt, timing_log.csv and task_log.csv. Returns (recon, recon_dict) with recon_params, timing,
        model_params and notes."""
        y = self._checked(sinogram, "sinogram")
        w = None if weights is None else self._checked(weights, "weights")
        start, source = self._initial(y, w, init_recon, init_dir, threads, seed)
        beta = agent_weights(self.params["mace_prior_weight"])
        denoisers, sigma = self._denoisers(start)
        settings = {
            "time frames": self.num_frames,
            "frame shape": self.recon_shape,
            "views per frame": self.view_slices[0].stop - self.view_slices[0].start,
            "init source": source,
            "weights": "unit (weights=None)" if w is None else "supplied by caller",
            "beta [fwd, xyt, yzt, xzt]": [round(b, 4) for b in beta],
            "denoiser sigma (global)": sigma,
            "max_iterations": max_iterations,
            "stop_threshold_change_pct": stop_threshold_change_pct,
            **{name: value for name, value in self.params.items() if name not in ("mace_prior_weight", "verbose")},
        }
        proposals = [start.copy() for _ in range(4)]  # what the agents are asked about
        answers = [start.copy() for _ in range(4)]
        consensus, timing, tasks = start, [], []
        for iteration in range(1, max_iterations + 1):
            began = time.monotonic()
            rows: list[tuple[Any, ...]] = []

            def timed(kind: str, index: int, begin: float) -> None:
                rows.append((iteration, kind, index, round(begin - began, 3), round(time.monotonic() - began, 3)))

            for t in range(self.num_frames):
                begin = time.monotonic()
                answers[0][t] = self._prox(t, proposals[0][t], answers[0][t], y, w, threads, seed)
                timed("prox", t, begin)
            answers[0] = self._without_jitter(answers[0])
            for k, axis in enumerate(HYPERPLANE_AXES):
                begin = time.monotonic()
                answers[k + 1] = self._denoise(
                    denoisers[k], self._without_jitter(proposals[k + 1]), axis, sigma, threads, seed
                )
                timed("denoise", k, begin)
            reflected = sum(b * (2 * x - p) for b, x, p in zip(map(numpy.float32, beta), answers, proposals))
            for x, p in zip(answers, proposals):
                p += numpy.float32(2 * self.params["rho_mann"]) * (reflected - x)
            previous, consensus = consensus, sum(b * x for b, x in zip(map(numpy.float32, beta), answers))
            norm = numpy.linalg.norm(previous)
            change = 100 * float(numpy.linalg.norm(consensus - previous) / norm) if norm > 0 else numpy.inf
            totals = [sum(r[4] - r[3] for r in rows if r[1] == kind) for kind in ("prox", "denoise")]
            timing.append(dict(zip(TIMING, (iteration, *totals, time.monotonic() - began, change))))
            tasks += rows
            if self.params["verbose"]:
                print(f"MACE4D: iteration {iteration} of {max_iterations}: change {change:.3g} %", flush=True)
            if change < stop_threshold_change_pct:
                break
        settings["iterations completed"] = len(timing)
        if log_dir is not None:
            self._write_logs(pathlib.Path(log_dir), settings, timing, tasks)
        return consensus, {"recon_params": settings, "timing": timing, "notes": "", "model_params": dict(self.params)}

    def _checked(self, array: ArrayLike, name: str) -> Floats:
        values = numpy.asarray(array, numpy.float32)
        if values.shape != self.sinogram_shape:
            raise ValueError(
                f"{name} has shape {values.shape}, expected (views, rows, channels) = {self.sinogram_shape}"
            )
        return values

    def _checked_volumes(self, array: ArrayLike) -> Floats:
        values, expected = numpy.asarray(array, numpy.float32), (self.num_frames, *self.recon_shape)
        if values.shape != expected:
            raise ValueError(f"init_recon has shape {values.shape}, expected (frames, rows, cols, slices) = {expected}")
        return values

    def _load_cached_init(self, init_dir: str | os.PathLike[str]) -> Floats | None:
        """The volumes in init_dir; None, with a warning, when they are not those of these frames."""
        path = pathlib.Path(init_dir) / "init_recon.npy"
        if not path.is_file():
            return None
        try:
            return self._checked_volumes(numpy.load(path))
        except (OSError, ValueError) as error:
            warnings.warn(f"{path} is invalid and will be replaced: {error}", stacklevel=2)
            return None

    def _initial(
        self, y: Floats, w: Floats | None, given: ArrayLike | None, init_dir: Any, threads: int, seed: int
    ) -> tuple[Floats, str]:
        if given is not None:
            return self._checked_volumes(given), "provided by caller"
        cached = None if init_dir is None else self._load_cached_init(init_dir)
        if cached is not None:
            return cached, "cached"
        volumes = numpy.empty((self.num_frames, *self.recon_shape), numpy.float32)
        for t, (model, views) in enumerate(zip(self.model_list, self.view_slices)):
            options = {
                "max_iterations": INITIAL_ITERATIONS,
                "stop_threshold_change_pct": self.params["prox_stop_threshold"],
            }
            model.recon(
                y[views], None if w is None else w[views], **options, out=volumes[t], threads=threads, seed=seed
            )
        if init_dir is not None:
            os.makedirs(init_dir, exist_ok=True)
            numpy.save(pathlib.Path(init_dir) / "init_recon.npy", volumes)
        return volumes, f"computed ({INITIAL_ITERATIONS} iterations for each frame)"

    def _denoisers(self, start: Floats) -> tuple[list[QGGMRFDenoiser], float]:
        """A denoiser for the hyperplanes of each axis, and the noise of the initial volumes; one noise and one scale
        for all hyperplanes."""
        merged = start.reshape(-1, *start.shape[2:])
        _, record = QGGMRFDenoiser(merged.shape).denoise(merged, use_ror_mask=False, max_iterations=0)
        sigma = float(record["recon_params"]["sigma_noise"])
        if not numpy.isfinite(sigma) or sigma <= 0:
            raise ValueError(
                f"the noise of the initial volumes is {sigma}, expected more than 0; "
                "give an init_recon that is not constant"
            )
        denoisers, steady = [], self._without_jitter(start)
        for axis in HYPERPLANE_AXES:
            planes = numpy.ascontiguousarray(numpy.moveaxis(steady, axis, 0))
            stack = planes.reshape(-1, *planes.shape[2:])
            _, record = QGGMRFDenoiser(stack.shape).denoise(stack, sigma, use_ror_mask=False, max_iterations=0)
            denoiser = QGGMRFDenoiser(planes.shape[1:])
            subsets = max(
                1, min(denoiser.get_params("granularity")[0], planes.shape[1] * planes.shape[2] // PIXELS_PER_SUBSET)
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a scale that is given ends the automatic one, which is wanted
                denoiser.set_params(granularity=[subsets], partition_sequence=[0])
                denoiser.set_params(sigma_x=max(float(record["recon_params"]["sigma_x"]), SMALLEST_SIGMA_X))
            denoisers.append(denoiser)
        return denoisers, sigma

    def _prox(
        self, t: int, proposal: Floats, previous: Floats, y: Floats, w: Floats | None, threads: int, seed: int
    ) -> Floats:
        views = self.view_slices[t]
        recon, _ = self.model_list[t].prox_map(
            proposal,
            y[views],
            self.params["sigma_prox"],
            None if w is None else w[views],
            previous,
            max_iterations=self.params["prox_num_iterations"],
            stop_threshold_change_pct=self.params["prox_stop_threshold"],
            threads=threads,
            seed=seed,
        )
        return recon

    @staticmethod
    def _denoise(denoiser: QGGMRFDenoiser, volumes: Floats, axis: int, sigma: float, threads: int, seed: int) -> Floats:
        planes = numpy.ascontiguousarray(numpy.moveaxis(volumes, axis, 0))
        denoised = numpy.empty_like(planes)
        for plane, result in zip(planes, denoised):
            denoiser.denoise(plane, sigma, use_ror_mask=False, out=result, threads=threads, seed=seed)
        return numpy.ascontiguousarray(numpy.moveaxis(denoised, 0, axis))

    def _without_jitter(self, volumes: Floats) -> Floats:
        return remove_period(volumes, self.frames_per_rotation) if self.params["dejitter"] else volumes

    def _write_logs(
        self, folder: pathlib.Path, settings: dict[str, Any], timing: list[dict[str, Any]], tasks: list[Any]
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        width = max(map(len, settings))
        (folder / "run_info.txt").write_text("".join(f"{name:{width}} = {value}\n" for name, value in settings.items()))
        with open(folder / "timing_log.csv", "w", newline="") as file:
            writer = csv.DictWriter(file, TIMING)
            writer.writeheader()
            writer.writerows(timing)
        with open(folder / "task_log.csv", "w", newline="") as file:
            csv.writer(file).writerows([TASKS, *tasks])
