"""usage: interrupt.py SIGNAL COMMAND...

Starts the command, sends it the signal once it has a child, and fails where a process of its session is still there some
seconds later.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def session(leader):
    """The processes of a session that are no zombies."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[3]) == leader and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


def until(condition, seconds):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def main():
    # A shell starts what runs in the background with SIGINT ignored.
    process = subprocess.Popen(sys.argv[2:], start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    try:
        if not until(lambda: len(session(process.pid)) > 1, 60):
            sys.exit("it has started no child")
        os.kill(process.pid, getattr(signal, sys.argv[1]))
        process.wait(timeout=60)
        if not until(lambda: not session(process.pid), 30):
            sys.exit(f"left behind: {session(process.pid)}")
    finally:
        for left in session(process.pid):
            os.kill(left, signal.SIGKILL)


if __name__ == "__main__":
    main()
