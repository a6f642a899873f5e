#!/usr/bin/env python3
"""What MBIRJAX's demo 1 does, on mbirk: a Shepp-Logan phantom, its sinogram, weights, a reconstruction, and how far that is from the phantom.

python demo_1.py [--size N] [--iterations N] [--out FOLDER]    N detector channels; writes FOLDER/demo_1_<geometry>.npy, phantom beside reconstruction
"""

import argparse
import pathlib
import time

import numpy as np

import mbirk


def reconstruct(model_type: str, size: int, iterations: int) -> tuple[np.ndarray, np.ndarray]:
    phantom, sinogram, params = mbirk.generate_demo_data(
        object_type="shepp-logan", model_type=model_type, num_views=size, num_det_rows=max(8, size // 3), num_det_channels=size
    )
    # From here on as with a measurement: a sinogram (views, rows, channels) and what is known of the scanner.
    ct_model = mbirk.get_ct_model(model_type, sinogram.shape, **params)
    ct_model.set_params(sharpness=1.0)
    weights = mbirk.gen_weights(sinogram / sinogram.max(), weight_type="transmission_root")

    begin = time.perf_counter()
    recon, recon_dict = ct_model.recon(sinogram, weights=weights, max_iterations=iterations)
    seconds = time.perf_counter() - begin

    error = np.abs(recon - phantom)
    steps = recon_dict["recon_params"]["num_iterations"]
    print(f"{model_type}: {ct_model!r}")
    print(f"  {steps} iterations, {seconds:.2f} s, last change {recon_dict['recon_params']['stop_threshold_change_pct'][-1]:.2f} %")
    nrmse = np.linalg.norm(error) / np.linalg.norm(phantom)
    print(f"  NRMSE {nrmse:.4f}, 95 % of the voxels within {np.percentile(error, 95):.4f}, all within {error.max():.4f}")
    return phantom, recon


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=48)
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("output"))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for model_type in ("parallel", "cone"):
        phantom, recon = reconstruct(model_type, arguments.size, arguments.iterations)
        path = arguments.out / f"demo_1_{model_type}.npy"
        np.save(path, np.stack([phantom, recon]))
        print(f"  {path}: (phantom or reconstruction, rows, cols, slices)")


if __name__ == "__main__":
    main()
