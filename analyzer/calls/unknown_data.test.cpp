// What decides nothing about where data lies: callers that are not understood, not read or of another program.
// DEFINE: %{check} = %devsan_check --checks=device-host-sync --torch=none --no-cache
// DEFINE: %{flags} = -std=c++17 -isystem %mock
// RUN: rm -rf %t && split-file %s %t && mkdir %t/host && cp %t/*.h %t/*.cpp %t/host && mkdir %t/host/.git
// RUN: %{check} %t/host/sum.cpp -- %{flags} | FileCheck %s --check-prefix=NONE
// NONE: no findings
// A call with an argument that is lost; a function of that name elsewhere; its address; a default; a list with holes.
// RUN: cp %t/*.h %t/*.cpp %t/lost && mkdir %t/lost/.git && not %{check} %t/lost/sum.cpp -- %{flags} | FileCheck %s
// RUN: cp %t/*.h %t/*.cpp %t/other && mkdir %t/other/.git && not %{check} %t/other/sum.cpp -- %{flags} | FileCheck %s
// RUN: cp %t/*.h %t/*.cpp %t/named && mkdir %t/named/.git && not %{check} %t/named/sum.cpp -- %{flags} | FileCheck %s
// RUN: cp %t/*.h %t/*.cpp %t/default && mkdir %t/default/.git && not %{check} %t/default/sum.cpp -- %{flags} | FileCheck %s
// RUN: cp %t/*.h %t/*.cpp %t/holes && mkdir %t/holes/.git && not %{check} %t/holes/sum.cpp -- %{flags} | FileCheck %s
// RUN: sed -i 's/, torch::kCUDA)/)/' %t/default/sum.h && %{check} %t/default/sum.cpp -- %{flags} | FileCheck %s --check-prefix=NONE
// More files than are read.
// RUN: %python -c "for i in range(70): open(r'%t/many/give%%d.cpp' %% i, 'w').write('double sumOf(int);')"
// RUN: cp %t/*.h %t/*.cpp %t/many && mkdir %t/many/.git && not %{check} %t/many/sum.cpp -- %{flags} | FileCheck %s
// CHECK: sum.cpp:5:{{.*}} [device-host-sync]

//--- sum.h
#include <torch/torch.h>
double sumOf(const torch::Tensor &rows = torch::ones({3}, torch::kCUDA));

//--- sum.cpp
#include "sum.h"
double sumOf(const torch::Tensor &rows) {
  double total = 0;
  for (int i = 0; i < 3; ++i)
    total += rows[i].item<double>();
  return total;
}

//--- host.cpp
#include "sum.h"
double host() { return sumOf(torch::ones({3})); }

//--- lost/give.cpp
#include "gone.h"
double give() { return sumOf(rows()); }

//--- other/give.cpp
#include "sum.h"
double sumOf(const torch::Tensor &rows) { return 0; }

//--- named/give.cpp
#include "sum.h"
auto function = &sumOf;

//--- default/give.cpp
#include "sum.h"
double give() { return sumOf(); }

//--- many/give.cpp
#include "sum.h"
double sumOf(const torch::Tensor &);

//--- holes/give.cpp
#include "sum.h"
struct Job {
  torch::Tensor x;
  const torch::Tensor &y;
};
Job make(torch::Tensor x) { return Job{x}; }
double give(torch::Device device) { return sumOf(make(torch::ones({3}, device)).x); }
