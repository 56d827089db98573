#include "command/run_board.h"

#include "runtime/protocol/run_board.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <random>
#include <sys/mman.h>

namespace devsan::command {
namespace {

std::string describeLoss(DevsanLoss loss, int error) {
  switch (loss) {
  case kDevsanNotLoaded:
    return "the runtime could not be loaded";
  case kDevsanNoLog:
    return std::string("the event log could not be written: ") + std::strerror(error);
  case kDevsanLogCut:
    return "its event log was truncated while it ran";
  case kDevsanBadFork:
    return "it was forked while a thread of its parent held a lock of the runtime";
  case kDevsanLosses:
    break;
  }
  return "";
}

// Null, and errno, where the system has no such memory. `name` is what processes attach it by.
void *makeShared(std::string &name) {
  // Root's processes may become other users.
  const int id = shmget(IPC_PRIVATE, sizeof(DevsanRunBoard), geteuid() == 0 ? 0666 : 0600);
  if (id < 0)
    return nullptr;
  void *memory = shmat(id, nullptr, 0);
  const int error = errno;
  shmctl(id, IPC_RMID, nullptr); // Linux still lets processes attach it
  errno = error;
  name = std::to_string(id);
  return memory == reinterpret_cast<void *>(-1) ? nullptr : memory;
}

// A file in memory, which stays open: as long as this process lives, others find it by its path.
void *makeFile(std::string &name) {
  const int file = memfd_create("devsan-run", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0)
    return nullptr;
  name = fmt::format("/proc/{}/fd/{}", getpid(), file);
  void *memory = nullptr;
  if (ftruncate(file, sizeof(DevsanRunBoard)) == 0 && fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK) == 0)
    memory = devsanMapBoard(name.c_str());
  if (!memory)
    ::close(file);
  return memory;
}

} // namespace

RunBoard::RunBoard() {
  std::string place;
  void *memory = makeShared(place);
  if (!memory) {
    error_ = errno;
    memory = makeFile(place);
  }
  if (!memory)
    return;
  board_ = static_cast<DevsanRunBoard *>(memory);
  std::random_device random;
  token_ = std::uint64_t{random()} << 32 | random();
  board_->token = token_;
  name_ = fmt::format("{}:{:016x}", place, token_);
}

std::string RunBoard::sharedMemoryError() const {
  return error_ ? std::strerror(error_) : "";
}

void RunBoard::close() {
  if (!board_)
    return;
  // Nobody may have been told that it is over before it is.
  const bool refused = __atomic_load_n(&board_->refused, __ATOMIC_ACQUIRE) != 0;
  const bool was_over = __atomic_exchange_n(&board_->is_over, 1u, __ATOMIC_ACQ_REL) != 0;
  is_forged_ = refused || was_over || board_->token != token_;
}

std::vector<std::string> RunBoard::missing(std::size_t logs) const {
  if (!board_)
    return {fmt::format(
        "DevSan cannot tell which processes failed to record: there is neither System V shared "
        "memory ({}) nor a memory file; allow shmget(), raise kernel.shmmni, or mount /proc",
        sharedMemoryError())};
  std::vector<std::string> sentences;
  if (is_forged_)
    sentences.push_back("DevSan cannot tell which processes failed to record: the memory where "
                        "processes count themselves was changed while the program ran");
  for (int loss = 0; loss < kDevsanLosses; ++loss)
    if (const auto &lost = board_->losses[loss]; lost.processes)
      sentences.push_back(fmt::format(
          "{} not observed ({} {}): {}",
          lost.processes == 1 ? "a process was" : fmt::format("{} processes were", lost.processes),
          lost.processes == 1 ? "process" : "the first is process", lost.first,
          describeLoss(DevsanLoss(loss), lost.error)));
  if (board_->logs > logs)
    sentences.push_back(fmt::format("{} of {} event logs {} missing: removed while the program ran",
                                    board_->logs - logs, board_->logs,
                                    board_->logs - logs == 1 ? "is" : "are"));
  return sentences;
}

} // namespace devsan::command
