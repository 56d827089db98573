#include "without_gil.h"

#include <dlfcn.h>

namespace devsan::sim {
namespace {

template <typename Function> Function *find(const char *name) {
  return reinterpret_cast<Function *>(dlsym(RTLD_DEFAULT, name));
}

struct Python {
  int (*is_initialized)() = find<int()>("Py_IsInitialized");
  int (*holds_gil)() = find<int()>("PyGILState_Check");
  void *(*save_thread)() = find<void *()>("PyEval_SaveThread");
  void (*restore_thread)(void *) = find<void(void *)>("PyEval_RestoreThread");
};

const Python &python() {
  static const Python instance;
  return instance;
}

} // namespace

WithoutGil::WithoutGil() {
  const Python &api = python();
  if (api.is_initialized && api.holds_gil && api.save_thread && api.restore_thread &&
      api.is_initialized() && api.holds_gil())
    thread_state_ = api.save_thread();
}

WithoutGil::~WithoutGil() noexcept(false) {
  if (thread_state_)
    python().restore_thread(thread_state_);
}

} // namespace devsan::sim
