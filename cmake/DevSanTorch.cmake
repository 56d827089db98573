# Defines DevSan::torch, the LibTorch inside the PyTorch wheel of the checkout's virtual environment (or of
# -DDEVSAN_PYTHON=...), and DEVSAN_TORCH_LIB_DIR. Only the C++ libraries are linked, never libtorch_python.

set(_python "${PROJECT_SOURCE_DIR}/.venv/bin/python")
if(SKBUILD) # the one that the wheel is for
  set(_python "${Python_EXECUTABLE}")
endif()
set(DEVSAN_PYTHON "${_python}" CACHE FILEPATH "Python with torch installed")
if(NOT EXISTS "${DEVSAN_PYTHON}")
  message(FATAL_ERROR "no Python at ${DEVSAN_PYTHON}: run script/bootstrap, or pass -DDEVSAN_PYTHON=/path/to/python")
endif()
execute_process(
  COMMAND "${DEVSAN_PYTHON}" -c
          "import os, torch; print(os.path.dirname(torch.__file__), torch.__version__, torch.version.cuda, sep=';')"
  OUTPUT_VARIABLE _torch OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE _status ERROR_VARIABLE _error)
if(NOT _status EQUAL 0)
  message(FATAL_ERROR "${DEVSAN_PYTHON} cannot import torch: run script/bootstrap\n${_error}")
endif()
list(GET _torch 0 DEVSAN_TORCH_DIR)
list(GET _torch 1 DEVSAN_TORCH_VERSION)
set(DEVSAN_TORCH_LIB_DIR "${DEVSAN_TORCH_DIR}/lib")
string(REGEX MATCH "^[0-9.]+[0-9]" DEVSAN_TORCH_RELEASE "${DEVSAN_TORCH_VERSION}")
message(STATUS "LibTorch ${DEVSAN_TORCH_VERSION} in ${DEVSAN_TORCH_DIR}")

add_library(devsan_torch INTERFACE)
add_library(DevSan::torch ALIAS devsan_torch)
target_include_directories(devsan_torch SYSTEM INTERFACE
  "${DEVSAN_TORCH_DIR}/include" "${DEVSAN_TORCH_DIR}/include/torch/csrc/api/include")
# NDEBUG: ATen's debug assertions expect symbols and states that only a debug LibTorch has.
target_compile_definitions(devsan_torch INTERFACE _GLIBCXX_USE_CXX11_ABI=1 NDEBUG)
# GCC 13 builds PyTorch, and clang spells the symbols of constrained templates as it does up to version 17. Later headers have none.
file(STRINGS "${DEVSAN_TORCH_DIR}/include/ATen/core/TensorBase.h" _constrained REGEX "typename T, std::enable_if_t<" LIMIT_COUNT 1)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND _constrained)
  target_compile_options(devsan_torch INTERFACE -fclang-abi-compat=17)
endif()
target_link_libraries(devsan_torch INTERFACE
  "${DEVSAN_TORCH_LIB_DIR}/libtorch_cpu.so" "${DEVSAN_TORCH_LIB_DIR}/libc10.so")

# Tells LibTorchs apart: the prebuilt runtime is for this one.
execute_process(
  COMMAND "${DEVSAN_PYTHON}" "${CMAKE_CURRENT_LIST_DIR}/torch_id.py" "${DEVSAN_TORCH_LIB_DIR}/libtorch_cpu.so"
  OUTPUT_VARIABLE DEVSAN_TORCH_ID OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${DEVSAN_TORCH_DIR}/version.py")
