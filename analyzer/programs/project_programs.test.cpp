// A program that names no device but the CPU, in none of its files, has its tensors there. Comments
// name none; what the user says may be any.
// RUN: rm -rf %t && mkdir -p %t/host/.git %t/device/.git %t/asked/.git %t/library/.git
// RUN: cp %s %t/host/train.cpp && cp %s %t/device/train.cpp && cp %s %t/asked/train.cpp && cp %s %t/library/train.cpp
// DEFINE: %{check} = %devsan_check --torch=none --no-cache --checks=device-host-sync,device-missing-device
// RUN: echo 'double train(); int main() { train(); } // not on cuda' > %t/host/main.cpp
// RUN: %{check} %t/host/train.cpp -- -isystem %mock | FileCheck %s --check-prefix=SILENT
// RUN: %{check} %t/host -- -isystem %mock | FileCheck %s --check-prefix=SILENT
// Who asks what there is, or seeds the random numbers of all devices, names none.
// RUN: cp -r %t/host %t/seeded && echo 'void seed() { torch::cuda::manual_seed(1); torch::cuda::manual_seed_all(1); bool on = torch::cuda::is_available(); }' >> %t/seeded/main.cpp
// RUN: %{check} %t/seeded/train.cpp -- -isystem %mock | FileCheck %s --check-prefix=SILENT
// RUN: echo 'void move(torch::Tensor x) { x.cuda(); } auto *moves = &move;' >> %t/seeded/main.cpp
// RUN: not %{check} %t/seeded/train.cpp -- -isystem %mock | FileCheck %s --check-prefix=SHARED
// Nor does a kind of device that is only ever the host; one that it is given may be any.
// RUN: cp -r %t/host %t/kind && echo 'void place(Net net) { torch::DeviceType kind = torch::kCPU; torch::Device device(kind); net.to(device); } auto *places = &place;' >> %t/kind/main.cpp
// RUN: %{check} %t/kind/train.cpp -- -isystem %mock | FileCheck %s --check-prefix=SILENT
// RUN: echo 'void place(Net net, torch::DeviceType kind) { torch::Device device(kind); net.to(device); } auto *places = &place;' >> %t/kind/main.cpp
// RUN: not %{check} %t/kind/train.cpp -- -isystem %mock | FileCheck %s --check-prefix=SHARED
// Nor does "GPU" in a file that has nothing to do with tensors; a text that tensors are brought to
// may be any, wherever it stands.
// RUN: cp -r %t/host %t/words && echo 'bool use_gpu = true; std::string gpu = "GPU"; struct Settings { std::string device; } settings;' >> %t/words/main.cpp
// RUN: %{check} %t/words/train.cpp -- -isystem %mock | FileCheck %s --check-prefix=SILENT
// RUN: echo 'template <class T> void place(Net net, T settings) { net.to(settings->device); } auto *places = &place<int>;' > %t/words/place.h
// RUN: not %{check} %t/words/train.cpp -- -isystem %mock | FileCheck %s --check-prefix=SHARED
// Nor does what is only shown.
// RUN: cp -r %t/host %t/shown && echo '#include <torch/torch.h>' > %t/shown/time.cpp && echo 'const char *kTime = "Total CPU/GPU time";' >> %t/shown/time.cpp
// RUN: %{check} %t/shown/train.cpp -- -isystem %mock | FileCheck %s --check-prefix=SILENT
// A header that asks which compiler it is names none either.
// RUN: cp -r %t/host %t/vendored && echo '#ifndef __CUDACC__' > %t/vendored/catch.hpp && echo '#endif' >> %t/vendored/catch.hpp
// RUN: %{check} %t/vendored -- -isystem %mock | FileCheck %s --check-prefix=SILENT
// Of several programs in one project those count that the file is a part of: by its includes, and
// by those of the sources behind them.
// RUN: cp -r %t/host %t/several && mkdir %t/several/gpu && echo '#include "../tools.h"' > %t/several/gpu/main.cpp && echo 'int main() { auto where = "cuda"; }' >> %t/several/gpu/main.cpp
// RUN: echo 'double train();' > %t/several/train.h && echo '#include "train.h"' > %t/several/main.cpp && echo 'int main() { train(); }' >> %t/several/main.cpp
// RUN: sed -i '1i #include "train.h"' %t/several/train.cpp && touch %t/several/tools.h
// RUN: %{check} %t/several/train.cpp -- -isystem %mock | FileCheck %s --check-prefix=SILENT
// RUN: cp -r %t/several %t/shared && echo '#include "../train.h"' >> %t/shared/gpu/main.cpp
// RUN: not %{check} %t/shared/train.cpp -- -isystem %mock | FileCheck %s --check-prefix=SHARED
// RUN: cp -r %t/several %t/behind && echo '#include <tools.h>' >> %t/behind/train.cpp && echo '#include "tools.h"' > %t/behind/tools.cpp && echo 'auto where = at::kCUDA;' >> %t/behind/tools.cpp
// RUN: not %{check} %t/behind/train.cpp -- -isystem %mock | FileCheck %s --check-prefix=SHARED
// SHARED: [device-host-sync]
// SILENT: no findings
// RUN: not %{check} --alone %t/host/train.cpp -- -isystem %mock | FileCheck %s
// RUN: echo 'double train(); int main() { auto where = "cuda:1"; train(); }' > %t/device/main.cpp
// RUN: not %{check} %t/device/train.cpp -- -isystem %mock | FileCheck %s
// RUN: echo 'double train(); int main(int, char **argv) { torch::Device device(argv[1]); train(); }' > %t/asked/main.cpp
// RUN: not %{check} %t/asked/train.cpp -- -isystem %mock | FileCheck %s
// RUN: not %{check} %t/library/train.cpp -- -isystem %mock | FileCheck %s
// CHECK: train.cpp:[[#@LINE+8]]:{{.*}} [device-host-sync]
#include <torch/torch.h>

double train(torch::Tensor x, torch::Device device) {
  torch::Device host(torch::kCPU);
  double total = 0;
  for (int i = 0; i < 3; ++i) {
    x = x.to(device);
    total += x.sum().item<double>();
  }
  return total;
}
