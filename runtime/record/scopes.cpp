#include "runtime/record/scopes.h"

#include "runtime/include/devsan/devsan.h"
#include "runtime/protocol/options.h"
#include "runtime/record/debug_info.h"
#include "runtime/record/recorder.h"

#include <array>
#include <atomic>
#include <memory>
#include <string_view>
#include <vector>

namespace devsan::runtime {
namespace {

// What one counting scope has seen, on any thread.
struct Counts {
  std::array<std::atomic<std::uint64_t>, kGuardedNames.size()> of{};

  void add(Guarded what) { of[std::size_t(what)].fetch_add(1, std::memory_order_relaxed); }
};

// A scope together with all around it.
struct Scope : c10::DebugInfoBase {
  Guards guards;
  std::vector<std::shared_ptr<Counts>> counts;
};

constexpr std::string_view kScopeName = "devsan scope";
constexpr c10::DebugInfoKind kScopeKind = debugInfoKind(&kScopeName, 0);

const Scope *currentScope() {
  return static_cast<const Scope *>(c10::ThreadLocalDebugInfo::get(kScopeKind));
}

Guarded directionOf(const Event &event) {
  if (event.from.isHost())
    return Guarded::kHostToDevice;
  return event.to.isHost() ? Guarded::kDeviceToHost : Guarded::kDeviceToDevice;
}

// An open scope, as the C functions hand it out.
struct Handle {
  std::shared_ptr<Counts> counts;
  c10::DebugInfoGuard guard;
};

Handle *enter(Guards guards, std::shared_ptr<Counts> counts) {
  const Scope *outer = currentScope();
  auto scope = outer ? std::make_shared<Scope>(*outer) : std::make_shared<Scope>();
  scope->guards = scope->guards.with(guards);
  if (counts)
    scope->counts.push_back(counts);
  return new Handle{std::move(counts), c10::DebugInfoGuard(kScopeKind, std::move(scope))};
}

} // namespace

Guards currentGuards() {
  const Guards process = options().guards;
  const Scope *scope = currentScope();
  return scope ? process.with(scope->guards) : process;
}

void applyGuards(Event &event) {
  const Guards guards = currentGuards();
  event.flags |= guardFlags(guards.level(directionOf(event)), guards.level(Guarded::kHostWait));
  if (event.step < options().warmup)
    event.flags |= kWarmup;
}

void countInScopes(const Event &event) {
  if (event.kind != EventKind::kCopy && event.kind != EventKind::kBlock)
    return;
  const Scope *scope = currentScope();
  if (!scope)
    return;
  for (const std::shared_ptr<Counts> &counts : scope->counts) {
    if (event.flags & kBlocks)
      counts->add(Guarded::kHostWait);
    if (event.kind == EventKind::kCopy)
      counts->add(directionOf(event));
  }
}

} // namespace devsan::runtime

using namespace devsan::runtime;

// What runtime/include/devsan/devsan.h and the Python package call.
#define DEVSAN_API extern "C" __attribute__((visibility("default")))

static_assert(devsan::detail::packed(devsan::Direction::kDeviceToDevice,
                                     devsan::Level::kDisallowExplicit) ==
                      std::uint32_t(Level::kDisallowExplicit)
                          << 4 * unsigned(Guarded::kDeviceToDevice) &&
                  devsan::detail::packedSync(devsan::Level::kAllow) ==
                      std::uint32_t(Level::kAllow) << 4 * unsigned(Guarded::kHostWait) &&
                  devsan::detail::kRaise == Guards::kRaise &&
                  devsan::detail::kDoNotRaise == Guards::kDoNotRaise,
              "the public header repeats the packing of Guards");

// What this thread does in between is not the program's doing, and nothing of it is recorded.
DEVSAN_API void devsan_unobserved_enter() {
  InsideRuntime::enter();
}
DEVSAN_API void devsan_unobserved_leave() {
  InsideRuntime::leave();
}

// 1 where what happens in this process is recorded.
DEVSAN_API int devsan_is_active() {
  return recorder().recording();
}

// `guards` is packed as Guards has it. The result ends the scope; scopes end in reverse order on
// the thread that began them.
DEVSAN_API void *devsan_guard_enter(std::uint32_t guards) {
  return enter(Guards(guards), nullptr);
}

// The same for programs that were compiled with the first version of the public header: `flag` is a
// bit of EventFlags.
DEVSAN_API void *devsan_scope_enter(std::uint32_t flag) {
  Guards guards;
  if (flag & kSyncAllowed)
    guards.set(Guarded::kHostWait, Level::kAllow);
  if (flag & kSyncDisallowed)
    guards.set(Guarded::kHostWait, Level::kDisallowExplicit);
  if (flag & kTransferAllowed)
    for (Guarded direction :
         {Guarded::kHostToDevice, Guarded::kDeviceToHost, Guarded::kDeviceToDevice})
      guards.set(direction, Level::kAllow);
  return enter(guards, nullptr);
}

// A scope that counts what happens inside it.
DEVSAN_API void *devsan_count_enter() {
  return enter(Guards(), std::make_shared<Counts>());
}

DEVSAN_API void devsan_scope_leave(void *scope) {
  delete static_cast<Handle *>(scope);
}

// Of an open scope that counts, so far; `what` is a value of Guarded. Any thread.
DEVSAN_API std::uint64_t devsan_count_read(void *scope, std::uint32_t what) {
  const Counts &counts = *static_cast<Handle *>(scope)->counts;
  return what < counts.of.size() ? counts.of[what].load(std::memory_order_relaxed) : 0;
}
