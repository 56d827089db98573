// How files are read, for other tools: a database that devsan check reads the same file with again.
// RUN: rm -rf %t && mkdir -p %t && cp %s %t/x.cpp
// RUN: %devsan_check --torch=none --print-commands -o %t/compile_commands.json %t/x.cpp -- -DNAME=1 -isystem %mock
// RUN: FileCheck %s --input-file=%t/compile_commands.json
// CHECK: "file": "{{.*}}/x.cpp"
// CHECK: "NAME=1"
// CHECK: "{{.*}}/testing/mock"
// CHECK-NOT: -resource-dir
// RUN: not %devsan_check --torch=none --checks=device-bare-cuda %t/x.cpp | FileCheck %s --check-prefix=FINDING
#include <torch/torch.h>

torch::Tensor scale(torch::Tensor x, const torch::Tensor &weight) {
  static_assert(NAME == 1);
  return x.cuda() * weight;
  // FINDING: x.cpp:[[@LINE-1]]:12: warning: {{.*}} [device-bare-cuda]
}
