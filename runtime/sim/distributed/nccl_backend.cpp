// NcclBackend: how ranks meet, and what concerns the group. Reductions are in nccl_reductions.cpp,
// what brings values as they are in nccl_exchanges.cpp.
#include "nccl_backend.h"

#include <algorithm>
#include <fstream>
#include <numeric>
#include <sstream>
#include <unistd.h>

#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "runtime/sim/api/c_api.h"
#include "runtime/sim/devices/devices.h"

namespace devsan::sim {
namespace {

using c10d::OpType;
using c10d::Work;
using Milliseconds = std::chrono::milliseconds;

// Which machine this is, as NCCL asks before it compares bus ids.
std::string hostId() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id") >> std::ws, boot);
  return std::string(name) + " " + boot;
}

std::vector<std::uint8_t> toValue(const std::string &text) {
  return {text.begin(), text.end()};
}

} // namespace

NcclBackend::NcclBackend(c10::intrusive_ptr<c10d::Backend> carrier,
                         c10::intrusive_ptr<c10d::Store> store, int rank, int size,
                         Milliseconds timeout, int global_rank)
    : Backend(rank, size), carrier_(std::move(carrier)), store_(std::move(store)),
      options_(c10::make_intrusive<Options>("nccl", timeout)), global_rank_(global_rank) {}

NcclBackend::~NcclBackend() {
  queue_->clear();
}

Milliseconds NcclBackend::timeoutOf(Milliseconds asked) const {
  return asked.count() > 0 ? asked : options_->timeout;
}

WorkDescription NcclBackend::describe(OpType op, const at::Tensor &tensor, std::int64_t numel_in,
                                      std::int64_t numel_out, Milliseconds timeout) {
  return {op, ++sequence_, numel_in, numel_out, timeoutOf(timeout), tensor.device()};
}

void NcclBackend::checkBound(c10::Device device) const {
  auto bound = getBoundDeviceId();
  if (bound && *bound != device)
    C10_THROW_ERROR(DistBackendError,
                    c10::str("Attempt to perform collective on tensor not on device passed to "
                             "init_process_group: tensor found on device ",
                             device, " but backend constrained to ", *bound));
}

void NcclBackend::exchangeDevices(const std::string &prefix, const std::vector<int> &ranks,
                                  c10::Device device) {
  auto keyOf = [&](int rank) { return prefix + "/" + std::to_string(rank); };
  const std::string own = hostId() + "\n" + std::to_string(physicalIndex(device.index()));
  std::vector<std::string> keys;
  for (int rank : ranks)
    keys.push_back(keyOf(rank));
  try {
    store_->set(keyOf(rank_), toValue(own));
    store_->wait(keys, options_->timeout);
  } catch (const c10::Error &error) {
    C10_THROW_ERROR(DistBackendError,
                    c10::str("[", rank_,
                             "] is setting up NCCL communicator and waits for the other "
                             "ranks via c10d key-value store by key '",
                             prefix, "', but got error: ", error.what_without_backtrace()));
  }
  for (int rank : ranks) {
    std::vector<std::uint8_t> value = store_->get(keyOf(rank));
    if (rank == rank_ || std::string(value.begin(), value.end()) != own)
      continue;
    std::ostringstream bus;
    bus << std::hex << (physicalIndex(device.index()) << 12);
    C10_THROW_ERROR(
        DistBackendError,
        c10::str("NCCL error, invalid usage (run with NCCL_DEBUG=WARN for details)\n"
                 "ncclInvalidUsage: This usually reflects invalid usage of NCCL library."
                 "\nLast error:\nDuplicate GPU detected : rank ",
                 rank_, " and rank ", rank, " both on CUDA device ", bus.str()));
  }
}

void NcclBackend::connect(c10::Device device) {
  checkBound(device);
  markUsed(device.index());
  std::lock_guard<std::mutex> lock(connect_mutex_);
  const std::string name = std::to_string(device.index());
  if (!connected_.emplace(name, true).second)
    return;
  try {
    std::vector<int> everybody(size_);
    std::iota(everybody.begin(), everybody.end(), 0);
    if (size_ > 1)
      exchangeDevices("devsan_nccl/" + std::to_string(connections_++), everybody, device);
  } catch (...) {
    connected_.erase(name);
    throw;
  }
  std::lock_guard<std::mutex> state(state_mutex_);
  used_devices_.push_back(device.index());
}

int NcclBackend::nextMessage(std::map<int, int> &messages, int peer) {
  std::lock_guard<std::mutex> lock(state_mutex_);
  return messages[peer]++;
}

void NcclBackend::connectPair(c10::Device device, int peer) {
  checkBound(device);
  std::lock_guard<std::mutex> lock(connect_mutex_);
  // A communicator of all ranks serves pairs, too.
  if (connected_.contains(std::to_string(device.index())))
    return;
  const std::string name =
      std::to_string(std::min(rank_, peer)) + ":" + std::to_string(std::max(rank_, peer));
  if (!connected_.emplace(name, true).second)
    return;
  try {
    exchangeDevices("devsan_nccl/" + name, {rank_, peer}, device);
  } catch (...) {
    connected_.erase(name);
    throw;
  }
}

c10::intrusive_ptr<Work> NcclBackend::issue(const WorkDescription &description, Transfer transfer,
                                            std::vector<at::Tensor> outputs, bool async,
                                            bool point_to_point) {
  auto work = c10::make_intrusive<NcclWork>(rank_, description, std::move(transfer),
                                            std::move(outputs), queue_);
  {
    std::lock_guard<std::mutex> lock(state_mutex_);
    if (coalescing_) {
      // The work of endCoalescing finishes it, and is what the queue holds.
      coalesced_.push_back(work);
      return work;
    }
  }
  queue_->push(work, !point_to_point);
  if (async)
    return work;
  work->wait(kNoTimeout);
  return nullptr;
}

c10::intrusive_ptr<Work> NcclBackend::barrier(const c10d::BarrierOptions &options) {
  c10::DeviceIndex index, used = -1;
  {
    std::lock_guard<std::mutex> lock(state_mutex_);
    if (!used_devices_.empty())
      used = used_devices_.front();
  }
  if (!options.device_ids.empty())
    index = static_cast<c10::DeviceIndex>(options.device_ids.front());
  else if (getBoundDeviceId())
    index = getBoundDeviceId()->index();
  else if (used >= 0)
    index = used;
  else
    index = static_cast<c10::DeviceIndex>(global_rank_ % deviceCount());
  TORCH_CHECK_WITH(ValueError, index >= 0, "Failed to infer a GPU device id to perform barrier. ");
  checkDeviceIndex(index);
  c10::Device device(c10::kCUDA, index);
  connect(device);
  c10d::BarrierOptions carried;
  carried.timeout = timeoutOf(options.timeout);
  Transfer transfer;
  transfer.carriers = {carrier_->barrier(carried)};
  WorkDescription description{OpType::BARRIER, ++sequence_, 1, 1, timeoutOf(options.timeout),
                              device};
  auto work = c10::make_intrusive<NcclWork>(rank_, description, std::move(transfer),
                                            std::vector<at::Tensor>{}, queue_);
  work->makeBarrier();
  queue_->push(work, true);
  if (options.asyncOp)
    return work;
  work->wait(kNoTimeout);
  return nullptr;
}

void NcclBackend::startCoalescing() {
  std::vector<c10::intrusive_ptr<NcclWork>> forgotten; // goes after the lock
  std::lock_guard<std::mutex> lock(state_mutex_);
  coalescing_ = true;
  forgotten.swap(coalesced_);
}

c10::intrusive_ptr<Work> NcclBackend::endCoalescing() {
  std::vector<c10::intrusive_ptr<NcclWork>> works;
  {
    std::lock_guard<std::mutex> lock(state_mutex_);
    coalescing_ = false;
    works.swap(coalesced_);
  }
  if (works.empty())
    return nullptr;
  Transfer all;
  all.parts = works;
  WorkDescription description{OpType::COALESCED,      sequence_, 0, 0, options_->timeout,
                              works.front()->device()};
  std::vector<at::Tensor> outputs;
  for (const auto &work : works)
    for (const at::Tensor &output : work->result())
      outputs.push_back(output);
  bool pairs_only = std::all_of(works.begin(), works.end(), [](const auto &work) {
    return c10d::isP2POp(work->retrieveOpType());
  });
  return issue(description, std::move(all), std::move(outputs), true, pairs_only);
}

#if DEVSAN_TORCH_SINCE(2, 9)
c10::intrusive_ptr<c10d::Backend> NcclBackend::split(const c10::intrusive_ptr<c10d::Store> &store,
                                                     const std::vector<int> &ranks,
                                                     const c10::intrusive_ptr<Options> &options) {
  auto own = std::find(ranks.begin(), ranks.end(), rank_);
  if (own == ranks.end())
    return nullptr;
  auto carrier_options = carrier_->getBackendOptions();
  carrier_options->timeout = options->timeout;
  carrier_options->group_name = options->group_name;
  auto carrier = carrier_->split(c10::make_intrusive<c10d::PrefixStore>("devsan_carrier", store),
                                 ranks, carrier_options);
  auto made = c10::make_intrusive<NcclBackend>(
      std::move(carrier), store, static_cast<int>(own - ranks.begin()),
      static_cast<int>(ranks.size()), options->timeout, global_rank_);
  made->setBoundDeviceId(getBoundDeviceId());
  return made;
}
#endif

void NcclBackend::shutdown() {
  queue_->finishAll(-1);
  queue_->clear();
}

namespace {

// Before 2.9 a group tells its store to nobody else.
struct StoreOf : c10d::ProcessGroup {
  static c10::intrusive_ptr<c10d::Store> of(const c10d::ProcessGroup &group) {
    return group.*&StoreOf::store_;
  }
};

} // namespace

} // namespace devsan::sim

const char *devsan_sim_make_nccl_backend(const char *group_name, long long timeout_milliseconds,
                                         int global_rank) {
  static thread_local std::string failure;
  try {
    auto group = c10d::resolve_process_group(group_name);
    auto backend = c10::make_intrusive<devsan::sim::NcclBackend>(
        group->getBackend(c10::kCPU), devsan::sim::StoreOf::of(*group), group->getRank(),
        group->getSize(), std::chrono::milliseconds(timeout_milliseconds), global_rank);
    group->setBackend(c10::kCUDA, c10d::ProcessGroup::NCCL, backend);
    return nullptr;
  } catch (const std::exception &error) {
    failure = error.what();
    return failure.c_str();
  }
}
