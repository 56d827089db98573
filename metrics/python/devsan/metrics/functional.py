"""The functional forms of the metrics: of one batch, without a state."""

from devsan.metrics._catalog import catalog as _catalog

globals().update(_catalog()["functional"])
__all__ = list(_catalog()["functional"])
