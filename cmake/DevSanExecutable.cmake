# What devsan_add_test() and devsan_enable_checks() have in common.
include_guard(GLOBAL)

# The command `devsan`: the target of that name where DevSan is part of the build, else DEVSAN_EXECUTABLE, else the one beside this
# file's build or installation, else the one on PATH.
function(_devsan_find_executable caller result)
  if(TARGET devsan)
    set(${result} "$<TARGET_FILE:devsan>" PARENT_SCOPE)
    return()
  endif()
  find_program(DEVSAN_EXECUTABLE devsan
    HINTS "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../build/bin" "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../../bin"
    DOC "The command devsan, for devsan_add_test() and devsan_enable_checks()")
  if(NOT DEVSAN_EXECUTABLE)
    message(FATAL_ERROR "${caller}: the command `devsan` was not found; set -DDEVSAN_EXECUTABLE=/path/to/build/bin/devsan")
  endif()
  if(NOT EXISTS "${DEVSAN_EXECUTABLE}")
    message(FATAL_ERROR "${caller}: DEVSAN_EXECUTABLE=${DEVSAN_EXECUTABLE} does not exist")
  endif()
  set(${result} "${DEVSAN_EXECUTABLE}" PARENT_SCOPE)
endfunction()

# The options that `devsan check` and `devsan run` both take, of the caller's arg_FAIL_ON, arg_SUPPRESSIONS and arg_BASELINE. Files
# are relative to the caller's source folder.
function(_devsan_options_of_both result)
  set(options "")
  if(arg_FAIL_ON)
    list(JOIN arg_FAIL_ON "," fail_on)
    list(APPEND options "--fail-on=${fail_on}")
  endif()
  foreach(file IN LISTS arg_SUPPRESSIONS)
    get_filename_component(file "${file}" ABSOLUTE)
    list(APPEND options "--suppressions=${file}")
  endforeach()
  if(arg_BASELINE)
    get_filename_component(file "${arg_BASELINE}" ABSOLUTE)
    list(APPEND options "--baseline=${file}")
  endif()
  set(${result} "${options}" PARENT_SCOPE)
endfunction()
