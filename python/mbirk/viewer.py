"""A window that shows slices of volumes."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import ArrayLike


def slice_viewer(
    *datasets: ArrayLike,
    data_dicts: Any = None,
    title: str = "",
    vmin: float | None = None,
    vmax: float | None = None,
    slice_label: str | list[str] | None = None,
    slice_axis: int | list[int] | None = None,
    cmap: str = "gray",
    show_instructions: bool = True,
    block: bool = True,
) -> Any:
    """Shows one slice of each volume side by side, with one slider for all. Needs matplotlib.

    datasets: volumes of three axes; images of two are shown as one slice. slice_axis: the axis that the slider moves
    along, the last one by default, for all or one per volume. slice_label: what the slider counts. data_dicts: records
    such as recon_dict; their notes become titles. Returns the figure; it keeps its slider in figure.slider."""
    try:
        from matplotlib import pyplot
        from matplotlib.widgets import Slider
    except ImportError as error:
        raise ImportError("slice_viewer needs the package matplotlib: pip install matplotlib") from error
    if not datasets:
        raise ValueError("slice_viewer: there is no volume, expected at least one")
    axes = list(slice_axis) if isinstance(slice_axis, (list, tuple)) else [slice_axis] * len(datasets)
    labels = list(slice_label) if isinstance(slice_label, (list, tuple)) else [slice_label or "slice"] * len(datasets)
    volumes = []
    for number, (data, axis) in enumerate(zip(datasets, axes)):
        array = numpy.asarray(data)
        if array.ndim not in (2, 3):
            raise ValueError(f"slice_viewer: volume {number} has {array.ndim} axes, expected 2 or 3")
        volumes.append(numpy.moveaxis(array if array.ndim == 3 else array[..., None], -1 if axis is None else axis, -1))
    low = min(float(v.min()) for v in volumes) if vmin is None else vmin
    high = max(float(v.max()) for v in volumes) if vmax is None else vmax
    figure, panels = pyplot.subplots(1, len(volumes), squeeze=False, figsize=(1 + 4 * len(volumes), 5))
    figure.suptitle(title)
    figure.subplots_adjust(bottom=0.2)
    middle = max(v.shape[2] for v in volumes) // 2

    def at(volume: Any, position: float) -> Any:
        return volume[:, :, min(int(position), volume.shape[2] - 1)]

    notes = [
        d.get("notes", "") if isinstance(d, dict) else ""
        for d in (data_dicts if isinstance(data_dicts, (list, tuple)) else [data_dicts])
    ]
    pictures = [panel.imshow(at(v, middle), cmap=cmap, vmin=low, vmax=high) for panel, v in zip(panels[0], volumes)]
    for panel, note in zip(panels[0], notes):
        panel.set_title(note)
    figure.colorbar(pictures[-1], ax=list(panels[0]))
    deepest = max(v.shape[2] for v in volumes)
    slider = Slider(
        figure.add_axes((0.2, 0.05, 0.6, 0.04)), labels[0], 0, max(deepest - 1, 1), valinit=middle, valstep=1
    )

    def show(position: float) -> None:
        for picture, volume in zip(pictures, volumes):
            picture.set_data(at(volume, position))
        figure.canvas.draw_idle()

    slider.on_changed(show)
    figure.slider = slider
    if show_instructions:
        figure.text(0.02, 0.01, "Drag the slider to move through the slices.", fontsize=8)
    pyplot.show(block=block)
    return figure
