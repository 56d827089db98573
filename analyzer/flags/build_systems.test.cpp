// Compile commands as Meson and as extractors for Bazel write them: relative paths, names of outputs, response files, headers as entries of their
// own, generated files behind a link.
// DEFINE: %{check} = %devsan_check --torch=none --no-cache --checks=device-bare-cuda
// RUN: rm -rf %t && split-file %s %t && mkdir -p %t/.git %t/bazel/real/bin/gen && cd %t/bazel && ln -s real bazel-out && echo '#define AWAY' > real/bin/gen/flags.h
// RUN: sed -i s,FOLDER,%t, %t/meson/build/compile_commands.json %t/meson/rsp/compile_commands.json %t/bazel/compile_commands.json
// RUN: cd %t/meson && not %{check} src | FileCheck %s --check-prefix=MESON --implicit-check-not=note:
// RUN: cd %t/meson && not %{check} -p rsp src | FileCheck %s --check-prefix=MESON --implicit-check-not=note:
// MESON: src/lib.cpp:3:{{.*}} [device-bare-cuda]
// MESON: 1 file: 1 finding
// RUN: cd %t/bazel && not %{check} . | FileCheck %s --check-prefix=BAZEL --implicit-check-not=note:
// RUN: cd %t/bazel && not %{check} -p . lib | FileCheck %s --check-prefix=BAZEL --implicit-check-not=note:
// BAZEL: lib/lib.cc:4:{{.*}} [device-bare-cuda]
// BAZEL: 1 file: 1 finding

//--- meson/build/compile_commands.json
[{"directory": "FOLDER/meson/build",
  "command": "ccache c++ -Iliblib.a.p -I. -I.. -I../include -fdiagnostics-color=always -Wall -Winvalid-pch -std=c++17 -O0 -g -fPIC -DAWAY -MD -MQ liblib.a.p/src_lib.cpp.o -MF liblib.a.p/src_lib.cpp.o.d -o liblib.a.p/src_lib.cpp.o -c ../src/lib.cpp",
  "file": "../src/lib.cpp", "output": "liblib.a.p/src_lib.cpp.o"}]
//--- meson/rsp/compile_commands.json
[{"directory": "FOLDER/meson/rsp", "command": "c++ @lib.rsp -o lib.o -c ../src/lib.cpp", "file": "../src/lib.cpp", "output": "lib.o"}]
//--- meson/rsp/lib.rsp
-DAWAY "-I../include" -std=c++17
//--- meson/include/tensor.h
namespace at { struct Tensor { Tensor cuda(); Tensor operator+(Tensor); }; }
//--- meson/src/lib.cpp
#include "tensor.h"
#ifdef AWAY
at::Tensor away(at::Tensor x, at::Tensor y) { return x.cuda() + y; }
#endif

//--- bazel/compile_commands.json
[{"file": "lib/lib.cc", "directory": "FOLDER/bazel",
  "arguments": ["clang++", "-xc++", "-iquote", ".", "-iquote", "bazel-out/bin", "-isystem", "external/dep/inc", "-std=c++17", "-c", "lib/lib.cc", "-o", "bazel-out/bin/lib/lib.o"]},
 {"file": "external/dep/inc/tensor.h", "directory": "FOLDER/bazel",
  "arguments": ["clang++", "-xc++", "-iquote", ".", "-c", "external/dep/inc/tensor.h"]}]
//--- bazel/external/dep/inc/tensor.h
namespace at { struct Tensor { Tensor cuda(); Tensor operator+(Tensor); }; }
//--- bazel/lib/lib.cc
#include "gen/flags.h"
#include "tensor.h"
#ifdef AWAY
at::Tensor away(at::Tensor x, at::Tensor y) { return x.cuda() + y; }
#endif
