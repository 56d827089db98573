// A source in a folder that no build names is part of no program: it is left out with a word, unless it is named.
// DEFINE: %{check} = %devsan_check --torch=none --no-cache --checks=device-host-sync
// RUN: rm -rf %t && mkdir -p %t/p/.git && cp %s %t/p/net.cpp && cp %s %t/p/net_old.cpp
// RUN: echo 'add_executable(app net.cpp)' > %t/p/CMakeLists.txt
// RUN: not %{check} %t/p -- -isystem %mock | FileCheck %s --implicit-check-not='net_old.cpp:'
// CHECK: net.cpp:{{.*}} [device-host-sync]
// CHECK: note: not analysed, as no build of the project names them: {{.*}}net_old.cpp; name a file to have it analysed
// RUN: not %{check} %t/p/net_old.cpp -- -isystem %mock | FileCheck %s --check-prefix=OLD
// OLD: net_old.cpp:{{.*}} [device-host-sync]
// Whatever names it builds it: another script, a source that includes it, a pattern, a list of objects, a database.
// RUN: cp -r %t/p %t/script && echo 'g++ tools/net_old.cpp' > %t/script/make.sh && not %{check} %t/script -- -isystem %mock | FileCheck %s --check-prefix=OLD
// RUN: cp -r %t/p %t/source && echo '#include "net_old.cpp"' > %t/source/all.h && not %{check} %t/source -- -isystem %mock | FileCheck %s --check-prefix=OLD
// RUN: cp -r %t/p %t/glob && echo 'file(GLOB more *.cpp)' >> %t/glob/CMakeLists.txt && not %{check} %t/glob -- -isystem %mock | FileCheck %s --check-prefix=OLD
// RUN: cp -r %t/p %t/name && echo 'add_executable(old ${name}.cpp)' >> %t/name/CMakeLists.txt && not %{check} %t/name -- -isystem %mock | FileCheck %s --check-prefix=OLD
// RUN: cp -r %t/p %t/folder && echo 'aux_source_directory(. more)' >> %t/folder/CMakeLists.txt && not %{check} %t/folder -- -isystem %mock | FileCheck %s --check-prefix=OLD
// RUN: cp -r %t/p %t/object && echo 'old: net_old.o' >> %t/object/Makefile && not %{check} %t/object -- -isystem %mock | FileCheck %s --check-prefix=OLD
// RUN: cp -r %t/p %t/base && mkdir %t/base/build && echo '[{"directory": "%t/base", "file": "net_old.cpp", "command": "c++ -isystem %mock net_old.cpp"}]' > %t/base/build/compile_commands.json
// RUN: not %{check} -p %t/base/build %t/base | FileCheck %s --check-prefix=OLD
// A build that names none of them is not theirs, and a project without one has no list.
// RUN: cp -r %t/p %t/none && echo 'add_executable(app main.cpp)' > %t/none/CMakeLists.txt && not %{check} %t/none -- -isystem %mock | FileCheck %s --check-prefix=OLD
// RUN: cp -r %t/p %t/notes && mv %t/notes/CMakeLists.txt %t/notes/README.md && not %{check} %t/notes -- -isystem %mock | FileCheck %s --check-prefix=OLD
#include <torch/torch.h>

double train(torch::Tensor x) {
  torch::Device device(torch::kCUDA);
  double total = 0;
  for (int i = 0; i < 3; ++i) {
    x = x.to(device);
    total += x.sum().item<double>();
  }
  return total;
}
