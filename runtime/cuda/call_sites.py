"""Where compiled libraries call CUDA so that the host may wait, and which hook of DevSan's sees each call.

    call_sites.py [--shim=LIBRARY] [--list] LIBRARY|FOLDER…

Reads the machine code (x86-64): every call or jump to an import of a function of CUDA, through the procedure linkage table
or the global offset table, and every function whose address is taken there. A call is seen where the shim exports the
function and the library imports it dynamically, because the preloaded definition wins. Libraries that carry a CUDA runtime
of their own import none; they reach the driver through dlsym, which the shim answers: for those it is said which of the
driver's functions they name, and whether the shim replaces it.

Status 1 where a call is not seen, nothing calls CUDA, or an imported function is neither in entry_points.txt nor in
not_blocking.txt.
"""

import argparse
import bisect
import re
import struct
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from entry_points import EntryPoint, read_entry_points

FOLDER = Path(__file__).parent
# What the calls of a class do to the host, in the order of the report.
BLOCKING = {
    "wait": "wait for a device, a stream or an event",
    "copy": "copy, and wait unless both sides are on devices",
    "copyAsync": "copy, and wait where a side is pageable memory, but for small uploads",
    "set": "set memory, and wait where it is the host's",
    "query": "ask for the end of work, and wait in a loop",
    "allocateHost": "pin memory of the host",
    "release": "give memory back",
}
CUDA_NAME = re.compile(r"^(__)?cu(da)?[A-Z]\w+$")
# Libraries of NVIDIA's with names like the driver's, which are functions of their own.
OTHER_LIBRARIES = re.compile(r"^cu(blas|dnn|fft|sparse|solver|rand|pti|File|tensor|blasLt|nd)")

SHT_SYMTAB, SHT_STRTAB, SHT_RELA, SHT_DYNSYM = 2, 3, 4, 11
SHF_EXECINSTR = 4
CALL, JUMP = 0xE8, 0xE9
INDIRECT_CALL, INDIRECT_JUMP = b"\xff\x15", b"\xff\x25"


@dataclass
class Section:
    name: str
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int


@dataclass
class CallSite:
    function: str  # of CUDA
    address: int
    kind: str  # "call", "jump" or "address"
    caller: str = ""


@dataclass
class Library:
    path: Path
    imports: dict[str, str] = field(default_factory=dict)  # name → version, "" without one
    sites: list[CallSite] = field(default_factory=list)
    driver_names: set[str] = field(default_factory=set)
    imports_dlsym: bool = False


class Elf:
    """The few tables of a 64-bit ELF file that are needed, on a memory map: the files hold gigabytes."""

    def __init__(self, path: Path) -> None:
        self.data = np.memmap(path, dtype=np.uint8, mode="r")
        header = bytes(self.data[:64])
        if header[:4] != b"\x7fELF" or header[4] != 2:
            raise ValueError(f"{path}: no 64-bit ELF file")
        if struct.unpack_from("<H", header, 18)[0] != 62:
            raise ValueError(f"{path}: not for x86-64, whose calls are the ones read here")
        table, = struct.unpack_from("<Q", header, 40)
        size, count, names = struct.unpack_from("<HHH", header, 58)
        raw = [struct.unpack_from("<IIQQQQI", bytes(self.data[table + i * size:table + (i + 1) * size]))
               for i in range(count)]
        strings = raw[names][4]
        self.sections = [Section(self.text(strings + s[0]), s[1], s[2], s[3], s[4], s[5], s[6]) for s in raw]

    def text(self, offset: int) -> str:
        end = offset
        while self.data[end]:
            end += 1
        return bytes(self.data[offset:end]).decode(errors="replace")

    def bytes_of(self, section: Section) -> np.ndarray:
        return self.data[section.offset:section.offset + section.size]

    def records(self, section: Section, dtype: list[tuple[str, str]]) -> np.ndarray:
        return np.frombuffer(self.bytes_of(section), dtype=np.dtype(dtype))


SYMBOL = [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
RELOCATION = [("offset", "<u8"), ("type", "<u4"), ("symbol", "<u4"), ("addend", "<i8")]
R_64, R_GLOB_DAT, R_JUMP_SLOT = 1, 6, 7


def slots_of_imports(elf: Elf, wanted: set[str]) -> tuple[dict[int, str], dict[int, str], set[str]]:
    """Where the loader writes the addresses of imports: entries of the global offset table, and pointers in data; and the
    names of all imports of CUDA."""
    slots: dict[int, str] = {}
    pointers: dict[int, str] = {}
    dynamic = next((s for s in elf.sections if s.kind == SHT_DYNSYM), None)
    if not dynamic:
        return slots, pointers, set()
    symbols = elf.records(dynamic, SYMBOL)
    strings = elf.sections[dynamic.link].offset
    undefined = np.flatnonzero((symbols["section"] == 0) & (symbols["name"] != 0))
    names = {int(i): elf.text(strings + int(symbols["name"][i])) for i in undefined}
    imports = {i: name for i, name in names.items() if name in wanted or CUDA_NAME.match(name)}
    for section in elf.sections:
        if section.kind != SHT_RELA:
            continue
        table = elf.records(section, RELOCATION)
        for row in table[np.isin(table["symbol"], list(imports))]:
            target = pointers if row["type"] == R_64 else slots
            if row["type"] in (R_64, R_GLOB_DAT, R_JUMP_SLOT):
                target[int(row["offset"])] = imports[int(row["symbol"])]
    return slots, pointers, set(names.values())


def relative(data: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """The signed 32-bit numbers at these positions."""
    parts = [data[positions + i].astype(np.int64) << (8 * i) for i in range(4)]
    value = parts[0] | parts[1] | parts[2] | parts[3]
    return np.where(value >= 1 << 31, value - (1 << 32), value)


def indirect(data: np.ndarray, address: int, opcode: bytes, slots: dict[int, str]) -> list[tuple[int, str]]:
    """Instructions `opcode *slot(%rip)`."""
    at = np.flatnonzero((data[:-5] == opcode[0]) & (data[1:-4] == opcode[1])) if len(data) > 6 else np.array([], int)
    if not len(at) or not slots:
        return []
    targets = address + at + 6 + relative(data, at + 2)
    hits = np.flatnonzero(np.isin(targets, np.fromiter(slots, np.int64, len(slots))))
    return [(address + int(at[i]), slots[int(targets[i])]) for i in hits]


def loads(data: np.ndarray, address: int, slots: dict[int, str]) -> list[tuple[int, str]]:
    """Instructions `mov slot(%rip), register`, by which the address of an import is taken."""
    at = np.flatnonzero((data[1:-5] == 0x8B) & ((data[2:-4] & 0xC7) == 0x05)) if len(data) > 7 else np.array([], int)
    if not len(at) or not slots:
        return []
    targets = address + at + 7 + relative(data, at + 3)
    hits = np.flatnonzero(np.isin(targets, np.fromiter(slots, np.int64, len(slots))))
    return [(address + int(at[i]), slots[int(targets[i])]) for i in hits]


def direct(data: np.ndarray, address: int, stubs: dict[int, str]) -> list[CallSite]:
    """Calls and jumps to the stubs of the procedure linkage table."""
    sites: list[CallSite] = []
    if not stubs or len(data) < 6:
        return sites
    goals = np.fromiter(stubs, np.int64, len(stubs))
    for opcode, kind in ((CALL, "call"), (JUMP, "jump")):
        at = np.flatnonzero(data[:-4] == opcode)
        targets = address + at + 5 + relative(data, at + 1)
        for i in np.flatnonzero(np.isin(targets, goals)):
            sites.append(CallSite(stubs[int(targets[i])], address + int(at[i]), kind))
    return sites


def stubs_of(elf: Elf, slots: dict[int, str]) -> dict[int, str]:
    """The stubs by their first address: in blocks of 16 bytes, or 8 without a lazy part."""
    stubs: dict[int, str] = {}
    for section in elf.sections:
        if not section.name.startswith(".plt"):
            continue
        step = 8 if section.name == ".plt.got" else 16
        for address, name in indirect(elf.bytes_of(section), section.address, INDIRECT_JUMP, slots):
            stubs[section.address + (address - section.address) // step * step] = name
    return stubs


def name_callers(path: Path, sites: list[CallSite]) -> None:
    out = subprocess.run(["nm", "--defined-only", "-C", path], capture_output=True, text=True, check=False).stdout
    if not out.strip():
        out = subprocess.run(["nm", "-D", "--defined-only", "-C", path], capture_output=True, text=True, check=False).stdout
    functions = sorted((int(line[:16], 16), line[19:]) for line in out.splitlines() if line[17:18] in "tTwWi")
    starts = [address for address, _ in functions]
    for site in sites:
        index = bisect.bisect_right(starts, site.address) - 1
        site.caller = functions[index][1] if index >= 0 else "?"


def read_library(path: Path, table: dict[str, EntryPoint]) -> Library:
    library = Library(path)
    elf = Elf(path)
    slots, pointers, names = slots_of_imports(elf, set(table))
    library.imports = {name: "" for name in names if CUDA_NAME.match(name) and not OTHER_LIBRARIES.match(name)}
    library.imports_dlsym = "dlsym" in names
    slots = {address: name for address, name in slots.items() if name in library.imports}
    stubs = stubs_of(elf, slots)
    for section in elf.sections:
        if not section.flags & SHF_EXECINSTR or section.name.startswith(".plt"):
            continue
        data = elf.bytes_of(section)
        library.sites += direct(data, section.address, stubs)
        for opcode, kind in ((INDIRECT_CALL, "call"), (INDIRECT_JUMP, "jump")):
            library.sites += [CallSite(n, a, kind) for a, n in indirect(data, section.address, opcode, slots)]
        library.sites += [CallSite(n, a, "address") for a, n in loads(data, section.address, slots)]
    library.sites += [CallSite(n, a, "address") for a, n in pointers.items() if n in library.imports]
    for section in elf.sections:
        if section.name in (".rodata", ".lrodata"):
            for match in re.finditer(rb"(?<=\0)cu[A-Z]\w{3,60}(?=\0)", bytes(elf.bytes_of(section))):
                library.driver_names.add(match[0].decode())
    name_callers(path, library.sites)
    return library


def exports_of(shim: Path) -> set[str]:
    out = subprocess.run(["nm", "-D", "--defined-only", shim], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1] for line in out.splitlines()}


def forwarded_driver_forms(name: str, table: dict[str, EntryPoint]) -> list[str]:
    """The entry points that cuGetProcAddress may mean by a name."""
    return [name + v + s for v in ("", "_v2", "_v3", "_v4") for s in ("", "_ptds", "_ptsz") if name + v + s in table]


def report(libraries: list[Library], table: dict[str, EntryPoint], seen: set[str], harmless: set[str],
           show_all: bool) -> int:
    by_function: Counter[str] = Counter()
    missed: list[str] = []
    unknown: dict[str, list[str]] = defaultdict(list)
    functions_with_calls: set[tuple[str, str]] = set()
    for library in libraries:
        for name in library.imports:
            if name not in table and name not in harmless:
                unknown[name].append(library.path.name)
        for site in library.sites:
            entry = table.get(site.function)
            if not entry or entry.call_class not in BLOCKING:
                continue
            by_function[site.function] += 1
            functions_with_calls.add((library.path.name, site.caller))
            line = f"{library.path.name} {site.caller} +{site.address:#x} {site.kind} {site.function}"
            if site.function not in seen:
                missed.append(line)
            if show_all:
                print(line, "→", f"forwarder {site.function} of the shim" if site.function in seen else "nobody")
    total = sum(by_function.values())
    replaced = 0
    print(f"{total} call sites in {len(functions_with_calls)} functions of {len(libraries)} libraries may block or copy; "
          f"{total - len(missed)} are seen, {len(missed)} are not")
    for call_class, what in BLOCKING.items():
        names = [(name, count) for name, count in by_function.most_common() if table[name].call_class == call_class]
        if names:
            print(f"  {sum(count for _, count in names)} {what}: " + ", ".join(f"{name} {count}" for name, count in names))
    for library in libraries:
        if library.imports or not library.driver_names:
            continue
        named = sorted(n for n in library.driver_names if forwarded_driver_forms(n, table))
        if named and library.imports_dlsym:
            replaced += 1
            print(f"{library.path.name} has a CUDA runtime of its own and gets {len(named)} functions that are replaced "
                  f"through dlsym or cuGetProcAddress")
        elif named:
            missed.append(f"{library.path.name} names functions of the driver and does not import dlsym")
    for name, where in sorted(unknown.items()):
        print(f"not classified: {name}, imported by {', '.join(sorted(set(where)))}: add it to entry_points.txt or "
              f"not_blocking.txt")
    for line in missed:
        print("not seen:", line)
    if not total and not replaced:
        print("nothing calls CUDA here")
        return 1
    return 1 if missed or unknown else 0


def libraries_in(paths: list[Path]) -> list[Path]:
    files: list[Path] = []
    for path in paths:
        files += sorted(p for p in path.rglob("*.so*") if p.is_file()) if path.is_dir() else [path]
    return files


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shim", type=Path, default=FOLDER.parents[1] / "build/lib/libdevsan_preload.so")
    parser.add_argument("--list", action="store_true", help="print every call site")
    parser.add_argument("libraries", nargs="+", type=Path)
    arguments = parser.parse_args()
    table = {name: entry for entry in read_entry_points() for name in entry.names}
    harmless = {line.split()[0] for line in (FOLDER / "not_blocking.txt").read_text().splitlines()
                if line.strip() and not line.startswith("#")}
    seen = exports_of(arguments.shim) & {name for name, entry in table.items() if entry.forwarded}
    try:
        libraries = [read_library(path, table) for path in libraries_in(arguments.libraries)]
    except (OSError, ValueError) as error:
        sys.exit(f"call_sites.py: {error}")
    return report(libraries, table, seen, harmless, arguments.list)


if __name__ == "__main__":
    sys.exit(main())
