"""The metrics of images."""

from devsan.metrics._catalog import catalog as _catalog

globals().update(_catalog()["image"])
__all__ = list(_catalog()["image"])
