"""Runs in every Python process under `devsan run`: prepares the simulated devices, then the user's own sitecustomize."""

import importlib.machinery
import importlib.util
import os
import sys


def _install_simulator():
    if not os.environ.get("DEVSAN_SIM_DEVICES"):
        return
    try:
        from devsan import sim

        sim.install()
    except Exception as error:  # the program must run on, as it would without us
        print(f"devsan: torch.cuda is not simulated: {error!r}", file=sys.stderr)


def _watch_steps():
    if not os.environ.get("DEVSAN_LOG_DIR"):
        return
    try:
        from devsan import steps

        steps.install()
    except Exception as error:  # the program must run on, as it would without us
        print(f"devsan: optimizers' steps are not seen: {error!r}", file=sys.stderr)


def _holds_devsan(folder):
    """Of another DevSan, as with a run inside a run: one in a process is enough."""
    return os.path.exists(os.path.join(folder or ".", "devsan", "sim", "__init__.py"))


def _run_next():
    """Python imports one sitecustomize only, the first on the path; ours must not hide the user's."""
    own = os.path.dirname(os.path.abspath(__file__))
    path = [entry for entry in sys.path if os.path.abspath(entry or ".") != own and not _holds_devsan(entry)]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", path)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


# The next one may look for further ones itself, as we do, and find us again.
if not hasattr(sys, "_devsan_sitecustomize"):
    sys._devsan_sitecustomize = True
    _install_simulator()
    _watch_steps()
    _run_next()
