#include "protection.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <vector>

#include "fork_locks.h"
#include "host_watch.h"
#include "memory.h"
#include "place.h"
#include "runtime/protocol/kept_signal.h"
#include "runtime/sim/api/observers.h"
#include "runtime/sim/devices/devices.h"

namespace devsan::sim {
namespace {

std::atomic<DevSanHostAccessObserver> host_observer{nullptr};

// Pages that the host may touch until the next operator.
struct OpenRange {
  std::uintptr_t begin, end;
};
std::mutex open_mutex;
const bool open_mutex_held_over_forks = [] {
  holdOverForks(open_mutex);
  return true;
}();
std::vector<OpenRange> &openRanges() {
  static auto *ranges = new std::vector<OpenRange>;
  return *ranges;
}

void open(std::uintptr_t begin, std::uintptr_t end) {
  std::lock_guard lock(open_mutex);
  openToHost(begin, end);
  openRanges().push_back({begin, end});
  memory_needs_check.store(true, std::memory_order_relaxed);
}

bool isNewSite(const void *pc) {
  static std::mutex mutex;
  static auto *sites = new std::vector<const void *>;
  std::lock_guard lock(mutex);
  if (std::find(sites->begin(), sites->end(), pc) != sites->end())
    return false;
  sites->push_back(pc);
  return true;
}

void sayOnce(const DevSanHostAccess &access) {
  if (!isNewSite(access.pc))
    return;
  Dl_info info{};
  dladdr(access.pc, &info);
  auto offset = static_cast<std::size_t>(static_cast<const char *>(access.pc) -
                                         static_cast<const char *>(info.dli_fbase));
  const char *verb = access.kind == DEVSAN_SIM_READ    ? "reads"
                     : access.kind == DEVSAN_SIM_WRITE ? "writes"
                                                       : "touches";
  std::fprintf(stderr,
               "devsan: host code %s memory of cuda:%d (byte %zu of a %s of %zu bytes) at %s+0x%zx"
               "%s%s%s; on a GPU this is a crash: copy the tensor to the CPU first\n",
               verb, access.device, access.offset, access.freed ? "freed block" : "tensor",
               access.size, info.dli_fname ? info.dli_fname : "?", offset,
               info.dli_sname ? " (" : "", info.dli_sname ? info.dli_sname : "",
               info.dli_sname ? ")" : "");
}

void handleAccess(void *address, void *pc, int kind) {
  if (!isDeviceAddress(address))
    return handleEarlyAccess(address, pc, kind);
  c10::DeviceIndex device = deviceOfAddress(address);
  std::optional<BlockPlace> place = placeOf(address);
  auto at = reinterpret_cast<std::uintptr_t>(address);
  DevSanHostAccess access{};
  access.address = address;
  access.pc = pc;
  access.device = device;
  access.kind = kind;
  if (place) {
    access.block = place->begin;
    access.offset = static_cast<std::size_t>(static_cast<const char *>(address) - place->begin);
    access.size = place->size;
    access.freed = place->freed;
  } else {
    access.freed = true;
  }
  // A kernel that was handed a device address computes for the device all the same.
  if (!insideKernel()) {
    if (auto *observe = host_observer.load(std::memory_order_acquire))
      observe(&access);
    else
      sayOnce(access);
  }
  if (place && access.offset < access.size) {
    auto begin = reinterpret_cast<std::uintptr_t>(place->begin);
    open(begin, begin + place->size);
  } else {
    open(at, at + 1);
  }
}

#if defined(__x86_64__)

// What the interrupted thread finds on its stack when it calls accessStub. `context` is in the
// kernel's form, which rt_sigreturn takes.
constexpr std::size_t kKernelContextSize = offsetof(ucontext_t, uc_sigmask) + 8;
struct alignas(16) AccessFrame {
  alignas(16) char context[kKernelContextSize];
  void *address;
  void *pc;
  std::uint64_t error;
  std::uint64_t return_address, base_pointer; // accessStub puts them where unwinders look
};
static_assert(offsetof(AccessFrame, return_address) == 328);

constexpr std::uint64_t kWriteFault = 2; // bit of the page fault's error code
constexpr greg_t kDirectionFlag = 0x400;

} // namespace

// Called by accessStub; gives back what rt_sigreturn restores.
extern "C" __attribute__((visibility("hidden"), used)) void *
devsan_sim_report_access(void *frame_address) {
  auto *frame = static_cast<AccessFrame *>(frame_address);
  int error = errno;
  handleAccess(frame->address, frame->pc,
               frame->error & kWriteFault ? DEVSAN_SIM_WRITE : DEVSAN_SIM_READ);
  errno = error;
  return frame->context;
}

// Looks to unwinders like a function that the touching instruction has called: its caller's stack
// pointer is in rbp, the address after the instruction's first byte below the red zone. Leaves by
// restoring all registers, so that the instruction runs again.
extern "C" void devsan_sim_access_stub();
asm(R"(
  .text
  .hidden devsan_sim_access_stub
  .globl devsan_sim_access_stub
  .type devsan_sim_access_stub, @function
devsan_sim_access_stub:
  .cfi_startproc
  .cfi_def_cfa rbp, 0
  .cfi_offset rip, -136
  .cfi_offset rbp, -144
  movq 328(%rdi), %rax
  movq %rax, -136(%rbp)
  movq 336(%rdi), %rax
  movq %rax, -144(%rbp)
  call devsan_sim_report_access
  movq %rax, %rsp
  movl $15, %eax
  syscall
  .cfi_endproc
  .size devsan_sim_access_stub, . - devsan_sim_access_stub
)");

namespace {

std::size_t floatingStateSize(const void *state) {
  constexpr std::size_t kLegacy = 512, kMagicAt = 464;
  std::uint32_t magic = 0, size = 0;
  std::memcpy(&magic, static_cast<const char *>(state) + kMagicAt, sizeof magic);
  std::memcpy(&size, static_cast<const char *>(state) + kMagicAt + 4, sizeof size);
  return magic == 0x46505853 && size >= kLegacy ? size : kLegacy;
}

// Where the frame may begin: below the thread's red zone and the two slots of accessStub; below
// this handler too where it runs on the same stack, which it leaves only after it has written the
// frame.
std::uintptr_t frameTop(std::uintptr_t stack, const ucontext_t &context) {
  constexpr std::size_t kRedZone = 128, kSlots = 16, kHandlersCallees = 4096;
  auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  auto other = reinterpret_cast<std::uintptr_t>(context.uc_stack.ss_sp);
  bool on_other_stack =
      !(context.uc_stack.ss_flags & SS_DISABLE) && here - other < context.uc_stack.ss_size;
  return on_other_stack ? stack - kRedZone - kSlots : here - kHandlersCallees;
}

// The thread goes on in accessStub, on the stack it was on.
void redirect(siginfo_t *info, ucontext_t *context) {
  greg_t *registers = context->uc_mcontext.gregs;
  auto stack = static_cast<std::uintptr_t>(registers[REG_RSP]);
  std::uintptr_t top = frameTop(stack, *context);
  void *state = context->uc_mcontext.fpregs;
  if (state != nullptr) {
    std::size_t size = floatingStateSize(state);
    top = (top - size) & ~std::uintptr_t{63};
    std::memcpy(reinterpret_cast<void *>(top), state, size);
  }
  auto *frame = reinterpret_cast<AccessFrame *>((top - sizeof(AccessFrame)) & ~std::uintptr_t{15});
  std::memcpy(frame->context, context, sizeof frame->context);
  if (state != nullptr) {
    void *copy = reinterpret_cast<void *>(top);
    std::memcpy(frame->context + offsetof(ucontext_t, uc_mcontext.fpregs), &copy, sizeof copy);
  }
  frame->address = info->si_addr;
  frame->pc = reinterpret_cast<void *>(registers[REG_RIP]);
  frame->error = static_cast<std::uint64_t>(registers[REG_ERR]);
  frame->return_address = static_cast<std::uint64_t>(registers[REG_RIP]) + 1;
  frame->base_pointer = static_cast<std::uint64_t>(registers[REG_RBP]);
  registers[REG_RBP] = static_cast<greg_t>(stack);
  registers[REG_RSP] = static_cast<greg_t>(reinterpret_cast<std::uintptr_t>(frame));
  registers[REG_RDI] = registers[REG_RSP];
  registers[REG_RIP] =
      static_cast<greg_t>(reinterpret_cast<std::uintptr_t>(&devsan_sim_access_stub));
  registers[REG_EFL] &= ~kDirectionFlag;
}

#else

// Without the detour the report is made inside the handler.
void redirect(siginfo_t *info, ucontext_t *) {
  int error = errno;
  handleAccess(info->si_addr, nullptr, DEVSAN_SIM_UNKNOWN);
  errno = error;
}

#endif

void onFault(int signal, siginfo_t *info, void *context) {
  if (info->si_code == SEGV_ACCERR && mayBeClosed(info->si_addr) && !isDeviceAddress(info->si_addr))
    return redirect(info, static_cast<ucontext_t *>(context));
  if (info->si_code > 0 && isDeviceAddress(info->si_addr)) {
    if (!memoryBelongsToParent())
      return redirect(info, static_cast<ucontext_t *>(context));
    constexpr char kText[] = "devsan: host code of a forked child touches device memory of its "
                             "parent; a GPU's memory is not there either\n";
    (void)!write(STDERR_FILENO, kText, sizeof kText - 1);
  }
  KeptSignal<SIGSEGV>::passOn(signal, info, context);
}

} // namespace

void closeOpenPages() {
  std::lock_guard lock(open_mutex);
  for (const OpenRange &range : openRanges())
    closeToHost(range.begin, range.end);
  openRanges().clear();
  memory_needs_check.store(false, std::memory_order_relaxed);
}

void installFaultHandler() {
  KeptSignal<SIGSEGV>::keep(onFault, SA_ONSTACK | SA_NODEFER | SA_RESTART);
}

} // namespace devsan::sim

void devsan_sim_set_host_access_observer(DevSanHostAccessObserver observer) {
  devsan::sim::host_observer.store(observer, std::memory_order_release);
}
