"""Makes the libraries that products are linked against, so that they run on older systems than the one they are built on.

usage: stubs.py READELF COMPILER OUT NAME=LIBRARY...

For each LIBRARY of this system, such as libc.so.6, OUT/NAME has the same symbols at the newest version that manylinux_2_28 allows:
of those with several versions an old one, and none that are younger. Nothing of them is ever run.
"""

import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

NEWEST = {"GLIBC": (2, 28), "GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11)}
SYMBOL = re.compile(r"^\s*\d+: (?P<at>[0-9a-f]+)\s+(?P<size>\d+|0x[0-9a-f]+) (?P<type>FUNC|IFUNC|OBJECT|TLS|NOTYPE)\s+(?:GLOBAL|WEAK|UNIQUE)\s+(?:DEFAULT|PROTECTED)\s+\d+ "
                    r"(?P<name>[^\s@]+)@@?(?P<version>(?P<kind>[A-Z]+)_(?P<number>[\d.]+))(?: |$)", re.MULTILINE)


def symbols_of(readelf, library):
    """The match of each symbol's newest allowed version, by name."""
    listed = subprocess.run([readelf, "-W", "--dyn-syms", library], capture_output=True, text=True, check=True).stdout
    found = {}
    for symbol in SYMBOL.finditer(listed):
        number = number_of(symbol)
        if number <= NEWEST.get(symbol["kind"], ()) and (symbol["name"] not in found or number > number_of(found[symbol["name"]])):
            found[symbol["name"]] = symbol
    return found


def number_of(symbol):
    return tuple(map(int, symbol["number"].split(".")))


def assembly_of(symbols):
    """Data has its size, and one place where it has several names: programs may take copies of it."""
    places = defaultdict(list)
    for symbol in symbols.values():
        places[symbol["at"] if symbol["type"] in ("OBJECT", "TLS") else symbol["name"], symbol["type"]].append(symbol)
    lines = []
    for (_, kind), there in places.items():
        section, type_ = {"OBJECT": (".bss", "object"), "TLS": (".section .tbss,\"awT\",@nobits", "tls_object")}.get(kind, (".text", "function"))
        size = max(int(symbol["size"], 0) for symbol in there) or 1
        lines.append(f"{section}\n.balign 64" if type_ != "function" else section)
        for symbol in there:
            name = symbol["name"]
            lines.append(f".globl {name}\n.type {name}, @{type_}\n.size {name}, {size}\n{name}:")
        lines.append(f".skip {size}" if type_ != "function" else "nop")
    return "\n".join(lines) + "\n.section .note.GNU-stack,\"\",@progbits\n"


def versions_of(symbols):
    versions = defaultdict(list)
    for symbol in symbols.values():
        versions[symbol["version"]].append(symbol["name"])
    return "".join(f"{version} {{ global: {' '.join(f'{name};' for name in names)} }};\n" for version, names in versions.items())


def write(path, text):
    """Whether that changed it: what is linked against a library that is made again is linked again."""
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return False
    path.write_text(text, encoding="utf-8")
    return True


def main():
    readelf, compiler, out, libraries = sys.argv[1], sys.argv[2], Path(sys.argv[3]), [argument.split("=", 1) for argument in sys.argv[4:]]
    out.mkdir(parents=True, exist_ok=True)
    for name, library in libraries:
        symbols = symbols_of(readelf, library)
        if not symbols:
            sys.exit(f"stubs.py: error: {library} has no symbols of a version that manylinux_2_28 allows; is it a library of glibc's or GCC's?")
        source, script = out / f"{name}.s", out / f"{name}.map"
        # Made again with another compiler, too.
        if any([write(source, f"# {compiler}\n{assembly_of(symbols)}"), write(script, versions_of(symbols)), not (out / name).exists()]):
            # There after a link that succeeded, and then only.
            (out / name).unlink(missing_ok=True)
            made = out / f"{name}.new"
            subprocess.run([compiler, "-shared", "-nostdlib", f"-Wl,-soname,{Path(library).name}", f"-Wl,--version-script={script}", "-o", made, source], check=True)
            os.replace(made, out / name)


main()
