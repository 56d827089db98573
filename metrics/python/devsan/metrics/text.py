"""The metrics of text."""

from devsan.metrics._catalog import catalog as _catalog

globals().update(_catalog()["text"])
__all__ = list(_catalog()["text"])
