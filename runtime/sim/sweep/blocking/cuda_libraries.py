"""Writes C of libraries of NVIDIA's that do nothing: what a CUDA build of PyTorch imports of cuBLAS, cuSOLVER, cuSPARSE and cuFFT
returns success, makes handles, needs no work space, and notes its name (runtime/cuda/standin). So does NVRTC, without a note, in
a library of its own, because PyTorch asks for it by the library's name.

    cuda_libraries.py TORCH FOLDER

TORCH is the package of the CUDA build; the prototypes are those of the headers that NVIDIA's packages bring beside it. Writes
libraries.c, and nvrtc.c with the version of its symbols, nvrtc.map.
"""

import re
import subprocess
import sys
from pathlib import Path

LIBRARIES = re.compile(r"cublas|cusolver|cusparse(?!Lt)|cufft")
COMPILER = re.compile("nvrtc")
# What a function writes whose name has that part; all other numbers are zero.
ANSWERS = {"AlgoGetHeuristic": 1, "nvrtcVersion": 12}
# Numbers that a caller reads; of pointers to other types it is not known what they point to.
NUMBERS = {"int", "size_t", "int64_t"}
HEAD = """#include <stddef.h>
#include <stdint.h>
void devsan_standin_note(const char *format, ...);
static char handle;
"""


def imports_of(torch: Path) -> dict[str, str]:
    """The functions by name, with their versions."""
    names: dict[str, str] = {}
    for library in [*(torch / "lib").glob("lib*cuda*.so"), torch / "lib/libcaffe2_nvrtc.so"]:
        out = subprocess.run(["nm", "-D", "--undefined-only", library], capture_output=True, text=True, check=True).stdout
        names |= dict(line.split()[-1].split("@") for line in out.splitlines() if "@" in line)
    return {name: names[name] for name in sorted(names) if LIBRARIES.match(name) or COMPILER.match(name)}


def parameters_of(torch: Path) -> dict[str, list[tuple[str, bool]]]:
    """The parameters of each function: the type, and whether it is a pointer that the function writes through."""
    found: dict[str, list[tuple[str, bool]]] = {}
    for header in sorted((torch.parent / "nvidia").rglob("include/*.h")):
        if not re.match(LIBRARIES.pattern + r"|nvrtc\.h", header.name):
            continue
        text = re.sub(r"/\*.*?\*/|//[^\n]*|^\s*#[^\n]*", " ", header.read_text(errors="replace"), flags=re.S | re.M)
        for name, parameters in re.findall(r"\b((?:cu[a-zA-Z]|nvrtc)\w+)\s*\(([^()]*)\)\s*;", text):
            found[name] = [(type_of(one), "*" in one and "const" not in one) for one in parameters.split(",")]
    return found


def type_of(parameter: str) -> str:
    words = re.findall(r"\w+", parameter)
    return words[0] if words else ""


def definition(name: str, parameters: list[tuple[str, bool]]) -> str:
    body = [f'devsan_standin_note("call {name}");'] * bool(LIBRARIES.match(name))
    for index, (type_name, is_written) in enumerate(parameters):
        if not is_written:
            continue
        if index == 0 and "Create" in name and type_name.endswith("_t"):
            body.append(f"*(void **)p{index} = &handle;")
        elif type_name in NUMBERS:
            answer = next((value for part, value in ANSWERS.items() if part in name), 0)
            body.append(f"if (p{index})\n    *({type_name} *)p{index} = {answer};")
    # Only pointers are looked at, which come as integers do.
    return f"int {name}({', '.join(declared(parameters))}) {{\n  " + "\n  ".join([*body, "return 0;"]) + "\n}\n"


def declared(parameters: list[tuple[str, bool]]) -> list[str]:
    return [f"intptr_t p{i}" for i in range(len(parameters))] or ["void"]


def main() -> None:
    torch, folder = map(Path, sys.argv[1:])
    parameters = parameters_of(torch)
    imports = imports_of(torch)
    for file, pattern in (("libraries.c", LIBRARIES), ("nvrtc.c", COMPILER)):
        names = [name for name in imports if pattern.match(name)]
        (folder / file).write_text(HEAD + "".join(definition(name, parameters.get(name, [])) for name in names))
    (folder / "nvrtc.map").write_text(f"{imports['nvrtcCreateProgram']} {{ *; }};\n")
    print(f"{len(imports)} functions, {len(parameters.keys() & imports.keys())} of them with a prototype")


if __name__ == "__main__":
    main()
