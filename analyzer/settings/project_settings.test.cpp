// [check] of .devsan.toml says what the command line leaves open.
// RUN: rm -rf %t && mkdir -p %t/src %t/include && cp %s %t/src/x.cpp && touch %t/include/feature.h && mkdir %t/.git
// RUN: echo '[check]' > %t/.devsan.toml
// RUN: echo 'checks = ["device-*", "-device-bare-cuda"]' >> %t/.devsan.toml
// RUN: echo 'extra-flags = ["-DSET_DEVICE", "-Iinclude"]' >> %t/.devsan.toml
// RUN: echo 'baseline = "known.json"' >> %t/.devsan.toml

// The file is looked for above the sources, and its paths begin at it.
// RUN: cd / && not %devsan_check --torch=none %t/src 2>&1 | FileCheck %s --check-prefix=ABSENT
// ABSENT: known.json{{.*}}--update-baseline` makes it
// RUN: %devsan_check --torch=none --update-baseline %t/src -- -isystem %mock -isystem %cuda_stubs | FileCheck %s --check-prefix=RECORDED
// RECORDED: note: {{.*}}known.json: holds 1 finding now
// RUN: %devsan_check --torch=none %t/src -- -isystem %mock -isystem %cuda_stubs | FileCheck %s --check-prefix=KNOWN
// KNOWN: 1 file: no new findings, 1 known

// The command line goes before it.
// RUN: not %devsan_check --checks=device-bare-cuda --torch=none %t/src -- -isystem %mock -isystem %cuda_stubs | FileCheck %s --check-prefix=OPTION --implicit-check-not=device-raw-set-device
// OPTION: 'x' goes to the current cuda device{{.*}} [device-bare-cuda]

// RUN: printf '[check]\nchecks = "device-mismatch"\n' > %t/.devsan.toml
// RUN: not %devsan_check --torch=none %t/src 2>&1 | FileCheck %s --check-prefix=RUN-TIME
// RUN-TIME: error: {{.*}}.devsan.toml:2: 'checks': 'device-mismatch' is found at run time only, by devsan run; the rules for sources are device-
// RUN: printf '[check]\n\ntimeout = 31\n' > %t/.devsan.toml
// RUN: not %devsan_check --torch=none %t/src 2>&1 | FileCheck %s --check-prefix=TIMEOUT
// TIMEOUT: error: {{.*}}.devsan.toml:3: 'timeout' must be from 1 to 30 seconds; --timeout of the command line may be longer
// RUN: printf '[check]\nstrict = true\n' > %t/.devsan.toml
// RUN: echo '#include "absent.h"' > %t/src/x.cpp
// RUN: sh -c '%devsan_check --torch=none %t/src; test $? -eq 2' | FileCheck %s --check-prefix=STRICT
// STRICT: parsed in part, not found: absent.h
// RUN: %devsan_check --no-strict --torch=none %t/src

// Flags are elements of their own.
// RUN: printf '[check]\nextra-flags = ["DUSE"]\n' > %t/.devsan.toml
// RUN: not %devsan_check --torch=none %t/src 2>&1 | FileCheck %s --check-prefix=NO-FLAG
// NO-FLAG: error: {{.*}}.devsan.toml:2: 'extra-flags': 'DUSE' is no flag
// RUN: printf '[check]\nextra-flags = ["-DUSE -O2"]\n' > %t/.devsan.toml
// RUN: not %devsan_check --torch=none %t/src 2>&1 | FileCheck %s --check-prefix=FLAGS
// FLAGS: 'extra-flags': '-DUSE -O2' holds several flags
// RUN: printf '[check]\nextra-flags = ["-I"]\n' > %t/.devsan.toml
// RUN: not %devsan_check --torch=none %t/src 2>&1 | FileCheck %s --check-prefix=NO-VALUE
// NO-VALUE: 'extra-flags': '-I' has no value

// Which file comes first decides nothing: a part's own settings are not those of the whole.
// RUN: mkdir %t/a && cp %s %t/a/x.cpp && cp %s %t/src/x.cpp && printf '[check]\nchecks = "device-host-sync"\n' > %t/a/.devsan.toml
// RUN: printf '[check]\nchecks = "device-bare-cuda"\n' > %t/.devsan.toml
// RUN: not %devsan_check --torch=none %t/a %t/src -- -isystem %mock -isystem %cuda_stubs | FileCheck %s --check-prefix=WHOLE
// WHOLE: a/x.cpp:{{.*}} [device-bare-cuda]
// WHOLE: src/x.cpp:{{.*}} [device-bare-cuda]
// WHOLE: note: {{.*}}a/.devsan.toml is ignored: it covers only some files of this run
// RUN: %devsan_check --torch=none %t/a -- -isystem %mock -isystem %cuda_stubs
#include <c10/cuda/CUDAFunctions.h>
#include <torch/torch.h>
#ifdef SET_DEVICE
#include "feature.h"
void choose(at::Tensor x) { cudaSetDevice(x.get_device()); }
#endif

at::Tensor move(at::Tensor x, at::Tensor y) { return x.cuda() + y; }
