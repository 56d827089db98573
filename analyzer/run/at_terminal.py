"""Runs a command whose stderr is a terminal, and prints what it shows there; the status is the command's.

at_terminal.py LOCK COMMAND...: when the command has ended and nobody has its terminal open any more, the one file that the
pattern LOCK names has to be locked still. An empty LOCK names none.
"""

import fcntl
import glob
import os
import pty
import subprocess
import sys

ours, theirs = pty.openpty()
command = subprocess.Popen(sys.argv[2:], stderr=theirs)
os.close(theirs)
shown = b""
try:
    while data := os.read(ours, 1 << 16):
        shown += data
except OSError:  # EIO: nobody has the terminal open any more
    pass
if pattern := sys.argv[1]:
    with open(*glob.glob(pattern), "rb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            sys.exit("nothing is stored any more when the command has ended")
        except BlockingIOError:
            pass
sys.stderr.write(shown.decode(errors="replace"))
sys.exit(command.wait())
