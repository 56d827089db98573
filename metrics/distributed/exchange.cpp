#include "metrics/distributed/exchange.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

namespace devsan::metrics {
namespace {

// Older releases of LibTorch, such as 2.11, have it by its old name alone.
template <typename Group> void all_gather(Group &group, at::Tensor &received, at::Tensor &sent) {
  if constexpr (requires { group.all_gather_single(received, sent); })
    group.all_gather_single(received, sent)->wait();
  else
    group._allgather_base(received, sent)->wait();
}

bool serves(const c10d::ProcessGroup &group, at::DeviceType type) {
  return std::ranges::any_of(group.getDeviceTypes(),
                             [&](at::Device device) { return device.type() == type; });
}

} // namespace

std::vector<std::vector<int64_t>>
exchange_headers(const std::vector<int64_t> &header, std::optional<at::Device> device,
                 const c10::intrusive_ptr<c10d::ProcessGroup> &group) {
  const at::NoGradGuard no_grad;
  const auto length = static_cast<int64_t>(header.size());
  const auto on_host = at::TensorOptions().dtype(at::kLong).device(at::kCPU);
  std::vector<int64_t> own = header;
  std::vector<int64_t> all(header.size() * group->getSize());
  at::Tensor sent = at::from_blob(own.data(), {length}, on_host);
  at::Tensor received = at::from_blob(all.data(), {static_cast<int64_t>(all.size())}, on_host);

  if (serves(*group, at::kCPU)) {
    all_gather(*group, received, sent);
  } else {
    TORCH_CHECK(device || !group->getDeviceTypes().empty(),
                "gather: the process group has no back end; set one up");
    const at::Device carrier = device.value_or(group->getDeviceTypes().front());
    at::Tensor sent_on_device = sent.to(carrier);
    at::Tensor received_on_device =
        at::empty({static_cast<int64_t>(all.size())}, sent_on_device.options());
    all_gather(*group, received_on_device, sent_on_device);
    received.copy_(received_on_device);
  }

  std::vector<std::vector<int64_t>> headers;
  for (auto at = all.begin(); at != all.end(); at += length)
    headers.emplace_back(at, at + length);
  return headers;
}

at::Tensor all_gather_bytes(const at::Tensor &bytes,
                            const c10::intrusive_ptr<c10d::ProcessGroup> &group) {
  at::Tensor sent = bytes.contiguous();
  // One dimension, because back ends cut the buffer along the first.
  at::Tensor received = at::empty({group->getSize() * sent.numel()}, sent.options());
  if (sent.numel() != 0)
    all_gather(*group, received, sent);
  return received.view({group->getSize(), sent.numel()});
}

} // namespace devsan::metrics
