# DevSan::cuda_api: CUDA's headers and LibTorch's CUDA functions for programs that are built beside a CPU LibTorch.
if(NOT TARGET DevSan::cuda_api)
  get_filename_component(_devsan_tree "${CMAKE_CURRENT_LIST_DIR}/../../../.." ABSOLUTE)
  get_filename_component(_devsan_toolkit "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
  add_library(DevSan::cudart SHARED IMPORTED)
  set_target_properties(DevSan::cudart PROPERTIES
    IMPORTED_LOCATION "${_devsan_toolkit}/lib64/libcudart.so.12" IMPORTED_SONAME libcudart.so.12
    INTERFACE_INCLUDE_DIRECTORIES "${_devsan_toolkit}/include")
  add_library(DevSan::cuda_api SHARED IMPORTED)
  set_target_properties(DevSan::cuda_api PROPERTIES
    IMPORTED_LOCATION "${_devsan_tree}/lib/libdevsan_cuda_api.so" IMPORTED_SONAME libdevsan_cuda_api.so
    INTERFACE_INCLUDE_DIRECTORIES "${_devsan_toolkit}/include" INTERFACE_LINK_LIBRARIES DevSan::cudart)
endif()
