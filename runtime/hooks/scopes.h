// The scopes of the public API: which of AllowSync, AllowTransfer and ExpectNoSync hold here. They
// live in LibTorch's ThreadLocalDebugInfo, so a backward started inside a scope runs inside it, on
// whichever thread, and no other thread does.
#pragma once

#include <cstdint>

namespace devsan::runtime {

// Bits of EventFlags: kSyncAllowed, kTransferAllowed, kSyncForbidden.
std::uint32_t scopeFlags();

} // namespace devsan::runtime
