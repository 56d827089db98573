"""How builds say which sources they take, and whether that of a finding is one of them.

Usage: built_spellings.py FOLDER DEVSAN_CHECK... -- FLAGS...
"""

import re
import sys

import project_cases

WORK = """#include "work.h"
void train(torch::Tensor x) {
  x = x.to(torch::kCUDA);
  for (int i = 0; i < 3; ++i)
    x.sum().item<double>();
}
"""
HEADER = "#include <torch/torch.h>\nvoid train(torch::Tensor x);\n"
MAIN = '#include "work.h"\nint main() { train(torch::ones({3}, torch::kCUDA)); }\n'
LIBRARY = "void run();\nPYBIND11_MODULE(ext, m) {\n  m.def(\"run\", &run);\n}\n"
EXTENSION = "from torch.utils.cpp_extension import CUDAExtension\n"
ONE = "CUDAExtension('ext', ['main.cpp'])\n"
APP = "add_executable(app main.cpp)\n"

# Of src/work.cpp.
TAKEN = [
    # Nothing tells.
    {},
    {"docs/CMakeLists.txt": "add_executable(app ../main.cpp)\n"},
    {"setup.cfg": "[flake8]\n"},
    # By name.
    {"CMakeLists.txt": "add_executable(app main.cpp src/work.cpp)\n"},
    {"CMakeLists.txt": APP + "add_subdirectory(src)\n", "src/CMakeLists.txt": "add_library(work work.cpp)\n"},
    {"CMakeLists.txt": APP + "set(FOLDER src)\ntarget_sources(app PRIVATE ${FOLDER}/work.cpp)\n"},
    {"CMakeLists.txt": APP + "target_sources(app PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src/work.cpp)\n"},
    {"CMakeLists.txt": APP + "include(cmake/sources.cmake)\n", "cmake/sources.cmake": "set(SOURCES src/work.cpp)\n"},
    {"CMakeLists.txt": APP + "include(sources.txt)\n", "sources.txt": "set(SOURCES src/work.cpp)\n"},
    {"CMakeLists.txt": APP + 'foreach(name work other)\n  add_library(${name} src/${name}.cpp)\nendforeach()\n'},
    {"CMakeLists.txt": APP + "list(TRANSFORM NAMES PREPEND src/)\nset(NAMES work.cpp)\n", "work.cpp": "int old;\n"},
    {"app.pro": "SOURCES += main.cpp \\\n  src/work.cpp\n"},
    {"app.vcxproj": '<ClCompile Include="main.cpp" />\n<ClCompile Include="src\\work.cpp" />\n'},
    {"meson.build": "executable('app', 'main.cpp', 'src/work.cpp')\n"},
    {"BUILD": 'cc_binary(name = "app", srcs = ["main.cpp", "src/work.cpp"])\n'},
    {"Makefile": "app: main.o work.o\n\tc++ -o app main.o work.o\n"},
    {"Makefile": "app: main.cpp\n\tc++ -o app main.cpp $(SRC)/work.cpp\n"},
    {"Makefile": "tools: work\nmain: main.cpp\n"},
    {"CMakeLists.txt": APP, "README.md": "Build it with `c++ src/work.cpp`.\n"},
    {"CMakeLists.txt": APP, "build.sh": "g++ -o work src/work.cpp\n"},
    {"CMakeLists.txt": APP, "unity.cpp": '#include "src/work.cpp"\nint unity;\n', "app.cmake": "set(S unity.cpp)\n"},
    {"CMakeLists.txt": APP, "app.xcodeproj/project.pbxproj": "path = work.cpp;\n"},
    # By patterns.
    {"CMakeLists.txt": "file(GLOB_RECURSE all *.cpp)\nadd_executable(app ${all})\n"},
    {"CMakeLists.txt": "file(GLOB all src/*.cpp)\nadd_executable(app main.cpp ${all})\n"},
    {"CMakeLists.txt": "file(GLOB all CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.c*)\nadd_executable(app main.cpp ${all})\n"},
    {"CMakeLists.txt": "file(GLOB all src/*)\nadd_executable(app main.cpp ${all})\n"},
    {"CMakeLists.txt": APP + "aux_source_directory(src all)\n"},
    {"Makefile": "all: $(wildcard src/*.cpp)\n\tc++ main.cpp $^\n"},
    {"Makefile": "%: %.cpp\n\tc++ -o $@ $<\n# main.cpp\nmain.o: main.cpp\n"},
    {"app.pro": "SOURCES += main.cpp $$files(src/*.cpp)\n"},
    {"CMakeLists.txt": APP, "build.sh": "for f in src/*.cpp; do g++ -c $f; done\n"},
    {"CMakeLists.txt": APP, "premake5.lua": 'compile = true\nfiles { "src/**.cpp" }\n'},
    {"CMakeLists.txt": APP, "Source/App/App.Build.cs": "public class App {}\n"},
    # Extensions that put the names of their sources together, or take all of a folder.
    *({"setup.py": EXTENSION + f"CUDAExtension('ext', {sources})\n", "main.cpp": LIBRARY}
      for sources in ("['main.cpp', kind + 'rk.cpp']", "['main.cpp', 'src/%s.cpp' % kind]", "['main.cpp', *listdir('src')]",
                      "['main.cpp', *Path('src').glob('*')]", "['main.cpp', join('src', 'work.cpp')]", "['main.cpp', 'src/' + kind + '.' + 'cpp']",
                      "['main.cpp', *findall('src')]", "['main.cpp', 'src/work_hip.cpp']")),
    {"setup.py": "from tools import found\n" + EXTENSION + "CUDAExtension('ext', ['main.cpp'] + found('src'))\n", "main.cpp": LIBRARY,
     "tools.py": "def found(folder):\n    return [join(folder, name) for name in listdir(folder)]\n"},
    # Beside what is included, by whatever name, and beside a program that no build has.
    {"setup.py": EXTENSION + ONE, "main.cpp": LIBRARY + '#include "src/work.cpp"  // NOLINT(build/include)\n'},
    {"setup.py": EXTENSION + ONE, "main.cpp": '#define WORK "src/wo" "rk.cpp"\n#include WORK\n' + LIBRARY},
    {"setup.py": EXTENSION + ONE, "main.cpp": LIBRARY, "bench/bench.cpp": "int\nmain (int, char **) {}\n"},
    # Where nothing is loaded, and where the build is another one.
    {"setup.py": EXTENSION + ONE, "main.cpp": "// No PYBIND11 here.\nvoid other();\n"},
    {"setup.py": "from skbuild import setup\nmain = MarkdownExtension('main.cpp')\n", "main.cpp": LIBRARY},
    {"CMakeLists.txt": "add_library(ext MODULE main.cpp src/work.${EXT})\n", "main.cpp": LIBRARY},
    # A program that no build has is built by hand, and so is what lies beside a library that has no tensors.
    {"CMakeLists.txt": "add_library(other other.cpp)\n", "other.cpp": "int other;\n"},
    {"CMakeLists.txt": "add_library(net net.cpp)\n", "net.cpp": '#include "work.h"\nvoid net() { train(torch::ones({3})); }\n'},
    {"CMakeLists.txt": "add_library(other other.cpp)\n", "other.cpp": "int other;\n", "main.cpp": "// None.\n"},
]
LEFT = [
    {"CMakeLists.txt": APP},
    {"CMakeLists.txt": APP + 'list(TRANSFORM ARCHS REPLACE "^([0-9])([0-9])$" "\\\\1.\\\\2")\nstring(REPLACE ";" " " FLAGS "${FLAGS}")\nstring(REPLACE -O2 "" FLAGS ${FLAGS})\n'},
    {"CMakeLists.txt": APP + "# target_sources(app PRIVATE src/work.cpp)\n"},
    {"CMakeLists.txt": APP + "file(GLOB all *.cpp)\n"},
    {"CMakeLists.txt": APP + "file(GLOB all tools/*.cpp)\n"},
    {"CMakeLists.txt": APP + "file(GLOB_RECURSE all ${CMAKE_CURRENT_SOURCE_DIR}/tools/*.cpp)\n"},
    {"CMakeLists.txt": APP + "target_sources(app PRIVATE new/work.cpp)\n", "new/work.cpp": '#include "../work.h"\n'},
    {"CMakeLists.txt": APP, "src/notes.txt": "works\n"},
    {"CMakeLists.txt": APP, "Dockerfile": "RUN apt-get install g++ && rm -rf /var/lib/apt/lists/* && get cu${CUDA%%.*} && cmake --build .\n"},
    {"CMakeLists.txt": APP, "format.sh": "clang-format -i src/*.cpp\n"},
    {"app.pro": "SOURCES += main.cpp\n"},
    {"Makefile": "app: main.o\n\tc++ -o app main.o\n"},
    {"BUILD": 'cc_binary(name = "app", srcs = ["main.cpp"])\n'},
    # What lies beside an extension that is built.
    {"setup.py": EXTENSION + ONE, "main.cpp": LIBRARY},
    # What lies beside a library.
    {"CMakeLists.txt": "add_library(net net.cpp)\n", "net.cpp": '#include "work.h"\nvoid net() { train(torch::ones({3})); }\n', "main.cpp": "// None.\n"},
    {"CMakeLists.txt": APP, "plot.py": "rows = [row[0] for row in table]\nname = '*.csv'\n"},
]


def main():
    around = {"src/work.cpp": WORK.replace("work.h", "../work.h"), "work.h": HEADER, "main.cpp": MAIN}
    cases = [(files, {"host-sync"}) for files in TAKEN] + [(files, set()) for files in LEFT]

    def found(report):
        return set(re.findall(r"\[device-([a-z-]+)\]", report))

    return project_cases.count_differing(
        sys.argv[1:], cases, around, "src/work.cpp", ["device-host-sync"], found)


if __name__ == "__main__":
    sys.exit(main())
