"""Docstrings of the compiled methods for the methods that convert their arguments."""

from __future__ import annotations


def copy_docstrings(own: type, compiled: type) -> None:
    """Methods of `own` without a docstring take that of the compiled method, without its signature."""
    for name, method in vars(own).items():
        if callable(method) and not method.__doc__ and hasattr(compiled, name):
            method.__doc__ = getattr(compiled, name).__doc__.partition("\n\n")[2]
