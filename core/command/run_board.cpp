#include "core/command/run_board.h"

#include "runtime/run_board.h"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <random>

namespace devsan::command {
namespace {

std::string whatWasLost(DevsanLoss loss, int error) {
  switch (loss) {
  case kDevsanNotLoaded:
    return "the runtime could not be loaded";
  case kDevsanNoLog:
    return std::string("the event log could not be written: ") + std::strerror(error);
  case kDevsanLogCut:
    return "its event log was truncated while it ran";
  case kDevsanBadFork:
    return "it was forked at a moment that its parent's threads did not let end";
  case kDevsanLosses:
    break;
  }
  return "";
}

} // namespace

RunBoard::RunBoard() {
  // For all users, because a process of the run may become another.
  const int id = shmget(IPC_PRIVATE, sizeof(DevsanRunBoard), IPC_CREAT | 0666);
  void *memory = id < 0 ? nullptr : shmat(id, nullptr, 0);
  error_ = errno;
  if (id >= 0)
    shmctl(id, IPC_RMID, nullptr); // Linux still lets processes attach it
  if (id < 0 || memory == reinterpret_cast<void *>(-1))
    return;
  board_ = static_cast<DevsanRunBoard *>(memory);
  std::random_device random;
  board_->token = std::uint64_t{random()} << 32 | random();
  name_ = fmt::format("{}:{:016x}", id, board_->token);
}

void RunBoard::close() {
  if (board_)
    __atomic_store_n(&board_->is_over, 1u, __ATOMIC_RELEASE);
}

std::vector<std::string> RunBoard::missing(std::size_t logs) const {
  if (!board_)
    return {fmt::format("which processes could not record is not known: there is no System V "
                        "shared memory: {}",
                        std::strerror(error_))};
  std::vector<std::string> sentences;
  for (int loss = 0; loss < kDevsanLosses; ++loss)
    if (const auto &lost = board_->losses[loss]; lost.processes)
      sentences.push_back(fmt::format(
          "{} not observed ({} {}): {}",
          lost.processes == 1 ? "a process was" : fmt::format("{} processes were", lost.processes),
          lost.processes == 1 ? "process" : "the first is process", lost.first,
          whatWasLost(DevsanLoss(loss), lost.error)));
  if (board_->logs > logs)
    sentences.push_back(fmt::format("{} of {} event logs {} missing: removed while the program ran",
                                    board_->logs - logs, board_->logs,
                                    board_->logs - logs == 1 ? "is" : "are"));
  return sentences;
}

} // namespace devsan::command
