// SARIF is what its schema says (or the check of that is skipped with a reason), GitHub's annotations are a line each.
// RUN: rm -rf %t && mkdir -p %t && cp %s %t/x.cpp
// RUN: not %devsan_check --checks=device-bare-cuda --torch=none --format=sarif -o %t/x.sarif %t/x.cpp -- -isystem %mock -isystem %cuda_stubs
// RUN: %python %S/sarif_schema_test.py %t/x.sarif | FileCheck %s --check-prefix=SCHEMA
// SCHEMA: {{valid: 1|skipped: }}
// RUN: FileCheck %s --check-prefix=SARIF --input-file=%t/x.sarif
// SARIF: "version": "2.1.0"
// SARIF: "name": "DevSan"
// SARIF: "id": "device-bare-cuda"
// SARIF: "ruleId": "device-bare-cuda"
// SARIF: "startLine": [[#]]
// SARIF: "partialFingerprints"
// SARIF: "fixes"
// SARIF: "deletedRegion"
// RUN: not %devsan_check --checks=device-bare-cuda --torch=none --format=github %t/x.cpp -- -isystem %mock -isystem %cuda_stubs | FileCheck %s --check-prefix=GITHUB
// GITHUB: ::warning file={{.*}}x.cpp,line=21,col={{[0-9]+}},title=device-bare-cuda::{{.*}}%0Aremedy: {{.*}}
// GITHUB-NEXT: devsan check: failed because of 1 warning: 1 file: 1 finding, 0 known, 0 suppressed
#include <torch/torch.h>

at::Tensor moved(at::Tensor x) {
  return x.cpu().cuda();
}
