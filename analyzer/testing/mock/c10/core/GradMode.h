#pragma once

namespace c10 {
struct AutoGradMode {
  AutoGradMode(bool enabled);
  ~AutoGradMode();
};
struct NoGradGuard : public AutoGradMode {
  NoGradGuard();
};
struct InferenceMode {
  InferenceMode(bool enabled = true);
  ~InferenceMode();
};
struct GradMode {
  static bool is_enabled();
  static void set_enabled(bool enabled);
};
} // namespace c10

namespace at {
using c10::AutoGradMode;
using c10::GradMode;
using c10::InferenceMode;
using c10::NoGradGuard;
} // namespace at
