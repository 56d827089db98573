// What a constant keeps from running is silent; what another build, a caller or a template's argument may choose is not.
// RUN: not %check_mock | %file_check
#include "Inputs/settings.h"

#include <torch/torch.h>

using torch::Tensor;

#define SHOW 0
const bool kShow = SHOW;
const bool kDebug = false;
constexpr int kLevel = 2;
const bool kPartly = false
#ifdef WITH_DEBUG
                     || true
#endif
    ;
extern const bool kGiven;
bool changed = false;
enum { kOff = 0, kChosen = SHOW };
struct Options {
  static constexpr bool kVerbose = kDebug && kLevel > 1;
  const bool quiet = false;
};

Tensor closed(const Tensor &x, bool given) {
  if (false && given)
    return x + torch::zeros({3});
  if (given && (kDebug || kOff))
    return x + torch::zeros({3});
  if (!kDebug || given)
    ;
  else
    return x + torch::zeros({3});
  if (kLevel < 2)
    return x + torch::zeros({3});
  if constexpr (Options::kVerbose)
    return x + torch::zeros({3});
  return kLevel == 2 ? x : x + torch::zeros({3});
}

Tensor chosen(const Tensor &x) {
  switch (kMode) {
  case Mode::kTrain:
    // CHECK: :[[@LINE+1]]:16: warning: {{.*}} [device-missing-device]
    return x + torch::zeros({1});
  case Mode::kProfile:
    return x + torch::zeros({2});
  default:
    break;
  }
  return x + torch::zeros({3});
}
Tensor into(const Tensor &x) {
  Tensor y = x;
  switch (kLevel) {
  case 1:
    y = y + torch::zeros({1});
  case 2:
    // CHECK: :[[@LINE+1]]:13: warning: {{.*}} [device-missing-device]
    y = y + torch::zeros({2});
  case 3:
    // CHECK: :[[@LINE+1]]:13: warning: {{.*}} [device-missing-device]
    y = y + torch::zeros({3});
    break;
  case 4 ... 9:
    y = y + torch::zeros({4});
  }
  return y;
}
Tensor none(const Tensor &x) {
  switch (kMode) {
  case Mode::kExport:
    return x + torch::zeros({1});
  }
  // CHECK: :[[@LINE+1]]:14: warning: {{.*}} [device-missing-device]
  return x + torch::zeros({2});
}

Tensor anotherBuild(const Tensor &x, const Options &options) {
  Tensor y = x;
  if (kProfile)
    // CHECK: :[[@LINE+1]]:13: warning: {{.*}} [device-missing-device]
    y = y + torch::zeros({1});
  if (SHOW)
    // CHECK: :[[@LINE+1]]:13: warning: {{.*}} [device-missing-device]
    y = y + torch::zeros({2});
  if (kShow || kChosen)
    // CHECK: :[[@LINE+1]]:13: warning: {{.*}} [device-missing-device]
    y = y + torch::zeros({3});
  if (kPartly)
    // CHECK: :[[@LINE+1]]:13: warning: {{.*}} [device-missing-device]
    y = y + torch::zeros({4});
  if (sizeof(long) == 4)
    // CHECK: :[[@LINE+1]]:13: warning: {{.*}} [device-missing-device]
    y = y + torch::zeros({5});
#ifdef WITH_DEBUG
  if (true)
#else
  if (false)
#endif
    // CHECK: :[[@LINE+1]]:13: warning: {{.*}} [device-missing-device]
    y = y + torch::zeros({6});
  return y;
}
Tensor chosenElsewhere(const Tensor &x, const Options &options) {
  Tensor y = x;
  if (kGiven)
    // CHECK: :[[@LINE+1]]:13: warning: {{.*}} [device-missing-device]
    y = y + torch::zeros({1});
  if (changed)
    // CHECK: :[[@LINE+1]]:13: warning: {{.*}} [device-missing-device]
    y = y + torch::zeros({2});
  if (options.quiet)
    // CHECK: :[[@LINE+1]]:13: warning: {{.*}} [device-missing-device]
    y = y + torch::zeros({3});
  const bool once = true;
  while (once) {
    // CHECK: :[[@LINE+1]]:13: warning: {{.*}} [device-missing-device]
    y = y + torch::zeros({4});
    if (y.dim() > 2)
      break;
  }
  do {
    // CHECK: :[[@LINE+1]]:13: warning: {{.*}} [device-missing-device]
    y = y + torch::zeros({5});
  } while (false);
  return y;
}
template <bool Wide> Tensor byArgument(const Tensor &x) {
  const bool narrow = !Wide;
  if (narrow)
    // CHECK: :[[@LINE+1]]:16: warning: {{.*}} [device-missing-device]
    return x + torch::zeros({1});
  if (Wide)
    // CHECK: :[[@LINE+1]]:16: warning: {{.*}} [device-missing-device]
    return x + torch::zeros({2});
  return x;
}
Tensor both(const Tensor &x) {
  return byArgument<true>(x) + byArgument<false>(x);
}
