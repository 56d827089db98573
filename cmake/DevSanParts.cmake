# The parts that tests belong to, for `script/test PART`, and the sets of targets that people build.

# devsan_test_part(<name> [FOLDERS <folder>...] [NEEDS <target>...])
#
# The tests that this folder adds are a part: they have the label <name>. They are for the files of this folder, and of
# FOLDERS, which are relative to the root. The target test_<name> builds what they run: the targets of this folder, and those
# named, which may come later or not be there.
set_property(GLOBAL PROPERTY DEVSAN_PARTS "")
function(devsan_test_part name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "FOLDERS;NEEDS")
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE _here)
  foreach(_folder IN ITEMS "${_here}" LISTS arg_FOLDERS)
    set_property(GLOBAL APPEND_STRING PROPERTY DEVSAN_PARTS "${_folder} ${name}\n")
  endforeach()
  add_custom_target(test_${name})
  cmake_language(EVAL CODE "cmake_language(DEFER CALL _devsan_label_tests ${name})")
  cmake_language(EVAL CODE "cmake_language(DEFER DIRECTORY [[${CMAKE_SOURCE_DIR}]] CALL _devsan_fill_part
    ${name} [[${CMAKE_CURRENT_SOURCE_DIR}]] ${arg_NEEDS})")
endfunction()

# A label of the folder does not reach tests that have a WORKING_DIRECTORY. Tests run side by side, where LibTorch's threads
# would burn half of the time in loops that wait for one another.
function(_devsan_label_tests name)
  get_property(_tests DIRECTORY PROPERTY TESTS)
  set_property(TEST ${_tests} APPEND PROPERTY LABELS "${name}")
  set_property(TEST ${_tests} APPEND PROPERTY ENVIRONMENT OMP_WAIT_POLICY=passive)
endfunction()

function(_devsan_fill_part name folder)
  get_property(_targets DIRECTORY "${folder}" PROPERTY BUILDSYSTEM_TARGETS)
  foreach(_target IN LISTS _targets)
    get_target_property(_type ${_target} TYPE)
    get_target_property(_apart ${_target} EXCLUDE_FROM_ALL)
    if(NOT _type STREQUAL "INTERFACE_LIBRARY" AND NOT _apart AND NOT _target MATCHES "^test_")
      add_dependencies(test_${name} ${_target})
    endif()
  endforeach()
  foreach(_target IN LISTS ARGN)
    if(TARGET ${_target})
      add_dependencies(test_${name} ${_target})
    endif()
  endforeach()
endfunction()

# devsan_add_set(<name> <target>...): a target that builds those that are there.
function(devsan_add_set name)
  add_custom_target(${name})
  foreach(_target IN LISTS ARGN)
    if(TARGET ${_target})
      add_dependencies(${name} ${_target})
    endif()
  endforeach()
endfunction()

# devsan_add_lit_suite(<name> CONFIG <folder of test/lit> [FOLDER <folder>] [TIMEOUT <seconds>])
#
# The lit tests below FOLDER, which may be narrower than the folder that the configuration names.
function(devsan_add_lit_suite name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "CONFIG;FOLDER;TIMEOUT" "")
  find_program(DEVSAN_LIT NAMES lit lit-22 PATHS /usr/lib/llvm-22/bin REQUIRED)
  find_program(DEVSAN_FILECHECK NAMES FileCheck FileCheck-22 PATHS /usr/lib/llvm-22/bin REQUIRED)
  add_test(NAME "lit.${name}"
    COMMAND "${DEVSAN_LIT}" --succinct --verbose
            "-Dsource_dir=${PROJECT_SOURCE_DIR}" "-Dbuild_dir=${PROJECT_BINARY_DIR}" "-Dfolder=${arg_FOLDER}"
            "-Dpython=${DEVSAN_PYTHON}" "-Dtorch_dir=${DEVSAN_TORCH_DIR}" "-Dcxx=${CMAKE_CXX_COMPILER}"
            "${PROJECT_SOURCE_DIR}/test/lit/${arg_CONFIG}")
  # It starts as many at once as there are processors.
  set_tests_properties("lit.${name}" PROPERTIES TIMEOUT ${arg_TIMEOUT} PROCESSORS 2)
endfunction()
