"""What a program says of its functions, in the ways that C++ says it, and which of them it may come to.

Usage: called_spellings.py FOLDER DEVSAN_CHECK... -- FLAGS...
"""

import re
import sys

import project_cases

WAIT = "x = x.to(torch::kCUDA); for (int i = 0; i < 3; ++i) x.sum().item<double>();"
WORK = f"""#include "work.h"
void train(torch::Tensor x) {{ {WAIT} }}
void Net::show(torch::Tensor x) {{ {WAIT} }}
void Head::show(torch::Tensor x) {{ {WAIT} }}
void Head::forward(torch::Tensor x) {{ {WAIT} }}
void BodyImpl::grow(torch::Tensor x) {{ {WAIT} }}
void extend(torch::Tensor x) {{
  if (many)
    {{ {WAIT} }} // many
}}
"""
HEADER = """#include <torch/torch.h>
inline torch::Tensor data() { return torch::ones({3}, torch::kCUDA); }
inline bool many = false;
void extend(torch::Tensor x);
void train(torch::Tensor x);
class Net {
public:
  Net() {}
  void show(torch::Tensor x);
};
struct Layer {
  virtual void forward(torch::Tensor x) = 0;
};
struct Head : Layer {
  void show(torch::Tensor x);
  void forward(torch::Tensor x);
};
struct BodyImpl : torch::nn::Module {
  void grow(torch::Tensor x);
};
TORCH_MODULE(Body);
void other();
"""
LINES = {2: "train", 3: "Net::show", 4: "Head::show", 5: "Head::forward", 6: "Body::grow", 9: "extend"}
MAIN = '#include "work.h"\n'
NONE = set()
TRAIN = {"train"}

# In the source of main().
SPELLINGS = [
    ("int main() {}", NONE),
    ("int main() { train(data()); }", TRAIN),
    ("int main() { auto run = [] { train(data()); }; run(); }", TRAIN),
    ("int main() { /* train(data()); */ } // train(data())", NONE),
    ("#if 0\nvoid f() { train(data()); }\n#endif\nint main() {}", NONE),
    ("#if 0\n#else\nint main() { train(data()); }\n#endif", TRAIN),
    # By others, which are called or not.
    ("void other() { train(data()); }\nint main() {}", NONE),
    ("void other() { train(data()); }\nint main() { other(); }", TRAIN),
    ("void a();\nvoid other() { a(); }\nvoid a() { other(); train(data()); }\nint main() {}", NONE),
    ("namespace n { void f() { train(data()); } }\nint main() { n::f(); }", TRAIN),
    ("namespace n { void f() { train(data()); } }\nint main() {}", NONE),
    ("template <class T> void go(T x) { train(x); }\nint main() { go(data()); }", TRAIN),
    ("template <class T> void go(T x) { train(x); }\nint main() {}", NONE),
    ("template <class T> void go(T x) { train(x); }\ntemplate void go<torch::Tensor>(torch::Tensor);\nint main() {}", NONE),
    ("auto other(int n) -> void { if (n > 1) { train(data()); } }\nint main() {}", NONE),
    # Declared, defined and kept are three things.
    ("extern void train(torch::Tensor x);\nint main() {}", NONE),
    ("auto table = &train;\nint main() {}", TRAIN),
    ("struct Entry { const char *name; void (*run)(torch::Tensor); };\nEntry all[] = {{\"a\", train}};\nint main() {}", TRAIN),
    ("void find(const char *);\nint main() { find(\"train\"); }", TRAIN),
    ("const char *text = R\"(})\";\nvoid other() { train(data()); }\nint main() {}", NONE),
    # Macros.
    ("#define RUN train(data())\nint main() { RUN; }", TRAIN),
    ("#define RUN train(data())\nint main() {}", NONE),
    ("#define RUN \\\n  train(data())\nint main() {}", NONE),
    ("#define CALL(x) tr##x(data())\nint main() { CALL(ain); }", TRAIN),
    ("#define TEST(a, b) void a##_##b()\nTEST(Train, runs) { train(data()); }\nint main() {}", TRAIN),
    # What nobody has to name.
    ("struct S { S() { train(data()); } };\nS s;\nint main() {}", TRAIN),
    ("struct S { S() { train(data()); } };\nint main() {}", NONE),
    ("struct S { S(); };\nS::S() { train(data()); }\nint main() {}", NONE),
    ("struct S { struct T { T(); }; S() { train(data()); } };\nS::T::T() = default;\nint main() {}", NONE),
    ("struct S { ~S() { train(data()); } };\nint main() { S s; }", TRAIN),
    ("struct S { int a; S() : a{1}, b(2) { train(data()); } int b; };\nint main() { S s; }", TRAIN),
    ("struct S { void operator()() { train(data()); } };\nint main() { S()(); }", TRAIN),
    ("struct S { void start() { train(data()); } };\nint main() { S s; }", NONE),
    ("struct S : Layer { void forward(torch::Tensor x) override { train(x); } };\nint main() { S s; }", TRAIN),
    ("struct S : Layer { void forward(torch::Tensor x) { train(x); } };\nint main() { S s; }", TRAIN),
    ("struct S : Layer { void forward(torch::Tensor x) override { train(x); } };\nint main() {}", NONE),
    ("struct S : torch::nn::Module { void start() { train(data()); } };\nint main() { S s; }", NONE),
    ("struct S : public nn::Module { void start() { train(data()); } };\nint main() { S s; }", NONE),
    ("struct S : torch::nn::Module { void start() { train(data()); } };\nint main() { S s; s.start(); }", TRAIN),
    ("struct S : torch::nn::Module { void forward(torch::Tensor x) { train(x); } };\nint main() { S s; }", TRAIN),
    ("struct S : torch::nn::Module, Layer { void start() { train(data()); } };\nint main() { S s; }", TRAIN),
    ("struct S : Module { void start() { train(data()); } };\nint main() { S s; }", TRAIN),
    ("template <class T> struct S { S() { train(data()); } };\ntemplate struct S<int>;\nint main() {}", NONE),
    ("template <class T> struct S { S() { train(data()); } };\nint main() { S<int> s; }", TRAIN),
    ("int ready = (train(data()), 1);\nint main() {}", TRAIN),
    # Others call it.
    ("extern \"C\" void run() { train(data()); }\nint main() {}", TRAIN),
    ("extern \"C\" {\nvoid run() { train(data()); }\n}\nint main() {}", TRAIN),
    ("extern \"C\" {\nvoid run();\n}\nvoid other() { train(data()); }\nint main() {}", NONE),
    ("__attribute__((constructor)) void begin() { train(data()); }\nint main() {}", TRAIN),
    ("__attribute__((noinline)) void start() { train(data()); }\nint main() {}", NONE),
    ("#define API __attribute__((visibility(\"default\")))\nAPI void run() { train(data()); }\nint main() {}", TRAIN),
    ("#define API __declspec(dllexport)\nstruct API S { void run() { train(data()); } };\nint main() {}", TRAIN),
    ("#define HOT __attribute__((hot))\nHOT void run() { train(data()); }\nint main() {}", NONE),
    ("extern \"C\" void train(torch::Tensor x);\nint main() {}", TRAIN),
    ("extern \"C\" {\nvoid train(torch::Tensor x);\n}\nint main() {}", TRAIN),
    ("#define API __declspec(dllexport)\nAPI void train(torch::Tensor x);\nint main() {}", TRAIN),
    # Variables, and what makes them.
    ("struct R { R(const char *, void (*)(torch::Tensor)); };\nstatic R reg(\"a\", train);\nint main() {}", TRAIN),
    ("struct R { R(void (*)(torch::Tensor)); };\nstatic R reg(train);\nint main() {}", TRAIN),
    ("template <class T> struct Reg { Reg(const char *); };\nstruct S { S() { train(data()); } };\nstatic Reg<S> reg(\"s\");\nint main() {}", TRAIN),
    ("struct App { App(int) { train(data()); } };\nstatic App app(1);\nint main() {}", TRAIN),
    ("int f(torch::Tensor x) { train(x); return 1; }\nstruct R { R(int); };\nstatic R reg(f(data()));\nint main() {}", TRAIN),
    ("int f(torch::Tensor x) { train(x); return 1; }\nstruct R { int n; };\nstatic R reg{f(data())};\nint main() {}", TRAIN),
    ("int f(torch::Tensor x) { train(x); return 1; }\nstruct R { int n{f(data())}; };\nint main() { R r; }", TRAIN),
    ("#include <functional>\n#include <map>\nstatic std::map<int, std::function<void(torch::Tensor)>> all = {{1, train}};\nint main() {}", TRAIN),
    ("#include <functional>\nstatic std::function<void(torch::Tensor)> run = train;\nint main() {}", TRAIN),
    ("static void (*run)(torch::Tensor) = train;\nint main() {}", TRAIN),
    ("#include <functional>\nstruct R { std::function<void(torch::Tensor)> run = train; };\nint main() { R r; }", TRAIN),
    ("#include <vector>\nstatic std::vector<void (*)(torch::Tensor)> all = {train};\nint main() {}", TRAIN),
    ("static auto reg = [] { train(data()); return 1; }();\nint main() {}", TRAIN),
    ("struct Config { void load() { train(data()); } };\nstruct Config config;\nint main() { config.load(); }", TRAIN),
    ("static struct Init { Init() { train(data()); } } init;\nint main() {}", TRAIN),
    ("struct { int n; void load() { train(data()); } } here;\nint main() { here.load(); }", TRAIN),
    # What the language, libraries and generators call.
    ("struct S { int *begin() { train(data()); return 0; } int *end() { return 0; } };\nint main() { for (int n : S()) (void)n; }", TRAIN),
    ("namespace std { template <class T> struct hash; template <> struct hash<Net> { void run() { train(data()); } }; }\nint main() {}", TRAIN),
    ("#define Q_OBJECT\nstruct W {\n  Q_OBJECT\nprivate:\n  void on_go_clicked() { train(data()); }\n};\nint main() { W w; }", TRAIN),
    # Heads with macros in them.
    ("#define my_noexcept noexcept\nvoid run() my_noexcept { train(data()); }\nint main() { run(); }", TRAIN),
    ("void run() __attribute__((noinline));\nvoid run() { train(data()); }\nint main() { run(); }", TRAIN),
    ("#define HANDLER(a) void a##_run()\nstatic HANDLER(foo) { train(data()); }\nint main() {}", TRAIN),
    ("#define FN(a) a##_run\nvoid FN(other)() { train(data()); }\nint main() {}", TRAIN),
    ("struct S { S() try : n(1) { train(data()); } catch (...) {} int n; };\nint main() { S s; }", TRAIN),
    ("[[maybe_unused]] static void other() { train(data()); }\nint main() {}", NONE),
    ("static inline const char *other(const char *a[], int n = 3) noexcept(true) { train(data()); return 0; }\nint main() {}", NONE),
    ("auto other() -> decltype(1) { train(data()); return 1; }\nint main() {}", NONE),
    # Members.
    ("int main() { Net net; net.show(data()); }", {"Net::show"}),
    ("int main() { Net net; }", NONE),
    ("void show(Net &net) { net.show(data()); }\nint main() {}", NONE),
    ("int main() { Net net; Head head; head.forward(data()); }", {"Head::forward"}),
    ("int main() { Head head; }", {"Head::forward"}),
    ("int main() { Head head; head.show(data()); }", {"Head::show", "Head::forward"}),
    ("int main() { Body body; body->grow(data()); }", {"Body::grow"}),
    ("void f() { Body body; body->grow(data()); }\nint main() {}", NONE),
]

CALLS = MAIN + "void other() { train(data()); }\n"
ODD = "#ifdef A\nvoid f(int) {\n#else\nvoid f() {\n#endif\n"
MORE = MAIN + "int main() { extend(data()); }\n"
IDLE = CALLS + "int main() {}\n"
# Other files of the project.
FILES = [
    ({"main.cpp": IDLE}, NONE),
    ({"main.cpp": IDLE, "README.md": "Call `train()`.\n"}, NONE),
    ({"main.cpp": IDLE, "rest.inl": "void more() { train(data()); }\n"}, TRAIN),
    # What never runs in what is called.
    ({"main.cpp": MORE}, NONE),
    ({"main.cpp": MORE, "other.cpp": MAIN + "void turn() { many = true; }\n"}, {"extend"}),
    ({"main.cpp": IDLE, "run.lua": "train()\n"}, TRAIN),
    ({"main.cpp": IDLE, "changelog": "- train is faster\n", ".gitignore": "train\n", "run.yml": "job: train\n"}, NONE),
    ({"main.cpp": IDLE, "run": "#!/usr/bin/lua\ntrain()\n"}, TRAIN),
    ({"main.cpp": IDLE, "model.py": "def train(): pass\n"}, NONE),
    ({"main.cpp": IDLE, "run.py": "import ctypes\nctypes.PyDLL(None).train()\n"}, TRAIN),
    ({"main.cpp": IDLE, "make.py": "write('#include <work.h>\\nvoid more() { train(data()); }')\n"}, TRAIN),
    ({"main.cpp": IDLE, "work.vcxproj": '<ClCompile Include="train.cpp" />\n'}, NONE),
    ({"main.cpp": IDLE, "CMakeLists.txt": "add_executable(train main.cpp work.cpp)\n"}, NONE),
    ({"main.cpp": IDLE, "rest.cpp": CALLS.replace("other", "more")}, NONE),
    ({"main.cpp": IDLE, "test_train.cpp": "int main() { other(); }\n"}, TRAIN),
    ({"main.cpp": IDLE, "test_train.cpp": "#include <gtest/gtest.h>\nTEST(Train, Other) { other(); }\n"}, NONE),
    ({"main.cpp": IDLE, "test/test_train.cpp": '#include <gtest/gtest.h>\n#include "fake.h"\n', "test/fake.h": MAIN + "struct Fake { Fake() { train(data()); } };\n"}, NONE),
    ({"main.cpp": '#include "test/fake.h"\nint main() { Fake fake; }\n', "test/test_train.cpp": '#include <gtest/gtest.h>\n#include "fake.h"\n',
      "test/fake.h": MAIN + "struct Fake { Fake() { train(data()); } };\n"}, TRAIN),
    # A test may include a source, or a header that is no test's.
    ({"main.cpp": '#include "work.h"\nvoid go();\nint main() { go(); }\n', "go.cpp": MAIN + "void go() { train(data()); }\n", "test/test_go.cpp": '#include <gtest/gtest.h>\n#include "../go.cpp"\n'}, TRAIN),
    ({"main.cpp": IDLE, "go.h": MAIN + "struct Go { Go() { train(data()); } };\n", "test/test_go.cpp": '#include <gtest/gtest.h>\n#include "../go.h"\n'}, NONE),
    ({"main.cpp": IDLE, "train.cpp": "#include <doctest.h>\nTEST_CASE() { other(); }\n"}, TRAIN),
    # What is not understood says all its words, and may hold main().
    ({"main.cpp": IDLE, "odd.cpp": MAIN + ODD + "train(data()); }\n"}, TRAIN),
    ({"main.cpp": '#include "odd.h"\nint main() { CALL(ain); }\n', "odd.h": MAIN + "#define CALL(x) tr##x(data())\n" + ODD + "}\n"}, TRAIN),
    ({"main.cpp": MAIN + ODD + "}\nint main() {}\n"}, set(LINES.values())),
    # Whoever uses a library calls what it has.
    ({"main.cpp": CALLS}, set(LINES.values())),
    ({"main.cpp": CALLS, "examples/main.cpp": "int main() {}\n"}, set(LINES.values())),
    ({"main.cpp": CALLS, "unit_tests/main.cpp": "int main() {}\n"}, set(LINES.values())),
    ({"main.cpp": CALLS, "WorkTest.cpp": "int main() {}\n"}, set(LINES.values())),
    ({"main.cpp": CALLS + "struct App { int main(int); };\n"}, set(LINES.values())),
    ({"main.cpp": CALLS + "#if 0\nint main() {}\n#endif\n"}, set(LINES.values())),
    ({"main.cpp": CALLS, "demo.h": "#ifdef DEMO\nint main() {}\n#endif\n"}, set(LINES.values())),
    ({"main.cpp": CALLS, "latest.cpp": "int main() {}\n"}, NONE),
    ({"main.cpp": IDLE, "Makefile.am": "lib_LTLIBRARIES = libwork.la\n"}, set(LINES.values())),
    ({"main.cpp": IDLE, "Makefile": "libwork.a: work.o\n\tar rcs $@ $<\ninstall: libwork.a\n"}, set(LINES.values())),
    ({"main.cpp": IDLE, "conanfile.py": "class Work(ConanFile): pass\n"}, set(LINES.values())),
    ({"main.cpp": IDLE, "python/setup.py": "from skbuild import setup\nhere = Path(__file__).resolve().parents[1]\n"}, set(LINES.values())),
    ({"main.cpp": IDLE, "CMakeLists.txt": "add_library(work work.cpp)\ninstall(TARGETS work DESTINATION lib)\n"}, set(LINES.values())),
    ({"main.cpp": IDLE, "CMakeLists.txt": "add_library(work work.cpp)\n"}, NONE),
    ({"main.cpp": IDLE, "setup.py": "setup(ext_modules=[])\n"}, set(LINES.values())),
    ({"main.cpp": IDLE, "pyproject.toml": "[build-system]\nrequires = ['scikit-build-core']\n"}, set(LINES.values())),
    ({"main.cpp": IDLE, "pyproject.toml": "[build-system]\nrequires = ['setuptools', 'torch']\n"}, set(LINES.values())),
    ({"main.cpp": IDLE, "pyproject.toml": "[build-system]\nrequires = ['sip >= 6']\n"}, set(LINES.values())),
    ({"main.cpp": IDLE, "pyproject.toml": "[build-system]\nrequires = ['poetry-core>=1']\n[tool.poetry.build]\nscript = 'ext.py'\n"}, set(LINES.values())),
    ({"main.cpp": IDLE, "pyproject.toml": "[build-system]\nrequires = ['hatchling']\n[tool.hatch.build.targets.wheel.hooks.custom]\npath = 'ext.py'\n"}, set(LINES.values())),
    ({"main.cpp": IDLE, "pyproject.toml": "[build-system]\nrequires = ['setuptools']\nbackend-path = ['tools']\n"}, set(LINES.values())),
    ({"main.cpp": IDLE, "pyproject.toml": "[build-system\n"}, set(LINES.values())),
    ({"main.cpp": IDLE, "pyproject.toml": "[tool.setuptools]\next-modules = []\n"}, set(LINES.values())),
    ({"main.cpp": IDLE, "pyproject.toml": "[project]\ndependencies = ['torch']\n[build-system]\nrequires = ['hatchling']\n"}, NONE),
    ({"main.cpp": IDLE, "pyproject.toml": "[tool.ruff]\nline-length = 99\n"}, NONE),
    # What setup.py only names.
    ({"main.cpp": IDLE, "setup.py": "import os, re\nfrom setuptools import setup, find_packages\nsetup(packages=find_packages())\n"}, NONE),
    *(({"main.cpp": IDLE, "setup.py": f"from setuptools import setup\n{text}\n"}, set(LINES.values()))
      for text in ("from setuptools import Extension", "setup(ext_modules=listed())", "setup(cmdclass={'build': Own})", "import os, subprocess",
                   "  from torch.utils import cpp_extension", "from skbuild import setup", "os.system('make')", "import ours",
                   "from os import system\nsystem('make')", "setup(package_data={'work': ['work.so']})")),
    ({"main.cpp": IDLE, "setup.py": "from setuptools import setup\nsetup()\n", "setup.cfg": "[options]\ncmdclass = build_ext = tools.Build\n"}, set(LINES.values())),
    ({"main.cpp": IDLE, "python/setup.py": "setup(ext_modules=[])  # and so on ...\n"}, NONE),
    ({"main.cpp": IDLE, "python/setup.py": "setup(sources=['../work.cpp'])\n"}, set(LINES.values())),
    ({"main.cpp": IDLE, "python/setup.py": "setup()\n", "python/bind.cpp": "PYBIND11_MODULE(m, n) {}\n"}, NONE),
]


def main():
    cases = [({"main.cpp": MAIN + text + "\n"}, left) for text, left in SPELLINGS]

    def found(report):
        return {LINES[int(line)] for line in re.findall(r"work\.cpp:(\d+):.*\[device-host-sync\]", report)}

    around = {"work.cpp": WORK, "work.h": HEADER}
    return project_cases.count_differing(sys.argv[1:], cases + FILES, around, "work.cpp", ["device-host-sync"], found)


if __name__ == "__main__":
    sys.exit(main())
