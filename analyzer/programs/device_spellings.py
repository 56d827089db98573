"""What a program says of its devices and streams, in the ways that C++ says it, and which findings hold then.

Usage: device_spellings.py FOLDER DEVSAN_CHECK... -- FLAGS...
"""

import re
import sys

import project_cases

WORK = """#include "work.h"
#include <ATen/cuda/CUDAContext.h>
torch::Tensor scaled(torch::Tensor x) {
  torch::Tensor table = torch::arange(3, torch::kCUDA);
  cudaDeviceProp prop;
  cudaGetDeviceProperties(&prop, 0);
  cudaMemsetAsync(x.data_ptr<float>(), 0, 4);
  return x * table;
}
torch::Tensor shifted(torch::Device device) {
  return torch::ones({3}, device) + torch::arange(3, torch::kCUDA);
}
"""
HEADER = """#include <torch/torch.h>
torch::Tensor scaled(torch::Tensor x);
torch::Tensor shifted(torch::Device device);
"""
# What the spellings define is named here.
MAIN = """#include "work.h"
const char *called[] = {"f", "pick", "Settings"};
int main() { scaled(shifted(torch::kCUDA)); }
"""

BARE, ZERO, STREAM = "bare-cuda", "zero-properties", "wrong-stream"
TOLD = {"bare-cuda of a function that is told the device"}
DEVICE = {BARE, ZERO} | TOLD
ALL = DEVICE | {STREAM}
RULES = [BARE, ZERO, STREAM]

# In a source beside main(), and what it leaves.
SPELLINGS = [
    ("", set()),
    ("// cudaSetDevice(1), \"cuda:1\" and getStreamFromPool()", set()),
    # The first device, or that of a tensor.
    ("torch::Device device(torch::kCUDA);", set()),
    ("torch::Device device{torch::kCUDA, 0};", set()),
    ("torch::Device device(at::DeviceType::CUDA, -1);", set()),
    ("torch::Device device = torch::kCUDA;", set()),
    ("auto device = torch::Device(\"cuda:0\");", set()),
    ("torch::DeviceType kind = torch::kCUDA; torch::Device device(kind);", set()),
    ("struct First { torch::DeviceType sort; }; void f(First *f) { torch::Device device(f->sort, 0); }", set()),
    ("void f(torch::Tensor x) { torch::Device device = x.device(); }", set()),
    ("void f(torch::Tensor x) { c10::cuda::CUDAGuard guard(x.device()); }", set()),
    ("void f(torch::Tensor x) { const at::cuda::OptionalCUDAGuard guard(at::device_of(x)); }", set()),
    ("void f(torch::Tensor x) { c10::cuda::CUDAGuard guard{static_cast<char>(0)}; }", DEVICE),
    ("void f() { cudaSetDevice(0); }", set()),
    ("void f(torch::Tensor x) { x.to(torch::kCUDA, torch::kFloat); x.to(at::kCUDA, true); }", set()),
    ("void f(torch::Tensor x) { x = x.to(torch::kCPU); x.to(torch::Device(torch::kCUDA)); }", set()),
    ("torch::Tensor f(cv::Mat image, torch::DeviceType type, bool pinned);", set()),
    ("torch::Tensor x = f(image, torch::kCUDA, 2); torch::Tensor y = f(image, torch::kCPU, 2);", set()),
    ("auto blocks = json[\"gpu\"][\"blocks\"];", set()),
    ("enum Joint { HIP, THIGH }; auto name = \"hip\";", set()),
    ("void f(torch::Tensor x) { const int gpu = x.get_device(); cudaSetDevice(gpu); }", set()),
    ("class Settings { void f(torch::Tensor x) const { if (x.defined()) { int gpu = x.get_device(); cudaSetDevice(gpu); } } };", set()),
    ("void f(torch::Tensor x) { auto where = x.device(); int32_t gpu{where.index()}; c10::cuda::CUDAGuard guard(gpu); }", set()),
    ("void f(bool b) { int gpu = 0; if (b) gpu = -1; cudaSetDevice(gpu); }", set()),
    # Code that nothing comes to.
    ("void g(int n) { cudaSetDevice(n); }", set()),
    ("struct Other { void f(int n) { cudaSetDevice(n); } };", set()),
    ("void f(int n) { if (false && n) cudaSetDevice(n); }", set()),
    ("void f(int n) { if (n || true) { if (n) ++n; } else if (n) { cudaSetDevice(n); } else cudaSetDevice(n + 1); }", set()),
    ("const bool several = false; void f(int n) { if (several && !n) { cudaSetDevice(n); } }", set()),
    ("#if 0\nvoid f(int n) { cudaSetDevice(n); }\n#endif", set()),
    ("#if 1\n#else\nvoid f(int n) { cudaSetDevice(n); }\n#endif", set()),
    ("#if 0 && defined(SEVERAL)\nvoid f(int n) { cudaSetDevice(n); }\n#endif", set()),
    ("#if (0)\nvoid f(int n) { cudaSetDevice(n); }\n#elif 1\n#endif", set()),
    ("void f(int n) { if (false) [[unlikely]] { cudaSetDevice(n); } }", set()),
    # A switch that nobody turns.
    ("bool many = false; void f(int n) { if (many && n) cudaSetDevice(n); }", set()),
    ("class Net { bool on_all_ = false; void f(int n) { if (!on_all_) n = 0; else cudaSetDevice(n); } }; Net *f();", set()),
    ("bool spread = false; torch::Device pick() { spread = false; return spread ? torch::Device(torch::kCUDA, 1) : torch::kCUDA; }", set()),
    ("void f() { std::cout << \"check the model or cuda:\" << std::endl; }", set()),
    # A parameter that callers leave out, or give one value.
    ("void place(int n, bool wide = false) { if (wide) cudaSetDevice(n); } void f(int n) { place(n); }", set()),
    ("void place(int n, bool wide) { if (wide && n) cudaSetDevice(n); } void f(int n) { place(n, false); place(at(n, 2), false); }", set()),
    ("void place(std::map<int, int> n, const bool wide) { if (wide) cudaSetDevice(n[0]); } void f(int n) { place({{n, 1}}, false); }", set()),
    ("struct Net { void place(int n, bool wide = false); };\nvoid Net::place(int n, bool wide) { if (wide) cudaSetDevice(n); }\nvoid f(Net net, int n) { net.place(n); }", set()),
    # Another one, or one that the words do not tell.
    ("void place(int n, bool wide = false) { if (wide) cudaSetDevice(n); } void f(int n) { place(n); place(n, true); }", DEVICE),
    ("void place(int n, bool wide = true) { if (wide) cudaSetDevice(n); } void f(int n) { place(n); place(n, false); }", DEVICE),
    ("void place(int n, bool wide = false) { if (wide) cudaSetDevice(n); } void f(int n) { place(n, n > 3); }", DEVICE),
    ("void place(int n, bool wide = false) { if (wide) cudaSetDevice(n); } void f(int n) { place(n < 3, true); }", DEVICE),
    ("void place(int n, bool m, bool wide = false) { if (wide) cudaSetDevice(n); } void f(int n) { place(n < 4, n > 3, true); }", DEVICE),
    ("void place(int n, bool wide = false) { if (wide) cudaSetDevice(n); } auto all = {place}; void f(int n) { place(n); all[0](n, true); }", DEVICE),
    ("void place(int n, bool wide = false) { wide |= n > 1; if (wide) cudaSetDevice(n); } void f(int n) { place(n); }", DEVICE),
    ("void place(int n, bool wide = false) { if (wide) cudaSetDevice(n); } template <class T> void h(T n, bool wide) { if (wide) place(n); } void f(int n) { h<int>(n, true); }", DEVICE),
    ("struct Base { virtual void place(int n, bool wide); }; struct Net : Base { void place(int n, bool wide = false) override { if (wide) cudaSetDevice(n); } }; void f(Net net, int n) { net.place(n); }", DEVICE),
    ("struct Net : torch::nn::Module { void train(bool wide = true) { if (!wide) cudaSetDevice(2); } }; void f(Net net) { net.train(); net.eval(); }", DEVICE),
    ("void place(int n, bool = false); void f(int n) { place(n); place(n, true); }\nvoid place(int n, bool wide) { if (!wide) cudaSetDevice(n); }", DEVICE),
    ("struct Net : torch::nn::Module { int forward(int n, bool wide = false) { if (wide) cudaSetDevice(n); return n; } }; int f(Net net, int n) { return net.forward(n) + net(n, true); }", DEVICE),
    ("void place(int n, bool wide = false) { if (wide) cudaSetDevice(n); } template <class... A> void timed(A &&...a) { place(std::forward<A>(a)...); } void f(int n) { place(n); timed(n, true); }", DEVICE),
    ("void place(int n, bool wide = false) { if (wide) cudaSetDevice(n); }\n#define PLACE(...) place(__VA_ARGS__)\nvoid f(int n) { place(n); PLACE(n, true); }", DEVICE),
    ("struct View : Widget { virtual void place(bool wide); };\nvoid View::place(bool wide) { if (wide) cudaSetDevice(2); }\nvoid f(View view) { view.place(false); }", DEVICE),
    ("struct View : Widget { auto place(bool wide) -> void override; };\nvoid View::place(bool wide) { if (wide) cudaSetDevice(2); }\nvoid f(View view) { view.place(false); }", DEVICE),
    ("void place(bool wide) { if (wide) cudaSetDevice(2); } void f(View *view) { connect(view, SIGNAL(toggled(bool)), view, SLOT(place(bool))); place(false); }", DEVICE),
    ("void place(std::map<int, std::function<void(int)>> m, bool wide = false) { if (wide) cudaSetDevice(2); } void f(Map m) { place(m); place(m, true); }", DEVICE),
    ("void place(std::array<float, N + 1> m, bool wide = false) { if (wide) cudaSetDevice(2); } void f(Map m) { place(m); place(m, true); }", DEVICE),
    ("void place(bool a, bool b, bool wide = false) { if (wide) cudaSetDevice(2); } void f(int n, int m, int k) { place(n < m, n > k, true); place(n < m, false); }", DEVICE),
    ("void f() { use(\"--device cuda:1\"); }", DEVICE),
    ("void f(bool b) { int gpu = 0; if (b) gpu = 1; cudaSetDevice(gpu); }", DEVICE),
    ("void f(int gpu) { cudaSetDevice(gpu); } void f() { int gpu = 0; f(gpu); }", DEVICE),
    ("void f() { int gpu; read(&gpu); cudaSetDevice(gpu); }", DEVICE),
    ("void f() { int gpu = 0; std::cin >> gpu; cudaSetDevice(gpu); }", DEVICE),
    ("void f(int n) { for (int gpu = 0; gpu < n; ++gpu) cudaSetDevice(gpu); }", DEVICE),
    ("void f(int n) { for (int gpu = 0; gpu < n; gpu++) cudaSetDevice(gpu); }", DEVICE),
    ("void f() { int gpu(0); gpu += 1; cudaSetDevice(gpu); }", DEVICE),
    ("struct Settings { int gpu = 0; }; void f(Settings s) { s.gpu = 1; int gpu = s.gpu; cudaSetDevice(gpu); }", DEVICE),
    ("struct Settings { int gpu = 0; void f() { cudaSetDevice(gpu); } };", DEVICE),
    ("void f() { int gpu = 0, other = 1; std::swap(gpu, other); cudaSetDevice(gpu); }", DEVICE),
    ("void f(int n) { if (false || n) cudaSetDevice(n); }", DEVICE),
    ("void f(int n) { if (n) ++n; else cudaSetDevice(n); }", DEVICE),
    ("void f(int n) { if (false) ++n; else cudaSetDevice(n); }", DEVICE),
    ("void f(int n) { if (true) cudaSetDevice(n); }", DEVICE),
    ("void f(int n) { if (false ? n : !n) cudaSetDevice(n); }", DEVICE),
    ("#if 1\nvoid f(int n) { cudaSetDevice(n); }\n#else\n#endif", DEVICE),
    ("#ifdef SINGLE\n#else\nvoid f(int n) { cudaSetDevice(n); }\n#endif", DEVICE),
    ("void f(int n) {\n#ifdef SINGLE\nif (false)\n#else\nif (n)\n#endif\n{ cudaSetDevice(n); } }", DEVICE),
    ("void f(int n) { if (false) {\n#ifdef A\nif (n) {\n#else\nif (!n) {\n#endif\n++n; } } cudaSetDevice(n); }", DEVICE),
    ("void f(int n) { if (false) [[unlikely]] { ++n; } cudaSetDevice(n); }", DEVICE),
    ("void f(int n) { if (false) try { ++n; } catch (...) { --n; } cudaSetDevice(n); }", DEVICE),
    ("void f(int n) { if (n) goto again; if (false) { again: cudaSetDevice(n); } }", DEVICE),
    ("struct Settings { const bool on = false; Settings(bool b) : on(b) {} void f(int n) { if (on) cudaSetDevice(n); } };", DEVICE),
    ("class Settings { bool on; Settings(bool b); void f(int n); };\nSettings::Settings(bool b) : on(b) {}\nvoid Settings::f(int n) { if (on) cudaSetDevice(n); }\nvoid g() { const bool on = false; }", DEVICE),
    ("struct Settings { int gpu; void f() { cudaSetDevice(gpu); } void pick(torch::Tensor x) { const int gpu = x.get_device(); cudaSetDevice(gpu); } };", DEVICE),
    ("void f(torch::Tensor x) { const int gpu = x.get_device(); cudaSetDevice(gpu); } void f() { for (auto [gpu, n] : all) cudaSetDevice(gpu); }", DEVICE),
    ("void f(torch::Tensor x) { const int gpu = x.get_device(); cudaSetDevice(gpu); }\nvoid f() { EACH(gpu, n) cudaSetDevice(gpu); }", DEVICE),
    ("struct Many { Many(int n) { cudaSetDevice(n); } };\n#define REGISTER(T) static T instance_of_##T(1);\nREGISTER(Many)\nstatic void g(int n) { ++n; }", DEVICE),
    ("void g(int n) {\n#define PICK(n) cudaSetDevice(n)\n  PICK(n);\n}\nvoid f(int n) { PICK(n); }", DEVICE),
    ("#define CLASS Settings\nclass CLASS { void f(int n); };\nvoid CLASS::f(int n) { cudaSetDevice(n); }", DEVICE),
    ("void f(int n) { cudaSetDevice(n); }\nint ends_here = 1; if (", DEVICE),
    ("class Settings { public: bool several = false; }; Settings settings{true}; void f(int n) { if (settings.several) cudaSetDevice(n); }", DEVICE),
    ("class Settings { bool on_ = false; bool &on() { return on_; } void f(int n) { on() = true; if (on_) cudaSetDevice(n); } };", DEVICE),
    ("bool several = false; auto name = R\"(several)\"; void f(int n) { if (several) cudaSetDevice(n); }", DEVICE),
    ("struct Many { Many(int n) { cudaSetDevice(n); } };\n#define REGISTER(T) static T instance_of_##T(1);\nREGISTER(Many)\nstruct Unused { int n; };", DEVICE),
    ("struct Many { Many(int n) { cudaSetDevice(n); } };\n#define REGISTER(T) static T instance_of_##T(1);\nREGISTER(Many)\nnamespace { int n; }", DEVICE),
    ("void g(int n) {\r\n#define PICK(n) \\\r\n  cudaSetDevice(n)\r\n  PICK(n);\r\n}\r\nvoid f(int n) { PICK(n); }", DEVICE),
    ("void f(torch::Tensor x) { const int next = 1 + x.get_device(); cudaSetDevice(next); }", DEVICE),
    ("bool several = false; void g() { several = true; } void f(int n) { if (several) cudaSetDevice(n); }", DEVICE),
    ("bool several = false; void f(int n) { several |= n; if (several) cudaSetDevice(n); }", DEVICE),
    ("bool several = false; void f(int n) { read(several); if (several) cudaSetDevice(n); }", DEVICE),
    ("bool several = false; void f(int n) { read(&several); if (several) cudaSetDevice(n); }", DEVICE),
    ("bool several = false; void f(int n) { std::cin >> several; if (several) cudaSetDevice(n); }", DEVICE),
    ("bool several = false; auto name = \"several\"; void f(int n) { if (several) cudaSetDevice(n); }", DEVICE),
    ("void f(int n, bool several = false) { if (several) cudaSetDevice(n); }", DEVICE),
    ("struct Settings { bool several = false; }; void f(int n, Settings s) { if (s.several) cudaSetDevice(n); }", DEVICE),
    ("struct Settings { bool several = false; }; Settings settings{true}; void f(int n) { if (settings.several) cudaSetDevice(n); }", DEVICE),
    ("class Settings { bool on = false; Settings(bool b) : on(b) {} void f(int n) { if (on) cudaSetDevice(n); } };", DEVICE),
    ("#ifdef SEVERAL\nbool several = true;\n#else\nbool several = false;\n#endif\nvoid f(int n) { if (several) cudaSetDevice(n); }", DEVICE),
    ("bool several = false; bool &alias = several; void f(int n) { if (several) cudaSetDevice(n); }", DEVICE),
    ("bool several = true; torch::Device pick() { return several ? torch::Device(torch::kCUDA, 1) : torch::kCUDA; }", DEVICE),
    ("const bool several = false; void f(int n, bool several) { if (several) cudaSetDevice(n); }", DEVICE),
    ("struct Settings { void g(int n) { f(n); } void f(int n) { cudaSetDevice(n); } };", DEVICE),
    ("torch::Device device(torch::kCUDA, 1);", DEVICE),
    ("torch::Device device{torch::kCUDA, rank};", DEVICE),
    ("torch::Device device = torch::Device(at::DeviceType::CUDA, i % 2);", DEVICE),
    ("struct Other { torch::DeviceType sort; int index; }; void f(Other *f) { torch::Device device(f->sort, f->index); }", DEVICE),
    ("auto options = torch::TensorOptions().device({torch::kCUDA, 1});", DEVICE),
    ("auto options = torch::TensorOptions().device(torch::kCUDA, rank);", DEVICE),
    ("auto options = torch::TensorOptions().device_index(1);", DEVICE),
    ("torch::DeviceType kind; void f(int i, torch::Tensor x) { x.to({kind, i}); }", DEVICE),
    ("torch::Device device(\"cuda:1\");", DEVICE),
    ("auto device = torch::Device(\"cuda:\" + std::to_string(n));", DEVICE),
    ("std::snprintf(name, 9, \"cuda:%d\", n);", DEVICE),
    ("torch::Device device(name);", TOLD),
    ("torch::Device device = settings.device;", TOLD),
    ("torch::Device device(first ? torch::kCUDA : other);", TOLD),
    ("struct Settings { std::string device; };", TOLD),
    ("void f(const std::string &gpu, torch::Tensor x) { x.to(gpu); }", TOLD),
    ("int main(int, char **argv) { torch::ones(3).to(argv[1]); }", TOLD),
    ("int main(int, char **argv) { auto device = argv[1]; }", TOLD),
    ("auto n = arguments.get<int>(\"--gpu-id\");", TOLD),
    ("auto name = json[\"device\"];", TOLD),
    ("void f() { c10::cuda::set_device(FLAGS_n); }", DEVICE),
    ("void f(int n) { cudaSetDevice(n); }", DEVICE),
    ("void f(int n) { c10::cuda::CUDAGuard guard(n); }", DEVICE),
    ("void f(int n) { c10::OptionalDeviceGuard guard; guard.reset_device(at(n)); }", DEVICE),
    ("void f(torch::Tensor x) { x.to(torch::kMPS); }", TOLD),
    ("void f(torch::Tensor x) { x.to(c10::DeviceType::XPU); }", TOLD),
    ("void f() { torch::mps::synchronize(); }", TOLD),
    ("auto name = \"xpu:0\";", TOLD),
    ("torch::nn::parallel::data_parallel(model, input);", DEVICE),
    ("#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>", DEVICE),
    # The host where there is no device: who is told which, and takes the current one, may be wrong.
    ("torch::Device device(torch::cuda::is_available() ? torch::kCUDA : torch::kCPU);", TOLD),
    ("torch::Device device = torch::kCPU; void f() { device = torch::kCUDA; }", TOLD),
    ("torch::Device pick() { if (gpu()) return torch::kCUDA; return torch::kCPU; }", TOLD),
    # Streams.
    ("auto stream = c10::cuda::getCurrentCUDAStream();", set()),
    ("void f() { auto stream = c10::cuda::getStreamFromPool(); }", {STREAM}),
    ("void f(cudaStream_t s) { c10::cuda::CUDAStreamGuard guard(wrap(s)); }", {STREAM}),
    ("void f(cudaStream_t *s) { cudaStreamCreateWithFlags(s, cudaStreamNonBlocking); }", {STREAM}),
    ("cv::cuda::Stream stream;", {STREAM}),
    ("at::cuda::CUDAGraph graph;", {STREAM}),
    # Others call it, with what they have.
    ("extern \"C\" __declspec(dllexport) void run(torch::Tensor x);", ALL),
    ("PYBIND11_MODULE(name, m) {}", ALL),
    ("TORCH_LIBRARY(name, m) {}", ALL),
    ("STABLE_TORCH_LIBRARY(name, m) {}", ALL),
    ("void f(const char *c) { if (*c == '\"') cudaSetDevice(*c); }", DEVICE),
    ("void f(int n) { auto stream = c10::cuda::getStreamFromPool(false, n); }", ALL),
    ("void f() { auto stream = c10::cuda::getStreamFromPool(true, 0); }", {STREAM}),
]

OPERATORS = '#include "work.h"\nTORCH_LIBRARY(x, m) {}\n'
BINDING = '#include "work.h"\nPYBIND11_MODULE(x, m) { m.def("scaled", &scaled); }\n'
APPLICATION = "add_executable(app main.cpp work.cpp)\n"
INSTALL = "install(FILES work.h DESTINATION include)\n"
PLOT = "add_library(plot plot.cpp)\ninstall(TARGETS plot DESTINATION lib)\n"
# Other files of the project.
FILES = [
    ({"CMakeLists.txt": APPLICATION}, set()),
    ({"CMakeLists.txt": APPLICATION + "# install(TARGETS app LIBRARY)"}, set()),
    ({"CMakeLists.txt": APPLICATION + "install(TARGETS app RUNTIME DESTINATION bin)"}, set()),
    ({"CMakeLists.txt": APPLICATION + "add_library(work STATIC work.cpp)"}, set()),
    ({"CMakeLists.txt": APPLICATION + "add_library(work SHARED work.cpp)"}, set()),
    ({"CMakeLists.txt": APPLICATION + "add_library(work MODULE work.cpp)"}, ALL),
    ({"CMakeLists.txt": APPLICATION + "catkin_package()"}, set()),
    ({"CMakeLists.txt": APPLICATION + "catkin_package(INCLUDE_DIRS include LIBRARIES work)"}, ALL),
    # Nobody else has the headers of a library that is installed with the program.
    ({"CMakeLists.txt": APPLICATION + "add_library(work work.cpp)\ninstall(TARGETS app work)"}, set()),
    ({"CMakeLists.txt": APPLICATION + "add_library(work work.cpp)\ninstall(TARGETS app work LIBRARY DESTINATION lib)"}, set()),
    ({"CMakeLists.txt": APPLICATION + "install(TARGETS work EXPORT all)\ninstall(EXPORT all)"}, ALL),
    ({"CMakeLists.txt": APPLICATION + "install(DIRECTORY src/ DESTINATION ${OUT} FILES_MATCHING PATTERN \"*.h\")"}, ALL),
    ({"CMakeLists.txt": APPLICATION + "INSTALL(FILES work.h DESTINATION include)"}, ALL),
    ({"CMakeLists.txt": APPLICATION + "pybind11_add_module(work work.cpp)"}, ALL),
    ({"CMakeLists.txt": APPLICATION + "target_compile_options(app PRIVATE --default-stream=per-thread)"}, {STREAM}),
    ({"CMakeLists.txt": "file(GLOB S src/*.cu)\nadd_library(lib ${S})\ninstall(TARGETS lib DESTINATION lib)"}, ALL),
    ({"CMakeLists.txt": APPLICATION + "add_library(work work.cpp)\nadd_library(work::work ALIAS work)"}, set()),
    ({"CMakeLists.txt": APPLICATION + "install(FILES ${HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})"}, ALL),
    ({"Makefile": "work.so: work.cpp\n\tc++ -shared -o $@ $<\n"}, ALL),
    ({"setup.py": "setup(ext_modules=[])\n"}, ALL),
    ({"load.py": "from torch.utils.cpp_extension import load\n"}, ALL),
    ({"load.py": "import ctypes\nlib = ctypes.CDLL('work.so')\n"}, ALL),
    ({"export.py": "import ctypes\npointer = ctypes.c_void_p(0)\n"}, set()),
    # What is included is not seen, or is code by another name.
    ({"said.cpp": '#include "work.h"\n#include CHOSEN\n'}, ALL),
    ({"said.cpp": '#include "work.h"\n#include "more.inl"\n', "more.inl": "void f(int n) { cudaSetDevice(n); }\n"}, DEVICE),
    ({"said.cpp": '#include "work.h"\n#include "more.inl"\n', "more.inl": "void f(torch::Tensor x);\n"}, set()),
    ({"said.cpp": '#include "work.h"\n#include <boost/more.ipp>\n'}, set()),
    ({"said.cpp": '#include "work.h"\nbool on = false;\n#include "more.inl"\nvoid f(int n) { if (on) cudaSetDevice(n); }\n', "more.inl": "void g() { on = true; }\n"}, DEVICE),
    # Nobody sees whose the file is: one of the programs.
    ({"main.cpp": "namespace torch { class Tensor; }\nvoid *scaled(torch::Tensor *);\nint main() { scaled(0); }\n"}, set()),
    # A binding that no build has.
    ({"bind.cpp": BINDING}, ALL),
    ({"CMakeLists.txt": APPLICATION, "bind.cpp": BINDING}, set()),
    ({"CMakeLists.txt": APPLICATION + "pybind11_extension(x bind.cpp)", "bind.cpp": BINDING}, ALL),
    ({"CMakeLists.txt": APPLICATION + "file(GLOB sources src/*)", "bind.cpp": BINDING}, set()),
    ({"CMakeLists.txt": APPLICATION, "build.sh": "c++ -shared -o x.so bind.cpp\n", "bind.cpp": BINDING}, ALL),
    ({"CMakeLists.txt": APPLICATION, "build.sh": "wget libtorch-shared-with-deps.zip; c++ bind.cpp\n", "bind.cpp": BINDING}, set()),
    ({"CMakeLists.txt": APPLICATION, "all.cpp": '#include "bind.cpp"\n', "bind.cpp": BINDING}, set()),
    ({"CMakeLists.txt": APPLICATION, "build.sh": "for f in *.cpp; do c++ -shared $f; done\n", "bind.cpp": BINDING}, ALL),
    ({"CMakeLists.txt": APPLICATION + "add_plugin(${name}.cpp)", "bind.cpp": BINDING}, ALL),
    ({"plot.py": "print(1)\n", "bind.cpp": BINDING}, ALL),
    ({"CMakeLists.txt": APPLICATION + "file(GLOB all *.cpp)\nadd_library(ops SHARED ${all})", "bind.cpp": BINDING}, ALL),
    # A program that registers operators for itself.
    ({"CMakeLists.txt": APPLICATION.replace("work.cpp", "work.cpp bind.cpp"), "bind.cpp": OPERATORS}, set()),
    ({"CMakeLists.txt": "file(GLOB all *.cpp)\nadd_executable(app ${all})", "bind.cpp": OPERATORS}, set()),
    ({"CMakeLists.txt": APPLICATION + "add_library(ops SHARED ops.cpp work.cpp)", "ops.cpp": OPERATORS}, set()),
    ({"CMakeLists.txt": APPLICATION + "add_library(ops SHARED ops.cpp work.cpp)", "ops.cpp": OPERATORS, "README.md": "torch.ops.load_library('libops.so')\n"}, ALL),
    ({"CMakeLists.txt": APPLICATION + "add_library(ops SHARED ops.cpp work.cpp)\ngenerate_export_header(ops)", "ops.cpp": OPERATORS}, set()),
    ({"CMakeLists.txt": APPLICATION + "add_library(ops SHARED ops.cpp work.cpp)\ninstall(TARGETS ops EXPORT ops)", "ops.cpp": OPERATORS}, ALL),
    ({"CMakeLists.txt": APPLICATION + "add_library(ops ops.cpp work.cpp)", "ops.cpp": OPERATORS}, set()),
    ({"CMakeLists.txt": APPLICATION + "add_library(ops ops.cpp work.cpp)\noption(BUILD_SHARED_LIBS \"\" ON)", "ops.cpp": OPERATORS}, set()),
    ({"CMakeLists.txt": APPLICATION, "meson.build": "py.extension_module('x', 'ops.cpp')", "ops.cpp": OPERATORS}, ALL),
    ({"CMakeLists.txt": APPLICATION + "# ops.cpp", "run.ipynb": "cpp_extension.load(sources=['ops.cpp'])", "ops.cpp": OPERATORS}, ALL),
    # A library beside the program, which has none of it.
    ({"bind/x.cpp": BINDING.replace('"work.h"', "<torch/torch.h>"), "bind/run.py": "cpp_extension.load(sources=['x.cpp'])"}, set()),
    ({"bind/x.cpp": BINDING.replace("work.h", "../work.h"), "bind/run.py": "cpp_extension.load(sources=['x.cpp'])"}, ALL),
    # What is for others, but for nothing with tensors.
    ({"said.cpp": 'extern "C" __declspec(dllexport) void run();\n'}, set()),
    ({"said.cpp": '#include "work.h"\nextern "C" __declspec(dllexport) void run();\n'}, ALL),
    ({"said.cpp": '#define NAME "x"\n#include "work.h"\n__declspec(dllexport) void run();\n'}, ALL),
    ({"api.h": "#define HELPER __declspec(dllexport)\n#define API HELPER\n", "said.cpp": '#include "api.h"\n#include "work.h"\nAPI void run();\n'}, ALL),
    ({"json.hpp": "#if defined(API)\n#undef API\n#endif\n#define API __declspec(dllexport)\n"}, set()),
    ({"api.h": "#define API __declspec(dllexport)\n", "said.cpp": '#include "api.h"\nAPI torch::Tensor run(torch::Tensor x);\n'}, ALL),
    ({"api.h": "#define API __declspec(dllexport)\n", "said.cpp": '#include "api.h"\nAPI void run(float *x);\n'}, set()),
    ({"plot/CMakeLists.txt": PLOT, "plot/plot.cpp": "void plot();\n"}, set()),
    ({"plot/CMakeLists.txt": PLOT + INSTALL.replace("work", "plot"), "plot/plot.cpp": "void plot();\n"}, set()),
    ({"plot/CMakeLists.txt": PLOT + INSTALL, "plot/plot.cpp": "void plot(torch::Tensor x);\n"}, ALL),
    ({"plot/CMakeLists.txt": PLOT + INSTALL, "plot/plot.cpp": "#include \"../work.h\"\nvoid plot();\n"}, ALL),
    ({"plot/CMakeLists.txt": PLOT.replace(")", " ../work.cpp)", 1) + INSTALL}, ALL),
    ({"CMakeLists.txt": APPLICATION + "include(cmake/install.cmake)", "cmake/install.cmake": INSTALL}, ALL),
    ({"qt/work.pro": "TEMPLATE = lib\nSOURCES += ../work.cpp\n"}, ALL),
    ({"gui.h": "#include GUI_CONFIG\n", "said.cpp": '#include "gui.h"\n'}, set()),
    # A plug-in is a program of its host's, unless it has headers for others.
    ({"main.cpp": "", "CMakeLists.txt": "add_library(effect MODULE work.cpp)\n"}, set()),
    ({"main.cpp": "", "CMakeLists.txt": "juce_add_plugin(effect)\n"}, set()),
    ({"main.cpp": "", "CMakeLists.txt": "juce_add_plugin(effect)\ninstall(FILES work.h DESTINATION include)\n"}, ALL),
    ({"main.cpp": "", "CMakeLists.txt": "add_library(effect SHARED work.cpp)\n"}, ALL),
    ({"main.cpp": "", "CMakeLists.txt": "add_library(effect MODULE work.cpp)\nadd_library(work::work ALIAS work)\n"}, ALL),
    ({"main.cpp": "", "CMakeLists.txt": "nanobind_add_module(x bind.cpp work.cpp)\n", "bind.cpp": '#include "work.h"\nNB_MODULE(x, m) {}\n'}, ALL),
    ({"main.cpp": "", "CMakeLists.txt": "add_library(x MODULE work.cpp bind.cpp)\n", "bind.cpp": "PyObject *PyInit_x() {}\n"}, ALL),
    # The main() of an example or a test is no program of its own.
    ({"main.cpp": "", "examples/main.cpp": MAIN}, ALL),
    ({"main.cpp": "", "test_work.cpp": MAIN}, ALL),
    # But where no library is built, the examples are the programs.
    ({"main.cpp": "", "examples/main.cpp": MAIN, "CMakeLists.txt": "add_executable(app examples/main.cpp work.cpp)\n"}, set()),
    ({"main.cpp": "", "examples/main.cpp": MAIN, "CMakeLists.txt": "add_library(work work.cpp)\nadd_executable(app examples/main.cpp)\n"}, ALL),
    ({"main.cpp": "", "example-app.cpp": MAIN, "CMakeLists.txt": "add_executable(app example-app.cpp work.cpp)\n"}, set()),
    ({"main.cpp": "", "work.cpp": "", "sample/work.cpp": WORK, "sample/main.cpp": MAIN, "CMakeLists.txt": "add_executable(app sample/main.cpp sample/work.cpp)\n"}, set()),
    ({"main.cpp": "", "tests/main.cpp": MAIN, "CMakeLists.txt": "add_library(work work.cpp)\nadd_executable(app tests/main.cpp)\n"}, ALL),
    ({"main.cpp": ""}, ALL),
    # Of two programs the one that has the file counts.
    ({"other.cpp": "int main() { cudaSetDevice(1); }\n"}, set()),
    ({"other.cpp": '#include "work.h"\nint main() { cudaSetDevice(1); }\n'}, DEVICE),
]


def main():
    nothing = "\n".join(text for text, left in SPELLINGS if not left)
    start = '#include "work.h"\n'
    cases = [({"said.cpp": start + nothing}, set())]
    cases += [({"said.cpp": start + text + "\n"}, left) for text, left in SPELLINGS if left]
    cases += FILES
    around = {"work.cpp": WORK, "work.h": HEADER, "main.cpp": MAIN}
    rules = ["device-" + rule for rule in RULES]
    told_line = WORK[: WORK.index("torch::ones")].count("\n") + 1

    def found(report):
        places = re.findall(r"work\.cpp:(\d+):.*\[device-([a-z-]+)\]", report)
        return {rule for line, rule in places if int(line) != told_line}.union(
            *(TOLD for line, _ in places if int(line) == told_line))

    return project_cases.count_differing(sys.argv[1:], cases, around, "work.cpp", rules, found)


if __name__ == "__main__":
    sys.exit(main())
