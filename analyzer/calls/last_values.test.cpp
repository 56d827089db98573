// What a function puts into a member and replaces before anybody else can look is not what others find there.
// RUN: rm -rf %t && mkdir -p %t/.git && cp %s %t/finder.cpp && touch %t/setup.py
// RUN: not %devsan_check --checks=device-host-sync --torch=none --no-cache %t/finder.cpp -- -std=c++17 -isystem %mock | FileCheck %s --implicit-check-not='[device-'
#include <torch/torch.h>

#include <functional>
#include <vector>

class Finder {
public:
  void find(torch::Tensor x, bool some) {
    for (int i = 0; i < 3; ++i) {
      replaced_ = x.cuda();
      for (int j = 0; j < 3; ++j)
        x = x + count();
      replaced_ = torch::ones({3});

      if (some)
        in_branch_ = x.cuda();
      in_branch_ = torch::ones({3});

      seen_ = x.cuda();
      see();
      seen_ = torch::ones({3});

      held_ = x.cuda();
      std::function<void()> look = [this] { keep(held_); };
      look();
      held_ = torch::ones({3});

      handed_ = x.cuda();
      [this] { keep(handed_); }();
      handed_ = torch::ones({3});

      sometimes_ = x.cuda();
      if (some)
        sometimes_ = torch::ones({3});

      thrown_ = x.cuda();
      if (some)
        throw 1;
      thrown_ = torch::ones({3});

      left_ = x.cuda();
      if (some)
        continue;
      left_ = torch::ones({3});
    }
  }

  double read() {
    double sum = 0;
    for (int i = 0; i < 3; ++i) {
      sum += replaced_[i].item<double>();
      sum += in_branch_[i].item<double>();
      // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'seen_[i].item<double>()' makes {{.*}} [device-host-sync]
      sum += seen_[i].item<double>();
      // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'held_[i].item<double>()' makes {{.*}} [device-host-sync]
      sum += held_[i].item<double>();
      // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'handed_[i].item<double>()' makes {{.*}} [device-host-sync]
      sum += handed_[i].item<double>();
      // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'sometimes_[i].item<double>()' makes {{.*}} [device-host-sync]
      sum += sometimes_[i].item<double>();
      // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'thrown_[i].item<double>()' makes {{.*}} [device-host-sync]
      sum += thrown_[i].item<double>();
      // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'left_[i].item<double>()' makes {{.*}} [device-host-sync]
      sum += left_[i].item<double>();
    }
    return sum;
  }

private:
  int count() const { return 3; }
  void see() { keep(seen_); }
  void keep(torch::Tensor x) { kept_.push_back(x); }

  torch::Tensor replaced_, in_branch_, seen_, held_, handed_, sometimes_, thrown_, left_;
  std::vector<torch::Tensor> kept_;
};

void use(torch::Tensor x) {
  Finder finder;
  finder.find(x, true);
  finder.read();
}
