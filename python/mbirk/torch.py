"""Differentiable projections for PyTorch: `from mbirk.torch import forward_project`.

Tensors are float32 on the CPU or, for a model of mbirk.devices, on its device; they are read in place through DLPack.
The gradient of a projection is the other one, its exact transpose.
"""

from __future__ import annotations

from typing import Any

import torch

from .devices import DeviceArray


def _apply(model: Any, operation: Any, tensor: torch.Tensor) -> torch.Tensor:
    values = tensor.detach().to(device="cpu" if model.device == "host" else None, dtype=torch.float32).contiguous()
    found = operation(values)
    return (torch.from_dlpack if isinstance(found, DeviceArray) else torch.from_numpy)(found).to(tensor.device)


class _Projection(torch.autograd.Function):
    """A linear operation and its transpose; derivatives of any order, since each is the derivative of the other."""

    @staticmethod
    def forward(context: Any, model: Any, operation: Any, transpose: Any, tensor: torch.Tensor) -> torch.Tensor:
        context.model, context.operation, context.transpose = model, operation, transpose
        return _apply(model, operation, tensor)

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> tuple[None, None, None, torch.Tensor]:
        return None, None, None, _Projection.apply(context.model, context.transpose, context.operation, gradient)


def forward_project(model: Any, recon: torch.Tensor) -> torch.Tensor:
    """model.forward_project(recon), differentiable: (rows, cols, slices) to (views, rows, channels)."""
    return _Projection.apply(model, model.forward_project, model.back_project, recon)


def back_project(model: Any, sinogram: torch.Tensor) -> torch.Tensor:
    """model.back_project(sinogram), differentiable: (views, rows, channels) to (rows, cols, slices)."""
    return _Projection.apply(model, model.back_project, model.forward_project, sinogram)


def sparse_forward_project(model: Any, voxel_values: torch.Tensor, pixel_indices: Any) -> torch.Tensor:
    """model.sparse_forward_project, differentiable in voxel_values: (pixels, slices) to (views, rows, channels)."""
    return _Projection.apply(
        model,
        lambda x: model.sparse_forward_project(x, pixel_indices),
        lambda y: model.sparse_back_project(y, pixel_indices),
        voxel_values,
    )


def sparse_back_project(model: Any, sinogram: torch.Tensor, pixel_indices: Any) -> torch.Tensor:
    """model.sparse_back_project, differentiable in the sinogram: (views, rows, channels) to (pixels, slices)."""
    return _Projection.apply(
        model,
        lambda y: model.sparse_back_project(y, pixel_indices),
        lambda x: model.sparse_forward_project(x, pixel_indices),
        sinogram,
    )
