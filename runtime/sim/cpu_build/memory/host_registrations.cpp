#include "host_registrations.h"

#include <atomic>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>

#include "runtime/sim/api/c_api.h"
#include "runtime/sim/memory/fork_locks.h"

namespace devsan::sim {
namespace {

constexpr int kInvalidValue = 1;        // cudaErrorInvalidValue
constexpr int kAlreadyRegistered = 712; // cudaErrorHostMemoryAlreadyRegistered
constexpr int kNotRegistered = 713;     // cudaErrorHostMemoryNotRegistered

std::mutex mutex;
const bool held_over_forks = [] {
  holdOverForks(mutex);
  return true;
}();
std::atomic<std::size_t> count{0}; // most programs register nothing: no lock for them

// From a range's first byte to the one behind its last. Leaked: tensors may be asked about at exit.
std::map<std::uintptr_t, std::uintptr_t> &ranges() {
  static auto *all = new std::map<std::uintptr_t, std::uintptr_t>;
  return *all;
}

bool overlaps(std::uintptr_t begin, std::uintptr_t end) {
  auto next = ranges().lower_bound(end);
  return next != ranges().begin() && std::prev(next)->second > begin;
}

} // namespace

int registerHostMemory(const void *data, std::size_t bytes) {
  auto begin = reinterpret_cast<std::uintptr_t>(data);
  if (begin == 0 || bytes == 0 || begin + bytes < begin)
    return kInvalidValue;
  std::scoped_lock lock(mutex);
  if (overlaps(begin, begin + bytes))
    return kAlreadyRegistered;
  ranges().emplace(begin, begin + bytes);
  count = ranges().size();
  return 0;
}

int unregisterHostMemory(const void *data) {
  std::scoped_lock lock(mutex);
  bool known = ranges().erase(reinterpret_cast<std::uintptr_t>(data)) == 1;
  count = ranges().size();
  return known ? 0 : kNotRegistered;
}

bool isRegisteredHostMemory(const void *data) {
  if (count.load(std::memory_order_relaxed) == 0)
    return false;
  auto address = reinterpret_cast<std::uintptr_t>(data);
  std::scoped_lock lock(mutex);
  return overlaps(address, address + 1);
}

} // namespace devsan::sim

int devsan_sim_register_host(const void *data, std::size_t bytes) {
  return devsan::sim::registerHostMemory(data, bytes);
}

int devsan_sim_unregister_host(const void *data) {
  return devsan::sim::unregisterHostMemory(data);
}
