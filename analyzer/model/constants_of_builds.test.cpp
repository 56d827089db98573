// A file that an `#if` makes another one in another build: no constant closes a branch there.
// RUN: not %check_mock | %file_check
#include <torch/torch.h>

using torch::Tensor;

#ifdef WITH_PROFILE
constexpr bool kProfile = true;
#else
constexpr bool kProfile = false;
#endif
const bool kDebug = false;
const bool kPartly = false
#ifdef WITH_DEBUG
                     || true
#endif
    ;
struct Quiet {
  static constexpr bool kShow = false;
};
struct Loud {
  static constexpr bool kShow = true;
};
#ifdef WITH_DEBUG
using Choice = Loud;
#else
using Choice = Quiet;
#endif

Tensor anotherBuild(const Tensor &x, bool given) {
  Tensor y = x;
  if (kProfile || kPartly)
    // CHECK: :[[@LINE+1]]:13: warning: {{.*}} [device-missing-device]
    y = y + torch::zeros({1});
  if (Choice::kShow)
    // CHECK: :[[@LINE+1]]:13: warning: {{.*}} [device-missing-device]
    y = y + torch::zeros({2});
#ifdef WITH_DEBUG
  if (true)
#else
  if (kDebug)
#endif
    // CHECK: :[[@LINE+1]]:13: warning: {{.*}} [device-missing-device]
    y = y + torch::zeros({3});
  if (kDebug && x.dim() > 2
#ifdef WITH_DEBUG
      || given
#endif
  )
    // CHECK: :[[@LINE+1]]:13: warning: {{.*}} [device-missing-device]
    y = y + torch::zeros({4});
  switch (kDebug) {
#ifndef NO_LEVELS
  case false:
    return y;
#endif
  default:
    // CHECK: :[[@LINE+1]]:16: warning: {{.*}} [device-missing-device]
    return y + torch::zeros({5});
  }
}
