"""The table of CUDA's entry points (entry_points.txt): read by the generator of sources and by the tests."""

import re
from dataclasses import dataclass, field
from pathlib import Path

TABLE = Path(__file__).with_name("entry_points.txt")

CLASSES = {
    "copy": "kDevSanCudaCopy",
    "copyAsync": "kDevSanCudaCopyAsync",
    "set": "kDevSanCudaSet",
    "wait": "kDevSanCudaWait",
    "query": "kDevSanCudaQuery",
    "allocate": "kDevSanCudaAllocate",
    "allocateHost": "kDevSanCudaAllocateHost",
    "release": "kDevSanCudaRelease",
    "device": "kDevSanCudaDevice",
    "context": "kDevSanCudaContext",
    "launch": "kDevSanCudaLaunch",
    "plain": "kDevSanCudaPlain",
}
FIELDS = ("to", "from", "bytes", "kind", "to_device", "from_device", "stream", "object", "kernel", "arguments")
SUFFIXES = ("_ptds", "_ptsz")


class TableError(Exception):
    """A line of the table that cannot be read: file, line and the valid forms."""


@dataclass(frozen=True)
class Parameter:
    type: str
    name: str


@dataclass(frozen=True)
class EntryPoint:
    library: str  # "runtime" or "driver"
    name: str
    suffixes: tuple[str, ...]
    call_class: str
    parameters: tuple[Parameter, ...]
    fields: dict[str, str] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """All exported names: the base name first."""
        return [self.name] + [self.name + suffix for suffix in self.suffixes]

    @property
    def forwarded(self) -> bool:
        return self.call_class != "plain"

    @property
    def declaration(self) -> str:
        """The parameter list of a C declaration."""
        return ", ".join(p.type + ("" if p.type.endswith("*") else " ") + p.name for p in self.parameters) or "void"

    @property
    def types(self) -> str:
        return ", ".join(p.type for p in self.parameters) or "void"

    @property
    def arguments(self) -> str:
        return ", ".join(p.name for p in self.parameters)


def _parameters(text: str, where: str) -> tuple[Parameter, ...]:
    if text == "void":
        return ()
    result = []
    for part in text.split(","):
        match = re.fullmatch(r"(.*[\s*])(\w+)", part.strip())
        if not match:
            raise TableError(f"{where}: parameter '{part.strip()}': expected 'type name'")
        result.append(Parameter(match[1].strip(), match[2]))
    return tuple(result)


def _fields(text: str, where: str) -> dict[str, str]:
    result = {}
    for item in text.split():
        name, equals, expression = item.partition("=")
        if not equals or name not in FIELDS:
            raise TableError(f"{where}: '{item}': expected field=expression, field one of {', '.join(FIELDS)}")
        result[name] = expression
    return result


def _entry(library: str, line: str, where: str) -> EntryPoint:
    columns = [column.strip() for column in line.split("|")]
    if len(columns) != 4:
        raise TableError(f"{where}: expected 'name suffix… | class | parameters | field=expression …'")
    names, call_class, parameters, fields = columns
    name, *suffixes = names.split()
    if call_class not in CLASSES:
        raise TableError(f"{where}: class '{call_class}': expected one of {', '.join(CLASSES)}")
    if any(suffix not in SUFFIXES for suffix in suffixes):
        raise TableError(f"{where}: suffixes '{' '.join(suffixes)}': expected {' or '.join(SUFFIXES)}")
    return EntryPoint(library, name, tuple(suffixes), call_class, _parameters(parameters, where), _fields(fields, where))


def read_entry_points(path: Path = TABLE) -> list[EntryPoint]:
    library = ""
    entries: list[EntryPoint] = []
    known: set[str] = set()
    for number, line in enumerate(path.read_text().splitlines(), 1):
        where = f"{path}:{number}"
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if line in ("[runtime]", "[driver]"):
            library = line[1:-1]
            continue
        if not library:
            raise TableError(f"{where}: expected [runtime] or [driver] before the first entry point")
        entry = _entry(library, line, where)
        for name in entry.names:
            if name in known:
                raise TableError(f"{where}: {name} is in the table twice")
            known.add(name)
        entries.append(entry)
    return entries
