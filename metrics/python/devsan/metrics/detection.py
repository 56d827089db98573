"""The metrics of boxes and segments."""

from devsan.metrics._catalog import catalog as _catalog

globals().update(_catalog()["detection"])
__all__ = list(_catalog()["detection"])
