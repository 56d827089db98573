// The Work of a collective on simulated devices, and the order in which works finish.
//
// NCCL runs a collective on a stream of its own: the host goes on, and the result is there for
// whoever waited. Here the transport works on host copies, and a work's result reaches its tensors
// when the program waits for it (Work::wait, torch.cuda.synchronize, a later collective's wait),
// not before: a program that reads too early sees what was there before, on every run.
//
// Made by NcclBackend; finished by any thread, once.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include <torch/csrc/distributed/c10d/Work.hpp>

#include "runtime/operators/torch_release.h"

namespace devsan::sim {

class NcclWork;
class WorkQueue;

// What NCCL's watchdog says about a work.
struct WorkDescription {
  c10d::OpType op = c10d::OpType::UNKNOWN;
  std::uint64_t sequence = 0;
  std::int64_t numel_in = 0;
  std::int64_t numel_out = 0;
  std::chrono::milliseconds timeout{0};
  c10::Device device = c10::Device(c10::kCUDA, 0);
};

// The transport's part of a collective: the works that carry host copies, and what brings the
// received copies to the device tensors afterwards. Coalesced works are parts of one.
struct Transfer {
  std::vector<c10::intrusive_ptr<c10d::Work>> carriers;
  std::function<void()> deliver;
  std::vector<c10::intrusive_ptr<NcclWork>> parts = {};

  // Delivers after this one what `next`, which has no parts, brings.
  void append(Transfer next);
};

class NcclWork final : public c10d::Work {
public:
  NcclWork(int rank, const WorkDescription &description, Transfer transfer,
           std::vector<at::Tensor> outputs, std::shared_ptr<WorkQueue> queue);

  bool isCompleted() override;
  bool isSuccess() const override;
  std::exception_ptr exception() const override;
  std::vector<at::Tensor> result() override { return outputs_; }
  void synchronize() override { wait(kNoTimeout); }
  bool wait(std::chrono::milliseconds timeout) override;
  void blockCurrentStream() DEVSAN_OVERRIDE_SINCE_2_9 { wait(kNoTimeout); }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFutureResult() override;
  std::uint64_t getSequencenumber() const override { return description_.sequence; }
  float getDuration() const override;

  // wait() of a barrier holds the host until the device is done.
  void makeBarrier() { barrier_ = true; }

  // Only this work; WorkQueue keeps the order. Does not throw: exception() tells.
  void finishAlone(std::chrono::milliseconds timeout = kNoTimeout);
  c10::Device device() const { return description_.device; }

private:
  bool haveCarriersArrived(); // the caller holds finish_mutex_
  std::exception_ptr translated(const std::string &failure) const;

  WorkDescription description_;
  Transfer transfer_;
  std::vector<at::Tensor> outputs_;
  std::shared_ptr<WorkQueue> queue_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::duration<float, std::milli> duration_{0};
  mutable std::mutex finish_mutex_;
  bool finished_ = false;
  std::exception_ptr failure_;
  bool barrier_ = false;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

// The unfinished works of one communicator. They share a stream there: whoever waits for one has
// waited for all before it. Point-to-point works are no part of that order.
class WorkQueue {
public:
  static std::shared_ptr<WorkQueue> make();

  void push(c10::intrusive_ptr<NcclWork> work, bool ordered);
  void finishThrough(NcclWork &work, std::chrono::milliseconds timeout);
  // Every unfinished work on `device`, or on all devices for -1.
  void finishAll(c10::DeviceIndex device);
  // Forgets them: the group is gone.
  void clear();

private:
  struct Entry {
    c10::intrusive_ptr<NcclWork> work;
    bool ordered;
  };
  template <typename Predicate> void drop(Predicate isDone);

  // Works are never dropped under it: tensors that Python holds need the GIL to go, and whoever
  // has that may wait here.
  std::mutex mutex_;
  std::vector<Entry> entries_;
};

// A device synchronisation waits for every communicator's stream.
void finishCollectives(c10::DeviceIndex device);

} // namespace devsan::sim
