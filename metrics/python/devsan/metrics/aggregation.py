"""Metrics of values alone."""

from devsan.metrics._catalog import catalog as _catalog

globals().update(_catalog()["aggregation"])
__all__ = list(_catalog()["aggregation"])
