"""Selection of the views that matter most for an object, with MBIRJAX's names.

A view's basis function is what the direct reconstruction of a reference object owes to that view. The loss of a choice
of views is 1 - g' R^-1 g, where R has the inner products of their basis functions, and g those with the object, all
with norm 1. Source: Lin, Ziabari, Venkatakrishnan, Rahman, Buzzard, Bouman, Tomographic sparse view selection using the
view covariance loss, 2025.
"""

from __future__ import annotations

import os
import random
import tempfile
import warnings
from typing import Any

import numpy
from numpy.typing import ArrayLike, NDArray

from ._arrays import floats
from ._core import get_2d_ror_mask

Doubles = NDArray[numpy.float64]
Indices = NDArray[numpy.int64]
TINY = 1e-12


def _file(folder: str | os.PathLike[str], view: int) -> str:
    return os.path.join(folder, f"view_basis_function{view}.npy")


def get_2d_subsampling_indices(
    mask: ArrayLike, r_1: float, seed: int | None = None
) -> tuple[Indices, tuple[Indices, Indices]]:
    """A fraction r_1 of the pixels of a mask (rows, cols), drawn at random. Returns their flat indices, and
    (rows, cols). seed: the draws of numpy.random.seed(seed)."""
    if not 0 < r_1 <= 1:
        raise ValueError(f"get_2d_subsampling_indices: r_1 is {r_1}, expected more than 0 and at most 1")
    values = numpy.asarray(mask)
    draw = numpy.random if seed is None else numpy.random.RandomState(seed)
    eligible = numpy.flatnonzero(values)
    chosen = draw.choice(eligible, size=int(eligible.size * r_1), replace=False)
    return chosen, numpy.unravel_index(chosen, values.shape)


def compute_view_basis_functions(
    ct_model: Any,
    ref_object: ArrayLike,
    r_1: float,
    data_store_dir: str | os.PathLike[str],
    seed: int | None = None,
    roi: ArrayLike | None = None,
) -> Doubles:
    """Writes each view's basis function, at a fraction r_1 of the pixels, to a file in a folder, and returns their
    inner products with the object, (views, 1). roi: a mask of the voxels that count; default: all."""
    reference = numpy.asarray(ref_object, numpy.float32)
    region = None if roi is None else numpy.asarray(roi, bool)
    mask = get_2d_ror_mask(reference.shape[:2]) if region is None else region.any(axis=2)
    pixels, _ = get_2d_subsampling_indices(mask, r_1, seed)
    if not pixels.size:
        raise ValueError(
            f"compute_view_basis_functions: r_1 is {r_1}, which selects none of {numpy.count_nonzero(mask)} pixels"
        )
    inside = None if region is None else region.reshape(-1, reference.shape[2])[pixels]

    def normal(values: NDArray[Any]) -> Doubles:
        taken = (values if inside is None else values[inside]).astype(float)
        return taken / (numpy.linalg.norm(taken) + TINY)

    sampled = normal(reference.reshape(-1, reference.shape[2])[pixels])
    filtered = ct_model.direct_filter(ct_model.forward_project(reference))
    views = numpy.asarray(ct_model.get_params("view_params_array"))
    one = ct_model.copy()
    one.set_params(
        no_warning=True,
        sinogram_shape=(1, *ct_model.sinogram_shape[1:]),
        recon_shape=ct_model.recon_shape,
        view_params_array=views[:1],
    )
    products = numpy.zeros((len(views), 1))
    for view in range(len(views)):
        one.set_view_parameters(views[view : view + 1])
        basis = normal(one.sparse_back_project(filtered[view : view + 1], pixels.astype(numpy.int32)))
        numpy.save(_file(data_store_dir, view), basis.astype(numpy.float32))
        products[view] = numpy.vdot(basis, sampled)
    return products


def compute_cov_matrix(num_views: int, data_store_dir: str | os.PathLike[str], batch_size: int = 100) -> Doubles:
    """Inner products of all pairs of basis functions in a folder, (views, views); two batches are in memory at once."""

    def batch(first: int) -> Doubles:
        count = min(batch_size, num_views - first)
        return numpy.stack([numpy.load(_file(data_store_dir, first + k)).ravel() for k in range(count)]).astype(float)

    products = numpy.zeros((num_views, num_views))
    for i in range(0, num_views, batch_size):
        rows = batch(i)
        for j in range(i, num_views, batch_size):
            block = rows @ (rows if j == i else batch(j)).T
            products[i : i + block.shape[0], j : j + block.shape[1]] = block
            products[j : j + block.shape[1], i : i + block.shape[0]] = block.T
    return products


def subsample_R_gamma(R: Doubles, gamma: Doubles, selected_indices: ArrayLike) -> tuple[Doubles, Doubles]:
    """The rows and columns of R, and the rows of gamma, of the selected views."""
    at = numpy.asarray(selected_indices, int)
    return R[numpy.ix_(at, at)], gamma[at]


def compute_vcl(sub_R: Doubles, sub_gamma: Doubles) -> float:
    """The view covariance loss 1 - gamma' R^-1 gamma of a choice of views: 0 if their basis functions span the object,
    1 if they have nothing in common with it."""
    return float(1 - sub_gamma.ravel() @ numpy.linalg.solve(sub_R, sub_gamma).ravel())


def _loss(R: Doubles, gamma: Doubles, *views: Indices) -> float:
    return compute_vcl(*subsample_R_gamma(R, gamma, numpy.concatenate(views)))


def compute_opt_angle_subset(
    R: Doubles,
    gamma: Doubles,
    candidate_angles: ArrayLike,
    K: int,
    r_2: float,
    prev_selected_view_inds: ArrayLike = (),
    search_min: int = 30,
    max_iterations: int = 100,
    seed: int | None = None,
) -> tuple[Indices, float]:
    """K views of small loss together with those selected before: from equally spaced ones, each is replaced by the best
    of a random fraction r_2 of the others (at least search_min of them), until a round changes nothing.

    Returns (indices in ascending order, loss). seed: the draws of Python's random.seed(seed)."""
    before = numpy.asarray(prev_selected_view_inds, int)
    free = numpy.setdiff1d(numpy.arange(len(numpy.asarray(candidate_angles))), before)
    if K <= 0:
        raise ValueError(f"compute_opt_angle_subset: K is {K}, expected at least 1")
    rest = len(free) - K
    if rest <= 0:
        warnings.warn(f"{K} views were requested, and {len(free)} are available: all are returned", stacklevel=2)
        return free, _loss(R, gamma, free)
    draw = random if seed is None else random.Random(seed)
    tries = min(max(int(r_2 * rest), search_min), rest)
    chosen = free[numpy.linspace(0, len(free), K, endpoint=False).astype(int)]
    least = _loss(R, gamma, before, chosen)
    for _ in range(max_iterations):
        unchanged = chosen.copy()
        for position in range(K):
            candidates = numpy.setdiff1d(free, chosen).tolist()
            draw.shuffle(candidates)
            for candidate in candidates[:tries]:
                changed = chosen.copy()
                changed[position] = candidate
                loss = _loss(R, gamma, before, changed)
                if loss < least:
                    least, chosen = loss, changed
        if numpy.array_equal(chosen, unchanged):
            break
    return numpy.sort(chosen), least


def reorder_by_priority(
    optimal_angle_inds: ArrayLike, prev_selected_view_inds: ArrayLike, R: Doubles, gamma: Doubles
) -> Indices:
    """The selected views from the most to the least important: again and again the one is dropped without which the
    loss is smallest."""
    remaining, before = numpy.asarray(optimal_angle_inds, int), numpy.asarray(prev_selected_view_inds, int)
    dropped = []
    while len(remaining) > 1:
        losses = [_loss(R, gamma, before, numpy.delete(remaining, k)) for k in range(len(remaining))]
        least = int(numpy.argmin(losses))
        dropped.append(remaining[least])
        remaining = numpy.delete(remaining, least)
    return numpy.array([*remaining, *dropped[::-1]], dtype=int)


def get_opt_views(
    ct_model: Any,
    reference_object: ArrayLike,
    num_selected_views: int,
    r_1: float = 0.002,
    r_2: float = 0.5,
    prev_selected_view_inds: ArrayLike = (),
    priority_order: bool = False,
    verbose: int = 0,
    seed: int | None = None,
    roi: ArrayLike | None = None,
) -> tuple[Indices, float]:
    """The views of a model that represent a reference object best, and their view covariance loss.

    reference_object: (rows, cols, slices), in the model's reconstruction grid. r_1: fraction of the pixels that are
    looked at. r_2: fraction of the other views that are tried in place of each selected one. prev_selected_view_inds:
    views that are measured anyway. priority_order: from the most to the least important, instead of ascending. roi: a
    mask of the voxels that count. verbose is ignored. Returns (indices of views, loss)."""
    reference = numpy.asarray(floats(reference_object, "reference_object", "get_opt_views", False))
    shape = tuple(ct_model.recon_shape)
    for name, array in (("reference_object", reference), ("roi", roi)):
        if array is not None and numpy.shape(array) != shape:
            raise ValueError(f"get_opt_views: {name} has shape {numpy.shape(array)}, expected recon_shape {shape}")
    views = ct_model.sinogram_shape[0]
    before = numpy.asarray(prev_selected_view_inds)
    if before.size and not (before.dtype.kind in "iu" and ((before >= 0) & (before < views)).all()):
        raise ValueError(f"get_opt_views: prev_selected_view_inds has values that are not views, 0 to {views - 1}")
    before = before.astype(int)
    with tempfile.TemporaryDirectory() as folder:
        gamma = compute_view_basis_functions(ct_model, reference, r_1, folder, seed, roi)
        R = compute_cov_matrix(views, folder)
    chosen, loss = compute_opt_angle_subset(R, gamma, range(views), num_selected_views, r_2, before, seed=seed)
    return (reorder_by_priority(chosen, before, R, gamma) if priority_order else chosen), loss
