# The command `devsan` for devsan_add_test() and devsan_enable_checks(): the target of that name where DevSan is part of the build,
# else DEVSAN_EXECUTABLE, else the one beside this file's build or installation, else the one on PATH.
include_guard(GLOBAL)

set(_devsan_module_dir "${CMAKE_CURRENT_LIST_DIR}")

function(_devsan_find_executable caller result)
  if(TARGET devsan)
    set(${result} "$<TARGET_FILE:devsan>" PARENT_SCOPE)
    return()
  endif()
  find_program(DEVSAN_EXECUTABLE devsan
    HINTS "${_devsan_module_dir}/../build/bin" "${_devsan_module_dir}/../../../bin"
    DOC "The command devsan, for devsan_add_test() and devsan_enable_checks()")
  if(NOT DEVSAN_EXECUTABLE)
    message(FATAL_ERROR "${caller}: the command `devsan` was not found; set -DDEVSAN_EXECUTABLE=/path/to/build/bin/devsan")
  endif()
  if(NOT EXISTS "${DEVSAN_EXECUTABLE}")
    message(FATAL_ERROR "${caller}: DEVSAN_EXECUTABLE=${DEVSAN_EXECUTABLE} does not exist")
  endif()
  set(${result} "${DEVSAN_EXECUTABLE}" PARENT_SCOPE)
endfunction()
