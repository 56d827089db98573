#include "runtime/stacks/native_stack.h"

#include "runtime/log/fork_gate.h"
#include "runtime/stacks/frame_rules.h"

#include <atomic>
#include <link.h>
#include <pthread.h>
#include <unwind.h>

namespace devsan::runtime {
namespace {

// Frame rules by address, one word each: an address times an odd number, modulo 2^48, is another
// address of its own; its upper bits choose the slot, its lower 33 are kept with the rule, so that
// nothing is taken for something else. Page-aligned like all our tables.
constexpr unsigned kIndexBits = 15, kTagBits = 33;
alignas(4096) std::atomic<std::uint64_t> rules[1 << kIndexBits];

// A rule in 31 bits: kind 3, where rbp is saved / -8 in 8 (0 for kept), the size of offset / 8 in
// 20. Offsets are negative for kFromSaved only.
constexpr unsigned kOffsetBits = 20, kRbpBits = 8;

constexpr std::uint64_t pack(const FrameRule &rule) {
  if (rule.kind == FrameRule::kUnknown || rule.kind == FrameRule::kEnd)
    return std::uint64_t(rule.kind) << (kOffsetBits + kRbpBits) | 1; // not 0, as free slots are
  const bool is_saved = rule.kind == FrameRule::kFromSaved;
  const std::int64_t size = (is_saved ? -std::int64_t{rule.offset} : rule.offset) / 8;
  const bool keeps_rbp = rule.caller_rbp == FrameRule::kRbpKept;
  const std::int64_t rbp = keeps_rbp || is_saved ? 0 : -(std::int64_t{rule.caller_rbp} / 8);
  if (size < 0 || size >> kOffsetBits || rbp < 0 || rbp >> kRbpBits ||
      (!keeps_rbp && !is_saved && rbp == 0))
    return 1;
  return (std::uint64_t(rule.kind) << kRbpBits | std::uint64_t(rbp)) << kOffsetBits |
         std::uint64_t(size);
}

constexpr FrameRule unpack(std::uint64_t word) {
  FrameRule rule;
  rule.kind = FrameRule::Kind(word >> (kOffsetBits + kRbpBits) & 7);
  rule.offset = std::int32_t(word & ((1 << kOffsetBits) - 1)) * 8;
  if (const auto rbp = std::int32_t(word >> kOffsetBits & ((1 << kRbpBits) - 1)))
    rule.caller_rbp = -8 * rbp;
  if (rule.kind == FrameRule::kFromSaved) {
    rule.offset = -rule.offset;
    rule.caller_rbp = 0;
  }
  return rule;
}
static_assert(unpack(pack({FrameRule::kFromSaved, -40, 0})) ==
              FrameRule{FrameRule::kFromSaved, -40, 0});
static_assert(unpack(pack({FrameRule::kFromRbp, 16, -16})) ==
              FrameRule{FrameRule::kFromRbp, 16, -16});
static_assert(unpack(pack({FrameRule::kFromRsp, 8, FrameRule::kRbpKept})) ==
              FrameRule{FrameRule::kFromRsp, 8, FrameRule::kRbpKept});
static_assert(unpack(pack({FrameRule::kFromRsp, 1 << 25, -16})).kind == FrameRule::kUnknown);

// Code that was unloaded may give its addresses to other code.
void forgetRulesAfterUnloading() {
  static std::atomic<unsigned long long> seen_unloads{0};
  unsigned long long unloads = 0;
  dl_iterate_phdr(
      [](dl_phdr_info *info, std::size_t, void *data) {
        *static_cast<unsigned long long *>(data) = info->dlpi_subs;
        return 1;
      },
      &unloads);
  if (seen_unloads.exchange(unloads, std::memory_order_relaxed) != unloads)
    for (auto &rule : rules)
      rule.store(0, std::memory_order_relaxed);
}

__attribute__((noinline)) std::uint64_t learn(std::uintptr_t pc) {
  InsideForkGate gate;
  forgetRulesAfterUnloading();
  return pack(frameRuleAt(pc));
}

FrameRule ruleAt(std::uintptr_t pc) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4b;
  const std::uint64_t mixed = (pc * kOdd) & ((std::uint64_t{1} << 48) - 1);
  const std::uint64_t tag = mixed & ((std::uint64_t{1} << kTagBits) - 1);
  auto &slot = rules[mixed >> kTagBits];
  std::uint64_t seen = slot.load(std::memory_order_relaxed);
  if (seen == 0 || seen >> 31 != tag) {
    seen = tag << 31 | learn(pc);
    slot.store(seen, std::memory_order_relaxed);
  }
  return unpack(seen);
}

// Where the calling thread's stack lies, so that no wrong rule makes us read beyond it.
struct Bounds {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

__attribute__((noinline)) Bounds findBounds() {
  Bounds bounds;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0)
    return {1, 1};
  void *begin = nullptr;
  std::size_t size = 0;
  if (pthread_attr_getstack(&attributes, &begin, &size) == 0)
    bounds = {reinterpret_cast<std::uintptr_t>(begin),
              reinterpret_cast<std::uintptr_t>(begin) + size};
  pthread_attr_destroy(&attributes);
  return bounds.end ? bounds : Bounds{1, 1};
}

const Bounds &bounds() {
  thread_local Bounds known;
  if (known.end == 0)
    known = findBounds();
  return known;
}

// Outermost frames at which both ways agreed that the stack ends. A stack that the fast one leaves
// anywhere else is unwound again.
std::atomic<std::uintptr_t> stack_ends[64];

std::atomic<std::uintptr_t> &endSlot(std::uintptr_t pc) {
  return stack_ends[(pc >> 2) % std::size(stack_ends)];
}

} // namespace

#if defined(__x86_64__)
// Reads the frames of its callers, which AddressSanitizer would take for mistakes.
__attribute__((noinline, no_sanitize("address", "thread"))) bool unwindFast(NativeStack &stack) {
  const Bounds &limits = bounds();
  std::uintptr_t pc, rsp, rbp;
  asm volatile("leaq 0f(%%rip), %0\n0: movq %%rsp, %1\nmovq %%rbp, %2"
               : "=&r"(pc), "=&r"(rsp), "=&r"(rbp));
  stack.count = 0;
  if (rsp < limits.begin || rsp >= limits.end)
    return false; // a stack that the program switched to
  const auto holds = [&](std::uintptr_t address) {
    return address >= rsp && address <= limits.end - sizeof(std::uintptr_t) && address % 8 == 0;
  };
  for (std::uintptr_t at = pc; stack.count < NativeStack::kMaxFrames; at = pc - 1) {
    stack.pcs[stack.count++] = pc;
    const FrameRule rule = ruleAt(at);
    if (rule.kind == FrameRule::kEnd)
      return true;
    if (rule.kind == FrameRule::kUnknown)
      return false;
    const bool is_saved = rule.kind == FrameRule::kFromSaved;
    std::uintptr_t end =
        (rule.kind == FrameRule::kFromRsp ? rsp : rbp) + std::uintptr_t(std::intptr_t(rule.offset));
    if (is_saved) {
      if (!holds(end))
        return false;
      end = *reinterpret_cast<const std::uintptr_t *>(end);
    }
    if (!holds(end - 8) || end <= rsp)
      return false;
    if (rule.caller_rbp != FrameRule::kRbpKept) {
      const std::uintptr_t saved =
          is_saved ? rbp : end + std::uintptr_t(std::intptr_t(rule.caller_rbp));
      if (!holds(saved))
        return false;
      rbp = *reinterpret_cast<const std::uintptr_t *>(saved);
    }
    pc = *reinterpret_cast<const std::uintptr_t *>(end - 8);
    rsp = end;
    if (pc == 0)
      return true;
  }
  return true;
}
#else
bool unwindFast(NativeStack &stack) {
  stack.count = 0;
  return false;
}
#endif

__attribute__((noinline)) void unwindSlowly(NativeStack &stack) {
  InsideForkGate gate;
  stack.count = 0;
  _Unwind_Backtrace(
      [](_Unwind_Context *context, void *data) {
        auto &out = *static_cast<NativeStack *>(data);
        const std::uintptr_t pc = _Unwind_GetIP(context);
        if (pc == 0 || out.count == NativeStack::kMaxFrames)
          return _URC_END_OF_STACK;
        out.pcs[out.count++] = pc;
        return _URC_NO_REASON;
      },
      &stack);
}

void captureNative(NativeStack &stack) {
  if (unwindFast(stack))
    return;
  const std::uintptr_t fast_end = stack.count ? stack.pcs[stack.count - 1] : 0;
  if (fast_end && endSlot(fast_end).load(std::memory_order_relaxed) == fast_end)
    return;
  unwindSlowly(stack);
  if (stack.count == NativeStack::kMaxFrames)
    return; // cut, not ended
  // The two differ by the frames of the unwinding itself and, at the root, by a null frame.
  for (std::size_t i = stack.count; fast_end && i > 0 && i + 2 > stack.count; --i)
    if (stack.pcs[i - 1] == fast_end)
      endSlot(fast_end).store(fast_end, std::memory_order_relaxed);
}

} // namespace devsan::runtime
