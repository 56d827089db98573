"""The names of CUDA's runtime that PyTorch uses (used_names.txt): what the stand-ins for its headers and its library must have.

    used_names.py PACKAGE    adds those of the CUDA build in that folder, and prints those that the stand-ins' headers lack
"""

import re
import sys
from pathlib import Path

NAMES = Path(__file__).with_name("used_names.txt")
HEADERS = Path(__file__).resolve().parents[2] / "analyzer/cuda_stubs"
NAME = re.compile(r"\bcuda[A-Z]\w*")
OWN = {"cudaStream", "cudaStreams"}  # arguments and variables of PyTorch's own
DEFINES = re.compile(r"#define (\w+)")
COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"", re.S)


def text_of(folder):
    return COMMENTS.sub("", "\n".join(path.read_text(errors="replace") for path in sorted(folder.rglob("*.h"))))


def in_library(path):
    """The undefined symbols of a library."""
    from elftools.elf.elffile import ELFFile

    with open(path, "rb") as file:
        symbols = ELFFile(file).get_section_by_name(".dynsym").iter_symbols()
        return {symbol.name for symbol in symbols if symbol["st_shndx"] == "SHN_UNDEF" and NAME.fullmatch(symbol.name)}


def used_by(package):
    text = text_of(package / "include/c10/cuda") + text_of(package / "include/ATen/cuda")
    libraries = set().union(*map(in_library, package.glob("lib/*_cuda.so")))
    return {("header", name) for name in set(NAME.findall(text)) - OWN - set(DEFINES.findall(text))} | {("library", name) for name in libraries}


def read_names():
    return {tuple(line.split()) for line in NAMES.read_text().splitlines() if not line.startswith("#")}


def write_names(names):
    NAMES.write_text("# Of the releases that script/try-releases has tried; written by used_names.py.\n"
                     + "".join(f"{kind} {name}\n" for kind, name in sorted(names)))


def declared():
    return set(NAME.findall(text_of(HEADERS)))


if __name__ == "__main__":
    write_names(read_names() | used_by(Path(sys.argv[1])))
    print(" ".join(sorted({name for _, name in read_names()} - declared())))
