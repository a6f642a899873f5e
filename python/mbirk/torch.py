"""Differentiable projections for PyTorch: `from mbirk.torch import forward_project`.

Tensors are float32 on the CPU; they are read in place through DLPack. The gradient of a projection is the other one,
its exact transpose.
"""

from __future__ import annotations

from typing import Any

import torch


def _apply(operation: Any, tensor: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(operation(tensor.detach().to(device="cpu", dtype=torch.float32).contiguous())).to(
        tensor.device
    )


class _Projection(torch.autograd.Function):
    """A linear operation and its transpose; derivatives of any order, since each is the derivative of the other."""

    @staticmethod
    def forward(context: Any, operation: Any, transpose: Any, tensor: torch.Tensor) -> torch.Tensor:
        context.operation, context.transpose = operation, transpose
        return _apply(operation, tensor)

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> tuple[None, None, torch.Tensor]:
        return None, None, _Projection.apply(context.transpose, context.operation, gradient)


def forward_project(model: Any, recon: torch.Tensor) -> torch.Tensor:
    """model.forward_project(recon), differentiable: (rows, cols, slices) to (views, rows, channels)."""
    return _Projection.apply(model.forward_project, model.back_project, recon)


def back_project(model: Any, sinogram: torch.Tensor) -> torch.Tensor:
    """model.back_project(sinogram), differentiable: (views, rows, channels) to (rows, cols, slices)."""
    return _Projection.apply(model.back_project, model.forward_project, sinogram)


def sparse_forward_project(model: Any, voxel_values: torch.Tensor, pixel_indices: Any) -> torch.Tensor:
    """model.sparse_forward_project, differentiable in voxel_values: (pixels, slices) to (views, rows, channels)."""
    return _Projection.apply(
        lambda x: model.sparse_forward_project(x, pixel_indices),
        lambda y: model.sparse_back_project(y, pixel_indices),
        voxel_values,
    )


def sparse_back_project(model: Any, sinogram: torch.Tensor, pixel_indices: Any) -> torch.Tensor:
    """model.sparse_back_project, differentiable in the sinogram: (views, rows, channels) to (pixels, slices)."""
    return _Projection.apply(
        lambda y: model.sparse_back_project(y, pixel_indices),
        lambda x: model.sparse_forward_project(x, pixel_indices),
        sinogram,
    )
