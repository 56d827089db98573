"""Generates C from the table of CUDA's entry points, and from what the stand-ins for CUDA's headers declare.

    generate.py forwarders OUT      the definitions that the shim exports
    generate.py declarations OUT    prototypes, for programs and the stand-in
    generate.py stubs LIBRARY OUT   weak definitions of all that the stand-in does not write out
    generate.py errors OUT          the rows of a table of the runtime's errors
    generate.py names LIBRARY OUT   the table of a library's functions by name, for the stand-in's own look-up
    generate.py recall OUT          a program's part that calls every forwarded entry point once
"""

import re
import sys
from pathlib import Path

from entry_points import CLASSES, EntryPoint, TableError, read_entry_points

HEADERS = Path(__file__).resolve().parents[2] / "analyzer/cuda_stubs"

# What a function belongs to that is refused.
REFUSED = (
    (r"cudaGraphics.*|cudaGL.*", "memory of graphics interfaces"),
    (r".*Graph.*|.*Capture.*|cudaUserObject.*", "CUDA graphs that C++ captures"),
    (r"cudaLibrary.*|cudaKernel.*", "GPU kernels that are loaded from code"),
    (r".*External.*|.*NvSci.*", "memory and semaphores of other interfaces"),
    (r"cudaMemPool.*", "memory pools shared between processes"),
    (r".*Texture.*|.*Surface.*|.*Array.*|.*Mipmapped.*", "textures and CUDA arrays"),
    (r".*Cluster.*", "clusters of blocks"),
    (r".*MultiDevice", "launches on several devices"),
    (r".*MemRange.*", "where managed memory is"),
    (r".*", "this part of CUDA"),
)

HEADER = "/* Generated from entry_points.txt by generate.py. */\n"

# What the recall program passes for a parameter of that name; the variables are its own.
VALUES = {
    "dst": "device_memory", "src": "host_memory", "dstHost": "host_memory", "srcHost": "host_memory",
    "devPtr": "device_memory", "dstArray": "array", "srcArray": "array", "symbol": "&symbol",
    "count": "64", "batchCount": "1", "offset": "0", "wOffset": "0", "hOffset": "0",
    "wOffsetDst": "0", "hOffsetDst": "0", "wOffsetSrc": "0", "hOffsetSrc": "0",
    "dpitch": "8", "spitch": "8", "pitch": "8", "width": "8", "height": "8", "kind": "4",
    "dstDevice": "0", "srcDevice": "1", "dstContext": "context", "srcContext": "context", "context": "context",
    "copy3D": "&copy3D", "peerCopy3D": "&peerCopy3D", "driver2D": "&driver2D", "driver3D": "&driver3D",
    "dsts": "destinations", "srcs": "sources", "sizes": "sizes", "attributes": "NULL", "attributeIndices": "NULL",
    "attributeCount": "0", "stream": "stream", "stream12": "stream", "stream13": "stream", "failedOut": "NULL",
    "operationCount": "1", "operations": "&operation", "failedOrFlags": "0", "flagsOrStream": "(size_t)stream",
    "flags64": "0", "value": "0", "byte": "0", "halfWord": "0", "word": "0", "pitched": "pitched", "extent": "extent",
    "event": "event", "pitchOut": "&size", "pitchedOut": "&pitched", "arrayOut": "&out", "format": "format",
    "flags": "0", "levels": "1", "pool": "NULL", "hostPtr": "&out", "hostMemory": "host_memory",
    "freedPtr": "takeDevice()", "freedAddress": "(DevSanCudaAddress)takeDevice()", "freedHost": "takeHost()",
    "freedArray": "takeArray()", "freedMipmapped": "takeArray()", "registeredHost": "takeRegistered()",
    "trimmedPool": "NULL", "keptBytes": "0", "mappedPtr": "device_memory",
    "mappedAddress": "(DevSanCudaAddress)device_memory", "unloadedModule": "&symbol", "unloadedLibrary": "&symbol",
    "device": "1", "deviceFlags": "0", "kernel": "&symbol", "kernelHandle": "&symbol", "grid": "one", "block": "one",
    "kernelArguments": "arguments", "sharedMemory": "0", "launch": "&launch", "driverLaunch": "&driverLaunch",
    "graph": "&symbol", "elementSize": "4", "contextOut": "&out", "affinity": "NULL", "affinityCount": "0",
    "contextParameters": "NULL", "packed": "NULL", "addressOut": "&address",
    "gridX": "1", "gridY": "1", "gridZ": "1", "blockX": "1", "blockY": "1", "blockZ": "1",
}


def _where_given(expression: str) -> str:
    """A null pointer to a struct is for CUDA itself to refuse."""
    struct = re.search(r"(\w+)->", expression)
    return f"if ({struct[1]})\n    " if struct else ""


def forwarder(entry: EntryPoint, name: str, index: int) -> str:
    fields = "".join(f"  {_where_given(expression)}call.{key} = {expression};\n"
                     for key, expression in entry.fields.items())
    is_launch = entry.call_class == "launch"
    arguments = entry.arguments
    return f"""
DEVSAN_EXPORT int {name}({entry.declaration}) {{
  const void *caller = __builtin_return_address(0);
  typedef int (*Function)({entry.types});
  const Function real = (Function)realFunction({index}, caller);
  if (!real)
    return kDevSanCudaNotSupported;
  const DevSanCudaObserver *observer = activeObserver();
  if (!observer)
    return real({arguments});
  DevSanCudaCall call = {{.name = "{name}",
                         .call_class = {CLASSES[entry.call_class]},
                         .is_driver = {int(entry.library == "driver")},
                         .is_per_thread = {int(name != entry.name)},
                         .kind = 4,
                         .to_device = -1,
                         .from_device = -1,
                         .caller = caller}};
{fields}  {"enterUnseen" if is_launch else "enter"}(observer, &call);
  call.result = real({arguments});
  leave(observer, &call);
  return call.result;
}}
"""


def forwarders(entries: list[EntryPoint]) -> str:
    functions = [(name, entry) for entry in entries if entry.forwarded for name in entry.names]
    functions.sort()
    # The base name, by which the driver is asked for what is called cuMemcpyHtoD_v2_ptds here.
    rows = "".join(f'  {{"{name}", (void *){name}, {int(e.library == "driver")}}},\n' for name, e in functions)
    declarations = "".join(f"int {name}({entry.declaration});\n" for name, entry in functions)
    return (
        HEADER + declarations + f"\nenum {{ kEntryPointCount = {len(functions)} }};\n\n"
        "/* Sorted by name. */\nstatic const struct EntryPoint entry_points[kEntryPointCount] = {\n" + rows + "};\n\n"
        "static _Atomic(void *) real_functions[kEntryPointCount];\n\n" + RESOLVE
        + "".join(forwarder(entry, name, i) for i, (name, entry) in enumerate(functions))
    )


RESOLVE = """static void *findReal(int index, const void *caller);

static inline void *realFunction(int index, const void *caller) {
  void *function = atomic_load_explicit(&real_functions[index], memory_order_acquire);
  if (__builtin_expect(function != NULL, 1) &&
      __builtin_expect(!atomic_load_explicit(&several_runtimes, memory_order_relaxed), 1))
    return function;
  return findReal(index, caller);
}
"""


def declarations(entries: list[EntryPoint]) -> str:
    lines = "".join(f"int {name}({e.declaration});\n" for e in entries for name in e.names)
    return (
        HEADER + '#pragma once\n#include "runtime/cuda/types.h"\n#ifdef __cplusplus\nextern "C" {\n#endif\n' + lines
        + "#ifdef __cplusplus\n}\n#endif\n"
    )


def declared_by_header() -> list[str]:
    """The functions of CUDA's runtime: what programs are compiled with is what they can be linked with."""
    text = "".join((HEADERS / name).read_text() for name in ("cuda_runtime_api.h", "cuda_gl_interop.h"))
    return sorted(set(re.findall(r"^\w[\w *]*?\b(cuda\w+)\(.*\);$", text, re.M)))


def refusal(library: str, name: str) -> str:
    if library == "driver":
        return f'devsan_standin_refuse("{name}")'
    what = next(what for pattern, what in REFUSED if re.fullmatch(pattern, name))
    return f'({{ static int is_said; devsanRefuse("{what} ({name})", &is_said); }})'


def stubs(entries: list[EntryPoint], library: str) -> str:
    """What is not written out is refused; a function with a suffix is the one without it."""
    text = HEADER + '#include "declarations.h"\n#include "runtime/cuda/calls.h"\n'
    text += '#include "runtime/cuda/standin/standin.h"\n'
    for entry in entries:
        if entry.library != library:
            continue
        unused = "".join(f"  (void){p.name};\n" for p in entry.parameters)
        text += (
            f"\n__attribute__((weak)) int {entry.name}({entry.declaration}) {{\n{unused}"
            f'  devsan_standin_count("{entry.name}");\n  return {refusal(library, entry.name)};\n}}\n'
        )
        for suffix in entry.suffixes:
            text += (
                f"__attribute__((weak)) int {entry.name}{suffix}({entry.declaration}) {{\n"
                f"  return {entry.name}({entry.arguments});\n}}\n"
            )
    known = {name for entry in entries for name in entry.names}
    for name in declared_by_header() if library == "runtime" else []:
        if name not in known:
            text += f"\nint {name}(void);\n__attribute__((weak)) int {name}(void) {{ return {refusal(library, name)}; }}\n"
    return text


def errors() -> str:
    text = (HEADERS / "driver_types.h").read_text()
    [constants] = re.findall(r"^enum cudaError \{ (.*) \};$", text, re.M)
    return HEADER + "".join(f'{{{value}, "{name}"}},\n' for name, value in re.findall(r"(\w+) = (\d+)", constants))


def names(entries: list[EntryPoint], library: str) -> str:
    functions = sorted(name for e in entries if e.library == library for name in e.names)
    return HEADER + "".join(f'{{"{name}", (void *){name}}},\n' for name in functions)


def recall(entries: list[EntryPoint]) -> str:
    text = HEADER
    for entry in entries:
        if not entry.forwarded:
            continue
        values = []
        for parameter in entry.parameters:
            if parameter.name not in VALUES:
                raise TableError(f"{entry.name}: no value for its parameter '{parameter.name}': add one to VALUES")
            value = VALUES[parameter.name]
            cast = f"({parameter.type})" if parameter.type.endswith("*") or parameter.type == "DevSanCudaAddress" else ""
            values.append(cast + value)
        for name in entry.names:
            text += f'step("{name}");\n{name}({", ".join(values)});\n'
    return text


def main() -> int:
    command, *arguments = sys.argv[1:] or [""]
    entries = read_entry_points()
    if command in ("forwarders", "declarations", "recall") and len(arguments) == 1:
        text = {"forwarders": forwarders, "declarations": declarations, "recall": recall}[command](entries)
    elif command == "errors" and len(arguments) == 1:
        text = errors()
    elif command in ("stubs", "names") and len(arguments) == 2 and arguments[0] in ("runtime", "driver"):
        text = {"stubs": stubs, "names": names}[command](entries, arguments[0])
    else:
        print(__doc__, file=sys.stderr)
        return 2
    Path(arguments[-1]).write_text(text)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except TableError as error:
        sys.exit(f"generate.py: {error}")
