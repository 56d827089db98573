// A module that is loaded, unloaded and loaded anew calls our functions each time.
// RUN: %cxx -DPLUGIN -shared -fPIC %s -o %t.so
// RUN: %cxx_torch %s -o %t -ldl
// RUN: %status 0 %sim -- %t %t.so
#ifdef PLUGIN
extern "C" void engineExecute() asm(
    "_ZN5torch8autograd6Engine7executeERKSt6vectorINS0_4EdgeESaIS3_EERKS2_IN2at6TensorESaIS9_EEbbb"
    "S7_");

extern "C" __attribute__((visibility("default"))) void *called() {
  void (*volatile function)() = engineExecute;
  return reinterpret_cast<void *>(function);
}
#else
#include <cstring>
#include <dlfcn.h>
#include <torch/torch.h>

int main(int, char **argv) {
  torch::ones({1}, torch::Device("cuda:1"));
  for (int i = 0; i < 3; ++i) {
    void *plugin = dlopen(argv[1], RTLD_NOW);
    auto called = plugin ? reinterpret_cast<void *(*)()>(dlsym(plugin, "called")) : nullptr;
    Dl_info info;
    if (!called || !dladdr(called(), &info) || !std::strstr(info.dli_fname, "libdevsan_runtime"))
      return 10 + i;
    dlclose(plugin);
  }
}
#endif
