#include "runtime/resolve/frame_kind.h"

#include <gtest/gtest.h>

namespace devsan::runtime {
namespace {

constexpr const char *kProgram = "/src/build/train";

TEST(NativeFrameKind, TorchIsItsLibrariesAndItsInlinedHeaders) {
  for (const char *module :
       {"/venv/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so",
        "/opt/libtorch/lib/libc10.so",
        "/venv/lib/python3.11/site-packages/torch/_C.cpython-311-x86_64-linux-gnu.so"})
    EXPECT_EQ(nativeFrameKind(module, "f", ""), FrameKind::kTorch) << module;
  EXPECT_EQ(
      nativeFrameKind(kProgram, "at::Tensor::cuda", "/venv/torch/include/ATen/core/TensorBody.h"),
      FrameKind::kTorch);
  EXPECT_EQ(nativeFrameKind(kProgram, "at::Tensor::cuda", ""), FrameKind::kTorch);
}

TEST(NativeFrameKind, ProgramsAndLibrariesOnTopOfTorchAreTheUser) {
  EXPECT_EQ(nativeFrameKind(kProgram, "main", "/src/train.cpp"), FrameKind::kUser);
  EXPECT_EQ(nativeFrameKind(kProgram, "main", ""), FrameKind::kUser);
  EXPECT_EQ(nativeFrameKind("/venv/lib/python3.11/site-packages/torch_scatter/_scatter_cpu.so",
                            "scatter", ""),
            FrameKind::kUser);
  for (const char *module :
       {"/opt/libtorch_ops.so", "/opt/libcustom_ops.so", "/opt/libcuda_ops.so"})
    EXPECT_EQ(nativeFrameKind(module, "ops::scale", ""), FrameKind::kUser) << module;
  EXPECT_EQ(nativeFrameKind("/usr/local/lib/libtorchvision.so", "vision::nms", ""),
            FrameKind::kUser);
}

TEST(NativeFrameKind, TheRestIsNot) {
  EXPECT_EQ(nativeFrameKind("/lib/x86_64-linux-gnu/libc.so.6", "__libc_start_main", ""),
            FrameKind::kSystem);
  for (const char *module : {"/venv/lib/python3.12/site-packages/nvidia/cu13/lib/libcusolver.so.12",
                             "/usr/local/cuda/lib64/libnvrtc.so.13"})
    EXPECT_EQ(nativeFrameKind(module, "", ""), FrameKind::kSystem) << module;
  EXPECT_EQ(
      nativeFrameKind(kProgram, "std::vector::push_back", "/usr/include/c++/12/bits/stl_vector.h"),
      FrameKind::kSystem);
  for (const char *header : {"/opt/devsan/share/devsan/cuda/include/cuda_runtime_api.h",
                             "/usr/local/cuda-13.0/targets/x86_64-linux/include/cuda_runtime.h"})
    EXPECT_EQ(nativeFrameKind(kProgram, "cudaMemcpyToSymbol<float [4]>", header),
              FrameKind::kSystem);
  EXPECT_EQ(nativeFrameKind(kProgram, "scale", "/src/cuda/include/scale.h"), FrameKind::kUser);
  EXPECT_EQ(nativeFrameKind(kProgram, "_start", ""), FrameKind::kSystem);
  EXPECT_EQ(nativeFrameKind("/usr/bin/python3.11", "PyEval", ""), FrameKind::kInterpreter);
  EXPECT_EQ(nativeFrameKind("/usr/lib/python3.11/lib-dynload/_ctypes.cpython-311-x86_64.so",
                            "f_get", "/build/Modules/_ctypes/cfield.c"),
            FrameKind::kSystem);
  EXPECT_EQ(nativeFrameKind("/x/lib/libdevsan_runtime.so", "f", ""), FrameKind::kDevSan);
}

TEST(PythonFrameKind, TellsTorchFromLibrariesOnTopOfIt) {
  EXPECT_EQ(pythonFrameKind("/venv/lib/python3.11/site-packages/torch/nn/modules/module.py"),
            FrameKind::kTorch);
  EXPECT_EQ(pythonFrameKind("/venv/lib/python3.11/site-packages/torchmetrics/metric.py"),
            FrameKind::kUser);
  EXPECT_EQ(pythonFrameKind("/src/train.py"), FrameKind::kUser);
  EXPECT_EQ(pythonFrameKind("<string>"), FrameKind::kUser);
  EXPECT_EQ(pythonFrameKind("/usr/lib/python3.11/threading.py"), FrameKind::kSystem);
  EXPECT_EQ(pythonFrameKind("<frozen runpy>"), FrameKind::kSystem);
  EXPECT_EQ(pythonFrameKind("/x/build/python/sitecustomize.py"), FrameKind::kDevSan);
  EXPECT_EQ(pythonFrameKind("/venv/lib/python3.11/site-packages/_pytest/python.py"),
            FrameKind::kSystem);
  EXPECT_EQ(pythonFrameKind("/venv/bin/pytest"), FrameKind::kSystem);
  EXPECT_EQ(pythonFrameKind("/src/tests/pytest_helpers.py"), FrameKind::kUser);
}

} // namespace
} // namespace devsan::runtime
