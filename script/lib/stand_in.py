"""Empty libraries in the place of NVIDIA's, so that a PyTorch for CUDA starts without the gigabytes of them."""

import re
import subprocess


def stand_in_for_libraries(libraries):
    """Makes what PyTorch's libraries need and do not find: NVIDIA's, gigabytes of which a simulated run calls nothing."""
    needed, symbols, defined, versions = set(), set(), set(), {}
    for path in libraries.glob("*.so*"):
        text = subprocess.run(["readelf", "--dynamic", "--version-info", path], capture_output=True, text=True, check=True).stdout
        needed |= set(re.findall(r"\(NEEDED\).*\[(.*)\]", text))
        for library, names in re.findall(r"File: (\S+) .*\n((?: .*Name: .*\n)+)", text):
            versions.setdefault(library, set()).update(re.findall(r"Name: (\S+)", names))
        names = subprocess.run(["nm", "--dynamic", path], capture_output=True, text=True, check=True).stdout
        symbols |= set(re.findall(r"^ +U (\w+)@?(\S*)", names, re.M))
        defined |= set(re.findall(r" [TWVDBRiu] (\w+)", names))
    symbols = sorted(symbol for symbol in symbols if symbol[0] not in defined and re.match(r"_*(cu|nv|nccl)", symbol[0]))
    source, script = libraries / "standin.c", libraries / "standin.map"
    # CUDA's status for no device, and in the libraries some error.
    source.write_text("".join(f"int {name}(void) {{ return 100; }}\n" for name in dict(symbols)))
    # Not the driver's, which no machine without GPU has.
    for library in sorted(needed - {"libcuda.so.1"}):
        if (libraries / library).exists() or not re.match(r"lib(cu|nv|nccl)", library):
            continue
        nodes = sorted(versions.get(library, ()))
        script.write_text("".join(f"{version} {{ {' '.join(f'{name};' for name, of in symbols if of == version)} }};\n"
                                  for version in nodes))
        subprocess.run(["cc", "-w", "-shared", "-fPIC", f"-Wl,-soname,{library}", *([f"-Wl,--version-script={script}"] if nodes else []),
                        "-o", libraries / library, source], check=True)
