"""The classification metrics."""

from devsan.metrics._catalog import catalog as _catalog

globals().update(_catalog()["classification"])
__all__ = list(_catalog()["classification"])
