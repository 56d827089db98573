// What a constant keeps from running is silent; what another build, a caller or a template's argument may choose is not.
// RUN: not %check_mock | %file_check
#include <torch/torch.h>

#include "Inputs/settings.h"

using torch::Tensor;

#define SHOW 0
#define PERHAPS const
#define OR_MORE
const bool kShow = SHOW;
const bool kDebug = false;
constexpr int kLevel = 2;
constexpr bool kBraces{false};
enum class Mode { kTrain, kProfile, kExport };
const Mode kMode = Mode::kTrain;
static PERHAPS bool kTunable = false;
const bool kMore = false OR_MORE;
extern const bool kGiven;
bool changed = false;
const bool kCircle = kCircle;
enum { kOff = 0, kChosen = SHOW };
enum { kNo, kYes };
struct Options {
  static constexpr bool kVerbose = kDebug && kLevel > 1;
  const bool quiet = false;
};

Tensor closed(const Tensor &x, bool given) {
  if (false && given)
    return x + torch::zeros({3});
  if (given && (kDebug || kNo))
    return x + torch::zeros({3});
  if (!kDebug || given)
    ;
  else
    return x + torch::zeros({3});
  if (kLevel < 2 || kBraces)
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

Tensor byMacro(const Tensor &x, bool given) {
  Tensor y = x;
  if (kInHeader || kMore)
    // CHECK: :[[@LINE+1]]:13: warning: {{.*}} [device-missing-device]
    y = y + torch::zeros({1});
  if (SHOW)
    // CHECK: :[[@LINE+1]]:13: warning: {{.*}} [device-missing-device]
    y = y + torch::zeros({2});
  if (kShow || kChosen || kOff)
    // CHECK: :[[@LINE+1]]:13: warning: {{.*}} [device-missing-device]
    y = y + torch::zeros({3});
  if (kTunable OR_MORE || kTunable)
    // CHECK: :[[@LINE+1]]:13: warning: {{.*}} [device-missing-device]
    y = y + torch::zeros({4});
  if (sizeof(long) == 4)
    // CHECK: :[[@LINE+1]]:13: warning: {{.*}} [device-missing-device]
    y = y + torch::zeros({5});
  if (kDebug && given OR_MORE)
    // CHECK: :[[@LINE+1]]:13: warning: {{.*}} [device-missing-device]
    y = y + torch::zeros({6});
  switch (kLevel) {
  case 2:
    return y;
  case SHOW:
    return y;
  default:
    // CHECK: :[[@LINE+1]]:16: warning: {{.*}} [device-missing-device]
    return y + torch::zeros({7});
  }
}
Tensor chosenElsewhere(const Tensor &x, const Options &options) {
  Tensor y = x;
  if (kGiven || kCircle)
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
Tensor caught(const Tensor &x, void read()) {
  try {
    read();
    if (kLevel == 2)
      return x;
  } catch (...) {
  }
  // CHECK: :[[@LINE+1]]:14: warning: {{.*}} [device-missing-device]
  return x + torch::zeros({1});
}
Tensor ofItself(const Tensor &x, bool verbose) {
  if (x.dim() > 1) {
    const bool verbose = !verbose;
    if (verbose)
      return x;
  }
  // CHECK: :[[@LINE+1]]:14: warning: {{.*}} [device-missing-device]
  return x + torch::zeros({1});
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
template <class Policy, class T> T byPolicy(const T &x) {
  if (Policy::kOn)
    // CHECK: :[[@LINE+1]]:16: warning: {{.*}} [device-missing-device]
    return x + torch::zeros({1});
  return x;
}
struct On {
  static constexpr bool kOn = true;
};
Tensor all(const Tensor &x) {
  return byArgument<true>(x) + byArgument<false>(x) + byPolicy<On>(x) + ofHeader(x);
}
