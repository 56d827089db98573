// Flags come from compile_commands.json: given by -p, found above the file, in its build folder; also nvcc's.
// RUN: rm -rf %t && mkdir -p %t/build %t/src
// RUN: cp %s %t/src/x.cpp
// RUN: cp %s %t/src/y.cu
// RUN: echo '[{"directory": "%t", "file": "src/x.cpp", "command": "g++ -Wno-such-warning -O3 -DCHOOSES -isystem %mock -isystem %cuda_stubs -std=c++20 -c src/x.cpp"},' > %t/build/compile_commands.json
// RUN: echo '{"directory": "%t", "file": "src/y.cu", "command": "nvcc -gencode arch=compute_80,code=sm_80 --expt-relaxed-constexpr -DCHOOSES -isystem=%mock -std=c++20 -x cu -c src/y.cu"}]' >> %t/build/compile_commands.json
// RUN: not %devsan_check --torch=none --checks=device-raw-set-device %t/src | FileCheck %s
// RUN: not %devsan_check --torch=none --checks=device-raw-set-device -p %t/build %t/src/x.cpp %t/src/y.cu | FileCheck %s
// RUN: %devsan_check --torch=none --checks=device-raw-set-device %t/src -- -isystem %mock
// CMake's own precompiled header is another compiler's; the header that it was made from counts.
// RUN: rm -rf %t/pch && mkdir %t/pch && cp %s %t/pch/z.cpp && echo '#define CHOOSES' > %t/pch/cmake_pch.hxx
// RUN: clang++ -std=c++20 -O3 -x c++-header %t/pch/cmake_pch.hxx -o %t/pch/cmake_pch.hxx.pch
// RUN: echo '[{"directory": "%t/pch", "file": "z.cpp", "command": "clang++ -isystem %mock -isystem %cuda_stubs -std=c++20 -Winvalid-pch -Xclang -include-pch -Xclang %t/pch/cmake_pch.hxx.pch -Xclang -include -Xclang %t/pch/cmake_pch.hxx -c z.cpp"}]' > %t/pch/compile_commands.json
// RUN: not %devsan_check --torch=none --checks=device-raw-set-device --strict %t/pch/z.cpp | FileCheck %s --check-prefix=PCH
// RUN: not env XDG_CACHE_HOME=/dev/null %devsan_check --torch=none --checks=device-raw-set-device --strict %t/pch/z.cpp | FileCheck %s --check-prefix=PCH
// PCH: z.cpp:{{.*}} warning: {{.*}}[device-raw-set-device]
// PCH-NOT: parsed in part
// Response files, nvcc's long names, and what is wrapped for the host's compiler; a forced include by its absolute path.
// RUN: rm -rf %t/nvcc && mkdir %t/nvcc && cp %s %t/nvcc/w.cu && echo '#define CHOOSES' > %t/nvcc/forced.h
// RUN: echo '--system-include %mock -Xcompiler=-fPIC,-DHOST -Xptxas -DNOT_FOR_US --options-file more.rsp @more.rsp @self.rsp' > %t/nvcc/args.rsp
// RUN: echo '-include %t/nvcc/forced.h --define-macro MORE' > %t/nvcc/more.rsp && echo '@self.rsp' > %t/nvcc/self.rsp
// RUN: echo '[{"directory": "%t/nvcc", "file": "w.cu", "command": "nvcc @args.rsp -ccbin g++ -arch sm_80 -stdlib=none --std=c++20 -x cu -c w.cu -o w.o"}]' > %t/nvcc/compile_commands.json
// RUN: not %devsan_check --torch=none --checks=device-raw-set-device --strict %t/nvcc | FileCheck %s --check-prefix=NVCC
// NVCC: w.cu:[[#@LINE+8]]:3: warning: {{.*}}[device-raw-set-device]
// CHECK: x.cpp:[[#@LINE+7]]:3: warning: {{.*}}[device-raw-set-device]
// CHECK: y.cu:[[#@LINE+6]]:3: warning: {{.*}}[device-raw-set-device]
// CHECK: devsan check: {{.*}}: 2 files: 2 findings
#include <torch/torch.h>
#include <c10/cuda/CUDAFunctions.h>
#if defined CHOOSES && !defined NOT_FOR_US && defined HOST == defined MORE
void choose(at::Tensor x) {
  cudaSetDevice(x.get_device());
}
#endif
