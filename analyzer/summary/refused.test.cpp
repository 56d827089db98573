// What summaries do not fit together, or are none, is said with the remedy.
// DEFINE: %{check} = %devsan_check --torch=none --no-cache
// DEFINE: %{made} = %{check} --checks=device-bare-cuda
// DEFINE: %{link} = cd %t && not %{check} --from-summaries
// RUN: rm -rf %t && split-file %s %t && mkdir %t/.git
// RUN: cd %t && %{made} --shard=1/3 --summary=one a.cpp b.cpp c.cpp && %{made} --shard=2/3 --summary=two a.cpp b.cpp c.cpp && %{made} --shard=3/3 --summary=three a.cpp b.cpp c.cpp
// RUN: cd %t && %{check} --from-summaries three one two | FileCheck %s --check-prefix=WHOLE
// WHOLE: passed: 3 files: no findings
// RUN: %{link} three one 2>&1 | FileCheck %s --check-prefix=SECOND
// SECOND: error: shard 2/3 of {{.*}}a.cpp {{.*}} is missing: no summary of it is named
// RUN: %{link} one two 2>&1 | FileCheck %s --check-prefix=LAST
// LAST: error: shard 3/3 of {{.*}} is missing
// RUN: %{link} three two 2>&1 | FileCheck %s --check-prefix=FIRST
// FIRST: error: shard 1/3 of {{.*}} is missing
// RUN: cp %t/two %t/copy && %{link} three one copy two 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: copy and two: both are shard 2/3 of {{.*}}; name one of them

// Several runs go together, in whatever order they are named, if their options are the same.
// RUN: cd %t && %{made} --summary=d d.cpp && not %{check} --from-summaries d one two three | FileCheck %s --check-prefix=RUNS --implicit-check-not='[device-'
// RUNS: d.cpp:2:{{.*}} [device-bare-cuda]
// RUNS: 4 files: 1 finding
// RUN: cd %t && %{check} --checks=device-host-sync --summary=other d.cpp
// RUN: %{link} other one two three 2>&1 | FileCheck %s --check-prefix=OPTIONS
// OPTIONS: error: {{.*}}: made with different --checks, --alone or LibTorch; make all with the same

// Neither damage nor another program passes.
// RUN: cd %t && %python -c "d = open('d', 'rb').read(); open('cut', 'wb').write(d[:-1]); open('changed', 'wb').write(d[:-9] + bytes([d[-9] ^ 1]) + d[-8:]); open('older', 'wb').write(d.replace(b'devsan 0', b'devsan 9', 1)); open('form', 'wb').write(d.replace(b'summary/1', b'summary/2', 1))"
// RUN: %{link} cut 2>&1 | FileCheck %s --check-prefix=DAMAGED
// RUN: %{link} changed 2>&1 | FileCheck %s --check-prefix=DAMAGED
// DAMAGED: error: {{cut|changed}}: damaged, or not written to its end; write it again, with devsan check --summary
// RUN: %{link} older 2>&1 | FileCheck %s --check-prefix=OLDER
// OLDER: error: older: written by devsan 9{{.*}}, and this is devsan {{.*}}; use one build of devsan on all machines
// RUN: %{link} form 2>&1 | FileCheck %s --check-prefix=FORM
// FORM: error: form: a summary of another form
// RUN: %{link} d.cpp 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: d.cpp: no summary of devsan check --summary
// RUN: %{link} nowhere 2>&1 | FileCheck %s --check-prefix=NOWHERE
// NOWHERE: error: cannot read nowhere: {{.*}}; name the files that devsan check --summary wrote
// RUN: cd %t && not %{check} --from-summaries 2>&1 | FileCheck %s --check-prefix=INPUT
// INPUT: error: no input: name the files that devsan check --summary wrote

// The sources have to be those that were analysed.
// RUN: rm -rf %t.moved && cp -r %t %t.moved && cd %t.moved && not %{check} --from-summaries d | FileCheck %s --check-prefix=MOVED
// MOVED: d.cpp:2:{{.*}} [device-bare-cuda]
// RUN: echo >> %t/d.cpp && %{link} d 2>&1 | FileCheck %s --check-prefix=CHANGED
// CHANGED: error: d: {{.*}}d.cpp has changed; put summaries together where the sources are as they were made of
// RUN: rm %t/d.cpp && %{link} d 2>&1 | FileCheck %s --check-prefix=GONE
// GONE: error: {{.*}}d.cpp: no such file or folder; put
// RUN: cd %t && %{made} --summary=all . && cp a.cpp new.cpp && not %{check} --from-summaries all 2>&1 | FileCheck %s --check-prefix=NEW
// NEW: error: all: there are other files in {{.*}}; put

// Each option goes to the run that it belongs to.
// RUN: cd %t && not %{check} --summary=x --fix a.cpp 2>&1 | FileCheck %s --check-prefix=FIX
// FIX: error: --summary goes without --fix: a run over the sources themselves takes it
// RUN: cd %t && not %{check} --summary=x --baseline=b a.cpp 2>&1 | FileCheck %s --check-prefix=JUDGE
// JUDGE: error: --summary goes without --baseline: give it to the run with --from-summaries, which judges and reports
// RUN: %{link} --diff=HEAD one two three 2>&1 | FileCheck %s --check-prefix=DIFF
// DIFF: error: --from-summaries goes without --diff: a run over the sources themselves takes it
// RUN: %{link} --checks=device-bare-cuda one two three 2>&1 | FileCheck %s --check-prefix=CHECKS
// CHECKS: error: --from-summaries goes without --checks: give it to the runs that write the summaries
// RUN: cd %t && not %{check} --root=nowhere a.cpp 2>&1 | FileCheck %s --check-prefix=ROOT
// ROOT: error: --root=nowhere: no such folder

//--- a.cpp
int a() { return 1; }
//--- b.cpp
int b() { return 1; }
//--- c.cpp
int c() { return 1; }
//--- d.cpp
namespace at { struct Tensor { Tensor cuda(); Tensor operator+(Tensor); }; }
at::Tensor moved(at::Tensor x, at::Tensor y) { return x.cuda() + y; }
