# _devsan_torch_dir: where the TorchConfig.cmake of a CPU LibTorch lies, by CMAKE_PREFIX_PATH, else by the Python on PATH.
set(_devsan_prefixes ${CMAKE_PREFIX_PATH} ${Torch_ROOT} $ENV{Torch_ROOT})
string(REPLACE ":" ";" _devsan_from_environment "$ENV{CMAKE_PREFIX_PATH}")
list(APPEND _devsan_prefixes ${_devsan_from_environment})
execute_process(COMMAND python3 -c "import torch; print(torch.utils.cmake_prefix_path)"
  OUTPUT_VARIABLE _devsan_from_python OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
unset(_devsan_torch_dir)
foreach(_devsan_prefix IN LISTS _devsan_prefixes _devsan_from_python)
  foreach(_devsan_folder "" /Torch /share/cmake/Torch)
    if(NOT _devsan_torch_dir AND EXISTS "${_devsan_prefix}${_devsan_folder}/TorchConfig.cmake"
       AND NOT "${_devsan_prefix}${_devsan_folder}" STREQUAL "${CMAKE_CURRENT_LIST_DIR}")
      set(_devsan_torch_dir "${_devsan_prefix}${_devsan_folder}")
    endif()
  endforeach()
endforeach()
