// A macro that LibTorch's headers wait for is defined, unless the code decides it or another platform is meant.
// DEFINE: %{check} = %devsan_check --checks=device-raw-set-device --torch=none
// RUN: rm -rf %t && mkdir -p %t/.git %t/framework && cp %s %t/x.cpp
// RUN: echo 'include_directories(%mock)' > %t/CMakeLists.txt
// RUN: echo '#if defined(FOR_OTHERS)' > %t/framework/choice.h
// RUN: echo '#include <others/tensor.h>' >> %t/framework/choice.h
// RUN: echo '#elif defined(FOR_TORCH)' >> %t/framework/choice.h
// RUN: echo '#include <torch/torch.h>' >> %t/framework/choice.h
// RUN: echo '#endif' >> %t/framework/choice.h
// RUN: not %{check} %t/x.cpp | FileCheck %s --implicit-check-not=': warning:'
// CHECK: x.cpp:[[#@LINE+21]]:3: warning:

// LibTorch is there anyway.
// RUN: echo '#include <torch/torch.h>' > %t/y.cpp && cat %s >> %t/y.cpp
// RUN: %{check} %t/y.cpp

// The code decides, or an `#elif` asks for more than that the macro is defined, or for another platform.
// RUN: cp %t/framework/choice.h %t/choice.h
// RUN: echo '#undef FOR_TORCH' > %t/framework/choice.h && cat %t/choice.h >> %t/framework/choice.h
// RUN: %{check} %t/x.cpp
// RUN: sed 's/defined(FOR_TORCH)/FOR_TORCH > 2/' %t/choice.h > %t/framework/choice.h
// RUN: %{check} %t/x.cpp
// RUN: sed 's/FOR_TORCH/USE_ROCM/' %t/choice.h > %t/framework/choice.h
// RUN: %{check} %t/x.cpp

#include "framework/choice.h"
#include <cuda_runtime_api.h>

#if defined(FOR_TORCH) || defined(USE_ROCM)
void choose(at::Tensor x) {

  cudaSetDevice(x.get_device());
}
#endif
