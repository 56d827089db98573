// --diff looks at what has changed since a revision: files, functions, and what includes a changed header; --shard at a part.
// DEFINE: %{check} = env XDG_CACHE_HOME=%t/cache %devsan_check --checks=device-raw-set-device --torch=none
// DEFINE: %{flags} = -I %t/r/include -isystem %mock -isystem %cuda_stubs
// DEFINE: %{git} = git -C %t/r -c user.name=t -c user.email=t@example.org -c init.defaultBranch=main
// RUN: rm -rf %t && mkdir -p %t/r/include && %{git} init -q
// RUN: cp %s %t/r/x.cpp && cp %s %t/r/y.cpp && cp %s %t/r/z.cpp && touch %t/r/include/h.h
// RUN: echo '#include <h.h>' >> %t/r/z.cpp
// RUN: %{git} add . && %{git} commit -q -m one
// RUN: %{check} --diff=HEAD %t/r -- %{flags} | FileCheck %s --check-prefix=NONE
// NONE: devsan check: passed: 0 files of 3, changes since HEAD: no findings

// One function of one file; a file that git does not know yet.
// RUN: %python -c "import sys; p = sys.argv[1]; t = open(p).read(); open(p, 'w').write('int touched'.join(t.rsplit('int untouched', 1)))" %t/r/y.cpp
// RUN: cp %s %t/r/new.cpp
// RUN: not %{check} --diff=HEAD %t/r -- %{flags} | FileCheck %s --check-prefix=DIFF --implicit-check-not=': warning:'
// DIFF: new.cpp:[[#FIRST:]]:3: warning:
// DIFF: new.cpp:[[#]]:3: warning:
// DIFF: y.cpp:[[#FIRST]]:3: warning:
// DIFF: devsan check: failed because of 3 warnings: 2 files of 4, changes since HEAD: 3 findings

// A header: what includes it is analysed, and only the header's own findings are shown.
// RUN: rm %t/r/new.cpp && %{git} checkout -q y.cpp
// RUN: echo 'inline void chooseInHeader(at::Tensor x) { cudaSetDevice(x.get_device()); }' > %t/r/include/h.h
// RUN: not %{check} --diff=HEAD %t/r -- %{flags} | FileCheck %s --check-prefix=HEADER --implicit-check-not=': warning:'
// HEADER: h.h:1:44: warning:
// HEADER: devsan check: failed because of 1 warning: 1 file of 3, changes since HEAD: 1 finding
// RUN: %{git} commit -q -a -m two
// RUN: not %{check} --diff=HEAD~1 %t/r -- %{flags} | FileCheck %s --check-prefix=HEADER2
// HEADER2: devsan check: failed because of 1 warning: 1 file of 3, changes since HEAD~1: 1 finding

// RUN: not %{check} --diff=nothing %t/r -- %{flags} 2>&1 | FileCheck %s --check-prefix=REVISION
// REVISION: devsan check: error: --diff=nothing: git says: {{.*}}nothing
// RUN: not %{check} --diff=--help %t/r -- %{flags} 2>&1 | FileCheck %s --check-prefix=OPTION
// OPTION: devsan check: error: --diff=--help: no revision; name a commit

// The shards together are the whole.
// RUN: not %{check} %t/r -- %{flags} | grep restored | sort > %t/whole
// RUN: %python -c "import subprocess, sys; o = [subprocess.run([*sys.argv[1:4], '--shard=%%d/2' %% i, *sys.argv[4:]], capture_output=True, text=True).stdout for i in (1, 2)]; print(*sorted(l for t in o for l in t.splitlines() if 'restored' in l), sep='\n')" env XDG_CACHE_HOME=%t/cache %devsan_check --checks=device-raw-set-device --torch=none %t/r -- %{flags} > %t/shards
// RUN: diff %t/whole %t/shards
// RUN: %{check} --shard=9/9 %t/r -- %{flags} | FileCheck %s --check-prefix=EMPTY
// EMPTY: devsan check: passed: 0 files of 3, shard 9/9: no findings
#include <c10/cuda/CUDAFunctions.h>
#include <torch/torch.h>

void one(at::Tensor x) {
  int untouched = 0;
  cudaSetDevice(x.get_device());
}

void two(at::Tensor x) {
  cudaSetDevice(x.get_device());
}
