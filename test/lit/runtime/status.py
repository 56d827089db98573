"""usage: status.py N COMMAND... : succeeds where COMMAND ends with status N (-N: by signal N)."""

import subprocess
import sys

expected, command = int(sys.argv[1]), sys.argv[2:]
status = subprocess.run(command).returncode
if status != expected:
    sys.exit(f"status {status} instead of {expected}: {' '.join(command)}")
