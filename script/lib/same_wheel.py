"""Whether two wheels are the same, to the byte; else which of their files differ. Status 1 where they do.

usage: same_wheel.py WHEEL WHEEL
"""

import sys
import zipfile
from pathlib import Path

FIRST, SECOND = map(Path, sys.argv[1:3])


def members(path):
    """What a file in the wheel is, by its name: contents and what is kept beside them."""
    with zipfile.ZipFile(path) as wheel:
        return {info.filename: (info.CRC, info.file_size, info.date_time, info.external_attr) for info in wheel.infolist()}


def main():
    if FIRST.read_bytes() == SECOND.read_bytes():
        return 0
    first, second = members(FIRST), members(SECOND)
    differing = sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name))
    print("\n".join(differing or ["(only in the order or the packing of their files)"]))
    return 1


if __name__ == "__main__":
    sys.exit(main())
