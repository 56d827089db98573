set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE}")
  # Without timestamps inside, a cached precompiled header can be used again. Only Clang writes them.
  add_compile_options("$<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endif()

option(DEVSAN_COMPILE_TOGETHER "Compile the sources of large targets together, eight at a time" ON)

# What the sources of a target have in common of headers and templates is parsed, instantiated and optimised once for eight of
# them, which takes a third of the time. Two files' functions without linkage must then not have one name. The compiler says so
# where they are alike; where it takes one for the other instead, that one is mostly left unused.
# devsan_compile_together(<target> [ALONE <source>...])
function(devsan_compile_together target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "ALONE")
  if(DEVSAN_COMPILE_TOGETHER)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON)
    if(DEVSAN_BUILD_TESTS) # who develops
      target_compile_options(${target} PRIVATE -Werror=unused-function)
    endif()
    set_source_files_properties(${arg_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

# For the presets "asan" and "tsan" (cmake --workflow --preset asan), which run the tests of what has no LibTorch in it.
set(DEVSAN_SANITIZE "" CACHE STRING "Value of -fsanitize= for everything but the preloaded shim")
if(DEVSAN_SANITIZE)
  add_compile_options("-fsanitize=${DEVSAN_SANITIZE}" -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  add_link_options("-fsanitize=${DEVSAN_SANITIZE}")
endif()

# A program that runs on systems with an older libstdc++ than ours, too.
function(devsan_link_standalone target)
  if(NOT DEVSAN_SANITIZE)
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc)
  endif()
endfunction()

# Warnings for our own code only; LLVM and LibTorch headers come in as system headers.
add_library(devsan_warnings INTERFACE)
target_compile_options(devsan_warnings INTERFACE -Wall -Wextra -Wno-unused-parameter)

# For programs that are not shipped, tests above all: optimising them takes longer than running them.
add_library(devsan_test_program INTERFACE)
target_link_libraries(devsan_test_program INTERFACE devsan_warnings)
target_compile_options(devsan_test_program INTERFACE -O0)

# A release is the same wherever it is built (script/release): what the compiler writes of paths begins in the checkout. Not for
# who develops: debuggers look for sources where they are.
option(DEVSAN_REPRODUCIBLE "No path of this machine in what is built" OFF)
if(DEVSAN_REPRODUCIBLE)
  add_compile_options("-ffile-prefix-map=${PROJECT_SOURCE_DIR}=." "-ffile-prefix-map=${PROJECT_BINARY_DIR}=build")
  # Nor what the linker writes of them: its id of a library counts the paths that installing it takes out again.
  set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
endif()
