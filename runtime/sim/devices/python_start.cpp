// Prepares torch.cuda where Python ran no sitecustomize: python -I, -E and -S ignore PYTHONPATH or
// site, and the simulated devices would be missing in silence. LibTorch comes into a Python process
// while torch._C is imported, which is early enough.
#include "runtime/sim/api/c_api.h"

#include <cstdlib>
#include <string>

#include <dlfcn.h>

namespace {

template <typename Function> Function *find(const char *name) {
  return reinterpret_cast<Function *>(dlsym(RTLD_DEFAULT, name));
}

// DEVSAN_PYTHON_PATH, else where it lies in DevSan's own tree.
std::string packagePath() {
  if (const char *path = std::getenv("DEVSAN_PYTHON_PATH"); path && *path)
    return path;
  Dl_info info;
  if (!dladdr(reinterpret_cast<void *>(&packagePath), &info) || !info.dli_fname)
    return {};
  std::string library = info.dli_fname;
  return library.substr(0, library.rfind('/') + 1) + "../python";
}

// Of the text of a Python literal.
std::string quoted(const std::string &text) {
  std::string result = "'";
  for (char c : text) {
    if (c == '\'' || c == '\\')
      result += '\\';
    result += c;
  }
  return result + "'";
}

} // namespace

void devsan_after_loading() {
  auto *is_initialized = find<int()>("Py_IsInitialized");
  auto *ensure = find<int()>("PyGILState_Ensure");
  auto *release = find<void(int)>("PyGILState_Release");
  auto *new_dict = find<void *()>("PyDict_New");
  auto *run = find<void *(const char *, int, void *, void *)>("PyRun_String");
  auto *print_error = find<void()>("PyErr_Print");
  auto *drop = find<void(void *)>("Py_DecRef");
  if (!is_initialized || !ensure || !release || !new_dict || !run || !print_error || !drop ||
      !is_initialized())
    return;
  constexpr int kFileInput = 257; // Py_file_input
  const std::string program = "import sys\n"
                              "path = list(sys.path)\n"
                              "sys.path.insert(0, " +
                              quoted(packagePath()) +
                              ")\n"
                              "try:\n"
                              "    from devsan import sim\n"
                              "finally:\n"
                              "    sys.path[:] = path\n"
                              "sim.install_late()\n";
  int state = ensure();
  void *names = new_dict();
  void *result = names ? run(program.c_str(), kFileInput, names, names) : nullptr;
  if (result)
    drop(result);
  else
    print_error();
  if (names)
    drop(names);
  release(state);
}
