"""The regression metrics."""

from devsan.metrics._catalog import catalog as _catalog

globals().update(_catalog()["regression"])
__all__ = list(_catalog()["regression"])
