// Where data come from: what a DataLoader gives is on the CPU until it is moved, and so is what callers hand in from there.
// RUN: not %check_mock | %file_check
#include <torch/torch.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

struct Net {
  torch::Tensor forward(torch::Tensor x);
};

double onHost(torch::data::DataLoader &loader, torch::nn::Linear model) {
  double total = 0;
  for (auto &batch : loader) {
    auto images = batch.data.to(torch::kCPU);
    auto loss = torch::nn::functional::mse_loss(model->forward(images), batch.target);
    total += loss.item<double>() + batch.target[0].item<double>();
  }
  return total;
}
double onDevice(torch::data::DataLoader &loader, torch::nn::Linear model, torch::Device device) {
  double total = 0;
  for (auto &batch : loader) {
    auto target = batch.target.to(device);
    auto loss = torch::nn::functional::mse_loss(model->forward(batch.data.to(device)), target);
    // CHECK: :[[@LINE+1]]:19: warning: 'loss.item<double>()' makes {{.*}} (in a loop) [device-host-sync]
    total += loss.item<double>();
    // CHECK: :[[@LINE+1]]:27: warning: 'target.sum().item<double>()' makes {{.*}} [device-host-sync]
    total += target.sum().item<double>();
  }
  return total;
}

// Of a helper the callers know.
static double sumOf(const torch::Tensor &row) {
  double total = 0;
  for (int i = 0; i < 3; ++i)
    total += row[i].item<double>();
  return total;
}
static double shared(const torch::Tensor &row) {
  double total = 0;
  for (int i = 0; i < 3; ++i)
    // CHECK: :[[@LINE+1]]:21: warning: 'row[i].item<double>()' makes {{.*}} [device-host-sync]
    total += row[i].item<double>();
  return total;
}
double callers(torch::Tensor x) { return sumOf(x.cpu()) + sumOf(torch::ones({3})) + shared(x.cpu()) + shared(x.cuda()); }

// What is taken apart is what it was.
double parts(const torch::Tensor &x) {
  std::map<std::string, torch::Tensor> host, device;
  host["x"] = x.cpu();
  device.emplace("x", x.cuda());
  double total = 0;
  for (auto &[name, tensor] : host)
    total += tensor.sum().item<double>();
  for (auto &[name, tensor] : device)
    // CHECK: :[[@LINE+1]]:27: warning: 'tensor.sum().item<double>()' makes {{.*}} [device-host-sync]
    total += tensor.sum().item<double>();
  auto [least, where] = std::make_tuple(x.cpu(), x.cpu());
  auto [most, place] = std::make_tuple(x.cuda(), x.cuda());
  for (int i = 0; i < 3; ++i) {
    total += least[i].item<double>();
    // CHECK: :[[@LINE+1]]:22: warning: 'most[i].item<double>()' makes {{.*}} [device-host-sync]
    total += most[i].item<double>();
  }
  return total;
}

// What a class keeps to itself is where its own code puts it.
class Counts {
public:
  Counts(int n, torch::Device device) : host_(torch::zeros({n})), device_(torch::zeros({n}, device)), both_(torch::zeros({n})) {}
  void reset() { host_ = torch::zeros({3}); }
  void move(torch::Device device) { both_ = both_.to(device); }
  double sum() const {
    double total = 0;
    for (int i = 0; i < 3; ++i) {
      total += host_[i].item<double>();
      // CHECK: :[[@LINE+1]]:27: warning: 'device_[i].item<double>()' makes {{.*}} [device-host-sync]
      total += device_[i].item<double>();
      // CHECK: :[[@LINE+1]]:25: warning: 'both_[i].item<double>()' makes {{.*}} [device-host-sync]
      total += both_[i].item<double>();
      total += sumOf(host_);
    }
    return total;
  }

private:
  torch::Tensor host_, device_, both_;
};
struct Limits {
  torch::Tensor least;
};
void fill(torch::Tensor &where, torch::Device device);
class Controller {
public:
  Controller(torch::Device device) {
    limits_.least = torch::zeros({3});
    last_ = torch::zeros({3});
    filled_ = torch::zeros({3});
    fill(filled_, device);
    seen = torch::zeros({3});
  }
  double sum() {
    double total = 0;
    for (int i = 0; i < 3; ++i) {
      last_ = last_ + 1;
      total += last_[i].item<double>();
      // Others may set a member of a struct.
      // CHECK: :[[@LINE+1]]:33: warning: 'limits_.least[i].item<double>()' makes {{.*}} [device-host-sync]
      total += limits_.least[i].item<double>();
      // CHECK: :[[@LINE+1]]:27: warning: 'filled_[i].item<double>()' makes {{.*}} [device-host-sync]
      total += filled_[i].item<double>();
      // CHECK: :[[@LINE+1]]:24: warning: 'seen[i].item<double>()' makes {{.*}} [device-host-sync]
      total += seen[i].item<double>();
    }
    return total;
  }
  torch::Tensor seen;

private:
  Limits limits_;
  torch::Tensor last_, filled_;
};
void look(Controller &controller, torch::Device device) { controller.seen = controller.seen.to(device); }

// Whoever may set it otherwise, by a reference, an element or another object, leaves it unknown.
class Open {
public:
  Open() : referred_(torch::zeros({3})), built_(torch::zeros({3})), replaced_(torch::zeros({3})), parts_{torch::zeros({3})} {}
  torch::Tensor &referred() { return referred_; }
  static Open build(torch::Device device) {
    Open open;
    open.built_ = torch::zeros({3}, device);
    return open;
  }
  void move(torch::Device device) {
    replaced_.set_data(replaced_.to(device));
    for (auto &part : parts_)
      fill(part, device);
  }
  double sum() const {
    double total = 0;
    for (int i = 0; i < 3; ++i) {
      // CHECK: :[[@LINE+1]]:29: warning: 'referred_[i].item<double>()' makes {{.*}} [device-host-sync]
      total += referred_[i].item<double>();
      // CHECK: :[[@LINE+1]]:26: warning: 'built_[i].item<double>()' makes {{.*}} [device-host-sync]
      total += built_[i].item<double>();
      // CHECK: :[[@LINE+1]]:29: warning: 'replaced_[i].item<double>()' makes {{.*}} [device-host-sync]
      total += replaced_[i].item<double>();
      // CHECK: :[[@LINE+1]]:26: warning: 'parts_[i].item<double>()' makes {{.*}} [device-host-sync]
      total += parts_[i].item<double>();
    }
    return total;
  }

private:
  torch::Tensor referred_, built_, replaced_;
  std::vector<torch::Tensor> parts_;
};
