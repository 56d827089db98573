#include "runtime/log/interner.h"

#include "runtime/log/hash.h"

#include <algorithm>
#include <sys/mman.h>

namespace devsan::runtime {
namespace {

// Page-aligned, so that a child after fork drops its copy by pages.
alignas(4096) std::atomic<std::uint64_t> string_slots[1 << 16];
alignas(4096) std::atomic<std::uint64_t> stack_slots[1 << 18];

constexpr unsigned kIdBits = 24;
constexpr std::uint64_t kMaxId = (std::uint64_t{1} << kIdBits) - 1;
constexpr std::size_t kMaxProbes = 32;

} // namespace

// A slot holds the hash's upper 40 bits above the id. The lower bits of the hash choose the slot.
InternTable::Lookup InternTable::find(std::uint64_t hash) {
  std::uint64_t tag = hash >> kIdBits ? hash & ~kMaxId : std::uint64_t{1} << kIdBits;
  std::size_t mask = slots_.size() - 1;
  std::uint32_t id = 0;
  for (std::size_t probe = 0; probe < kMaxProbes; ++probe) {
    auto &slot = slots_[(hash + probe) & mask];
    std::uint64_t seen = slot.load(std::memory_order_acquire);
    if (seen == 0) {
      if (id == 0) {
        id = next_id_.fetch_add(1, std::memory_order_relaxed);
        if (id > kMaxId)
          return {};
      }
      if (slot.compare_exchange_strong(seen, tag | id, std::memory_order_acq_rel))
        return {id, true};
    }
    if ((seen & ~kMaxId) == tag)
      return {std::uint32_t(seen & kMaxId), false};
  }
  return {};
}

void InternTable::clear() {
  // Private anonymous pages read as zero after this; it costs nothing for pages never touched.
  if (madvise(slots_.data(), slots_.size_bytes(), MADV_DONTNEED) != 0)
    std::fill_n(reinterpret_cast<std::uint64_t *>(slots_.data()), slots_.size(), 0);
  next_id_.store(1, std::memory_order_relaxed);
}

Interner::Interner(LogWriter &log) : log_(log), strings_(string_slots), stacks_(stack_slots) {}

StringId Interner::string(std::string_view text) {
  constexpr std::size_t kMaxLength = std::size_t{16} * 1024;
  text = text.substr(0, kMaxLength);
  if (text.empty())
    return 0;
  auto [id, is_new] = strings_.find(hashBytes(text.data(), text.size()));
  if (is_new) {
    StringRecord record{id, std::uint32_t(text.size())};
    std::string_view parts[] = {{reinterpret_cast<const char *>(&record), sizeof record}, text};
    log_.append(RecordKind::kString, parts);
  }
  return id;
}

StackId Interner::stack(std::span<const FrameRecord> frames, bool *is_new) {
  if (is_new)
    *is_new = false;
  if (frames.empty())
    return 0;
  auto found = stacks_.find(hashBytes(frames.data(), frames.size_bytes(), frames.size()));
  if (found.is_new) {
    StackRecord record{found.id, std::uint32_t(frames.size())};
    std::string_view parts[] = {
        {reinterpret_cast<const char *>(&record), sizeof record},
        {reinterpret_cast<const char *>(frames.data()), frames.size_bytes()}};
    log_.append(RecordKind::kStack, parts);
  }
  if (is_new)
    *is_new = found.is_new;
  return found.id;
}

void Interner::resetInChild() {
  strings_.clear();
  stacks_.clear();
}

} // namespace devsan::runtime
