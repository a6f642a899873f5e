"""TIFF files of a detector. Needs tifffile."""

from __future__ import annotations

import os
import pathlib
import re
from collections.abc import Sequence

import numpy
from numpy.typing import NDArray

from .._optional import need

Floats = NDArray[numpy.float32]
Path = str | os.PathLike[str]


def normalized(image: NDArray) -> Floats:
    """As float32; whole numbers are divided by the largest of their type."""
    if image.dtype.kind in "iu":
        return image.astype(numpy.float32) / numpy.float32(numpy.iinfo(image.dtype).max)
    return image.astype(numpy.float32)


def read_tif_img(img_path: Path) -> Floats:
    """The image of a TIFF file, (rows, channels) or with a leading axis; whole numbers become 0 to 1."""
    return normalized(need("tifffile", "TIFF files").imread(img_path))


def read_tif_stack_dir(scan_dir: Path, view_ids: Sequence[int] | NDArray | None = None) -> Floats:
    """The images of a folder whose names end in a digit, in the order of their names, or those of them that view_ids
    lists. Returns (views, rows, channels), as read_tif_img."""
    tifffile = need("tifffile", "TIFF files")
    files = sorted(p for p in pathlib.Path(scan_dir).iterdir() if re.fullmatch(r".*\d\.tiff?", p.name, re.IGNORECASE))
    if not files:
        raise FileNotFoundError(f"{scan_dir}: has no TIFF files whose names end in a digit, expected one per view")
    chosen = numpy.arange(len(files)) if view_ids is None else numpy.asarray(view_ids, int)
    if chosen.size and not 0 <= chosen.min() <= chosen.max() < len(files):
        raise FileNotFoundError(f"{scan_dir}: has {len(files)} views, expected at least {int(chosen.max()) + 1}")
    first = tifffile.imread(files[chosen[0]])
    views = numpy.empty((chosen.size, *first.shape), numpy.float32)
    views[0] = normalized(first)
    for view, number in zip(views[1:], chosen[1:]):
        image = tifffile.imread(files[number])
        if image.shape != first.shape or image.dtype != first.dtype:
            raise ValueError(
                f"{files[number]}: has {image.dtype} of {image.shape}, "
                f"expected {first.dtype} of {first.shape} as in {files[chosen[0]].name}"
            )
        view[:] = normalized(image)
    return views
