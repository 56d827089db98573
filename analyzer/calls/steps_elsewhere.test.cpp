// A function runs on every step also where another file registers it as an operator, or calls it from one.
// DEFINE: %{check} = env XDG_CACHE_HOME=%t.cache %devsan_check --checks=device-host-sync --torch=none
// DEFINE: %{flags} = -I %t -isystem %mock -isystem %cuda_stubs
// RUN: rm -rf %t %t.cache && split-file %s %t && touch %t/setup.py
// RUN: not %{check} %t -- %{flags} | FileCheck %t/parts.cpp --implicit-check-not='[device-' --implicit-check-not='runs it'
// RUN: not %{check} %t/parts.cpp -- %{flags} | FileCheck %t/parts.cpp --implicit-check-not='[device-' --implicit-check-not='runs it'
// By itself it may be anything.
// RUN: %{check} --alone %t/parts.cpp -- %{flags}
// RUN: rm %t/setup.py %t/bind.cpp && %{check} %t -- %{flags}

//--- pybind.h
#pragma once
namespace pybind11 {
struct module_ {};
template <typename T> struct class_ {
  class_(module_ &m, const char *name);
  template <typename F> class_ &def(const char *name, F &&function);
};
} // namespace pybind11

//--- parts.h
#pragma once
#include <torch/extension.h>
torch::Tensor registered(torch::Tensor x);
torch::Tensor wrapped(torch::Tensor x);
torch::Tensor taken(torch::Tensor x);
torch::Tensor forHost(torch::Tensor x);
torch::Tensor nowhere(torch::Tensor x);
torch::Tensor once(torch::Tensor x, int i);
torch::Tensor known(torch::Tensor x);
torch::Tensor everySoMany(torch::Tensor x);
torch::Tensor setUp(torch::Tensor x);
torch::Tensor inLambda(torch::Tensor x);
struct Solver {
  torch::Tensor solve(torch::Tensor x);
  void report(torch::Tensor x);
};

//--- parts.cpp
#include "parts.h"
torch::Tensor registered(torch::Tensor x) {
  return x / x.mean().item<float>();
  // CHECK: parts.cpp:[[@LINE-1]]:{{.*}} on every step (in a function that a step of another file runs) [device-host-sync]
}
static torch::Tensor inner(torch::Tensor x) { return x / x.mean().item<float>(); }
// CHECK: parts.cpp:[[@LINE-1]]:{{.*}} on every step (in a function that a step of another file runs) [device-host-sync]
// CHECK: wrap.cpp:3:{{.*}} note: 'operatorOf' runs it
torch::Tensor wrapped(torch::Tensor x) { return inner(x); }
torch::Tensor taken(torch::Tensor x) { return x / x.mean().item<float>(); }
// CHECK: parts.cpp:[[@LINE-1]]:{{.*}} on every step (in a function that a step of another file runs) [device-host-sync]
torch::Tensor Solver::solve(torch::Tensor x) { return x / x.mean().item<float>(); }
// CHECK: parts.cpp:[[@LINE-1]]:{{.*}} on every step (in a function that a step of another file runs) [device-host-sync]
void Solver::report(torch::Tensor x) {
  float mean = x.mean().item<float>();
}
torch::Tensor forHost(torch::Tensor x) { return x / x.mean().item<float>(); }
torch::Tensor nowhere(torch::Tensor x) { return x / x.mean().item<float>(); }
torch::Tensor once(torch::Tensor x, int i) {
  if (i % 100 == 0)
    return x / x.mean().item<float>();
  return x;
}
torch::Tensor everySoMany(torch::Tensor x) { return x / x.mean().item<float>(); }
torch::Tensor setUp(torch::Tensor x) { return x / x.mean().item<float>(); }
torch::Tensor inLambda(torch::Tensor x) { return x / x.mean().item<float>(); }
// CHECK: parts.cpp:[[@LINE-1]]:{{.*}} on every step (in a function that a step of another file runs) [device-host-sync]
// CHECK: bind.cpp:5:{{.*}} note: 'occasional' runs it

//--- known.cpp
#include "parts.h"
torch::Tensor known(torch::Tensor x) {
  TORCH_CHECK(x.is_cpu());
  return x / x.mean().item<float>();
}

//--- wrap.cpp
#include "parts.h"
#include <c10/cuda/CUDAGuard.h>
torch::Tensor operatorOf(torch::Tensor x) {
  const c10::cuda::CUDAGuard guard(x.device());
  return wrapped(x);
}

//--- bind.cpp
#include "parts.h"
#include "pybind.h"
#include <torch/library.h>
torch::Tensor operatorOf(torch::Tensor x);
torch::Tensor occasional(torch::Tensor x, int64_t i) {
  if (i % 100 == 0)
    x = everySoMany(x);
  static const auto first = setUp(x), second = [&] { return setUp(x); }();
  static const auto function = [](torch::Tensor x) { return inLambda(x); };
  return function(x) - first;
}
TORCH_LIBRARY(ours, m) {
  m.def("registered", &registered);
  m.def("of", &operatorOf);
  m.def("known", &known);
  m.def("once", &once);
  m.def("occasional", &occasional);
}
TORCH_LIBRARY_IMPL(ours, CUDA, m) { m.impl("taken", TORCH_FN(taken)); }
TORCH_LIBRARY_IMPL(ours, CPU, m) { m.impl("host", &forHost); }
void bind(pybind11::module_ &m) {
  pybind11::class_<Solver>(m, "Solver").def("solve", &Solver::solve);
}
