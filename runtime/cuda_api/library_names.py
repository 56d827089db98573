"""The functions of LibTorch's CUDA libraries, by the linker's names, that its headers declare (library_names.txt): what programs
that are built for simulated devices may call.

    library_names.py CLANG LIBTORCH            adds those of the wheel's package in that folder
    library_names.py CLANG LIBTORCH --check    fails where some are missing
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAMES = HERE / "library_names.txt"
TOOLKIT = HERE.parents[1] / "analyzer/cuda_stubs"
PLACES = ("c10/cuda/*.h", "c10/cuda/impl/*.h", "ATen/cuda/*.h", "ATen/cuda/detail/*.h", "torch/csrc/cuda/CUDAPluggableAllocator.h",
          "torch/csrc/cuda/memory_snapshot.h")
# For nvcc alone, LibTorch's own, or texts.
NOT_FOR_PROGRAMS = ("CUDAAlgorithm.h", "CUDAHooks.h", "jiterator_impl.h", "llvm_jit_strings.h")
NAMESPACES = re.compile(r"_ZNK?(3c104cuda|2at4cuda|5torch4cuda|2at17CUDAGeneratorImpl|2at\d+CUDAGeneratorState)|_Zls\w*(3c104cuda|2at4cuda)")
FILTERS = ("cuda", "CUDAGenerator")
FUNCTIONS = {"FunctionDecl", "CXXMethodDecl", "CXXConstructorDecl", "CXXDestructorDecl", "CXXConversionDecl"}
DEFINED = ("explicitlyDefaulted", "isImplicit", "explicitlyDeleted", "pure")


def declarations(node):
    """The functions and the specializations of templates below a node, without their bodies."""
    if node.get("kind") in FUNCTIONS:
        yield node
        return
    if node.get("kind") == "ClassTemplateSpecializationDecl":
        return
    for child in node.get("inner", ()):
        if node.get("kind") != "FunctionTemplateDecl" or any(part.get("kind") == "TemplateArgument" for part in child.get("inner", ())):
            yield from declarations(child)


def trees(clang, torch):
    """Clang's trees of all declarations that the filters take."""
    include = torch / "include"
    headers = [path for place in PLACES for path in sorted(include.glob(place)) if path.name not in NOT_FOR_PROGRAMS]
    source = "#include <ATen/ATen.h>\n" + "".join(f"#include <{path.relative_to(include)}>\n" for path in headers)
    command = [clang, "-x", "c++", "-", "-std=c++20", "-fsyntax-only", "-w", "-DNDEBUG", "-isystem", TOOLKIT, f"-I{include}",
               f"-I{include}/torch/csrc/api/include", "-Xclang", "-ast-dump=json"]
    decoder = json.JSONDecoder()
    for words in FILTERS:
        text = subprocess.run([*command, "-Xclang", f"-ast-dump-filter={words}"], input=source, stdout=subprocess.PIPE, text=True, check=True).stdout
        place = 0
        while place < len(text):
            tree, place = decoder.raw_decode(text, place)
            yield tree
            while place < len(text) and text[place].isspace():
                place += 1


def declared(clang, torch):
    """The names whose definitions no header has."""
    has_body = {}
    for tree in trees(clang, torch):
        for node in declarations(tree):
            name = node.get("mangledName", "")
            is_here = any(node.get(key) for key in DEFINED) or any("Stmt" in part.get("kind", "") for part in node.get("inner", ()))
            has_body[name] = has_body.get(name, False) or is_here
    return {name for name, is_here in has_body.items() if not is_here and NAMESPACES.match(name)}


def variants(name):
    """Constructors and destructors have several names, of which clang tells one."""
    for kinds in (("C1E", "C2E"), ("D1E", "D2E", "D0E")):
        if kinds[0] in name and re.search(kinds[0] + r"(v$|[^0-9])", name):
            return {name.replace(kinds[0], kind) for kind in kinds}
    return {name}


# What LibTorch has instantiated of at::cuda::cub, whose templates its headers only declare.
KEYS = ("bool", "uint8_t", "int8_t", "short", "int", "int64_t", "uint16_t", "uint32_t", "uint64_t", "float", "double", "at::Half", "at::BFloat16")
CUB = ([f"radix_sort_keys<{key}>" for key in KEYS] + [f"detail::radix_sort_pairs_impl<{key}, 8>" for key in KEYS]
       + [f"detail::radix_sort_pairs_impl<{key}, {size}>" for key in ("int", "int64_t") for size in (1, 2, 4)]
       + [f"inclusive_sum_truncating<{types}>" for types in ("int, int", "int64_t, int64_t", "int, int64_t")]
       + [f"exclusive_sum_in_common_type<{types}>" for types in ("int, int", "int64_t, int64_t", "bool, int64_t", "uint8_t, int64_t")])


def by_gxx(torch):
    """The templates whose names g++ writes in another way than clang, and those that no header instantiates."""
    from elftools.elf.elffile import ELFFile

    types = ("double", "float", "c10::complex<double>", "c10::complex<float>", "at::Half", "at::BFloat16", "at::Half, float", "at::BFloat16, float")
    uses = [f"&at::cuda::blas::{name}<{each}>" for name in ("gemm", "bgemm") for each in types]
    uses += [f"&at::cuda::cub::{each}" for each in CUB]
    source = "#include <ATen/cuda/CUDABlas.h>\n#include <ATen/cuda/cub.h>\n" + "".join(f"auto used{place} = {use};\n" for place, use in enumerate(uses))
    with tempfile.NamedTemporaryFile(suffix=".o") as out:
        command = ["g++", "-x", "c++", "-", "-c", "-o", out.name, "-std=c++20", "-w", "-isystem", TOOLKIT, f"-I{torch}/include"]
        subprocess.run(command, input=source, text=True, check=True)
        symbols = ELFFile(out).get_section_by_name(".symtab").iter_symbols()
        return {symbol.name for symbol in symbols if symbol["st_shndx"] == "SHN_UNDEF" and NAMESPACES.match(symbol.name)}


def in_libraries(torch):
    """What the CPU build's own libraries define."""
    from elftools.elf.elffile import ELFFile

    names = set()
    for library in ("libc10.so", "libtorch_cpu.so"):
        with open(torch / "lib" / library, "rb") as file:
            symbols = ELFFile(file).get_section_by_name(".dynsym").iter_symbols()
            names |= {symbol.name for symbol in symbols if symbol["st_shndx"] != "SHN_UNDEF" and NAMESPACES.match(symbol.name)}
    return names


def read_names():
    return {line for line in NAMES.read_text().splitlines() if not line.startswith("#")} if NAMES.exists() else set()


def main():
    torch = Path(sys.argv[2])
    found = set().union(by_gxx(torch), *map(variants, declared(sys.argv[1], torch))) - in_libraries(torch)
    if "--check" in sys.argv:
        missing = sorted(found - read_names())
        print(*missing, sep="\n")
        return bool(missing)
    NAMES.write_text("# Of LibTorch's headers, of all releases; written by library_names.py.\n" + "".join(f"{name}\n" for name in sorted(read_names() | found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
