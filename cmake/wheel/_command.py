"""The console script `devsan` of the wheel: becomes the command, which lies beside this file."""

import os
import sys


def main():
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_tree", "bin", "devsan")
    # Where nothing else says which Python is meant (no active virtual environment), it is the one of this installation.
    environment = {"DEVSAN_PYTHON": sys.executable or "", **os.environ}
    try:
        os.execve(program, ["devsan", *sys.argv[1:]], environment)
    except OSError as error:
        sys.exit(f"devsan: error: cannot execute {program}: {error.strerror}; "
                 "reinstall it: pip install --force-reinstall --no-deps devsan")
