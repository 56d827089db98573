// Each wrong input gives one line that names it and says what to do, and status 2.
// RUN: not %devsan_check 2>&1 | FileCheck %s --check-prefix=NOTHING
// NOTHING: devsan check: error: no input: name source files or folders
// RUN: not %devsan_check --checks=device-host-sinc %s 2>&1 | FileCheck %s --check-prefix=RULE
// RULE: devsan check: error: --checks: no rule is called 'device-host-sinc' (did you mean 'device-host-sync'?); the rules are device-{{.*}}device-raw-set-device
// RUN: not %devsan_check --checks=-device-nothing* %s 2>&1 | FileCheck %s --check-prefix=GLOB
// GLOB: devsan check: error: --checks: no rule is called 'device-nothing*'
// RUN: not %devsan_check --checks= %s 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: devsan check: error: --checks= has no value; see devsan check --help
// RUN: not %devsan_check %t.absent.cpp 2>&1 | FileCheck %s --check-prefix=ABSENT
// ABSENT: devsan check: error: {{.*}}absent.cpp: no such file or folder
// RUN: not %devsan_check --quick %s 2>&1 | FileCheck %s --check-prefix=FLAG
// FLAG: devsan check: error: {{.*}}--quick; see devsan check --help
// RUN: not %devsan_check --basline=x --strickt %s 2>&1 | FileCheck %s --check-prefix=NEAR
// NEAR: not expected: --basline=x (did you mean '--baseline'?) --strickt (did you mean '--strict'?); see devsan check --help
// RUN: not %devsan_check --shard=3/2 %s 2>&1 | FileCheck %s --check-prefix=SHARD
// SHARD: devsan check: error: --shard=3/2: must be I/N with I from 1 to N
// RUN: not %devsan_check --format=yaml %s 2>&1 | FileCheck %s --check-prefix=FORMAT
// FORMAT: devsan check: error: --format=yaml is unknown; valid: text, json, sarif, github, html
// RUN: not %devsan_check --suppressions=%t.absent.toml %s 2>&1 | FileCheck %s --check-prefix=SUPPRESSIONS
// SUPPRESSIONS: devsan check: error: --suppressions: cannot read {{.*}}absent.toml: No such file
// RUN: not %devsan_check --torch=%t.absent %s 2>&1 | FileCheck %s --check-prefix=TORCH
// TORCH: devsan check: error: --torch={{.*}}absent: no include/torch

// RUN: rm -rf %t && mkdir -p %t/empty %t/broken
// RUN: not %devsan_check %t/empty 2>&1 | FileCheck %s --check-prefix=FOLDER
// FOLDER: devsan check: error: {{.*}}empty: holds no C++ or CUDA sources
// RUN: not %devsan_check -p %t/empty %s 2>&1 | FileCheck %s --check-prefix=DATABASE
// DATABASE: devsan check: error: -p {{.*}}empty: no compile_commands.json there
// RUN: echo '[{"directory":' > %t/broken/compile_commands.json
// RUN: not %devsan_check -p %t/broken %s 2>&1 | FileCheck %s --check-prefix=BROKEN
// BROKEN: devsan check: error: {{.*}}broken/compile_commands.json: cannot be read as a compilation database
// RUN: cp %s %t/broken/x.cpp
// RUN: not %devsan_check %t/broken/x.cpp 2>&1 | FileCheck %s --check-prefix=BROKEN

// None of these is status 1.
// RUN: python3 -c "import subprocess,sys; sys.exit(subprocess.run(sys.argv[1:], capture_output=True).returncode != 2)" %devsan_check --format=yaml %s
// RUN: python3 -c "import subprocess,sys; sys.exit(subprocess.run(sys.argv[1:], capture_output=True).returncode != 2)" %devsan_check %t/empty
