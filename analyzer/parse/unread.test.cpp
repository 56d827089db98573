// Of a file in which no function could be parsed, "no findings" would mean nothing: status 2, and the others are analysed.
// RUN: rm -rf %t && mkdir -p %t && echo 'this is no C++ {' > %t/prose.cpp && echo 'int answer() { return 42; }' > %t/good.cpp
// DEFINE: %{check} = %devsan_check --no-cache --torch=none
// DEFINE: %{failed} = %python -c "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode != 2)"
// RUN: %{failed} %{check} %t/prose.cpp %t/good.cpp -- 2> %t/errors | FileCheck %s
// RUN: FileCheck %s --check-prefix=ERROR --input-file=%t/errors
// CHECK: devsan check: not analysed: 2 files, 1 not analysed: no findings
// CHECK: prose.cpp: not analysed, no function in it could be parsed; 1 error, the first: {{.*}}prose.cpp:1: expected unqualified-id
// CHECK-NOT: good.cpp
// ERROR: devsan check: error: 1 of 2 files not analysed; the report names them

// The same from the cache.
// RUN: env XDG_CACHE_HOME=%t/cache %{failed} %devsan_check --torch=none %t/prose.cpp --
// RUN: env XDG_CACHE_HOME=%t/cache %{failed} %devsan_check --torch=none %t/prose.cpp --

// Whoever has such files may take them as they are.
// RUN: %{check} --no-strict %t/prose.cpp -- | FileCheck %s --check-prefix=TAKEN
// TAKEN: prose.cpp: parsed in part;

// One function is enough to look at, and without errors there may be none.
// RUN: echo 'int answer() { return 42; } NoSuchType value;' > %t/part.cpp && echo 'extern int value;' > %t/none.cpp
// RUN: %{check} %t/part.cpp %t/none.cpp -- | FileCheck %s --check-prefix=PART
// PART: part.cpp: parsed in part; 1 error
// PART-NOT: none.cpp
