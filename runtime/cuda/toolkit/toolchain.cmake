# cmake -DCMAKE_TOOLCHAIN_FILE=PREFIX/share/devsan/cuda/toolchain.cmake builds a project for the simulated devices of a CPU
# LibTorch as it stands: its .cu files by this toolkit's nvcc, what includes CUDA's headers with this toolkit's, and
# find_package(Torch) brings LibTorch's CUDA functions.
set(CMAKE_CUDA_COMPILER "${CMAKE_CURRENT_LIST_DIR}/bin/nvcc")
set(CUDAToolkit_ROOT "${CMAKE_CURRENT_LIST_DIR}")
set(CUDA_TOOLKIT_ROOT_DIR "${CMAKE_CURRENT_LIST_DIR}")
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80)
endif()
set(Torch_DIR "${CMAKE_CURRENT_LIST_DIR}/cmake/Torch" CACHE PATH "LibTorch's CPU build, with CUDA's functions for simulated devices")
# find_package(DevSan) brings DevSan::api, for host implementations of kernels, and devsan_add_test.
if(EXISTS "${CMAKE_CURRENT_LIST_DIR}/../../../lib/cmake/DevSan/DevSanConfig.cmake")
  set(DevSan_DIR "${CMAKE_CURRENT_LIST_DIR}/../../../lib/cmake/DevSan" CACHE PATH "DevSan's package")
endif()
# Programs find CUDA's runtime where they are built, whether or not they use LibTorch.
list(APPEND CMAKE_BUILD_RPATH "${CMAKE_CURRENT_LIST_DIR}/lib64")
# CMake before 3.26 knows no option of nvcc for C++20, which LibTorch's headers need.
set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
