// Pinned memory that a copy from a device has not reached: closed to the host, page by page, so
// that a program that reads (or overwrites) it before it waited is seen. The access is told to the
// observer, the pages are opened with what they held, and the program goes on. Only with protection
// (memory/protection.h), whose fault handler asks here; from any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include <c10/core/Stream.h>

namespace devsan::sim {

// The whole pages of the range, as far as they are pinned memory. Returns what openForArrival
// wants.
std::uint64_t closeToHostUntilArrival(const void *begin, std::size_t bytes, c10::Stream stream);
// Before the simulator itself writes the range, because the copy arrives or is given up. Other
// copies may wait for the same pages: these are closed again by the second call.
void openForArrival(const void *begin, std::size_t bytes, std::uint64_t watch);
void closeWhatIsAwaited(const void *begin, std::size_t bytes);
// The memory goes back to the host.
void forgetWatches(const void *begin, std::size_t bytes);

// For a signal handler: whether the address may lie in a closed page.
bool mayBeClosed(const void *address);
// On the touching thread, outside of the handler.
void handleEarlyAccess(void *address, void *pc, int kind);

} // namespace devsan::sim
