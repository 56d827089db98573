// Preloaded into a program of script/abroad-cpp: what the program takes for chance is the same in each run. When main() returns the library that ABROAD_TELL names, drawn.cpp, tells whether
// random numbers were drawn on a device. It is another library because this one is loaded into every process, with LibTorch or without.
#include <dlfcn.h>
#include <time.h>

#include <cstdint>
#include <cstdlib>
#include <random>

namespace {

using Main = int (*)(int, char**, char**);
Main program_main;

void tellDraws() {
  const char* path = std::getenv("ABROAD_TELL");
  void* library = path ? dlopen(path, RTLD_NOW) : nullptr;
  if (const auto tell = library ? reinterpret_cast<void (*)()>(dlsym(library, "tellDraws")) : nullptr)
    tell();
}

int seededMain(int count, char** arguments, char** environment) {
  std::srand(0);
  const int status = program_main(count, arguments, environment);
  if (dlsym(RTLD_DEFAULT, "_ZN2at13globalContextEv"))
    tellDraws();
  return status;
}

}  // namespace

extern "C" int __libc_start_main(Main main, int count, char** arguments, void (*init)(), void (*fini)(), void (*loader_fini)(), void* stack_end) {
  program_main = main;
  const auto start = reinterpret_cast<decltype(&__libc_start_main)>(dlsym(RTLD_NEXT, "__libc_start_main"));
  return start(seededMain, count, arguments, init, fini, loader_fini, stack_end);
}

extern "C" time_t time(time_t* result) {
  constexpr time_t kThen = 1'700'000'000;
  if (result)
    *result = kThen;
  return kThen;
}

namespace c10::detail {
uint64_t getNonDeterministicRandom(bool /*is_cuda*/) { return 0; }
}  // namespace c10::detail

std::random_device::result_type std::random_device::_M_getval() {
  static unsigned number = 0;
  return ++number * 2654435761U;
}
