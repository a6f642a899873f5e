"""Packages that single functions need."""

from __future__ import annotations

import importlib
from typing import Any


def need(package: str, purpose: str) -> Any:
    """The imported package. @throws ImportError that says how to get it"""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise ImportError(f"{purpose} need the package {package}: pip install {package}") from error
