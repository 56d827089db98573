// A wait for what was computed before an earlier wait finds nothing left to wait for: both are one finding.
// RUN: not %devsan_check --torch=none %s -- -std=c++17 -isystem %mock | FileCheck %s --implicit-check-not='[device-'
// RUN: not clang-tidy-22 --load=%plugin --checks=-*,device-host-sync --warnings-as-errors=* --quiet %s -- -std=c++17 -isystem %mock | FileCheck %s --implicit-check-not='[device-'
#include <torch/script.h>
#include <torch/torch.h>

struct Meter {
  double sum = 0;
  void add(double x) { sum += x; }
};
struct Net {
  torch::nn::Linear fc{3, 3};
  void run(double x) {}
};

void train(torch::Tensor a, torch::Tensor b, Net &net, torch::optim::SGD &optimizer, bool again) {
  a = a.cuda();
  b = b.cuda();
  Meter meter;
  for (int i = 0; i < 100; ++i) {
    torch::Tensor x = a * i, y = b * i, z = a + b, u = a - b, v = a / b;
    // CHECK: :[[@LINE+3]]:{{[0-9]+}}: {{warning|error}}: 'x.item<double>()' makes the host wait {{.*}} [device-host-sync
    // CHECK: :[[@LINE+3]]:{{[0-9]+}}: note: read here as well: one copy would bring both
    // CHECK: :[[@LINE+4]]:{{[0-9]+}}: note: read here as well: one copy would bring both
    meter.add(x.item<double>());
    meter.add(y.item<double>());
    if (again)
      meter.add(u.view({-1})[0].item<double>());
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: {{warning|error}}: '(a - b).sum().item<double>()' {{.*}} [device-host-sync
    meter.add((a - b).sum().item<double>());
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: {{warning|error}}: 'torch::nonzero(a)' {{.*}} [device-host-sync
    const torch::Tensor used = torch::nonzero(a);
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: {{warning|error}}: 'v.item<double>()' {{.*}} [device-host-sync
    meter.add(v.item<double>());
    optimizer.step();
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: {{warning|error}}: 'z.cpu()' copies {{.*}} [device-host-sync
    meter.add(z.cpu().numel());
    net.run(2);
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: {{warning|error}}: 'u.cpu()' copies {{.*}} [device-host-sync
    meter.add(u.cpu().numel());
    // What a branch reads may not have been read.
    a = a * 2;
    if (again)
      // CHECK: :[[@LINE+1]]:{{[0-9]+}}: {{warning|error}}: 'a.cpu()' copies {{.*}} [device-host-sync
      meter.add(a.cpu().numel());
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: {{warning|error}}: 'b.cpu()' copies {{.*}} [device-host-sync
    meter.add(b.cpu().numel());
  }
}

// Parts of one result.
void parts(torch::jit::Module &net, torch::Tensor x) {
  Meter meter;
  for (int i = 0; i < 100; ++i) {
    auto result = net.forward({x}).toTuple();
    std::vector<torch::IValue> parts = result->elements();
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: {{warning|error}}: 'parts[0].toTensor().cpu()' copies {{.*}} [device-host-sync
    torch::Tensor policy = parts[0].toTensor().cpu();
    torch::Tensor value = result->elements()[1].toTensor().cpu();
    meter.add(policy.numel() + value.numel());
  }
}

void launch(float *data);
void trainStep();
struct Agent {
  torch::nn::Linear fc{3, 3};
  void step();
};
struct Owner {
  Agent agent;
  void step();
};
struct Base {
  Agent agent;
};
struct Derived : Base {
  void add(double x);
};
void useHolder(const std::vector<Agent> &agents, double x);
// What may give the device work between two waits; each wait is one then.
void work(torch::Tensor a, torch::Tensor b, Owner &owner, Derived &derived, const std::vector<Agent> &agents, int k) {
  a = a.cuda();
  b = b.cuda();
  Meter meter;
  // CHECK-COUNT-14: [device-host-sync
  for (int i = 0; i < 3; ++i) { auto x = a * i, y = b * i; derived.add(x.item<double>()); meter.add(y.item<double>()); }
  for (int i = 0; i < 3; ++i) { auto x = a * i, y = b * i; useHolder(agents, x.item<double>()); meter.add(y.item<double>()); }
  for (int i = 0; i < 3; ++i) { auto x = a * i, y = b * i; meter.add(x.item<double>()); auto read = [&] { return y.item<double>(); }; trainStep(); read(); }
  for (int i = 0; i < 3; ++i) { auto x = a * i, y = b * i; meter.add(x.item<double>()); launch(y.data_ptr<float>()); meter.add(y.item<double>()); }
  for (int i = 0; i < 3; ++i) { auto x = a * i, y = b * i; meter.add(x.item<double>()); trainStep(); meter.add(y.item<double>()); }
  for (int i = 0; i < 3; ++i) { auto x = a * i, y = b * i; meter.add(x.item<double>()); owner.step(); meter.add(y.item<double>()); }
  for (int i = 0; i < 3; ++i) { auto x = a * i, y = b * i; meter.add(x.item<double>()); if (k) goto next; next: meter.add(y.item<double>()); }
  // CHECK: :[[@LINE+2]]:{{[0-9]+}}: {{warning|error}}: 'y.item<double>()' {{.*}} [device-host-sync
  for (int i = 0; i < 3; ++i) { auto x = a * i, y = b * i; meter.add(x.item<double>()); /* NOLINT(device-host-sync) */ (void)0;
    meter.add(y.item<double>()); }
  for (int i = 0; i < 3; ++i) {
    auto x = a * i, y = b * i;
    switch (k) {
    case 0:
      // CHECK: :[[@LINE+1]]:{{[0-9]+}}: {{warning|error}}: 'x.item<double>()' {{.*}} [device-host-sync
      meter.add(x.item<double>());
      break;
    case 1:
      // CHECK: :[[@LINE+1]]:{{[0-9]+}}: {{warning|error}}: 'y.item<double>()' {{.*}} [device-host-sync
      meter.add(y.item<double>());
    }
  }
}
