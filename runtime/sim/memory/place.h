// What lies at an address of device memory: what the reports of host accesses ask, on the touching
// thread. Answered by what gives the memory out.
#pragma once

#include <cstddef>
#include <optional>

namespace devsan::sim {

struct BlockPlace {
  const char *begin;
  std::size_t size; // as requested; of a free block the block's own
  bool freed;
};

// Nothing where no block ever was.
std::optional<BlockPlace> placeOf(const void *address);

} // namespace devsan::sim
