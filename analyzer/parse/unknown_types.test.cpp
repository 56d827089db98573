// Types that a missing header would have declared, as those of members, bases, results and globals: the code around them stays.
// RUN: not %check_mock --checks=device-host-sync | %file_check
#include <torch/torch.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "not_there.h"

class Holder : public missing::Base {
  Unknown member_;
  missing::Thing thing_;
  std::vector<missing::Thing> things_;
  std::shared_ptr<missing::Thing> pointer_;
  std::unordered_map<std::string, Unknown> map_;

  double members(torch::Tensor y) {
    double total = 0;
    for (int i = 0; i < 3; ++i) {
      // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'y.sum().item<double>()' {{.*}} [device-host-sync]
      member_.add(y.sum().item<double>());
      // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'y.max().item<double>()' {{.*}} [device-host-sync]
      things_.push_back(y.max().item<double>());
      // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'y.min().item<double>()' {{.*}} [device-host-sync]
      pointer_->add(y.min().item<double>());
      // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'y.sum().item<double>()' {{.*}} [device-host-sync]
      map_["a"] = y.sum().item<double>();
      // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'y.max().item<double>()' {{.*}} [device-host-sync]
      total += y.max().item<double>() + thing_.value;
    }
    return total;
  }

  double loops(torch::Tensor y) {
    double total = 0;
    for (auto &thing : things_)
      // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'y.sum().item<double>()' {{.*}} [device-host-sync]
      total += y.sum().item<double>();
    for (auto &[name, unknown] : map_)
      // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'y.max().item<double>()' {{.*}} [device-host-sync]
      total += y.max().item<double>();
    for (auto &thing : *pointer_)
      // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'y.min().item<double>()' {{.*}} [device-host-sync]
      total += y.min().item<double>();
    for (auto &thing : list_all(thing_))
      // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'y.max().item<double>()' {{.*}} [device-host-sync]
      total += y.max().item<double>();
    return total;
  }
};

// Nothing asks for the size of such a member, not even in the constructor.
class Called {
public:
  Called() { reset(); }
  void reset() { member_.reset(); }

private:
  Unknown member_;
  std::vector<Unknown> members_;
};

Holder copied(const Holder &holder) {
  std::vector<Holder> holders = {holder, Holder()};
  static_assert(sizeof(Holder) > 0);
  return std::make_shared<Holder>(holders.front())->self();
}

static std::vector<missing::Thing> everything;

double parameters(torch::Tensor y, const std::vector<Unknown> &given) {
  double total = 0;
  for (auto &unknown : given)
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'y.sum().item<double>()' {{.*}} [device-host-sync]
    total += y.sum().item<double>();
  for (auto &thing : everything)
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'y.max().item<double>()' {{.*}} [device-host-sync]
    total += y.max().item<double>();
  return total;
}

#define CHECKED(x) missing::check((x), __FILE__)

void macro(torch::Tensor y) {
  for (int i = 0; i < 3; ++i)
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'y.sum().item<double>()' {{.*}} [device-host-sync]
    CHECKED(y.sum().item<double>());
}
