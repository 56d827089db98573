// What constructors are given, what a device parameter gets, and what a loop puts into a member decide where data lies.
// DEFINE: %{check} = %devsan_check --checks=device-host-sync,device-missing-device --torch=none --no-cache
// DEFINE: %{flags} = -std=c++17 -isystem %mock
// RUN: rm -rf %t && split-file %s %t && mkdir -p %t/.git && touch %t/setup.py
// RUN: %{check} %t -- %{flags} | FileCheck %s --check-prefix=NONE
// RUN: %{check} %t/sums.cpp -- %{flags} | FileCheck %s --check-prefix=NONE
// NONE: no findings
// Whatever way a constructor is called, one that gets data of a device is enough; so is a way that is not seen.
// RUN: echo '#include "samples.h"' > %t/include
// RUN: cp %t/include %t/more.cpp && echo 'Sample one(torch::Device d) { return {torch::ones({3}), torch::ones({1}, d)}; }' >> %t/more.cpp
// RUN: not %{check} %t/sums.cpp -- %{flags} | FileCheck %s --implicit-check-not='[device-' --check-prefix=LABEL
// RUN: cp %t/include %t/more.cpp && echo 'void one(std::vector<Sample> &all, torch::Device d) { all.emplace_back(torch::ones({3}), torch::ones({1}, d)); }' >> %t/more.cpp
// RUN: not %{check} %t/sums.cpp -- %{flags} | FileCheck %s --implicit-check-not='[device-' --check-prefix=LABEL
// RUN: cp %t/include %t/more.cpp && echo 'auto one(torch::Tensor x) { return std::make_shared<Sample>(torch::ones({3}), x); }' >> %t/more.cpp
// RUN: not %{check} %t/sums.cpp -- %{flags} | FileCheck %s --implicit-check-not='[device-' --check-prefix=LABEL
// RUN: cp %t/include %t/more.cpp && echo 'void one(std::vector<Sample> &all) { all.emplace(all.begin(), torch::ones({3}), torch::ones({1})); }' >> %t/more.cpp
// RUN: not %{check} %t/sums.cpp -- %{flags} | FileCheck %s --implicit-check-not='[device-' --check-prefix=LABEL
// RUN: cp %t/include %t/more.cpp && echo 'Sample global(torch::ones({3}), torch::ones({1}, torch::kCUDA));' >> %t/more.cpp
// RUN: not %{check} %t/sums.cpp -- %{flags} | FileCheck %s --implicit-check-not='[device-' --check-prefix=LABEL
// RUN: cp %t/include %t/more.cpp && echo 'struct Derived : Sample { using Sample::Sample; }; Derived one(torch::Device d) { return Derived(torch::ones({3}), torch::ones({1}, d)); }' >> %t/more.cpp
// RUN: not %{check} %t/sums.cpp -- %{flags} | FileCheck %s --implicit-check-not='[device-' --check-prefix=LABEL
// LABEL: sums.cpp:5:{{.*}} 'sample.label.item<int>()' {{.*}} [device-host-sync]
// So is one device that is handed on, in whichever way.
// RUN: cp %t/include %t/more.cpp && echo 'double more() { return train(torch::kCUDA); }' >> %t/more.cpp
// RUN: not %{check} %t/sums.cpp -- %{flags} | FileCheck %s --implicit-check-not='[device-' --check-prefix=TRAIN
// RUN: cp %t/include %t/more.cpp && echo 'double more(bool gpu) { return train(gpu ? torch::kCUDA : torch::kCPU); }' >> %t/more.cpp
// RUN: not %{check} %t/sums.cpp -- %{flags} | FileCheck %s --implicit-check-not='[device-' --check-prefix=TRAIN
// RUN: cp %t/include %t/more.cpp && echo 'double more(torch::Device device) { return train(device); }' >> %t/more.cpp
// RUN: not %{check} %t/sums.cpp -- %{flags} | FileCheck %s --implicit-check-not='[device-' --check-prefix=TRAIN
// A call that leaves it out gives the default of the declaration.
// RUN: cp %t/include %t/more.cpp && echo 'double more() { return train(); }' >> %t/more.cpp && %{check} %t/sums.cpp -- %{flags} | FileCheck %s --check-prefix=NONE
// RUN: sed -i 's/device = torch::kCPU);/device = torch::kCUDA);/' %t/samples.h && not %{check} %t/sums.cpp -- %{flags} | FileCheck %s --implicit-check-not='[device-' --check-prefix=TRAIN
// RUN: sed -i 's/device = torch::kCUDA);/device = chosen());/' %t/samples.h && not %{check} %t/sums.cpp -- %{flags} | FileCheck %s --implicit-check-not='[device-' --check-prefix=TRAIN
// RUN: sed -i 's/device = chosen());/device = torch::kCPU);/' %t/samples.h
// TRAIN: sums.cpp:13:{{.*}} 'x.sum().item<double>()' {{.*}} [device-host-sync]
// RUN: cp %t/include %t/more.cpp && echo 'Trainer trainer(torch::Device(torch::kCUDA));' >> %t/more.cpp
// RUN: not %{check} %t/sums.cpp -- %{flags} | FileCheck %s --implicit-check-not='[device-' --check-prefix=TRAINER
// RUN: cp %t/include %t/more.cpp && echo 'void set(Trainer &trainer) { trainer.device_ = torch::kCUDA; }' >> %t/more.cpp
// RUN: not %{check} %t/sums.cpp -- %{flags} | FileCheck %s --implicit-check-not='[device-' --check-prefix=TRAINER
// TRAINER: sums.cpp:21:{{.*}} [device-host-sync]
// RUN: cp %t/include %t/more.cpp && echo 'torch::Tensor more(View &view, torch::Device d) { view.pose = view.pose.to(d); return rays(view); }' >> %t/more.cpp
// RUN: not %{check} %t/sums.cpp -- %{flags} | FileCheck %s --implicit-check-not='[device-' --check-prefix=POSE
// What may give the device is not understood, or the data is moved.
// RUN: sed 's/, torch::kFloat)/, image.options())/' %t/broken.cpp > %t/options.cpp && not %{check} %t/options.cpp -- %{flags} | FileCheck %s --implicit-check-not='[device-' --check-prefix=PIXELS
// RUN: sed 's/.clone()/.to(image.device)/' %t/broken.cpp > %t/moved.cpp && not %{check} %t/moved.cpp -- %{flags} | FileCheck %s --implicit-check-not='[device-' --check-prefix=PIXELS
// PIXELS: pixels[i].item<double>(){{.*}} [device-host-sync]
// POSE: sums.cpp:24:{{.*}} 'torch::zeros({3})' {{.*}} [device-missing-device]

//--- samples.h
#include <torch/torch.h>
#include <memory>
#include <vector>
struct Sample {
  Sample(torch::Tensor image, torch::Tensor label) : image(image), label{label} {}
  torch::Tensor image, label;
};
struct View {
  int width;
  torch::Tensor pose;
};
struct Trainer {
  explicit Trainer(torch::Device device);
  double step(torch::Tensor x);
  torch::Device device_;
};
Sample sampleAt(int i);
torch::Device chosen();
double train(torch::Device device = torch::kCPU);
torch::Tensor rays(const View &view);

//--- samples.cpp
#include "samples.h"
Sample sampleAt(int i) {
  torch::Tensor label = torch::full({1}, i);
  return Sample(torch::ones({3}), label);
}
void fill(std::vector<Sample> &all) {
  all.emplace_back(torch::ones({3}), torch::ones({1}));
  auto shared = std::make_shared<Sample>(torch::ones({3}), torch::ones({1}));
}

//--- sums.cpp
#include "samples.h"
int labels() {
  int total = 0;
  for (int i = 0; i < 3; ++i)
    if (auto sample = sampleAt(i); sample.label.item<int>() > 0)
      ++total;
  return total;
}
double train(torch::Device device) {
  double total = device == torch::kCPU ? 0 : 1;
  for (int i = 0; i < 3; ++i) {
    auto x = torch::ones({3}).to(device);
    total += x.sum().item<double>();
  }
  return total;
}
Trainer::Trainer(torch::Device device) : device_(device) {}
double Trainer::step(torch::Tensor x) {
  double total = 0;
  for (int i = 0; i < 3; ++i)
    total += x.to(device_).sum().item<double>();
  return total;
}
torch::Tensor rays(const View &view) { return view.pose * torch::zeros({3}); }

torch::Tensor both(const Sample &sample) { return torch::cat({sample.image, sample.label}); }

//--- broken.cpp
#include "gone.h"
#include "samples.h"
View firstView() { return View{1, torch::ones({3})}; }
double loop(Image image, torch::Tensor x) {
  x = x.to(torch::kCUDA);
  torch::Tensor pixels = torch::from_blob(image.data, {image.rows, 3}, torch::kFloat).clone();
  auto scaled = torch::zeros({image.rows, 3});
  double total = 0;
  for (int i = 0; i < 3; ++i)
    total += pixels[i].item<double>() + scaled.item().toDouble();
  return total;
}

//--- main.cpp
#include "samples.h"
int main() {
  torch::DeviceType device = torch::kCPU;
  if (torch::cuda::is_available())
    device = torch::kCUDA;
  device = torch::kCPU;
  train(device);
  Trainer trainer(device);
  trainer.step(torch::ones({3}));
  View view{1, torch::ones({3})};
  for (int i = 0; i < 3; ++i) {
    view.pose = view.pose * torch::ones({3});
    rays(view);
  }
}
