#include "runtime/hooks/scopes.h"

#include "runtime/event.h"
#include "runtime/hooks/recorder.h"
#include "runtime/include/devsan/devsan.h"

#include <c10/util/ThreadLocalDebugInfo.h>
#include <memory>
#include <string_view>
#include <type_traits>

namespace devsan::runtime {
namespace {

struct Scope : c10::DebugInfoBase {
  std::uint32_t flags = 0;
};

static_assert(devsan::detail::kSyncAllowed == kSyncAllowed &&
                  devsan::detail::kTransferAllowed == kTransferAllowed &&
                  devsan::detail::kSyncForbidden == kSyncForbidden,
              "the public header repeats these bits");

constexpr std::string_view kScopeName = "devsan scope";

// An enumeration, of which we take a number that LibTorch does not, before kinds became named.
template <typename Kind> constexpr Kind kindOf(const std::string_view *name) {
  if constexpr (std::is_enum_v<Kind>)
    return static_cast<Kind>(0xd5);
  else
    return Kind(name);
}
constexpr auto kScopeKind = kindOf<c10::DebugInfoKind>(&kScopeName);

} // namespace

std::uint32_t scopeFlags() {
  auto *scope = static_cast<Scope *>(c10::ThreadLocalDebugInfo::get(kScopeKind));
  return scope ? scope->flags : 0;
}

} // namespace devsan::runtime

using namespace devsan::runtime;

// What runtime/include/devsan/devsan.h and the Python package call. `flag` is the bit of EventFlags
// that the scope sets; of allowing and forbidding a synchronisation the inner one holds. The result
// ends the scope; scopes end in reverse order on the thread that began them.
extern "C" __attribute__((visibility("default"))) void *devsan_scope_enter(std::uint32_t flag) {
  auto scope = std::make_shared<Scope>();
  scope->flags = scopeFlags();
  if (flag == kSyncAllowed || flag == kSyncForbidden)
    scope->flags &= ~(kSyncAllowed | kSyncForbidden);
  scope->flags |= flag & (kSyncAllowed | kTransferAllowed | kSyncForbidden);
  return new c10::DebugInfoGuard(kScopeKind, std::move(scope));
}

extern "C" __attribute__((visibility("default"))) void devsan_scope_leave(void *scope) {
  delete static_cast<c10::DebugInfoGuard *>(scope);
}

extern "C" __attribute__((visibility("default"))) void devsan_step() {
  recorder().countStep();
}
