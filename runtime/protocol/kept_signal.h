// A signal that DevSan handles itself while the program believes it has it: what the program wants
// of the signal is remembered, told when it asks, and done where the signal is not ours. The shim
// asks us at each call of sigaction() and signal(). For static storage; one for each signal.
#pragma once

#include <atomic>
#include <csignal>
#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace devsan {

template <int kSignal> class KeptSignal {
public:
  using Handler = void (*)(int, siginfo_t *, void *);

  // Without the shim the program may take the signal from us.
  static void keep(Handler handler, int flags) {
    using SetHook = void (*)(int (*)(int, const struct sigaction *, struct sigaction *));
    const auto set =
        reinterpret_cast<SetHook>(dlsym(RTLD_DEFAULT, "devsan_preload_answer_sigaction"));
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    real_ = reinterpret_cast<Sigaction>(dlsym(libc ? libc : RTLD_NEXT, "sigaction"));
    if (!real_)
      return;
    struct sigaction ours{}, before{};
    ours.sa_sigaction = handler;
    ours.sa_flags = SA_SIGINFO | flags;
    sigemptyset(&ours.sa_mask);
    real_(kSignal, nullptr, &before);
    setAction(before);
    if (set)
      set(answer);
    real_(kSignal, &ours, nullptr);
  }

  // What the program wants.
  static void passOn(int signal, siginfo_t *info, void *context) {
    const struct sigaction action = currentAction();
    const bool sent = info->si_code <= 0;
    if (!(action.sa_flags & SA_SIGINFO) &&
        (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN)) {
      if (sent && action.sa_handler == SIG_IGN)
        return;
      // A fault comes again by itself.
      const struct sigaction standard = byDefault();
      real_(kSignal, &standard, nullptr);
      if (sent)
        syscall(SYS_tgkill, getpid(), gettid(), signal);
      return;
    }
    if (action.sa_flags & SA_RESETHAND)
      setAction(byDefault());
    sigset_t mask = action.sa_mask, before;
    if (!(action.sa_flags & SA_NODEFER))
      sigaddset(&mask, signal);
    pthread_sigmask(SIG_BLOCK, &mask, &before);
    if (action.sa_flags & SA_SIGINFO)
      action.sa_sigaction(signal, info, context);
    else
      action.sa_handler(signal);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

private:
  using Sigaction = int (*)(int, const struct sigaction *, struct sigaction *);

  static struct sigaction byDefault() {
    struct sigaction standard{};
    standard.sa_handler = SIG_DFL;
    return standard;
  }

  static struct sigaction currentAction() {
    return actions_[action_.load(std::memory_order_acquire) % kSlots];
  }

  static void setAction(const struct sigaction &action) {
    const unsigned next = action_.load(std::memory_order_relaxed) + 1;
    actions_[next % kSlots] = action;
    action_.store(next, std::memory_order_release);
  }

  // Whether the call is answered here.
  static int answer(int signal, const struct sigaction *action, struct sigaction *old) {
    if (signal != kSignal)
      return 0;
    const struct sigaction before = currentAction();
    if (action != nullptr)
      setAction(*action);
    if (old != nullptr)
      *old = before;
    return 1;
  }

  // Written by sigaction(), which signal handlers may call: hence slots instead of memory; a reader
  // would have to be overtaken by all of them.
  static constexpr unsigned kSlots = 16;
  static inline struct sigaction actions_[kSlots];
  static inline std::atomic<unsigned> action_{0};
  static inline Sigaction real_ = nullptr;
};

} // namespace devsan
