// The two collectives that the library's own protocols are made of. Both must be called by every
// rank of the group.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

namespace c10d {
class ProcessGroup;
}

namespace devsan::metrics {

// Gives every rank the `header` of all ranks, in rank order. Each header must have the same length
// on every rank, which is why callers make it fixed. It travels as a host tensor over the group's
// CPU back end; a group without one sends it over `device` (or the current device of the group's
// type) and waits for that device once.
std::vector<std::vector<int64_t>>
exchange_headers(const std::vector<int64_t> &header, std::optional<at::Device> device,
                 const c10::intrusive_ptr<c10d::ProcessGroup> &group);

// uint8 [n] on every rank, with the same n, to uint8 [ranks, n] on the same device. No back end has
// to know a dtype.
at::Tensor all_gather_bytes(const at::Tensor &bytes,
                            const c10::intrusive_ptr<c10d::ProcessGroup> &group);

} // namespace devsan::metrics
