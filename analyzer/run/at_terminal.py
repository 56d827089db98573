"""Runs a command whose stderr is a terminal, and prints what it shows there; the status is the command's.

at_terminal.py STORED COMMAND...: the file that the pattern STORED names has to come only when the command has ended and nobody
has its terminal open any more. An empty STORED names none. On a busy machine it may be there before anybody looks: then the cache
that it lies in is removed, and the command runs once more, three times in all.
"""

import glob
import os
import pty
import shutil
import subprocess
import sys
import time


def run(command):
    ours, theirs = pty.openpty()
    running = subprocess.Popen(command, stderr=theirs, stdout=subprocess.PIPE)
    os.close(theirs)
    shown = b""
    try:
        while data := os.read(ours, 1 << 16):
            shown += data
    except OSError:  # EIO: nobody has the terminal open any more
        pass
    os.close(ours)
    return running.communicate()[0], shown, running.returncode


def comes_later(pattern):
    end = time.monotonic() + 60
    if glob.glob(pattern):
        return False
    while not glob.glob(pattern):
        if time.monotonic() > end:
            sys.exit("nothing is stored when the command has ended")
        time.sleep(0.1)
    return True


pattern, *command = sys.argv[1:]
for tries_left in reversed(range(3)):
    found, shown, status = run(command)
    if not pattern or comes_later(pattern):
        break
    if not tries_left:
        sys.exit("all is stored when the command ends")
    shutil.rmtree(os.path.dirname(os.path.dirname(pattern)))
sys.stdout.buffer.write(found)
sys.stderr.write(shown.decode(errors="replace"))
sys.exit(status)
