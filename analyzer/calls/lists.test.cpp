// What a list gets lies where its elements do, whichever way they come in and out, as long as nobody may put in others unseen.
// RUN: rm -rf %t && mkdir -p %t/.git && cp %s %t/lists.cpp && touch %t/setup.py
// RUN: not %devsan_check --checks=device-host-sync --torch=none --no-cache %t/lists.cpp -- -std=c++17 -isystem %mock | FileCheck %s --implicit-check-not='[device-'
#include <torch/torch.h>

#include <map>
#include <vector>

class Detector {
public:
  void detect(torch::Tensor x) {
    x = x.to(torch::kCUDA);
    found_.clear();
    found_.emplace_back(std::move(torch::index_select(x, 0, x).to(torch::kCPU)));
    found_.push_back(x.cpu());
    named_["first"] = x;
    handed_.push_back(x.cpu());
    edited_.push_back(x.cpu());
    filled_.push_back(x.cpu());
    filled_.resize(4, x);
    replaced_.push_back(x.cpu());
    for (auto each : replaced_)
      each.set_data(x);
    mixed_.push_back(x.cpu());
    mixed_.push_back(x);
  }
  float show() {
    float sum = 0;
    if (found_.empty())
      return 0;
    torch::Tensor first = found_[0];
    for (std::size_t i = 0; i < found_.size(); ++i)
      sum += first[i].item<float>() + found_.at(i).sum().item<float>() + found_.back()[i].item<float>();
    for (const auto &each : found_)
      sum += each[0].item<float>();
    for (auto each : found_)
      sum += each[0].item<float>();
    for (int i = 0; i < 3; ++i)
      // CHECK: lists.cpp:[[#@LINE+1]]:{{.*}} 'named_["first"][i].item<float>()' {{.*}} [device-host-sync]
      sum += named_["first"][i].item<float>();
    for (const auto &each : mixed_)
      // CHECK: lists.cpp:[[#@LINE+1]]:{{.*}} 'each[0].item<float>()' {{.*}} [device-host-sync]
      sum += each[0].item<float>();
    for (const auto &each : handed_)
      // CHECK: lists.cpp:[[#@LINE+1]]:{{.*}} 'each[0].item<float>()' {{.*}} [device-host-sync]
      sum += each[0].item<float>();
    for (const auto &each : edited_)
      // CHECK: lists.cpp:[[#@LINE+1]]:{{.*}} 'each[0].item<float>()' {{.*}} [device-host-sync]
      sum += each[0].item<float>();
    for (const auto &each : filled_)
      // CHECK: lists.cpp:[[#@LINE+1]]:{{.*}} 'each[0].item<float>()' {{.*}} [device-host-sync]
      sum += each[0].item<float>();
    for (const auto &each : replaced_)
      // CHECK: lists.cpp:[[#@LINE+1]]:{{.*}} 'each[0].item<float>()' {{.*}} [device-host-sync]
      sum += each[0].item<float>();
    return sum;
  }
  std::vector<torch::Tensor> &handed() { return handed_; }
  void edit(torch::Tensor x) {
    for (auto &each : edited_)
      each = x;
  }

private:
  std::vector<torch::Tensor> found_, mixed_, handed_, edited_, filled_, replaced_;
  std::map<std::string, torch::Tensor> named_;
};
