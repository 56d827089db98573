#include "runtime/stacks/stacks.h"

#include "runtime/log/hash.h"
#include "runtime/log/interner.h"
#include "runtime/stacks/native_stack.h"
#include "runtime/stacks/python_frames.h"

#include <algorithm>
#include <atomic>
#include <link.h>
#include <sys/mman.h>

namespace devsan::runtime {
namespace {

struct Own {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  bool holds(std::uintptr_t pc) const { return pc >= begin && pc < end; }
};

// Our own code, whose frames nobody wants to see.
Own own_code;

// What of the native frames makes up the stack, in place of the raw ones: addresses inside the
// calls, with kEvaluation where the interpreter ran Python frames. The interpreter reaches the same
// Python frames on many ways of its own.
constexpr std::uintptr_t kEvaluation = 1;

void dropIrrelevantFrames(NativeStack &native) {
  std::size_t kept = 0;
  bool inside_unwinder = true; // the frames before our own
  for (std::size_t i = 0; i < native.count; ++i) {
    const std::uintptr_t pc = native.pcs[i] - 1;
    if (own_code.holds(pc)) {
      inside_unwinder = false;
      continue;
    }
    if (inside_unwinder || isInterpreterHelper(pc))
      continue;
    native.pcs[kept++] = isEvaluationFrame(pc) ? kEvaluation : pc;
  }
  native.count = kept;
}

// Stacks by what they look like before anything has a name: a slot holds the upper 40 bits of the
// hash above the id. A newer stack takes the place of an older one. Page-aligned, so that a child
// after fork drops its copy by pages.
alignas(4096) std::atomic<std::uint64_t> known_stacks[1 << 16];
constexpr std::uint64_t kIdMask = (1 << 24) - 1;

// Frames that are asked for again and again, as at the `backward()` of a training loop, kept for
// good: the first ones that find room.
constexpr std::size_t kFrameWays = 4;
std::atomic<const NamedFrames *> known_frames[64 * kFrameWays];

// Frames that may be among those that are kept: some have no line yet and are left out.
constexpr std::size_t kMaxPythonFrames = 2 * kMaxFrames;

__attribute__((noinline)) std::size_t nameFrames(Interner &interner, const NativeStack &native,
                                                 PythonFrameWalker python,
                                                 std::span<FrameRecord> frames) {
  std::size_t count = 0;
  PythonFrameWalker::TextBuffer text;
  auto appendRun = [&] {
    PythonFrame run[kMaxFrames];
    std::size_t length = python.next(run, std::min(frames.size() - count, kMaxFrames), text);
    for (std::size_t k = 0; k < length; ++k)
      frames[count++] = {0, interner.string(run[k].file), interner.string(run[k].function),
                         run[k].line, run[k].instruction};
  };
  for (std::size_t i = 0; i < native.count && count < frames.size(); ++i)
    if (native.pcs[i] == kEvaluation)
      appendRun();
    else
      frames[count++] = {native.pcs[i], 0, 0, 0, 0};
  // The native stack may be cut before the Python one.
  while (!python.atEnd() && count < frames.size())
    appendRun();
  return count;
}

__attribute__((noinline)) StackId internStack(Interner &interner, const NativeStack &native,
                                              const PythonFrameWalker &python,
                                              const StackTail &tail, bool &is_new) {
  FrameRecord frames[kMaxStack];
  std::size_t count = nameFrames(interner, native, python, std::span(frames).first(kMaxFrames));
  const std::size_t added = std::min(tail.frames.size(), kMaxStack - count);
  std::copy_n(tail.frames.begin(), added, frames + count);
  return interner.stack({frames, count + added}, &is_new);
}

struct RawStack {
  NativeStack native;
  PythonFrameWalker python;
  std::uint64_t identity = 0;
};

__attribute__((always_inline)) inline void captureRaw(RawStack &raw, std::uint64_t seed) {
  captureNative(raw.native);
  dropIrrelevantFrames(raw.native);
  static_assert(sizeof(std::uintptr_t) == sizeof(std::uint64_t));
  raw.identity = raw.python.identity(
      hashWords({raw.native.pcs, raw.native.count}, raw.native.count + seed), kMaxPythonFrames);
}

} // namespace

void prepareStacks() {
  dl_iterate_phdr(
      [](dl_phdr_info *info, std::size_t, void *) {
        const auto here = reinterpret_cast<std::uintptr_t>(&prepareStacks);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto &header = info->dlpi_phdr[i];
          const std::uintptr_t begin = info->dlpi_addr + header.p_vaddr;
          const Own segment{begin, begin + header.p_memsz};
          if (header.p_type == PT_LOAD && segment.holds(here)) {
            own_code = segment;
            return 1;
          }
        }
        return 0;
      },
      nullptr);
}

StackId captureStack(Interner &interner, const StackTail &tail, bool &is_new) {
  is_new = false;
  RawStack raw;
  captureRaw(raw, 4 * tail.identity);
  const std::uint64_t hash = raw.identity;
  auto &slot = known_stacks[hash % std::size(known_stacks)];
  const std::uint64_t seen = slot.load(std::memory_order_acquire);
  if (seen != 0 && ((seen ^ hash) & ~kIdMask) == 0)
    return StackId(seen & kIdMask);
  const StackId id = internStack(interner, raw.native, raw.python, tail, is_new);
  slot.store((hash & ~kIdMask) | id, std::memory_order_release);
  return id;
}

std::shared_ptr<const NamedFrames> captureFrames(Interner &interner) {
  RawStack raw;
  captureRaw(raw, 0);
  const std::span<std::atomic<const NamedFrames *>, kFrameWays> slots(
      known_frames + raw.identity % (std::size(known_frames) / kFrameWays) * kFrameWays,
      kFrameWays);
  std::atomic<const NamedFrames *> *free = nullptr;
  for (auto &slot : slots) {
    const NamedFrames *known = slot.load(std::memory_order_acquire);
    if (known && known->identity == raw.identity)
      return {std::shared_ptr<void>(), known};
    if (!known && !free)
      free = &slot;
  }
  FrameRecord frames[kMaxFrames];
  const std::size_t count = nameFrames(interner, raw.native, raw.python, frames);
  auto named = std::make_unique<NamedFrames>();
  named->frames.assign(frames, frames + count);
  named->identity = raw.identity;
  const NamedFrames *expected = nullptr;
  if (free && free->compare_exchange_strong(expected, named.get(), std::memory_order_release))
    return {std::shared_ptr<void>(), named.release()};
  return named;
}

void forgetStacks() {
  for (auto &slot : known_frames)
    slot.store(nullptr, std::memory_order_relaxed);
  if (madvise(known_stacks, sizeof known_stacks, MADV_DONTNEED) != 0)
    for (auto &slot : known_stacks)
      slot.store(0, std::memory_order_relaxed);
}

} // namespace devsan::runtime
