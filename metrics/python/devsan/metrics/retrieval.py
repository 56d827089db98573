"""The metrics of rankings."""

from devsan.metrics._catalog import catalog as _catalog

globals().update(_catalog()["retrieval"])
__all__ = list(_catalog()["retrieval"])
