"""Prints the build id of libtorch_cpu.so, as runtime/preload/preload.c writes it: which LibTorch a runtime is built for.

usage: torch_id.py LIBTORCH_CPU
"""

import os
import struct
import sys

PT_NOTE = 4
NT_GNU_BUILD_ID = 3


def notes(file):
    header = file.read(64)
    (program_headers,) = struct.unpack_from("<Q", header, 32)
    entry_size, count = struct.unpack_from("<HH", header, 54)
    for i in range(count):
        file.seek(program_headers + i * entry_size)
        kind, _, offset, _, _, size, _, align = struct.unpack("<IIQQQQQQ", file.read(56))
        if kind != PT_NOTE:
            continue
        file.seek(offset)
        data = file.read(size)
        padding = 7 if align == 8 else 3
        at = 0
        while at + 12 <= len(data):
            name_size, text_size, note_type = struct.unpack_from("<III", data, at)
            text = at + 12 + ((name_size + padding) & ~padding)
            yield data[at + 12 : at + 12 + name_size], note_type, data[text : text + text_size]
            at = text + ((text_size + padding) & ~padding)


def torch_id(path):
    with open(path, "rb") as file:
        for name, note_type, text in notes(file):
            if name == b"GNU\0" and note_type == NT_GNU_BUILD_ID:
                return text.hex()
    status = os.stat(path)
    return f"file-{status.st_size:x}-{int(status.st_mtime):x}"


if __name__ == "__main__":
    print(torch_id(sys.argv[1]))
