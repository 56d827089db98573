#include "runtime/hooks/stacks.h"

#include "runtime/hooks/fork_gate.h"
#include "runtime/hooks/interner.h"
#include "runtime/hooks/python_frames.h"

#include <algorithm>
#include <atomic>
#include <link.h>
#include <torch/csrc/profiler/unwind/unwind.h>
#include <unwind.h>

namespace devsan::runtime {
namespace {

// Frames beyond kMaxFrames that are looked at: Python frames are inserted, our own frames are
// dropped, and deep C++ call chains between the user's frame and the operator are common.
constexpr std::size_t kMaxNative = 128;

struct Own {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

// Our own code, whose frames nobody wants to see.
const Own &ownCode() {
  static const Own own = [] {
    Own result;
    dl_iterate_phdr(
        [](dl_phdr_info *info, std::size_t, void *data) {
          auto &out = *static_cast<Own *>(data);
          auto here = reinterpret_cast<std::uintptr_t>(&ownCode);
          for (int i = 0; i < info->dlpi_phnum; ++i) {
            const auto &header = info->dlpi_phdr[i];
            std::uintptr_t begin = info->dlpi_addr + header.p_vaddr, end = begin + header.p_memsz;
            if (header.p_type == PT_LOAD && here >= begin && here < end) {
              out = {begin, end};
              return 1;
            }
          }
          return 0;
        },
        &result);
    return result;
  }();
  return own;
}

struct Raw {
  std::uintptr_t pcs[kMaxNative];
  std::size_t count = 0;
};

void unwindSlowly(Raw &raw) {
  raw.count = 0;
  _Unwind_Backtrace(
      [](_Unwind_Context *context, void *data) {
        auto &out = *static_cast<Raw *>(data);
        std::uintptr_t pc = _Unwind_GetIP(context);
        if (pc == 0 || out.count == kMaxNative)
          return _URC_END_OF_STACK;
        out.pcs[out.count++] = pc;
        return _URC_NO_REASON;
      },
      &raw);
}

// Outermost frames at which both unwinders agreed that the stack ends. torch's unwinder is ten
// times as fast but stops early at code that it does not understand; a stack that ends anywhere
// else is unwound again.
std::atomic<std::uintptr_t> stack_ends[64];

bool isKnownEnd(std::uintptr_t pc) {
  return stack_ends[(pc >> 2) % 64].load(std::memory_order_relaxed) == pc;
}

// torch's unwinder keeps a lock that another thread may have held at a fork: not one of ours, which
// the gate keeps out, but LibTorch captures stacks for itself too.
bool is_forked_child = false;

void unwindNative(Raw &raw) {
  if (is_forked_child)
    return unwindSlowly(raw);
  try {
    std::vector<void *> pcs = torch::unwind::unwind();
    raw.count = std::min(pcs.size(), kMaxNative);
    for (std::size_t i = 0; i < raw.count; ++i)
      raw.pcs[i] = reinterpret_cast<std::uintptr_t>(pcs[i]);
    if (pcs.size() > kMaxNative || (raw.count && isKnownEnd(raw.pcs[raw.count - 1])))
      return;
  } catch (...) {
    // Not on this machine: torch's unwinder knows x86-64 only.
    raw.count = 0;
  }
  std::uintptr_t fast_end = raw.count ? raw.pcs[raw.count - 1] : 0;
  unwindSlowly(raw);
  // The unwinders differ by the frames of the unwinding itself and, at the root, by a null frame.
  for (std::size_t i = raw.count; fast_end && i > 0 && i + 2 > raw.count; --i)
    if (raw.pcs[i - 1] == fast_end)
      stack_ends[(fast_end >> 2) % 64].store(fast_end, std::memory_order_relaxed);
}

} // namespace

void useForkSafeStacks() {
  is_forked_child = true;
}

std::size_t captureStack(Interner &interner, std::span<FrameRecord> frames) {
  InsideForkGate gate;
  Raw raw;
  unwindNative(raw);
  std::size_t count = 0;
  PythonFrameWalker python;
  PythonFrameWalker::TextBuffer text;
  auto appendRun = [&] {
    PythonFrame run[kMaxFrames];
    std::size_t length = python.next(run, std::min(frames.size() - count, kMaxFrames), text);
    for (std::size_t k = 0; k < length; ++k)
      frames[count++] = {0, interner.string(run[k].file), interner.string(run[k].function),
                         run[k].line, 0};
  };
  const Own &own = ownCode();
  bool inside_unwinder = true;
  for (std::size_t i = 0; i < raw.count && count < frames.size(); ++i) {
    std::uintptr_t pc = raw.pcs[i] - 1;
    bool is_own = pc >= own.begin && pc < own.end;
    if (is_own)
      inside_unwinder = false;
    // Frames before our own are those of the unwinder.
    if (is_own || inside_unwinder || isInterpreterHelper(pc))
      continue;
    if (isEvaluationFrame(pc))
      appendRun();
    else
      frames[count++] = {pc, 0, 0, 0, 0};
  }
  // The native stack may be cut before the Python one.
  while (!python.atEnd() && count < frames.size())
    appendRun();
  return count;
}

} // namespace devsan::runtime
