"""Runs a command whose stderr is a terminal, and prints what it shows there; the status is the command's."""

import os
import pty
import subprocess
import sys

ours, theirs = pty.openpty()
command = subprocess.Popen(sys.argv[1:], stderr=theirs)
os.close(theirs)
shown = b""
try:
    while data := os.read(ours, 1 << 16):
        shown += data
except OSError:  # EIO: nobody has the terminal open any more
    pass
sys.stderr.write(shown.decode(errors="replace"))
sys.exit(command.wait())
