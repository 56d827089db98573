"""Runs a command on a copy of a folder outside of any repository: usage: outside_git.py FOLDER COMMAND…, with @ for the copy."""

import shutil
import subprocess
import sys
import tempfile

with tempfile.TemporaryDirectory() as copy:
    shutil.copytree(sys.argv[1], copy, dirs_exist_ok=True)
    sys.exit(subprocess.run([argument.replace("@", copy) for argument in sys.argv[2:]], check=False).returncode)
