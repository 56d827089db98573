// Macros that a missing header would have defined stand for nothing before classes, functions and statements. Others stay names: of
// types, and of calls with their arguments.
// RUN: not %check_mock --checks=device-host-sync | %file_check
#include <torch/torch.h>

#include <vector>

#include "not_there.h"

class LIBRARY_API Exported {
public:
  LIBRARY_OBJECT
  double method(torch::Tensor y) {
    double total = 0;
    for (int i = 0; i < 3; ++i)
      // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'y.sum().item<double>()' {{.*}} [device-host-sync]
      total += y.sum().item<double>();
    return total;
  }
  LIBRARY_PROPERTY(int, width)
  LIBRARY_INLINE torch::Tensor result(torch::Tensor y) {
    for (int i = 0; i < 3; ++i)
      // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'y.max().item<double>()' {{.*}} [device-host-sync]
      use(y.max().item<double>());
    return y;
  }
};

struct LIBRARY_ALIGNED(16) Derived final : Exported {
  LIBRARY_DEVICE static std::vector<int> several(torch::Tensor y) {
    for (int i = 0; i < 3; ++i)
      // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'y.min().item<double>()' {{.*}} [device-host-sync]
      use(y.min().item<double>());
    return {};
  }
};

LIBRARY_API std::vector<torch::Tensor> function(torch::Tensor y) {
  for (int i = 0; i < 3; ++i)
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'y.sum().item<double>()' {{.*}} [device-host-sync]
    use(y.sum().item<double>());
  return {y};
}

TYPE_OF_RESULT typed(torch::Tensor y) {
  TYPE_OF_RESULT result;
  LIBRARY_BEGIN
  for (int i = 0; i < 3; ++i)
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'y.max().item<double>()' {{.*}} [device-host-sync]
    LOG(y.max().item<double>());
  LIBRARY_END
  for (int i = 0; i < 3; ++i)
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'y.min().item<double>()' {{.*}} [device-host-sync]
    result.push_back((y.min().item<double>()));
  return result;
}

// What the file decides itself is no unknown macro.
#ifdef LIBRARY_SWITCH
#define LIBRARY_ATTRIBUTE
#endif
#ifdef LIBRARY_ATTRIBUTE
void notCompiled(torch::Tensor y) {
  for (int i = 0; i < 3; ++i)
    y.sum().item<double>();
}
#endif
class LIBRARY_ATTRIBUTE Undecided {
  void lost();
};

// Nor is a type of its own.
using SCALAR = double;
SCALAR
norm(torch::Tensor y, SCALAR s) {
  SCALAR t = 0;
  for (int i = 0; i < 3; ++i)
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'y.sum().item<SCALAR>()' {{.*}} [device-host-sync]
    t += y.sum().item<SCALAR>() * s;
  return t;
}
template <typename DTYPE>
DTYPE
last(torch::Tensor y) {
  DTYPE t = 0;
  for (int i = 0; i < 3; ++i)
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'y.max().item<float>()' {{.*}} [device-host-sync]
    t += y.max().item<float>();
  return t;
}
