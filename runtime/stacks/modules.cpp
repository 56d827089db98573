#include "runtime/stacks/modules.h"

#include "runtime/log/fork_gate.h"
#include "runtime/log/spin_lock.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits.h>
#include <link.h>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace devsan::runtime {
namespace {

struct Module {
  ModuleRecord record;
  std::string path;
};

struct Written {
  std::uint64_t begin;
  std::uint64_t end;
  bool operator==(const Written &) const = default;
};

std::atomic_flag busy = ATOMIC_FLAG_INIT;

std::atomic<unsigned long long> seen_loads{0};
std::atomic<unsigned long long> seen_unloads{0};

std::vector<Written> *written = nullptr;

struct Counts {
  unsigned long long loads = 0;
  unsigned long long unloads = 0;
};

Counts currentCounts() {
  Counts counts;
  dl_iterate_phdr(
      [](dl_phdr_info *info, std::size_t, void *data) {
        *static_cast<Counts *>(data) = {info->dlpi_adds, info->dlpi_subs};
        return 1;
      },
      &counts);
  return counts;
}

int collect(dl_phdr_info *info, std::size_t, void *data) {
  auto &modules = *static_cast<std::vector<Module> *>(data);
  Module module;
  module.record.base = info->dlpi_addr;
  module.record.begin = ~std::uint64_t{0};
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto &header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD)
      continue;
    std::uint64_t begin = info->dlpi_addr + header.p_vaddr;
    module.record.begin = std::min(module.record.begin, begin);
    module.record.end = std::max(module.record.end, begin + header.p_memsz);
  }
  if (module.record.begin >= module.record.end)
    return 0;
  if (info->dlpi_name && *info->dlpi_name) {
    module.path = info->dlpi_name;
  } else if (modules.empty()) {
    // The first entry is the executable, which has no name here.
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    module.path.assign(path, length > 0 ? std::size_t(length) : 0);
  }
  // The vdso has no file.
  if (module.path.find('/') != std::string::npos)
    modules.push_back(std::move(module));
  return 0;
}

} // namespace

bool writeNewModules(LogWriter &log) {
  InsideForkGate gate;
  Counts counts = currentCounts();
  if (counts.loads == seen_loads.load(std::memory_order_acquire) &&
      counts.unloads == seen_unloads.load(std::memory_order_acquire))
    return false;
  SpinLock alone(busy);
  if (!written)
    written = new std::vector<Written>;
  std::vector<Module> modules;
  dl_iterate_phdr(collect, &modules);
  // Another file may have taken the addresses of one that was unloaded.
  if (counts.unloads != seen_unloads.load(std::memory_order_relaxed))
    written->clear();
  for (Module &module : modules) {
    Written key{module.record.begin, module.record.end};
    if (std::find(written->begin(), written->end(), key) != written->end())
      continue;
    written->push_back(key);
    module.record.path_length = std::uint32_t(module.path.size());
    std::string_view parts[] = {
        {reinterpret_cast<const char *>(&module.record), sizeof module.record}, module.path};
    log.append(RecordKind::kModule, parts);
  }
  seen_loads.store(counts.loads, std::memory_order_release);
  seen_unloads.store(counts.unloads, std::memory_order_release);
  return true;
}

void forgetWrittenModules() {
  // Another thread may have been changing the list at the fork: it is left behind as it is.
  written = nullptr;
  seen_loads.store(0);
  seen_unloads.store(0);
  busy.clear();
}

} // namespace devsan::runtime
