#include "nccl_work.h"

#include <algorithm>

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include "runtime/sim/streams/host_wait.h"
#include "without_gil.h"

namespace devsan::sim {
namespace {

struct Queues {
  std::mutex mutex;
  std::vector<std::weak_ptr<WorkQueue>> all;
};

// Never destroyed: works are finished in destructors of the program's globals, too.
Queues &queues() {
  static auto *instance = new Queues;
  return *instance;
}

bool isTimeout(const std::string &failure) {
  return failure.find("imed out") != std::string::npos ||
         failure.find("imeout") != std::string::npos;
}

bool contains(const std::vector<c10::intrusive_ptr<NcclWork>> &works, const NcclWork *wanted) {
  return std::any_of(works.begin(), works.end(),
                     [&](const auto &work) { return work.get() == wanted; });
}

} // namespace

void Transfer::append(Transfer next) {
  for (auto &carrier : next.carriers)
    carriers.push_back(std::move(carrier));
  deliver = [first = std::move(deliver), second = std::move(next.deliver)] {
    if (first)
      first();
    if (second)
      second();
  };
}

NcclWork::NcclWork(int rank, const WorkDescription &description, Transfer transfer,
                   std::vector<at::Tensor> outputs, std::shared_ptr<WorkQueue> queue)
    : Work(rank, description.op), description_(description), transfer_(std::move(transfer)),
      outputs_(std::move(outputs)), queue_(std::move(queue)) {}

std::exception_ptr NcclWork::translated(const std::string &failure) const {
  auto elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - start_);
  try {
    if (isTimeout(failure))
      C10_THROW_ERROR(
          DistBackendError,
          c10::str("[Rank ", rank_,
                   "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=",
                   description_.sequence, ", OpType=", c10d::opTypeToString(description_.op),
                   ", NumelIn=", description_.numel_in, ", NumelOut=", description_.numel_out,
                   ", Timeout(ms)=", description_.timeout.count(), ") ran for ", elapsed.count(),
                   " milliseconds before timing out."));
    C10_THROW_ERROR(DistBackendError,
                    c10::str("NCCL error: remote process exited or there was a network error\n"
                             "ncclRemoteError: A call failed possibly due to a network error or a "
                             "remote process exiting prematurely.\nLast error:\n",
                             failure));
  } catch (...) {
    return std::current_exception();
  }
}

void NcclWork::finishAlone(std::chrono::milliseconds timeout) {
  WithoutGil free;
  Transfer done; // goes after the lock: the tensors in it may need the GIL
  std::lock_guard<std::mutex> lock(finish_mutex_);
  if (finished_)
    return;
  try {
    for (const auto &part : transfer_.parts) {
      part->finishAlone(timeout);
      if (auto failure = part->exception())
        std::rethrow_exception(failure);
    }
    for (const auto &carrier : transfer_.carriers)
      carrier->wait(timeout);
    if (transfer_.deliver)
      transfer_.deliver();
  } catch (const c10::Error &error) {
    failure_ = translated(error.what_without_backtrace());
  } catch (const std::exception &error) {
    failure_ = translated(error.what());
  }
  duration_ = std::chrono::steady_clock::now() - start_;
  done = std::exchange(transfer_, {});
  finished_ = true;
}

bool NcclWork::wait(std::chrono::milliseconds timeout) {
  const auto finish = [&] { queue_->finishThrough(*this, timeout); };
  if (barrier_)
    waitInBarrier(device().index(), finish);
  else
    finish();
  if (auto failure = exception())
    std::rethrow_exception(failure);
  return true;
}

bool NcclWork::isCompleted() {
  {
    // Somebody who holds it is waiting for the transport: not completed.
    std::unique_lock<std::mutex> lock(finish_mutex_, std::try_to_lock);
    if (!lock.owns_lock())
      return false;
    if (finished_)
      return true;
    if (!haveCarriersArrived())
      return false;
  }
  finishAlone();
  return true;
}

bool NcclWork::haveCarriersArrived() {
  for (const auto &part : transfer_.parts) {
    std::unique_lock<std::mutex> lock(part->finish_mutex_, std::try_to_lock);
    // Gloo's messages between pairs do not tell before they are waited for.
    if (!lock.owns_lock() || (!part->finished_ && !c10d::isP2POp(part->retrieveOpType()) &&
                              !part->haveCarriersArrived()))
      return false;
  }
  for (const auto &carrier : transfer_.carriers)
    if (!carrier->isCompleted())
      return false;
  return true;
}

bool NcclWork::isSuccess() const {
  return !exception();
}

std::exception_ptr NcclWork::exception() const {
  WithoutGil free;
  std::lock_guard<std::mutex> lock(finish_mutex_);
  return failure_;
}

float NcclWork::getDuration() const {
  WithoutGil free;
  std::lock_guard<std::mutex> lock(finish_mutex_);
  return duration_.count();
}

// NCCL's future is completed from the start, as its consumers' streams wait in its place; so
// callbacks run at once, on the thread that adds them.
c10::intrusive_ptr<c10::ivalue::Future> NcclWork::getFuture() {
  WithoutGil free;
  queue_->finishThrough(*this, kNoTimeout);
  std::lock_guard<std::mutex> lock(finish_mutex_);
  if (future_)
    return future_;
  future_ = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()),
                                                     std::vector<c10::Device>{device()});
  if (failure_)
    future_->setError(failure_);
  else
    future_->markCompleted(c10::IValue(outputs_));
  return future_;
}

c10::intrusive_ptr<c10::ivalue::Future> NcclWork::getFutureResult() {
  queue_->finishThrough(*this, kNoTimeout);
  auto future = c10::make_intrusive<c10::ivalue::Future>(c10::IntType::get());
  auto result = exception() ? c10d::WorkResult::COMM_ERROR : c10d::WorkResult::SUCCESS;
  future->markCompleted(c10::IValue(static_cast<std::int64_t>(result)));
  return future;
}

std::shared_ptr<WorkQueue> WorkQueue::make() {
  auto made = std::make_shared<WorkQueue>();
  std::lock_guard<std::mutex> lock(queues().mutex);
  std::erase_if(queues().all, [](const auto &queue) { return queue.expired(); });
  queues().all.push_back(made);
  return made;
}

template <typename Predicate> void WorkQueue::drop(Predicate isDone) {
  std::vector<Entry> dropped;
  std::lock_guard<std::mutex> lock(mutex_);
  auto kept = std::stable_partition(entries_.begin(), entries_.end(),
                                    [&](const Entry &entry) { return !isDone(entry.work.get()); });
  dropped.assign(std::make_move_iterator(kept), std::make_move_iterator(entries_.end()));
  entries_.erase(kept, entries_.end());
}

void WorkQueue::push(c10::intrusive_ptr<NcclWork> work, bool ordered) {
  std::vector<c10::intrusive_ptr<NcclWork>> sends;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const Entry &entry : entries_)
      if (entry.work->retrieveOpType() == c10d::OpType::SEND)
        sends.push_back(entry.work);
    entries_.push_back({std::move(work), ordered});
  }
  // Programs may never wait for a send.
  std::erase_if(sends, [](const auto &send) { return !send->isCompleted(); });
  if (!sends.empty())
    drop([&](const NcclWork *one) { return contains(sends, one); });
}

void WorkQueue::finishThrough(NcclWork &work, std::chrono::milliseconds timeout) {
  std::vector<c10::intrusive_ptr<NcclWork>> before;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    auto own = std::find_if(entries_.begin(), entries_.end(),
                            [&](const Entry &entry) { return entry.work.get() == &work; });
    if (own != entries_.end() && own->ordered)
      for (auto entry = entries_.begin(); entry != own; ++entry)
        if (entry->ordered)
          before.push_back(entry->work);
  }
  // Without the lock: other threads may issue and finish works meanwhile.
  for (const auto &earlier : before)
    earlier->finishAlone();
  work.finishAlone(timeout);
  drop([&](const NcclWork *one) { return one == &work || contains(before, one); });
}

void WorkQueue::finishAll(c10::DeviceIndex device) {
  std::vector<Entry> taken;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const Entry &entry : entries_)
      if (device < 0 || entry.work->device().index() == device)
        taken.push_back(entry);
  }
  for (const Entry &entry : taken)
    finishThrough(*entry.work, kNoTimeout);
}

void WorkQueue::clear() {
  drop([](const NcclWork *) { return true; });
}

void finishCollectives(c10::DeviceIndex device) {
  std::vector<std::shared_ptr<WorkQueue>> live;
  {
    std::lock_guard<std::mutex> lock(queues().mutex);
    for (const auto &queue : queues().all)
      if (auto held = queue.lock())
        live.push_back(std::move(held));
  }
  for (const auto &queue : live)
    queue->finishAll(device);
}

} // namespace devsan::sim
