#include "core/system/memory_limit.h"

#include "core/system/whole_file.h"

#include <cstdio>
#include <new>
#include <sys/resource.h>
#include <unistd.h>

namespace devsan::core {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kHasSanitizer = true;
#elif defined(__has_feature)
// NOLINTNEXTLINE(misc-redundant-expression)
constexpr bool kHasSanitizer = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kHasSanitizer = false;
#endif

unsigned most_memory;
const char *memory_tool;

[[noreturn]] void endForMemory() {
  char line[1024]; // nothing can be allocated
  const int size = std::snprintf(line, sizeof line,
                                 "%s: error: this takes more than %u MB of memory; the file read "
                                 "last is %s. Give it less at once\n",
                                 memory_tool, most_memory, lastRead());
  if (size > 0 && ::write(STDERR_FILENO, line, static_cast<std::size_t>(size)) < 0)
    _exit(2);
  _exit(2);
}

} // namespace

void limitMemory(unsigned megabytes, const char *tool) {
  // Their shadow memory alone is beyond any limit.
  if (!megabytes || kHasSanitizer)
    return;
  most_memory = megabytes;
  memory_tool = tool;
  std::set_new_handler(endForMemory);
  rlimit limit;
  // Not the address space: mapped files, precompiled headers among them, are no burden.
  if (getrlimit(RLIMIT_DATA, &limit) != 0)
    return;
  const rlim_t most = static_cast<rlim_t>(megabytes) << 20;
  limit.rlim_cur = limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > most ? most : limit.rlim_cur;
  setrlimit(RLIMIT_DATA, &limit);
}

} // namespace devsan::core
