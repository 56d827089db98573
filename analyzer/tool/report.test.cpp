// Reports in both formats, and suppressions from a file.
// RUN: rm -rf %t && mkdir -p %t
// RUN: cp %s %t/x.cpp
// RUN: not %devsan_check --checks=device-raw-set-device --torch=none --format=json -o %t/report.json %t/x.cpp -- -isystem %mock -isystem %cuda_stubs
// RUN: FileCheck %s --check-prefix=JSON --input-file=%t/report.json
// JSON: "schema": "devsan/1"
// JSON: "rule": "device-raw-set-device"
// JSON: "severity": "warning"
// JSON-NEXT: "origin": "static"
// JSON: "fingerprint": "{{[0-9a-f]+}}"
// JSON: "file": "{{.*}}x.cpp"
// JSON-NEXT: "line": [[#SET:]]
// JSON-NEXT: "column": 3
// JSON-NEXT: "function": "user::choose"
// JSON: "subject": "1 file"
// JSON-NEXT: "findings": 1
// JSON-NEXT: "suppressed": 1

// RUN: echo 'device-raw-set-device = ["function:user::*"]' > %t/suppressions.toml
// RUN: %devsan_check --checks=device-raw-set-device --torch=none --suppressions=%t/suppressions.toml %t/x.cpp -- -isystem %mock -isystem %cuda_stubs | FileCheck %s --check-prefix=SUPPRESSED
// SUPPRESSED: devsan check: passed: 1 file: no findings, 2 suppressed

// A suppression that covers nothing is named, unless the run did not look where it should.
// RUN: echo 'device-raw-set-device = ["elsewhere.cpp"]' > %t/suppressions.toml
// RUN: not %devsan_check --checks=device-raw-set-device --torch=none --suppressions=%t/suppressions.toml %t -- -isystem %mock -isystem %cuda_stubs | FileCheck %s --check-prefix=UNUSED
// UNUSED: suppression never used: device-raw-set-device = elsewhere.cpp

// RUN: not %devsan_check --checks=device-raw-set-device --torch=none --suppressions=%t/suppressions.toml %t/x.cpp -- -isystem %mock -isystem %cuda_stubs | FileCheck %s --check-prefix=PART
// PART-NOT: never used

// The project's own file, found above the source.
// RUN: echo '[suppressions]' > %t/.devsan.toml
// RUN: echo 'device-raw-set-device = "function:user::*"' >> %t/.devsan.toml
// RUN: %devsan_check --checks=device-raw-set-device --torch=none %t/x.cpp -- -isystem %mock -isystem %cuda_stubs

// A NOLINT that names no rule is told where its finding is shown.
// RUN: rm %t/.devsan.toml && sed 's/NOLINT(device-raw-set-device)/NOLINT(raw-set-devise)/' %s > %t/y.cpp
// RUN: not %devsan_check --checks=device-raw-set-device --torch=none %t/y.cpp -- -isystem %mock -isystem %cuda_stubs | FileCheck %s --check-prefix=MISSPELT
// MISSPELT: note: {{.*}}y.cpp:[[#@LINE+7]]: NOLINT(raw-set-devise) silences nothing, there is no such rule (did you mean 'device-raw-set-device'?)
#include <c10/cuda/CUDAFunctions.h>
#include <torch/torch.h>

namespace user {
void choose(at::Tensor x) {
  cudaSetDevice(x.get_device());
  cudaSetDevice(x.get_device()); // NOLINT(device-raw-set-device)
}
} // namespace user
