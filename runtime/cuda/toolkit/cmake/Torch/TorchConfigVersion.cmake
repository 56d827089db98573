# That of LibTorch itself.
include("${CMAKE_CURRENT_LIST_DIR}/FindLibTorch.cmake")
if(_devsan_torch_dir)
  include("${_devsan_torch_dir}/TorchConfigVersion.cmake")
endif()
