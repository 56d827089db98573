# devsan_add_test(NAME <name> COMMAND <command> [<argument>...]
#                 [SIM <devices>] [FAIL_ON <rule or severity>...] [MAX <rule>=<n>[/step]...]
#                 [SUPPRESSIONS <file>...] [BASELINE <file>] [REPORT <file>...] [WORKING_DIRECTORY <folder>])
#
# A test that runs the command under `devsan run`: it fails where the command fails, or has findings at or above FAIL_ON
# (default: what .devsan.toml says, else error) or beyond MAX. SIM gives it simulated CUDA devices. The command may be an
# executable target. As with add_test(), properties are set afterwards (TIMEOUT, LABELS, ENVIRONMENT ...).
#
# The command `devsan` is DEVSAN_EXECUTABLE, else the one beside this file's build or installation, else the one on PATH.
include_guard(GLOBAL)

include("${CMAKE_CURRENT_LIST_DIR}/DevSanExecutable.cmake")

function(devsan_add_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg ""
    "NAME;SIM;BASELINE;WORKING_DIRECTORY" "COMMAND;FAIL_ON;MAX;SUPPRESSIONS;REPORT")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "devsan_add_test: unknown arguments '${arg_UNPARSED_ARGUMENTS}'; valid: NAME, COMMAND, SIM, FAIL_ON, MAX, \
SUPPRESSIONS, BASELINE, REPORT, WORKING_DIRECTORY")
  endif()
  if(arg_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "devsan_add_test: ${arg_KEYWORDS_MISSING_VALUES} needs a value")
  endif()
  if(NOT arg_NAME OR NOT arg_COMMAND)
    message(FATAL_ERROR "devsan_add_test: write NAME <name> COMMAND <command>")
  endif()
  if(DEFINED arg_SIM AND NOT arg_SIM MATCHES "^[1-9][0-9]?$")
    message(FATAL_ERROR "devsan_add_test(${arg_NAME}): SIM ${arg_SIM}: the number of simulated devices must be from 1 to 64")
  endif()

  _devsan_find_executable(devsan_add_test devsan)
  _devsan_options_of_both(options)
  if(DEFINED arg_SIM)
    list(APPEND options "--sim=${arg_SIM}")
  endif()
  foreach(budget IN LISTS arg_MAX)
    list(APPEND options "--max=${budget}")
  endforeach()
  foreach(file IN LISTS arg_REPORT)
    get_filename_component(file "${file}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_BINARY_DIR}")
    list(APPEND options "--report=${file}")
  endforeach()

  # add_test() knows targets in the first place only.
  list(POP_FRONT arg_COMMAND program)
  if(TARGET "${program}")
    set(program "$<TARGET_FILE:${program}>")
  endif()
  set(folder "")
  if(arg_WORKING_DIRECTORY)
    set(folder WORKING_DIRECTORY "${arg_WORKING_DIRECTORY}")
  endif()
  add_test(NAME "${arg_NAME}" COMMAND "${devsan}" run ${options} -- "${program}" ${arg_COMMAND} ${folder})
endfunction()
