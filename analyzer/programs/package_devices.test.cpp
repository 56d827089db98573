// A package that nowhere speaks of a device is used on the host; a word in code, a script or a document is enough to doubt that.
// RUN: rm -rf %t && split-file %s %t
// DEFINE: %{check} = env XDG_CACHE_HOME=%t.cache %devsan_check --checks=device-missing-device,device-host-sync --torch=none
// RUN: %{check} %t/ops.cpp -- -isystem %mock | FileCheck %s --check-prefix=NONE
// NONE: no findings
// NONE: findings left out: they need a device or stream that no file of the program chooses
// RUN: rm -rf %t.code && cp -r %t %t.code && echo 'torch::Device of(torch::Tensor x) { return x.device(); }' >> %t.code/ops.cpp
// RUN: not %{check} %t.code/ops.cpp -- -isystem %mock | FileCheck %s
// RUN: rm -rf %t.kind && cp -r %t %t.kind && echo 'torch::Tensor of(torch::Tensor x) { return x.to(torch::kMPS); }' >> %t.kind/ops.cpp
// RUN: not %{check} %t.kind/ops.cpp -- -isystem %mock | FileCheck %s
// RUN: rm -rf %t.kernel && cp -r %t %t.kernel && touch %t.kernel/kernel.cu
// RUN: not %{check} %t.kernel/ops.cpp -- -isystem %mock | FileCheck %s
// RUN: rm -rf %t.script && cp -r %t %t.script && echo 'print(ops.scaled(x.to("cuda:0")))' > %t.script/use.py
// RUN: not %{check} %t.script/ops.cpp -- -isystem %mock | FileCheck %s
// RUN: rm -rf %t.page && cp -r %t %t.page && echo 'Works on GPUs.' > %t.page/README.md
// RUN: not %{check} %t.page/ops.cpp -- -isystem %mock | FileCheck %s
// CHECK-DAG: ops.cpp:4:{{.*}} [device-missing-device]
// CHECK-DAG: ops.cpp:6:{{.*}} [device-host-sync]
// Below a project of others, too.
// RUN: rm -rf %t.below && mkdir -p %t.below/.git && cp -r %t %t.below/ops && rm -r %t.below/ops/.git
// RUN: %{check} %t.below/ops/ops.cpp -- -isystem %mock | FileCheck %s --check-prefix=NONE
// A library without a package is asked for by others still.
// RUN: rm -rf %t.lone && cp -r %t %t.lone && rm %t.lone/setup.py
// RUN: not %{check} %t.lone/ops.cpp -- -isystem %mock | FileCheck %s

//--- .git/HEAD
ref: refs/heads/main

//--- setup.py
# No CUDAExtension.
setup(ext_modules=[CppExtension("ops", ["ops.cpp"])])

//--- ops.cpp
#include <torch/extension.h>
// Nothing of .cuda() here, and output is no "tpu".
torch::Tensor scaled(torch::Tensor x) {
  auto output = x = x + torch::ones({3});
  for (int i = 0; i < 3; ++i)
    x = x * x.sum().item<double>();
  return x;
}
PYBIND11_MODULE(ops, m) { m.def("scaled", &scaled); }
