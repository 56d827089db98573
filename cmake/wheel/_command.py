"""The console scripts of the wheel: each becomes its program, which lies beside this file."""

import os
import sys


def become(name):
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_tree", "bin", name)
    # Where nothing else says which Python is meant (no active virtual environment), it is the one of this installation.
    environment = {"DEVSAN_PYTHON": sys.executable or "", **os.environ}
    try:
        os.execve(program, [name, *sys.argv[1:]], environment)
    except OSError as error:
        sys.exit(f"{name}: error: cannot execute {program}: {error.strerror}; "
                 "reinstall it: pip install --force-reinstall --no-deps devsan")


def main():
    become("devsan")


def ci():
    become("devsan-ci")
