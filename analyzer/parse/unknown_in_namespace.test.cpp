// A type that a namespace lacks, which another header or an older release would have declared there, has a stand-in too.
// RUN: %check_mock --checks=device-bare-cuda > %t || true
// RUN: FileCheck %s --implicit-check-not='[device-' < %t
#include <torch/torch.h>

#include "gone.h"

namespace lib {
struct Known {};
namespace inner {}
} // namespace lib
namespace alias = lib;

// CHECK: :[[@LINE+2]]:30: warning: {{.*}}[device-bare-cuda]
void declared(at::Tensor x, at::Tensor y) {
  lib::Status status = run(x.cuda() + y);
}
// CHECK: :[[@LINE+3]]:33: warning: {{.*}}[device-bare-cuda]
void ofTemplate(at::Tensor x, at::Tensor y) {
  using Table = alias::inner::part::Table<int, lib::Half>;
  typename Table::Row row(run(x.cuda() + y));
}
// CHECK: :[[@LINE+2]]:31: warning: {{.*}}[device-bare-cuda]
void ofLibTorch(at::Tensor x, at::Tensor y) {
  at::FormerGuard guard(run(x.cuda() + y));
}
// CHECK: :[[@LINE+2]]:16: warning: {{.*}}[device-bare-cuda]
void inParameter(at::Tensor x, at::Tensor y, lib::Config &config) {
  config.add(x.cuda() + y);
}

// What comes later is what it is.
namespace lib {
struct Later {
  at::Tensor sum(at::Tensor x, at::Tensor y) { return x.cuda() + y; }
  // CHECK: :[[@LINE-1]]:57: warning: {{.*}}[device-bare-cuda]
};
} // namespace lib
// CHECK: :[[@LINE+2]]:31: warning: {{.*}}[device-bare-cuda]
at::Tensor known(at::Tensor x, at::Tensor y, lib::Known, lib::Later later) {
  return later.sum(x, y) + (x.cuda() + y);
}
