// GoogleTest's tests fail for what DevSan finds while they run.
// RUN: %cxx_torch %s -o %t -lgtest -lgtest_main
// RUN: %status 1 %sim --fail-on=none --quiet -- %t > %t.out 2>&1
// RUN: FileCheck %s < %t.out
// What a test allowed is not held against the program by the report of the run.
// RUN: %status 0 %sim -- %t --gtest_filter=Model.RefusedOnPurpose > %t.out 2>&1
// RUN: FileCheck %s --check-prefix=ALLOWED --implicit-check-not=error: < %t.out
// ALLOWED: devsan run: passed: {{.*}}: no findings, 1 suppressed
// RUN: %status 1 %sim --fail-on=none --quiet -- %t --gtest_repeat=2 --gtest_filter=Model.Waits:Model.Clean > %t.out 2>&1
// RUN: FileCheck %s --check-prefix=TWICE < %t.out
//
// Without the runtime they run, and one line says that nothing was observed.
// RUN: %status 0 %t --gtest_filter=-*Refus* > %t.out 2>&1
// RUN: FileCheck %s --check-prefix=ALONE --implicit-check-not=devsan: < %t.out
// ALONE: devsan: nothing is observed here: start the tests with `devsan run -- CMD`
// ALONE: [  PASSED  ]
#include <devsan/gtest.h>
#include <torch/torch.h>

DEVSAN_GTEST_LISTENER;

namespace {

torch::Tensor tensor() {
  static torch::Device device(devsan::isActive() ? torch::Device(torch::kCUDA, 1) : torch::kCPU);
  return torch::ones({4}, device);
}

void wait() { tensor().sum().item<float>(); }

void refuse() { EXPECT_THROW(tensor() + torch::ones({4}), c10::Error); }

// CHECK: [       OK ] Model.Clean
// TWICE: [       OK ] Model.Clean
TEST(Model, Clean) {
  devsan::testing::limit("device-host-sync", 0);
  DEVSAN_EXPECT_NO_SYNC { tensor().sum(); }
}

// CHECK: gtest.test.cpp:[[# @LINE + 7]]: Failure
// CHECK-NEXT: Failed
// CHECK-NEXT: devsan: the host waited for a device 2 times in this block
// CHECK-NOT: Failure
// CHECK: devsan: {{.*}}gtest.test.cpp:[[# @LINE - 15]]:{{.*}}error: the host waited for cuda:1 in aten::item where waiting is disallowed, 2 times
// CHECK-NOT: Failure
// CHECK: [  FAILED  ] Model.Waits
TEST(Model, Waits) { DEVSAN_EXPECT_NO_SYNC { for (int i = 0; i < 2; ++i) wait(); } }
// TWICE: [  FAILED  ] Model.Waits
// TWICE: [       OK ] Model.Clean
// TWICE: [  FAILED  ] Model.Waits

// CHECK: [       OK ] Model.WaitsWithoutLimit
TEST(Model, WaitsWithoutLimit) { wait(); }

// CHECK: {{^}}[[PLACE:.*gtest.test.cpp:[0-9]+]]: Failure
// CHECK-NEXT: Failed
// CHECK-NEXT: devsan: device-host-sync happened 2 times, allowed is at most once
// CHECK-NEXT: [[PLACE]]:{{.*}}the host waited for cuda:1 in aten::item, 2 times
// CHECK: remedy:
// CHECK: [  FAILED  ] Model.OverLimit
TEST(Model, OverLimit) {
  devsan::testing::limit("device-host-sync", 1);
  wait();
  wait();
}

// CHECK: [       OK ] Model.AtLimit
TEST(Model, AtLimit) {
  devsan::testing::limit("device-host-sync", 1);
  wait();
}

// CHECK: [device-mismatch]
// CHECK: [  FAILED  ] Model.Refused
TEST(Model, Refused) { refuse(); }

// CHECK: [       OK ] Model.RefusedOnPurpose
TEST(Model, RefusedOnPurpose) {
  devsan::testing::allow("device-mismatch");
  refuse();
}

// CHECK: allow: unknown rule 'device-nothing'; valid: {{.*}}device-mismatch
// CHECK: [  FAILED  ] Model.RefusesUnknownRules
TEST(Model, RefusesUnknownRules) { devsan::testing::allow("device-nothing"); }

// A statement like any other.
// CHECK: [       OK ] Model.Statement
TEST(Model, Statement) {
  if (tensor().size(0) == 4)
    DEVSAN_EXPECT_NO_SYNC tensor().sum();
  else
    FAIL();
  for (int i = 0; i < 2; ++i)
    DEVSAN_EXPECT_NO_SYNC {
      if (i == 0)
        continue;
    }
}

// CHECK: [       OK ] Model.After
TEST(Model, After) { devsan::testing::limit("device-host-sync", 0); }

} // namespace
