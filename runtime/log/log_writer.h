// Writes the event log of log_format.h. Any thread may append at any time, without a lock and
// without allocating, except that whoever needs the next segment of the file takes a spin lock to
// create it. After fork the child starts a log of its own with its first record. No LibTorch in
// here.
#pragma once

#include "runtime/protocol/log_format.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace devsan::runtime {

class LogWriter {
public:
  static constexpr std::size_t kSegmentSize = runtime::kSegmentSize;
  static constexpr std::size_t kMaxSegments = 1 << 16;

  // Never destroyed: threads may write until the process is gone.
  LogWriter() = default;
  LogWriter(const LogWriter &) = delete;
  LogWriter &operator=(const LogWriter &) = delete;

  // Creates the log in `directory`. Where that is impossible nothing is recorded, here nor in
  // forked children: false, said and counted on the run's board.
  bool open(const char *directory, std::uint32_t simulated_devices);

  // Null, and no offset in the file, where the disk is full. The record stays where it is until
  // the process ends or forks.
  TallyRecord *appendTally(const TallyRecord &tally, std::uint64_t &offset);
  TallyRecord *tallyAt(std::uint64_t offset);

  // An event that could not be counted anywhere else.
  void countDropped();

  // The parts make up the body one after the other.
  bool append(RecordKind kind, std::span<const std::string_view> parts);

  // For a process that ends without having used a simulated device.
  void noteNoDeviceUsed();

  // Of a process that ends: its kernels that computed nothing on simulated devices.
  void noteKernelsWithoutEffect(std::uint16_t kernels);

  // For a process whose Python frames cannot be read.
  void noteUnreadablePython(std::uint32_t version);

  // Which rank the process is, where it turns up later than the environment.
  void noteRank(std::int32_t rank);

  // Marks the end of a process that leaves through exit.
  void end();

  // For the handler of SIGBUS: whether the address is of the log, whose file was truncated. What is
  // written there from now on is lost.
  bool survivesTruncation(const void *address);

  // For pthread_atfork: forgets the parent's file without touching it.
  void resetInChild();

  // True once the log has a file, which a forked child has only after its first record.
  bool isOpen() const { return is_open_.load(std::memory_order_acquire); }

private:
  // Room for a record, zeroed, its header's `size` already written; null where there is none.
  char *reserve(std::size_t size, std::uint64_t *at = nullptr);
  static void publish(char *record, RecordKind kind);
  char *segment(std::size_t index);
  // These return 0 or what errno says.
  int grow(std::size_t index);
  int map(int file, std::size_t index);
  int create();
  bool createOrWarn();

  std::uint32_t simulated_devices_ = 0;
  std::atomic<bool> configured_{false};
  std::atomic<bool> is_open_{false};
  std::atomic<bool> full_{false};
  std::atomic<bool> is_cut_{false};
  std::atomic<std::int32_t> rank_{-1};
  std::atomic<std::uint64_t> tail_{0};
  std::atomic<char *> segments_[kMaxSegments] = {};
  std::atomic_flag growing_ = ATOMIC_FLAG_INIT;
  char directory_[4096] = {};
  // Where the log lies, and what makes sure that it still is that file.
  char path_[4352] = {}; // longer than a path may be: such a log cannot be made
  dev_t device_ = 0;
  ino_t inode_ = 0;
  // What a signal handler must not ask for.
  std::uintptr_t page_size_ = 0;
  bool has_board_ = false;
  char cut_[96] = {};
};

} // namespace devsan::runtime
