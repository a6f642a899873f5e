"""HDF5 files in MBIRJAX's format: one dataset with attributes as text. Needs h5py."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy
from numpy.typing import ArrayLike, NDArray

from ._optional import need

Path = str | os.PathLike[str]


def _h5py() -> Any:
    return need("h5py", "HDF5 files")


def _plain(value: Any) -> Any:
    """Converts values that json cannot write."""
    return value.tolist() if isinstance(value, (numpy.ndarray, numpy.generic)) else str(value)


def _attribute(value: Any) -> Any:
    return value if isinstance(value, (str, int, float, numpy.generic)) else json.dumps(value, default=_plain)


def _parsed(value: Any) -> Any:
    """Dictionaries and lists are stored as JSON text."""
    if isinstance(value, str) and value[:1] in "{[":
        try:
            return json.loads(value)
        except ValueError:
            pass  # an ordinary text that begins so
    return value


def makedirs(filepath: Path) -> None:
    """Creates the folder of a file and its parents."""
    os.makedirs(os.path.dirname(os.fspath(filepath)) or ".", exist_ok=True)


def save_data_hdf5(
    file_path: Path, array: ArrayLike, array_name: str = "array", attributes_dict: dict[str, Any] | None = None
) -> None:
    """Writes one array with attributes and creates folders as needed. The file appears only once it is complete."""
    h5py, values = _h5py(), numpy.asarray(array)
    makedirs(file_path)
    part = f"{os.fspath(file_path)}.part"
    try:
        with h5py.File(part, "w") as file:
            dataset = file.create_dataset(array_name, data=values)
            for name, value in (attributes_dict or {}).items():
                dataset.attrs[name] = _attribute(value)
        os.replace(part, file_path)
    finally:
        if os.path.exists(part):
            os.remove(part)


def load_data_hdf5(file_path: Path) -> tuple[NDArray[Any], dict[str, Any]]:
    """(array, attributes) of a file with one dataset. Raises ValueError if it has none or several."""
    with _h5py().File(file_path, "r") as file:
        names = list(file)
        if len(names) != 1:
            raise ValueError(f"{os.fspath(file_path)}: has {len(names)} datasets ({', '.join(names)}), expected one")
        dataset = file[names[0]]
        return dataset[()], {name: _parsed(value) for name, value in dataset.attrs.items()}


def export_recon_hdf5(
    file_path: Path,
    recon: ArrayLike,
    recon_dict: dict[str, Any] | None = None,
    remove_flash: bool = False,
    radial_margin: int = 10,
    top_margin: int = 10,
    bottom_margin: int = 10,
) -> None:
    """Writes a reconstruction (rows, cols, slices) as the dataset "recon" of (slices, cols, rows).

    remove_flash: sets a margin of the cylinder, and slices at its ends, to 0 first: apply_cylindrical_mask."""
    volume = numpy.asarray(recon)
    if remove_flash:
        from .operations import apply_cylindrical_mask

        volume = apply_cylindrical_mask(volume, radial_margin, top_margin, bottom_margin)
    save_data_hdf5(file_path, volume.transpose(2, 1, 0), "recon", recon_dict)


def import_recon_hdf5(file_path: Path) -> tuple[NDArray[Any], dict[str, Any]]:
    """(recon, recon_dict) of a file of export_recon_hdf5, (rows, cols, slices)."""
    volume, record = load_data_hdf5(file_path)
    if volume.ndim != 3:
        raise ValueError(f"{os.fspath(file_path)}: has an array of {volume.ndim} axes, expected (slices, cols, rows)")
    return numpy.ascontiguousarray(volume.transpose(2, 1, 0)), record


def merge_log_files(merged_path: Path, labeled_paths: Any) -> None:
    """Joins the existing files among (label, path), with a heading before each, and removes them. Writes nothing if
    none exists."""
    present = [(label, path) for label, path in labeled_paths if path is not None and os.path.exists(path)]
    if not present:
        return
    with open(merged_path, "w", encoding="utf-8") as merged:
        for label, path in present:
            with open(path, encoding="utf-8") as part:
                merged.write(f"======== {label} ========\n{part.read()}")
            os.remove(path)
