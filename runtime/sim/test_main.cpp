#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>

int main(int argc, char **argv) {
  setenv("DEVSAN_SIM_DEVICES", "2", 1);
  setenv("DEVSAN_SIM_PROTECT", "on", 1);
  if (dlopen(DEVSAN_SIM_LIBRARY, RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
