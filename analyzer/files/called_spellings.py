"""What a program says of its functions, in the ways that C++ says it, and which of them it may come to.

Usage: called_spellings.py FOLDER DEVSAN_CHECK... -- FLAGS...
"""

import re
import sys

import project_cases

WAIT = "for (int i = 0; i < 3; ++i) x.sum().item<double>();"
WORK = f"""#include "work.h"
void train(torch::Tensor x) {{ {WAIT} }}
void Net::show(torch::Tensor x) {{ {WAIT} }}
void Head::show(torch::Tensor x) {{ {WAIT} }}
void Head::forward(torch::Tensor x) {{ {WAIT} }}
void BodyImpl::grow(torch::Tensor x) {{ {WAIT} }}
"""
HEADER = """#include <torch/torch.h>
inline torch::Tensor data() { return torch::ones({3}, torch::kCUDA); }
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
LINES = {2: "train", 3: "Net::show", 4: "Head::show", 5: "Head::forward", 6: "Body::grow"}
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
    ("struct S { ~S() { train(data()); } };\nint main() { S s; }", TRAIN),
    ("struct S { int a; S() : a{1}, b(2) { train(data()); } int b; };\nint main() { S s; }", TRAIN),
    ("struct S { void operator()() { train(data()); } };\nint main() { S()(); }", TRAIN),
    ("struct S { void begin() { train(data()); } };\nint main() { S s; }", NONE),
    ("struct S : Layer { void forward(torch::Tensor x) override { train(x); } };\nint main() { S s; }", TRAIN),
    ("struct S : Layer { void forward(torch::Tensor x) { train(x); } };\nint main() { S s; }", TRAIN),
    ("struct S : Layer { void forward(torch::Tensor x) override { train(x); } };\nint main() {}", NONE),
    ("template <class T> struct S { S() { train(data()); } };\ntemplate struct S<int>;\nint main() {}", NONE),
    ("template <class T> struct S { S() { train(data()); } };\nint main() { S<int> s; }", TRAIN),
    ("int ready = (train(data()), 1);\nint main() {}", TRAIN),
    # Others call it.
    ("extern \"C\" void run() { train(data()); }\nint main() {}", TRAIN),
    ("extern \"C\" {\nvoid run() { train(data()); }\n}\nint main() {}", TRAIN),
    ("extern \"C\" {\nvoid run();\n}\nvoid other() { train(data()); }\nint main() {}", NONE),
    ("__attribute__((constructor)) void begin() { train(data()); }\nint main() {}", TRAIN),
    ("__attribute__((noinline)) void begin() { train(data()); }\nint main() {}", NONE),
    ("#define API __attribute__((visibility(\"default\")))\nAPI void run() { train(data()); }\nint main() {}", TRAIN),
    ("#define API __declspec(dllexport)\nstruct API S { void run() { train(data()); } };\nint main() {}", TRAIN),
    ("#define HOT __attribute__((hot))\nHOT void run() { train(data()); }\nint main() {}", NONE),
    # Not understood.
    ("#ifdef A\nvoid f(int) {\n#else\nvoid f() {\n#endif\ntrain(data()); }\nint main() {}", TRAIN),
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
IDLE = CALLS + "int main() {}\n"
# Other files of the project.
FILES = [
    ({"main.cpp": IDLE}, NONE),
    ({"main.cpp": IDLE, "README.md": "Call `train()`.\n"}, NONE),
    ({"main.cpp": IDLE, "rest.inl": "void more() { train(data()); }\n"}, TRAIN),
    ({"main.cpp": IDLE, "run.lua": "train()\n"}, TRAIN),
    ({"main.cpp": IDLE, "rest.cpp": CALLS.replace("other", "more")}, NONE),
    ({"main.cpp": IDLE, "test_train.cpp": "int main() { other(); }\n"}, TRAIN),
    # Whoever uses a library calls what it has.
    ({"main.cpp": CALLS}, set(LINES.values())),
    ({"main.cpp": CALLS, "examples/main.cpp": "int main() {}\n"}, set(LINES.values())),
    ({"main.cpp": IDLE, "CMakeLists.txt": "add_library(work work.cpp)\ninstall(TARGETS work DESTINATION lib)\n"}, set(LINES.values())),
    ({"main.cpp": IDLE, "CMakeLists.txt": "add_library(work work.cpp)\n"}, NONE),
    ({"main.cpp": IDLE, "setup.py": "setup(ext_modules=[])\n"}, set(LINES.values())),
    ({"main.cpp": IDLE, "pyproject.toml": "[project]\nname = 'work'\n"}, set(LINES.values())),
    ({"main.cpp": IDLE, "pyproject.toml": "[tool.ruff]\nline-length = 99\n"}, NONE),
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
