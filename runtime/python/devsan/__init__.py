"""The Python API of DevSan. Under `devsan run` it reaches the runtime, without it the scopes do nothing.

    with devsan.expect_no_sync():          # waiting for the device in here is an error
        loss = train_step(model, batch)
        with devsan.allow_sync():
            print(loss.item())
    devsan.step()

Scopes are context managers and decorators. They nest, and of two that say different things about the same the inner one
holds. They cover a backward that is started inside them, and no other thread.

PYTEST_DONT_REWRITE: pytest would warn that the package of its plugin is imported already.
"""

import os
import pkgutil

# The metrics of a wheel lie beside another copy of this file than devsan.sim, which lies in the tree of `devsan run`.
__path__ = pkgutil.extend_path(__path__, __name__)
__path__.append(os.path.join(os.path.dirname(__file__), "_tree", "python", "devsan"))

from devsan.guards import (
    SyncCounts,
    allow_sync,
    allow_transfer,
    count_syncs,
    expect_no_sync,
    sync_guard,
    transfer_guard,
)
from devsan.host_kernels import host_kernel
from devsan.runtime import is_active, step
from devsan.same_device import expect_same_device

__all__ = [
    "SyncCounts",
    "allow_sync",
    "allow_transfer",
    "count_syncs",
    "expect_no_sync",
    "expect_same_device",
    "host_kernel",
    "is_active",
    "step",
    "sync_guard",
    "transfer_guard",
]


def __getattr__(name):
    if name == "__version__":
        from importlib.metadata import version  # slow to import

        return version("devsan")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
