"""usage: damage.py FOLDER. Damages the files below it, each in one of several ways."""

import sys
from pathlib import Path

for number, path in enumerate(sorted(p for p in Path(sys.argv[1]).rglob("*") if p.is_file())):
    data = bytearray(path.read_bytes())
    if number % 3 == 0:
        data = data[: len(data) * 2 // 3]
    elif number % 3 == 1:
        for at in range(len(data) // 3, len(data), 997):
            data[at] ^= 0x55
    else:
        data = bytearray()
    path.write_bytes(data)
