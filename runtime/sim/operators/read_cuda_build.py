"""Reads from PyTorch's CUDA builds what its CPU builds do not tell, and writes cuda_build.txt.

usage: read_cuda_build.py [--check] cuda_build.txt FOLDER...

Each FOLDER holds the packages torch and torchgen of one release's CUDA build for x86-64, as its wheel has them. For
each release two kinds of facts are read from the symbols and the machine code of libtorch_cpu.so and libtorch_cuda.so:

alert   which operators' CUDA code calls at::Context::alertNotDeterministic, and with which text; and for which it asks
        for a deterministic cuBLAS. Whether a call is reached may depend on arguments: see operators/deterministic.cpp.
        Not listed is what the CPU's kernels say as well.
kernel  which operators have one kernel for all devices that calls a function of the tensor's device through a
        DispatchStub, which only CUDA builds have for CUDA.

Needs numpy and capstone, and nm, c++filt and readelf of binutils. With --check nothing is written: status 1 if the file lacks
a fact of one of the releases.
"""

import bisect
import collections
import pathlib
import re
import struct
import subprocess
import sys

import numpy

ALERT = "_ZN2at7Context21alertNotDeterministic"
CUBLAS = "_ZNK2at7Context33alertCuBLASConfigNotDeterministic"
CUBLAS_TEXT = "cuBLAS"
STUB = re.compile(r"_ZN2at6native\d+(\w+_stub)E$")
KERNELS = re.compile(r"N2at(?:6native|4cuda)")
FUNCTION = re.compile(r"(?:^|[ *&])at::native::(?:\(anonymous namespace\)::)?(\w+)(?:<.*>)?(?:::impl)?\(")
TEXT = re.compile(rb"[A-Za-z_]\w{3,}(?: \w+)*\0")
# Calls from one function to the next, from an operator's down to the one that is sought.
MOST_CALLS = 6


class Library:
    """A library's functions, and which of them call or name which."""

    def __init__(self, path):
        self.data = numpy.memmap(path, dtype=numpy.uint8, mode="r")
        self.sections = {}
        for line in output("readelf", "-SW", path):
            if match := re.match(r"\s*\[ *\d+\] (\S+)\s+\S+\s+(\w+) (\w+) (\w+)", line):
                self.sections[match[1]] = tuple(int(number, 16) for number in match.groups()[1:])
        self.symbols, self.objects = {}, {}
        for option in ((), ("-D",)):
            for line in output("nm", *option, path):
                fields = line.split()
                if len(fields) == 3:
                    known = self.symbols if fields[1] in "tTwWiu" else self.objects
                    known.setdefault(int(fields[0], 16), fields[2].partition("@")[0])
        self.starts = numpy.array(sorted(self.symbols))
        self.slots = {}  # of the global offset table: which symbol
        for line in output("readelf", "-rW", path):
            fields = line.split()
            if len(fields) >= 5 and fields[2].startswith(("R_X86_64_GLOB", "R_X86_64_JUMP")):
                self.slots[int(fields[0], 16)] = fields[4].partition("@")[0]
        self.trampolines = {}
        for name, (address, offset, size) in self.sections.items():
            if name.startswith(".plt"):
                code = bytes(self.data[offset : offset + size])
                for match in re.finditer(rb"\xff\x25(....)", code, re.DOTALL):
                    slot = address + match.end() + struct.unpack("<i", match[1])[0]
                    if slot in self.slots:
                        self.trampolines[address + match.start() // 16 * 16] = self.slots[slot]
        self.text, offset, size = self.sections[".text"]
        self.code = numpy.asarray(self.data[offset : offset + size])
        self._calls()
        self._references()

    def owners(self, addresses):
        return self.starts[numpy.searchsorted(self.starts, addresses, side="right") - 1]

    def _targets(self, at, length):
        """What instructions of that length, at these places, reach by their last four bytes."""
        last = at + length - 4
        offset = sum(self.code[last + byte].astype(numpy.int64) << 8 * byte for byte in range(4))
        return self.text + at + length + numpy.where(offset >= 1 << 31, offset - (1 << 32), offset)

    def _calls(self):
        self.sites = collections.defaultdict(list)  # of a function by its symbol: addresses of what looks like calls
        at = numpy.flatnonzero((self.code[:-5] == 0xE8) | (self.code[:-5] == 0xE9))
        targets = self._targets(at, 5)
        known = numpy.isin(targets, numpy.array(sorted({*self.symbols, *self.trampolines})))
        for place, target in zip(at[known] + self.text, targets[known]):
            self.sites[self.trampolines.get(int(target)) or self.symbols[int(target)]].append(int(place))

    def calls(self, name):
        """The calls of a function: pairs of an address and that of the function in which it is."""
        import capstone

        for place in self.sites[name]:
            start = int(self.owners(numpy.array([place]))[0])
            code = bytes(self.code[start - self.text : place + 5 - self.text])
            last = 0
            for last, *_ in capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64).disasm_lite(code, start):
                pass
            if last == place:
                yield place, start

    def callers(self, name):
        return {self.symbols[start].removesuffix(".cold") for _, start in self.calls(name)}

    def _references(self):
        """lea and mov of something relative to the instruction."""
        code = self.code
        wide = (code[:-7] == 0x48) | (code[:-7] == 0x4C)
        at = numpy.flatnonzero(wide & ((code[1:-6] == 0x8D) | (code[1:-6] == 0x8B)) & (code[2:-5] & 0xC7 == 5))
        self.reference_places = at + self.text
        self.reference_targets = self._targets(at, 7)

    def referring(self, wanted):
        """Pairs of a place in the code and the wanted symbol that it refers to."""
        addresses = {address: name for address, name in {**self.objects, **self.symbols}.items() if wanted(name)}
        addresses |= {slot: name for slot, name in self.slots.items() if wanted(name)}
        found = numpy.isin(self.reference_targets, numpy.array(sorted(addresses) or [-1]))
        for place, target in zip(self.reference_places[found], self.reference_targets[found]):
            yield int(place), addresses[int(target)]

    def users(self, wanted):
        """By the symbol of a wanted object: the functions that refer to it."""
        found = collections.defaultdict(set)
        for place, name in self.referring(wanted):
            found[name].add(self.symbols[int(self.owners(numpy.array([place]))[0])])
        return found

    def text_before(self, place, start):
        """The last constant text that is named between the start of a function and a place in it."""
        low, high = (int(numpy.searchsorted(self.reference_places, end)) for end in (start, place))
        for target in reversed(self.reference_targets[low:high].tolist()):
            for name, (address, offset, size) in self.sections.items():
                if name.startswith(".rodata") and address <= target < address + size:
                    begin = offset + target - address
                    if match := TEXT.match(bytes(self.data[begin : begin + 200])):
                        return match[0][:-1].decode()
        return None

    def operators_calling(self, symbol, functions):
        """The operators whose functions come to `symbol` by direct calls of the kernels' own code."""
        found, seen, now = set(), {symbol}, {symbol}
        for _ in range(MOST_CALLS):
            found |= operators_of_symbols(now, functions)
            now = {caller for one in now for caller in self.callers(one) if KERNELS.search(caller)} - seen
            seen |= now
        return found


def output(*command):
    return subprocess.run(command, capture_output=True, text=True).stdout.splitlines()


def demangled(names):
    text = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout
    return text.splitlines()


def operators_of_symbols(symbols, functions):
    """The operators whose functions the symbols name; `functions` is of read_functions()."""
    found = set()
    for name in demangled(sorted(symbols)):
        if match := FUNCTION.search(name):
            found |= functions.get(match[1], set())
    return found


def read_functions(yaml):
    """By their functions' names, the operators with a kernel for CUDA, and those with one explicit kernel for all."""
    operators, in_dispatch = [], False
    for line in pathlib.Path(yaml).read_text(encoding="utf-8").splitlines():
        if match := re.match(r"- func: ([\w.]+)\(", line):
            operators.append({"name": match[1], "dispatch": {}, "structured": False, "delegate": None})
            in_dispatch = False
        elif match := re.match(r"  (\w+): *([\w.]*)", line):
            in_dispatch = match[1] == "dispatch"
            operators[-1]["structured"] |= match[1] == "structured" and match[2] == "True"
            if match[1] == "structured_delegate":
                operators[-1]["delegate"] = match[2]
        elif in_dispatch and (match := re.match(r"    ([\w, ]+): *(\w+)", line)):
            for key in match[1].split(","):
                operators[-1]["dispatch"][key.strip()] = match[2]
    delegates = collections.defaultdict(set)
    for operator in operators:
        if operator["delegate"]:
            delegates[operator["delegate"]].add(operator["name"])
    of_cuda, of_all = collections.defaultdict(set), collections.defaultdict(set)
    for operator in operators:
        dispatch, name = operator["dispatch"], operator["name"]
        if "CUDA" in dispatch:
            prefix = "structured_" if operator["structured"] else ""
            of_cuda[prefix + dispatch["CUDA"]] |= {name} | delegates[name]
        elif "CompositeExplicitAutograd" in dispatch:
            of_all[dispatch["CompositeExplicitAutograd"]].add(name)
    return of_cuda, of_all


def read_release(folder):
    folder = pathlib.Path(folder)
    version = re.search(r"__version__ = '(\d+)\.(\d+)", (folder / "torch/version.py").read_text())
    release = int(version[1]), int(version[2])
    of_cuda, of_all = read_functions(folder / "torchgen/packaged/ATen/native/native_functions.yaml")
    cuda, cpu = (Library(folder / "torch/lib" / name) for name in ("libtorch_cuda.so", "libtorch_cpu.so"))
    facts = set()

    stubs = {match[1]: name for name in cuda.slots.values() if (match := STUB.match(name))}
    users = cpu.users(STUB.match)
    for stub, name in stubs.items():
        # The function itself, or what it is made of: an overload, or a part that the compiler has split off.
        near = users[name] | {caller for user in users[name] for caller in cpu.callers(user)}
        facts |= {("kernel", operator, stub) for operator in operators_of_symbols(near, of_all)}

    # A kernel that is called through a stub is registered by code that names both.
    registered = {}
    names = sorted(cuda.referring(lambda name: STUB.match(name)))
    for place, kernel in cuda.referring(lambda name: name.startswith("_ZN2at6native") and name.find("_kernelE") > 0):
        index = bisect.bisect(names, (place, ""))
        near = [(abs(at - place), stub) for at, stub in names[max(index - 1, 0) : index + 1] if abs(at - place) < 64]
        if near:
            registered[kernel] = min(near)[1]

    def operators_of(function):
        found = cuda.operators_calling(function, of_cuda)
        if function in registered:
            for user in users[registered[function]]:
                found |= cpu.operators_calling(user, of_cuda)
        # Others' kernels may be one for all devices, and call these by the dispatcher.
        for name in found.copy():
            entry = name.replace(".", "_")
            symbol = f"_ZN2at4_ops{len(entry)}{entry}4callE"
            for call in [call for call in cpu.sites if call.startswith(symbol)]:
                found |= cpu.operators_calling(call, of_cuda)
        return found

    said_by_cpu = set()
    for library, symbol, text in ((cpu, ALERT, None), (cuda, ALERT, None), (cuda, CUBLAS, CUBLAS_TEXT)):
        for name in [name for name in library.sites if name.startswith(symbol)]:
            for place, start in library.calls(name):
                function = library.symbols[start].removesuffix(".cold")
                if function.startswith(symbol):
                    continue
                said = text or library.text_before(place, start)
                if library is cpu:
                    operators = cpu.operators_calling(function, of_cuda)
                    said_by_cpu.add(said)
                else:
                    operators = operators_of(function) if said not in said_by_cpu else set()
                if not said:
                    sys.exit(f"{folder}: no text is known for the alert in {demangled([function])[0]}")
                facts |= {("alert", operator, said) for operator in operators}
    return release, facts


def ranges(releases, known):
    """The releases as spans of those known: 2.8-2.9, or, if the newest is among them, 2.11+."""
    spans = []
    for release in known:
        if release not in releases:
            continue
        before = known[known.index(release) - 1] if known.index(release) else None
        if spans and spans[-1][1] == before:
            spans[-1][1] = release
        else:
            spans.append([release, release])
    for first, last in spans:
        text = ".".join(map(str, first))
        yield f"{text}+" if last == known[-1] else f"{text}-{'.'.join(map(str, last))}"


def main():
    check, (target, *folders) = sys.argv[1] == "--check", [a for a in sys.argv[1:] if a != "--check"]
    read = dict(read_release(folder) for folder in folders)
    if check:
        from generate_cuda_operators import read_cuda_build

        missing = [(release, fact) for release in read for fact in read[release] - set(read_cuda_build(target, release))]
        sys.exit("\n".join(f"{target}: {release} has also {fact}" for release, fact in missing) or 0)
    known, releases = sorted(read), collections.defaultdict(set)
    for release, facts in read.items():
        for fact in facts:
            releases[fact].add(release)
    rows = [(*fact, span) for fact in releases for span in ranges(releases[fact], known)]
    with open(target, "w", encoding="utf-8") as out:
        out.write("# Written by read_cuda_build.py: KIND | OPERATOR | TEXT OR STUB | RELEASES\n\n")
        out.writelines(" | ".join(row) + "\n" for row in sorted(rows))


if __name__ == "__main__":
    main()
