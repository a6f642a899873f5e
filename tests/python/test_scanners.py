"""Readers of scanners' files, on files that are written here."""

import io

import numpy as np
import pytest

import mbirk
from mbirk import preprocess

PITCH, FULL, ISO = 0.5, 200.0, 100.0
ROWS, CHANNELS, VIEWS = 32, 44, 5
OFFSETS = {"det_channel_offset": 0.75, "det_row_offset": -0.5}
WHITE, DARK = 60000.0, 500.0


def scan():
    """A model, and the sinogram of a ball that leaves the border free for the background."""
    model = mbirk.ConeBeamModel((VIEWS, ROWS, CHANNELS), -np.radians(72.0) * np.arange(VIEWS), FULL, ISO)
    model.set_params(
        no_warning=True, delta_det_row=PITCH, delta_det_channel=PITCH, delta_voxel=PITCH * ISO / FULL, **OFFSETS
    )
    model.auto_set_recon_geometry()
    axes = [np.arange(n) - (n - 1) / 2 for n in model.recon_shape]
    ball = sum(a**2 for a in np.meshgrid(*axes, indexing="ij")) < 5**2
    return model, model.forward_project(0.1 * ball)


def counts(sinogram, white=WHITE, dark=DARK):
    return np.rint(dark + (white - dark) * np.exp(-np.asarray(sinogram, float))).astype(np.uint16)


def write_nsi(folder, sinogram, turn, report):
    """An .nsipro scan whose frames are stored turned and mirrored, with one defective pixel."""
    tifffile = pytest.importorskip("tifffile")
    frames = {
        "Radiographs": counts(sinogram),
        "gain0": np.full((1, ROWS, CHANNELS), WHITE),
        "offset": np.full((1, ROWS, CHANNELS), DARK),
    }
    frames["Radiographs"][:, 20, 10] = 0
    bad = np.zeros((1, ROWS, CHANNELS), bool)
    bad[0, 20, 10] = True
    frames["defect"] = bad
    stored = {name: np.flip(np.rot90(f, -turn // 90, axes=(2, 1)), (1, 2)) for name, f in frames.items()}
    (folder / "Radiographs").mkdir()
    (folder / "Corrections").mkdir()
    for k, frame in enumerate(stored["Radiographs"]):
        tifffile.imwrite(folder / "Radiographs" / f"view{k:03}.tif", frame)
    for name in ("gain0", "offset"):
        tifffile.imwrite(folder / "Corrections" / f"{name}.tif", stored[name][0].astype(np.uint16))
    row, channel = np.argwhere(stored["defect"][0])[0]
    (folder / "Corrections" / "a.defect").write_text(
        f"<Defective Pixels>\n <Defect>{channel} {row} 1\n</Defective Pixels>\n"
    )
    normal, across = np.array([0.0, 0, 1]), np.array([-1.0, 0, 0])
    down, source = np.cross(normal, across), -ISO * normal
    middle = source + FULL * normal - OFFSETS["det_channel_offset"] * across - OFFSETS["det_row_offset"] * down
    first = middle - PITCH * ((CHANNELS - 1) / 2 * across + (ROWS - 1) / 2 * down)
    if report:
        (folder / "Geometry Report.rtf").write_text(f"Image center    ({first[0]}, {first[1]}) [mm]  / (1, 1) [in]")
        first[:2] = 7, 8
    sections = {
        "Detector": {"width pixels": stored["offset"].shape[2], "height pixels": stored["offset"].shape[1]},
        "Object Radiograph": {"number": VIEWS, "angleStep": 72, "pitch": f"{PITCH} {PITCH}"},
        "Correction": {"flipH": "True", "flipV": "True", "rotate": turn},
        "Processed": {"clockwise": "False"},
        "Radiograph": {"crop": "0 0 0 0"},
        "Result": {"source": source, "reference": first, "normal": normal, "horizontal": across, "axis": [0, 1, 0]},
    }
    with open(folder / "scan.nsipro", "w") as file:
        for section, fields in sections.items():
            file.write(f"<{section}>\n")
            for name, value in fields.items():
                text = value if isinstance(value, (str, int)) else " ".join(map(str, value))
                file.write(f"  <{name}>{text}\n")
            file.write(f"</{section}>\n")


@pytest.mark.parametrize("turn, report", [(0, False), (90, True)])
def test_nsi(tmp_path, turn, report):
    model, y = scan()
    write_nsi(tmp_path, y, turn, report)
    sino, found = preprocess.nsi.get_sino_and_model(tmp_path, verbose=0)
    # Half a count of WHITE - DARK, at a transmission of exp(-max) or more.
    rounding = 0.5 / (WHITE - DARK) * np.exp(y.max()) + 1e-5
    good = np.ones((ROWS, CHANNELS), bool)
    good[20, 10] = False
    assert np.abs(sino - y)[:, good].max() < rounding
    for name in (
        "delta_det_row",
        "delta_det_channel",
        "delta_voxel",
        "source_detector_dist",
        "source_iso_dist",
        *OFFSETS,
    ):
        assert found.get_params(name) == pytest.approx(model.get_params(name), rel=1e-6), name
    turns = (np.asarray(found.get_params("angles")) - np.asarray(model.get_params("angles"))) / (2 * np.pi)
    assert np.abs(turns - np.rint(turns)).max() < 1e-6
    fewer, smaller = preprocess.nsi.get_sino_and_model(
        tmp_path, verbose=0, subsample_view_factor=2, crop_pixels_top=4, downsample_factor=(2, 2)
    )
    assert fewer.shape == (3, 12, 22) == smaller.sinogram_shape and smaller.get_params("delta_det_row") == 2 * PITCH
    assert smaller.get_params("det_row_offset") == pytest.approx(OFFSETS["det_row_offset"], abs=1e-6)


def test_nsi_errors(tmp_path):
    with pytest.raises(
        ValueError, match=r"the description of the scan \(\*\.nsipro\): found none, expected exactly one"
    ):
        preprocess.nsi.load_scans_and_params(tmp_path)
    write_nsi(tmp_path, scan()[1], 0, False)
    path = tmp_path / "scan.nsipro"
    text = path.read_text()
    for old, new, message in (
        ("<angleStep>72", "<angleStep>x", '<angleStep> in <Object Radiograph> is "x", expected 1 numbers'),
        ("<rotate>0", "<rotate>45", "<rotate> in <Correction> is 45, expected 0, 90, 180 or 270"),
        ("<normal>", "<other>", "has no <normal> in <Result>"),
        (f"<number>{VIEWS}", "<number>7", "has 5 views, expected at least 7"),
        (
            f"<width pixels>{CHANNELS}",
            "<width pixels>43",
            r"frames have \(32, 44\) pixels, but scan.nsipro says \(32, 43\)",
        ),
    ):
        path.write_text(text.replace(old, new))
        with pytest.raises((ValueError, FileNotFoundError), match=message):
            preprocess.nsi.load_scans_and_params(tmp_path, verbose=0)


class Streams:
    """An olefile.OleFileIO of streams in memory."""

    def __init__(self, streams):
        self.streams = streams

    def exists(self, name):
        return any(s == name or s.startswith(f"{name}/") for s in self.streams)

    def openstream(self, name):
        return io.BytesIO(self.streams[name])

    def listdir(self):
        return [s.split("/") for s in self.streams]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


@pytest.fixture
def zeiss(tmp_path, monkeypatch):
    """The path of a Versa scan, and its streams: source and detector at 100 and 50 mm, 30 um pixels at the object,
    optics of 4 x, and views that are shifted to the left by one pixel."""
    model, y = scan()
    shifted = np.roll(counts(y, WHITE, 0), -1, axis=2)
    streams = {f"ImageData1/Image{k + 1}": v.tobytes() for k, v in enumerate(shifted)}
    streams |= {
        f"ImageInfo/{k}": np.int32(v).tobytes()
        for k, v in (("NoOfImages", VIEWS), ("ImageHeight", ROWS), ("ImageWidth", CHANNELS), ("DataType", 5))
    }
    streams |= {
        f"ImageInfo/{k}": np.float32(v).tobytes()
        for k, v in (("StoRADistance", -100), ("DtoRADistance", 50), ("PixelSize", 30))
    }
    streams["ImageInfo/Angles"] = (72 * np.arange(VIEWS, dtype=np.float32)).tobytes()
    streams["alignment/x-shifts"] = np.ones(VIEWS, np.float32).tobytes()
    streams["ReferenceData/Image"] = np.full((ROWS, CHANNELS), WHITE, np.float32).tobytes()
    streams["ReferenceData/DataType"] = np.int32(10).tobytes()
    streams["DetAssemblyInfo/OpticalMagnification"] = np.float32(4).tobytes()
    streams["AutoRecon/CenterShift"] = np.float32(2).tobytes()
    streams["ConfigXrayFilters/Filter0/Name"] = b"air\0"
    monkeypatch.setattr(preprocess.zeiss, "_opened", lambda path: Streams(streams))
    return tmp_path / "scan.txrm", streams, y


def test_zeiss(zeiss):
    path, streams, y = zeiss
    sino, model = preprocess.zeiss.get_sino_and_model(path, verbose=0)
    assert np.abs(sino - y)[:, :, 1:-1].max() < 0.5 / WHITE * np.exp(y.max()) + 1e-5
    # 4 x (100 + 50) / 100 = 6 times 30 um; the centre is 2 pixels to the left of the middle.
    assert isinstance(model, mbirk.ConeBeamModel) and model.get_magnification() == pytest.approx(6)
    for name, value in (
        ("source_iso_dist", 100),
        ("delta_det_row", 0.18),
        ("delta_voxel", 0.03),
        ("det_channel_offset", -0.36),
    ):
        assert model.get_params(name) == pytest.approx(value, rel=1e-6), name
    assert np.allclose(model.get_params("angles"), -np.radians(72.0) * np.arange(VIEWS))
    streams["ConfigZonePlates/Name"] = b""
    _, model = preprocess.zeiss.get_sino_and_model(path, verbose=0, zinger_correction=False)
    assert isinstance(model, mbirk.ParallelBeamModel) and model.get_params("delta_voxel") == pytest.approx(0.18)


def test_zeiss_errors(zeiss, tmp_path):
    path, streams, _ = zeiss
    kept = dict(streams)
    for name, value, message in (
        ("ImageInfo/Angles", None, "scan.txrm: there is no stream ImageInfo/Angles"),
        ("ImageData1/Image3", b"short", f"Image3 has 5 bytes, expected {2 * ROWS * CHANNELS}: the file is damaged"),
        ("ImageInfo/DataType", np.int32(7).tobytes(), "have the type 7, expected one of 3, 5, 10"),
    ):
        streams.clear()
        streams.update(kept)
        del streams[name]
        if value is not None:
            streams[name] = value
        with pytest.raises(ValueError, match=message):
            preprocess.zeiss.load_scans_and_params(path, verbose=0)


def test_zeiss_files(tmp_path):
    pytest.importorskip("olefile")
    with pytest.raises(FileNotFoundError, match="there is no such file, expected a .txrm file"):
        preprocess.zeiss.load_scans_and_params(tmp_path / "none.txrm")
    (tmp_path / "text.txrm").write_text("not a compound file")
    with pytest.raises(ValueError, match="text.txrm: is not an OLE2 file, expected a .txrm file"):
        preprocess.zeiss.load_scans_and_params(tmp_path / "text.txrm")


def test_pymbir(tmp_path):
    h5py = pytest.importorskip("h5py")
    model, y = scan()
    path = tmp_path / "scan.h5"
    with h5py.File(path, "w") as file:
        file["projection/NegativeLogNorm_Proj"] = y
        file.attrs["angle unit"] = "degree"
        lengths = {
            "det_pixel_size": PITCH,
            "src_iso_dist": ISO,
            "iso_det_dist": FULL - ISO,
            "voxel_size": PITCH * ISO / FULL,
        }
        offsets = {"det_column_offset": -OFFSETS["det_channel_offset"], "det_row_offset": -OFFSETS["det_row_offset"]}
        for name, value in (
            lengths
            | offsets
            | {"angles": -72.0 * np.arange(VIEWS), "det_angle": 0.0, "BHC_params": [0.0, 1.0, 0.5, 8.0]}
        ).items():
            file.attrs[name] = value
    # alpha = 0: one energy, so that the correction changes nothing; the fit has an error of its own.
    sino, found = preprocess.pymbir.get_sino_and_model(path)
    assert np.abs(sino - y).max() < 1e-5
    for name in ("source_detector_dist", "source_iso_dist", *OFFSETS):
        assert found.get_params(name) == pytest.approx(model.get_params(name) / PITCH, rel=1e-6), name
    half, _ = preprocess.pymbir.get_sino_and_model(path, bh_correction=False, subsample_view_factor=2)
    assert np.array_equal(half, y[::2])
    # Two energies: what a thickness t lets through becomes its mean attenuation times t.
    t = np.linspace(0, 5, 11)
    measured = -np.log((2 * np.exp(-0.3 * t) + np.exp(-0.6 * t)) / 3)
    linear = preprocess.pymbir.apply_bh_correction(measured, [2.0, 0.3, 0.6, 6.0])
    assert np.allclose(linear, 0.4 * t, atol=1e-4)
    with h5py.File(path, "a") as file:
        del file.attrs["voxel_size"]
    with pytest.raises(ValueError, match="has no attribute voxel_size, expected a file of pyMBIR"):
        preprocess.pymbir.get_sino_and_model(path)


def test_views_are_corrected():
    random = np.random.default_rng(8)
    y = random.random((2, 9, 9), dtype=np.float32)
    # A quarter turn moves samples to samples.
    assert np.allclose(preprocess.correct_det_rotation(y, np.pi / 2), np.rot90(y, 1, axes=(1, 2)), atol=1e-6)
    spoilt = y + 1
    spoilt[0, 4, 4] = np.nan
    spoilt[1, 0, 0] = -9
    fixed = preprocess.correct_zinger_pixels(spoilt)
    around = np.delete((y + 1)[0, 3:6, 3:6].ravel(), 4)
    assert fixed[0, 4, 4] == pytest.approx(around.mean(), rel=1e-6)
    assert fixed[1, 0, 0] == pytest.approx(np.mean([spoilt[1, 0, 1], spoilt[1, 1, 0], spoilt[1, 1, 1]]), rel=1e-6)
    with pytest.warns(UserWarning, match="81 samples have no valid neighbour"):
        assert not preprocess.interpolate_defective_pixels(np.full((1, 9, 9), np.nan)).any()
