// Headers of the project are looked at, whatever option makes their folder known: a folder that was guessed, and one that the
// project's own build calls a system's.
// RUN: rm -rf %t && mkdir -p %t/.git %t/app %t/train %t/third_party/lib %t/Thirdparty %t/calls && touch %t/setup.py
// RUN: cp %s %t/app/x.cpp
// RUN: echo 'inline at::Tensor move(at::Tensor x, at::Tensor y) { return x.cuda() + y; }' > %t/train/train_step.h
// RUN: echo 'inline at::Tensor theirs(at::Tensor x, at::Tensor y) { return x.cuda() + y; }' > %t/third_party/lib/theirs.h
// RUN: echo '#include <torch/torch.h>' > %t/Thirdparty/theirs.cpp && cat %t/third_party/lib/theirs.h >> %t/Thirdparty/theirs.cpp
// RUN: not %devsan_check --checks=device-bare-cuda --torch=none %t -- -isystem %mock | FileCheck %s --implicit-check-not=theirs
// CHECK: train/train_step.h:1:{{.*}}[device-bare-cuda]

// RUN: echo '[{"directory": "%t", "file": "app/x.cpp", "command": "c++ -isystem train -isystem third_party -isystem %mock app/x.cpp"}]' > %t/calls/compile_commands.json
// RUN: not %devsan_check --checks=device-bare-cuda --torch=none --no-cache -p %t/calls %t/app | FileCheck %s --implicit-check-not=theirs.h

// On the command line it is the user who says so.
// RUN: %devsan_check --checks=device-bare-cuda --torch=none %t/app -- -isystem %mock -isystem %t/train | FileCheck %s --check-prefix=USER
// USER: no findings
#include <torch/torch.h>
#include <train_step.h>
#include <lib/theirs.h>
