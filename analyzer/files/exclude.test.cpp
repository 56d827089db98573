// [check] exclude of .devsan.toml: globs on files and folders that are not the project's own, though they lie in it.
// RUN: rm -rf %t && mkdir -p %t/src %t/vendor/lib %t/gen && mkdir %t/.git
// RUN: cp %s %t/src/x.cpp && cp %s %t/vendor/lib/y.cpp && cp %s %t/gen/z.pb.cpp && cp %s %t/gen/own.cpp
// RUN: echo 'inline at::Tensor inHeader(at::Tensor x, at::Tensor y) { return x.cuda() + y; }' > %t/vendor/vendored.h
// RUN: printf '[check]\nexclude = ["vendor/", "*.pb.cpp"]\n' > %t/.devsan.toml
// RUN: cd / && not %devsan_check --torch=none %t -- -isystem %mock -isystem %cuda_stubs -I%t -DVENDORED | FileCheck %s --implicit-check-not=device-bare-cuda
// CHECK: gen/own.cpp:{{.*}} [device-bare-cuda]
// CHECK: src/x.cpp:{{.*}} [device-bare-cuda]
// CHECK: devsan check: failed because of 2 warnings: 2 files, 2 excluded: 2 findings

// It counts for files that are named, too: tools name what has changed.
// RUN: %devsan_check --torch=none %t/vendor/lib/y.cpp %t/gen/z.pb.cpp -- -isystem %mock | FileCheck %s --check-prefix=NAMED
// NAMED: devsan check: {{.*}}: 0 files, 2 excluded: no findings
// Where it leaves nothing, nobody has looked.
// RUN: not %devsan_check --torch=none %t/vendor -- -isystem %mock 2>&1 | FileCheck %s --check-prefix=FOLDER
// FOLDER: devsan check: note: not analysed: the only file is excluded by {{.*}}/.devsan.toml
// FOLDER: devsan check: error: not analysed: the only file is excluded by {{.*}}/.devsan.toml
// RUN: mv %t/.devsan.toml %t/later.toml && printf '[check]\nexclude = ["*.cpp"]\n' > %t/.devsan.toml
// RUN: not %devsan_check --torch=none %t/vendor/lib/y.cpp -- -isystem %mock 2>&1 | FileCheck %s --check-prefix=ALL
// ALL: error: not analysed: {{.*}}/.devsan.toml excludes or suppresses whatever could be found
// RUN: printf '[check]\nchecks = "device-bare-cuda,device-host-sync"\n[suppressions]\ndevice-bare-cuda = "*"\ndevice-host-sync = "function:*"\n' > %t/.devsan.toml
// RUN: not %devsan_check --torch=none %t/src -- -isystem %mock 2>&1 | FileCheck %s --check-prefix=ALL
// One rule may go.
// RUN: printf '[suppressions]\ndevice-bare-cuda = "*"\n' > %t/.devsan.toml
// RUN: %devsan_check --torch=none %t/src -- -isystem %mock | FileCheck %s --check-prefix=ONE
// ONE: devsan check: {{.*}}: 1 file: no findings, 1 suppressed
// RUN: mv %t/later.toml %t/.devsan.toml
// RUN: %devsan_check --torch=none --print-commands %t/vendor %t/gen -- -isystem %mock | FileCheck %s --check-prefix=COMMANDS --implicit-check-not=y.cpp
// COMMANDS: gen/own.cpp

// What the baseline knows of it is not found any more.
// RUN: mv %t/.devsan.toml %t/later.toml && echo '[check]' > %t/.devsan.toml
// RUN: %devsan_check --torch=none --baseline=%t/b.json --update-baseline %t -- -isystem %mock -I%t -DVENDORED | FileCheck %s --check-prefix=BEFORE
// BEFORE: holds 5 findings now
// RUN: mv %t/later.toml %t/.devsan.toml
// RUN: %devsan_check --torch=none --baseline=%t/b.json %t/src -- -isystem %mock | FileCheck %s --check-prefix=GONE --implicit-check-not="not found any more"
// GONE: no new findings, 1 known
// GONE: not found any more, take it out of the baseline: device-bare-cuda in gen/z.pb.cpp
// GONE: not found any more, take it out of the baseline: device-bare-cuda in vendor/lib/y.cpp
// GONE: not found any more, take it out of the baseline: device-bare-cuda in vendor/vendored.h
#include <torch/torch.h>
#ifdef VENDORED
#include "vendor/vendored.h"
#endif

at::Tensor move(at::Tensor x, at::Tensor y) { return x.cuda() + y; }
