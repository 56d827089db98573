"""The metrics of images that are divided into classes."""

from devsan.metrics._catalog import catalog as _catalog

globals().update(_catalog()["segmentation"])
__all__ = list(_catalog()["segmentation"])
