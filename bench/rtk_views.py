#!/usr/bin/env python3
"""Whether mbirk reads the geometry files that RTK writes as RTK means them: RTK writes files of several kinds, and the
projections of the same object by both are compared.

    python3 bench/rtk_views.py [--mbirk build/release/bench/mbirk/mbirk] [--sizes 64,128]

Needs NumPy and RTK (itk-rtk of PyPI). Both projectors are approximations of the same line integrals, RTK's by
interpolation along rays (Joseph), mbirk's by footprints of voxels, so their difference shrinks with the voxels. Views
that were one channel aside would make one of 1.4 % (RMS).

Exit code: 0 done; 1 projections differ by more than 0.2 % of the largest one (RMS), or not less with smaller voxels."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import itk
import numpy as np
from itk import RTK as rtk

ROWS, CHANNELS, SPACING = 80, 96, (2.5, 2.75)  # of the detector, in mm; x is along the channels
ORIGIN = (-(CHANNELS - 1) / 2 * SPACING[0] + 3, -(ROWS - 1) / 2 * SPACING[1] - 2)
WIDTH = 128  # of the volume, in mm
IMAGE = itk.Image[itk.F, 3]


def geometries():
    """{name: an RTK geometry}"""
    circle, rays, misaligned = (rtk.ThreeDCircularProjectionGeometry.New() for _ in range(3))
    for k in range(5):
        circle.AddProjection(1000.0, 1536.0, 72.0 * k)
        circle.SetCollimationOfLastProjection(100, 200, 300, 400)
        rays.AddProjection(1000.0, 0.0, 36.0 * k)
    for k in range(7):  # angle, offsets of the detector, angles out of the plane and in it, offsets of the source
        misaligned.AddProjection(1000.0 + k, 1536.0, 360 / 7 * k, 12.5 * k, -3.0, 2.0 * k, -1.5 * k, 4.0, 1.0 * k)
    return {"circle with collimation": circle, "parallel rays": rays, "misaligned views": misaligned}


def blobs(size):
    """Two Gaussian blobs, (z, y, x) as in ITK"""
    at = (np.arange(size) - (size - 1) / 2) * WIDTH / size
    z, y, x = np.meshgrid(at, at, at, indexing="ij")
    first = np.exp(-((x - 10) ** 2 / 200 + (y + 8) ** 2 / 120 + (z - 14) ** 2 / 90))
    return (first + 0.7 * np.exp(-((x + 20) ** 2 / 100 + (y - 18) ** 2 / 150 + (z + 9) ** 2 / 160))).astype(np.float32)


def project_by_rtk(volume, geometry):
    size = volume.shape[0]
    image = itk.image_from_array(volume)
    image.SetSpacing([WIDTH / size] * 3)
    image.SetOrigin([-(size - 1) / 2 * WIDTH / size] * 3)
    views = rtk.ConstantImageSource[IMAGE].New()
    views.SetOrigin([*ORIGIN, 0])
    views.SetSpacing([*SPACING, 1])
    views.SetSize([CHANNELS, ROWS, len(geometry.GetGantryAngles())])
    views.SetConstant(0.0)
    projector = rtk.JosephForwardProjectionImageFilter[IMAGE, IMAGE].New()
    projector.SetInput(0, views.GetOutput())
    projector.SetInput(1, image)
    projector.SetGeometry(geometry)
    projector.Update()
    return itk.array_from_image(projector.GetOutput())


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{command[0]} {command[1]} ended with {done.returncode}: {done.stderr.strip()}")


def project_by_mbirk(mbirk, volume, views, folder):
    """Projections with the views of the RTK file in the folder. RTK's y axis runs along the slices."""
    size = volume.shape[0]
    np.save(folder / "y.npy", np.ones((views, ROWS, CHANNELS), np.float32))
    (folder / "G.json").write_text(json.dumps({
        "geometry": "general", "recon_shape": [size] * 3, "params": {"delta_voxel": WIDTH / size},
        "view_vectors": {"rtk": "rtk.xml", "spacing": SPACING, "origin": ORIGIN}}))
    run(mbirk, "recon", folder / "y.npy", "--geometry", folder / "G.json", "--out", folder / "x.npy", "--no-png",
        "--max-iterations", 0, "--save-parameters", folder / "saved.json", "--quiet")
    saved = json.loads((folder / "saved.json").read_text())
    case = folder / "case"
    case.mkdir(exist_ok=True)
    np.save(case / "x.npy", np.ascontiguousarray(volume.transpose(0, 2, 1)))
    np.save(case / "views.npy", np.array(saved["view_vectors"]))
    (case / "case.json").write_text(json.dumps({
        "name": "rtk", "geometry": saved["geometry"], "sinogram_shape": [views, ROWS, CHANNELS],
        "recon_shape": [size] * 3, "view_vectors": "views.npy", "params": saved["params"] | {"use_ror_mask": False},
        "ops": [{"op": "forward_project", "inputs": {"recon": "x.npy"}, "args": {}, "output": "y.npy"}]}))
    run(mbirk, "run", case, "--out", folder / "out", "--quiet")
    return np.load(folder / "out" / "y.npy")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mbirk", default="build/release/bench/mbirk/mbirk")
    parser.add_argument("--sizes", default="64,128")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    right = True
    print("| file of RTK | size | largest projection, RTK | mbirk | RMS of the difference, % | most, % |")
    print("|---" * 6 + "|")
    for name, geometry in geometries().items():
        before = 0.2
        for size in sizes:
            with tempfile.TemporaryDirectory(prefix="mbirk-rtk-") as scratch:
                folder = pathlib.Path(scratch)
                writer = rtk.ThreeDCircularProjectionGeometryXMLFileWriter.New()
                writer.SetFilename(os.fspath(folder / "rtk.xml"))
                writer.SetObject(geometry)
                writer.WriteFile()
                theirs = project_by_rtk(blobs(size), geometry)
                ours = project_by_mbirk(options.mbirk, blobs(size), theirs.shape[0], folder)
            difference = 100 * (ours - theirs) / theirs.max()
            rms = float(np.sqrt((difference ** 2).mean()))
            print(f"| {name} | {size} | {theirs.max():.3f} | {ours.max():.3f} | {rms:.4f} | "
                  f"{abs(difference).max():.2f} |")
            right = right and rms < before
            before = rms
    sys.exit(not right)


if __name__ == "__main__":
    main()
