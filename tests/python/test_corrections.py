"""Stripes, drift, beam hardening, the rotation axis, the selection of views, and aids for translation scans."""

import numpy as np
import pytest

import mbirk
from mbirk import preprocess


def scan(views=64, rows=6, channels=80, offset=0.0):
    """A model of half a turn, a phantom with edges, and its sinogram."""
    model = mbirk.ParallelBeamModel((views, rows, channels), np.linspace(0, np.pi, views, endpoint=False))
    model.set_params(det_channel_offset=offset)
    phantom = mbirk.generate_3d_shepp_logan_low_dynamic_range(model.recon_shape)
    return model, phantom, model.forward_project(phantom)


def rms(x):
    return np.sqrt(np.mean(np.square(x, dtype=float)))


def test_stripes():
    _, _, y = scan(views=96)
    striped = y.copy()
    striped[:, :, [20, 33, 34, 51]] += y.max() / 3
    # What a filter does to data without stripes is not the stripes' fault. Wavelets leave the part of a stripe that is
    # wider than their coarsest level.
    for remove, left in ((preprocess.remove_all_stripe, 0.1), (preprocess.remove_stripe_fw, 0.4)):
        assert rms(remove(striped) - remove(y)) < left * rms(striped - y), remove.__name__
    one = preprocess.remove_all_stripe(striped.astype(float), threads=1)
    assert np.array_equal(one, preprocess.remove_all_stripe(striped, threads=2))
    with pytest.raises(ValueError, match='wavelet_filter_name is "haar", expected db5'):
        preprocess.remove_stripe_fw(y, "haar")
    with pytest.raises(ValueError, match="size"):
        preprocess.remove_all_stripe(y, small_filter_size=0)
    with pytest.raises(ValueError, match=r'method is "x", expected sorting'):
        mbirk._core.remove_stripes(y, "x")


def test_offset_of_views():
    y = np.random.default_rng(1).random((5, 3, 8)).astype(np.float32)
    fixed = preprocess.remove_sino_offset(y)
    assert np.allclose(fixed.mean(axis=2), y.mean(axis=2).min(axis=0), atol=1e-6)
    assert np.allclose(fixed - fixed.mean(axis=2, keepdims=True), y - y.mean(axis=2, keepdims=True), atol=1e-6)
    with pytest.raises(ValueError, match="expected .views, rows, channels."):
        preprocess.remove_sino_offset(y[0])


def test_rotation_axis():
    model, _, y = scan(offset=2.5)
    angles = model.get_params("angles")
    for sinogram in (y, y[:, 3]):
        centre, offset = preprocess.find_rotation_axis(sinogram, angles)
        # The object is at higher channels where the offset is positive.
        assert centre == pytest.approx(39.5 + 2.5, abs=0.2) and offset == pytest.approx(2.5, abs=0.2)
    with pytest.raises(ValueError, match="expected one per view"):
        preprocess.find_rotation_axis(y, angles[1:])


def test_alignment():
    model, phantom, y = scan(views=12, rows=24)
    y = np.pad(y[:, 4:20, 4:76], ((0, 0), (4, 4), (4, 4)))  # nothing at the edges, so that views can move
    rng = np.random.default_rng(3)
    planted = rng.uniform(-1.5, 1.5, (12, 2))
    i, j = np.meshgrid(np.arange(24.0), np.arange(80.0), indexing="ij")
    sample = preprocess.alignment.sample_bilinear
    moved = np.stack([sample(v, i + s[0], j + s[1]) for v, s in zip(y, planted)]).astype(np.float32)

    class Projector:
        recon_shape = phantom.shape

        def forward_project(self, recon):
            return y

    found = preprocess.estimate_sino_view_offset(Projector(), moved, phantom)
    # Twice interpolated data are blurred, which moves an optimum by a small part of a pixel.
    assert np.abs(found - planted).max() < 0.1
    aligned = preprocess.align_sino_views(Projector(), moved, phantom)
    inner = np.s_[:, 3:-3, 3:-3]
    assert rms((aligned - y)[inner]) < 0.5 * rms((moved - y)[inner])
    with pytest.raises(ValueError, match="expected recon_shape"):
        preprocess.align_sino_views(model, y, phantom[1:])
    smooth = preprocess.sino_high_pass_filtering(np.ones((2, 9, 11)), subtract_view_mean=False)
    assert np.abs(smooth).max() < 1e-6


def test_beam_hardening():
    p = np.linspace(0, 4, 200)
    true = np.array([0.4, np.log(0.3), np.log(0.5), np.log(0.2)])
    by_hand = -np.log(sum(w * np.exp(-k * 0.4 * p) for k, w in ((1, 0.3), (2, 0.5), (3, 0.2))))
    measured = preprocess.apply_beam_hardening_curve(p, true)
    assert np.allclose(measured, by_hand, atol=1e-12)
    assert np.allclose(preprocess.apply_beam_hardening_curve(p, true + [0, 1, 1, 1], False), by_hand - 1, atol=1e-12)
    params = preprocess.fit_beam_hardening_curve(p, measured, 4)
    assert rms(preprocess.apply_beam_hardening_curve(p, params) - measured) < 1e-4
    inverse, domain = preprocess.fit_inverse_beam_hardening_curve(true, 0, measured[-1])
    linear = preprocess.apply_inverse_beam_hardening_curve(measured, inverse, domain)
    slope = 0.4 * (1 * 0.3 + 2 * 0.5 + 3 * 0.2)  # h'(0)
    assert np.allclose(linear, slope * p, atol=1e-5 * slope * 4)
    with pytest.warns(RuntimeWarning, match="extrapolated"):
        preprocess.apply_inverse_beam_hardening_curve(measured + 1, inverse, domain)
    clipped = preprocess.apply_inverse_beam_hardening_curve([measured[-1] + 9], inverse, domain, clip=True)
    assert clipped[0] == pytest.approx(linear[-1])
    for call, what in ((lambda: preprocess.fit_beam_hardening_curve(p, p[1:]), "as many of both"),
                       (lambda: preprocess.fit_beam_hardening_curve(p, p, 1), "expected at least 2"),
                       (lambda: preprocess.fit_beam_hardening_curve(-p, p), "no pair"),
                       (lambda: preprocess.apply_beam_hardening_curve(p, [1]), "at least one weight"),
                       (lambda: preprocess.fit_inverse_beam_hardening_curve(true, 2, 1), "vmin < vmax"),
                       (lambda: preprocess.fit_inverse_beam_hardening_curve(true, 0, 1, 0), "degree"),
                       (lambda: preprocess.apply_inverse_beam_hardening_curve(p, inverse, (1, 1)), "ascending")):
        with pytest.raises(ValueError, match=what):
            call()


def test_basis_functions(tmp_path):
    model, phantom, y = scan(views=9, rows=4, channels=20)
    gamma = mbirk.compute_view_basis_functions(model, phantom, 1.0, tmp_path)
    R = mbirk.compute_cov_matrix(9, tmp_path, batch_size=4)
    pixels, _ = mbirk.get_2d_subsampling_indices(mbirk.get_2d_ror_mask(phantom.shape[:2]), 1.0)
    inside = np.zeros(phantom.shape[:2], bool)
    inside.flat[pixels] = True
    filtered = model.direct_filter(y)
    basis = []
    for view in range(9):
        alone = np.zeros_like(filtered)
        alone[view] = filtered[view]
        basis.append(model.back_project(alone)[inside].ravel().astype(float))
        basis[-1] /= np.linalg.norm(basis[-1])
    basis, x = np.array(basis), phantom[inside].ravel() / np.linalg.norm(phantom[inside])
    assert np.allclose(R, basis @ basis.T, atol=1e-5) and np.allclose(gamma[:, 0], basis @ x, atol=1e-5)


@pytest.mark.parametrize("geometry", ["cone", "multiaxis", "translation"])
def test_views_of_other_geometries(geometry, tmp_path):
    if geometry == "cone":
        model = mbirk.ConeBeamModel((6, 8, 10), np.linspace(0, 6, 6), 40, 20, helical_z_shifts=np.linspace(-2, 2, 6))
    elif geometry == "multiaxis":
        model = mbirk.MultiAxisParallelBeamModel((6, 8, 10), np.stack([np.linspace(0, 3, 6), np.full(6, 0.4)], axis=1))
    else:
        model = mbirk.TranslationModel((6, 8, 10), mbirk.gen_translation_vectors(3, 2, 4, 4), 40, 20)
        model.set_params(no_warning=True, voxel_row_aspect=4.0, recon_shape=(4, 12, 8))
    phantom = np.random.default_rng(2).random(model.recon_shape).astype(np.float32)
    chosen, loss = mbirk.get_opt_views(model, phantom, 2, r_1=0.5, seed=1)
    assert len(set(chosen)) == 2 and 0 <= loss < 1


def test_selection_of_views():
    rng = np.random.default_rng(4)
    basis, x = rng.standard_normal((12, 40)), rng.standard_normal(40)
    basis /= np.linalg.norm(basis, axis=1)[:, None]
    x /= np.linalg.norm(x)
    R, gamma = basis @ basis.T, (basis @ x)[:, None]
    assert mbirk.compute_vcl(*mbirk.subsample_R_gamma(R, gamma, [3, 5])) == pytest.approx(
        np.linalg.norm(x - basis[[3, 5]].T @ np.linalg.lstsq(basis[[3, 5]].T, x, rcond=None)[0]) ** 2
    )
    # One view beside one that is measured: the best of all.
    losses = {k: mbirk.compute_vcl(*mbirk.subsample_R_gamma(R, gamma, [0, k])) for k in range(1, 12)}
    best, loss = mbirk.compute_opt_angle_subset(R, gamma, range(12), 1, 1.0, [0], seed=1)
    assert best.tolist() == [min(losses, key=losses.get)] and loss == pytest.approx(min(losses.values()))
    order = mbirk.reorder_by_priority([2, 7, 9], [], R, gamma)
    rest = {k: [v for v in (2, 7, 9) if v != k] for k in (2, 7, 9)}
    pairs = {k: mbirk.compute_vcl(*mbirk.subsample_R_gamma(R, gamma, v)) for k, v in rest.items()}
    assert sorted(order) == [2, 7, 9] and order[-1] == min(pairs, key=pairs.get)
    with pytest.warns(UserWarning, match="all are"):
        assert len(mbirk.compute_opt_angle_subset(R, gamma, range(12), 12, 1.0)[0]) == 12
    with pytest.raises(ValueError, match="K is 0"):
        mbirk.compute_opt_angle_subset(R, gamma, range(12), 0, 1.0)
    with pytest.raises(ValueError, match="r_1 is 0"):
        mbirk.get_2d_subsampling_indices(np.ones((3, 3)), 0)
    model, phantom, _ = scan(views=8, rows=2, channels=16)
    for options, what in ((dict(prev_selected_view_inds=[8]), "0 to 7"), (dict(roi=phantom[1:]), "roi has shape"),
                          (dict(r_1=1e-6), "selects none")):
        with pytest.raises(ValueError, match=what):
            mbirk.get_opt_views(model, phantom, 2, **options)


def test_translation_aids():
    vectors = mbirk.gen_translation_vectors(5, 3, 4.0, 6.0)
    model = mbirk.TranslationModel((15, 20, 30), vectors, 60, 30)
    shape, pitch, aspect = mbirk.calc_tct_recon_params(60, 30, 1, 1, (15, 20, 30), vectors)
    assert shape == tuple(model.recon_shape) and pitch == model.get_params("delta_voxel")
    assert aspect == model.get_params("voxel_row_aspect")
    dots = mbirk.gen_dot_phantom((12, 10, 6), 0.1)
    assert dots.sum(axis=(1, 2)).tolist() == [0] * 2 + [6] * 8 + [0] * 2 and set(np.unique(dots)) == {0, 1}
    with pytest.raises(ValueError, match="fill_rate is 2"):
        mbirk.gen_dot_phantom((3, 3, 3), 2)
