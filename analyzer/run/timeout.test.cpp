// A file that takes too long is named, and the others are analysed; status 2, since nobody looked at it.
// RUN: rm -rf %t && mkdir -p %t && cp %s %t/slow.cpp && echo 'int quick;' > %t/quick.cpp
// DEFINE: %{failed} = %python -c "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode != 2)"
// RUN: %{failed} %devsan_check --no-cache --torch=none --timeout=1 %t/slow.cpp %t/quick.cpp -- 2> %t/errors | FileCheck %s
// RUN: FileCheck %s --check-prefix=ERROR --input-file=%t/errors
// ERROR: devsan check: error: 1 of 2 files not analysed; the report names them
// CHECK: devsan check: not analysed: 2 files, 1 not analysed: no findings
// CHECK: slow.cpp: not analysed, the analysis took longer than 1 s (--timeout)
// CHECK-NOT: quick.cpp
// RUN: %{failed} %devsan_check --no-cache --torch=none --timeout=1 --format=json -o %t/report.json %t/slow.cpp --
// RUN: FileCheck %s --check-prefix=JSON --input-file=%t/report.json
// JSON: "partial": true
// RUN: not %devsan_check --timeout=soon %t/slow.cpp 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER: devsan check: error: {{.*}}--timeout{{.*}}; see devsan check --help
// However it ends, no process is left behind.
// RUN: %python %S/interrupt.py SIGINT %devsan_check --no-cache --torch=none --timeout=0 %t/slow.cpp --
// RUN: %python %S/interrupt.py SIGKILL %devsan_check --no-cache --torch=none --timeout=0 %t/slow.cpp --
constexpr int slow() {
  int sum = 0;
  for (int i = 0; i < 300000; ++i)
    sum ^= i;
  return sum;
}
#define TEN(x) x x x x x x x x x x
TEN(TEN(TEN(static_assert(slow() >= 0);)))
