// What the baseline holds is counted and does not fail; what is new does, and what is gone is listed.
// DEFINE: %{check} = %devsan_check --checks=device-raw-set-device --torch=none --baseline=%t/baseline.json
// DEFINE: %{flags} = -isystem %mock -isystem %cuda_stubs
// RUN: rm -rf %t && mkdir -p %t && cp %s %t/x.cpp
// RUN: not %{check} %t/x.cpp -- %{flags} 2>&1 | FileCheck %s --check-prefix=ABSENT
// ABSENT: devsan check: error: cannot read {{.*}}baseline.json: {{.*}} --update-baseline` makes it
// RUN: not %devsan_check --update-baseline %t/x.cpp 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: devsan check: error: --update-baseline needs the file: add --baseline=FILE
// RUN: %{check} --update-baseline %t/x.cpp -- %{flags} | FileCheck %s --check-prefix=KNOWN
// RUN: FileCheck %s --check-prefix=FILE --input-file=%t/baseline.json
// FILE: "rule": "device-raw-set-device", {{.*}}"origin": "static"
// RUN: %{check} %t/x.cpp -- %{flags} | FileCheck %s --check-prefix=KNOWN --implicit-check-not=': warning:'
// KNOWN: devsan check: passed: 1 file: no {{.*}}findings{{.*}}1 known

// Lines may move; a new one is new.
// RUN: %python -c "import sys; p = sys.argv[1]; t = open(p).read(); open(p, 'w').write('// moved\n' + t + t[t.rindex('void choose'):].replace('choose', 'other'))" %t/x.cpp
// RUN: not %{check} %t/x.cpp -- %{flags} | FileCheck %s --check-prefix=NEW
// NEW: x.cpp:{{[0-9]+}}:3: warning:
// NEW: devsan check: failed because of 1 warning: 1 file: 1 {{.*}}finding{{.*}}1 known
// RUN: echo > %t/x.cpp
// RUN: %{check} %t/x.cpp -- %{flags} | FileCheck %s --check-prefix=GONE
// GONE: device-raw-set-device in {{.*}}x.cpp, function choose

// A run over some of the files, or for some of the rules, leaves the others' entries: they are not gone.
// RUN: cp %s %t/x.cpp && sed 's/choose/other/' %s > %t/y.cpp
// RUN: %{check} --update-baseline %t -- %{flags}
// RUN: %{check} --update-baseline %t/x.cpp -- %{flags} | FileCheck %s --check-prefix=PART --implicit-check-not=y.cpp
// RUN: %devsan_check --checks=device-host-sync --torch=none --baseline=%t/baseline.json --update-baseline %t -- %{flags} | FileCheck %s --check-prefix=RULE --implicit-check-not=x.cpp --implicit-check-not=y.cpp
// PART: devsan check: passed: 1 file: no {{.*}}findings{{.*}}1 known
// RULE: devsan check: passed: 2 files: no
// RUN: %{check} %t -- %{flags} | FileCheck %s --check-prefix=BOTH
// BOTH: devsan check: passed: 2 files: no {{.*}}findings{{.*}}2 known
// RUN: rm %t/y.cpp && %{check} --update-baseline %t/x.cpp -- %{flags} && not grep y.cpp %t/baseline.json
// RUN: echo '{' > %t/baseline.json
// RUN: not %{check} %t/x.cpp -- %{flags} 2>&1 | FileCheck %s --check-prefix=BROKEN
// BROKEN: devsan check: error: {{.*}}baseline.json
#include <c10/cuda/CUDAFunctions.h>
#include <torch/torch.h>

void choose(at::Tensor x) {
  cudaSetDevice(x.get_device());
}
