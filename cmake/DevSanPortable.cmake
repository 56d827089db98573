# Products run on systems with an older glibc and libstdc++ than those that they are built on: on all that PyTorch's own wheels run
# on (manylinux_2_28). They are linked against stubs of this system's libraries that have no symbols of younger versions, and bring
# what they use of those. On other machines than x86-64, under sanitizers and as a part of another build they need what they were built with.
set(_portable OFF)
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" AND PROJECT_IS_TOP_LEVEL AND NOT DEVSAN_SANITIZE)
  set(_portable ON)
endif()
option(DEVSAN_PORTABLE "Link the products so that they run with glibc 2.28" ${_portable})

if(DEVSAN_PORTABLE)
  set(_folder "${CMAKE_CURRENT_LIST_DIR}/portable")
  set(DEVSAN_STUBS "${PROJECT_BINARY_DIR}/portable")
  set(_libraries)
  foreach(_name libc.so.6 libm.so.6 libstdc++.so.6 ld-linux-x86-64.so.2)
    execute_process(COMMAND "${CMAKE_CXX_COMPILER}" "-print-file-name=${_name}" OUTPUT_VARIABLE _path OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    list(APPEND _libraries "${_name}=${_path}")
  endforeach()
  set(_python "${DEVSAN_PYTHON}")
  if(NOT _python)
    find_package(Python3 REQUIRED COMPONENTS Interpreter)
    set(_python "${Python3_EXECUTABLE}")
  endif()
  execute_process(COMMAND "${_python}" -B "${_folder}/stubs.py" "${CMAKE_READELF}" "${CMAKE_C_COMPILER}" "${DEVSAN_STUBS}" ${_libraries} COMMAND_ERROR_IS_FATAL ANY)
  set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${_folder}/stubs.py")
  # By the names that compilers look for.
  execute_process(COMMAND "${CMAKE_CXX_COMPILER}" -print-file-name=libc_nonshared.a OUTPUT_VARIABLE _path OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  file(WRITE "${DEVSAN_STUBS}/libc.so" "GROUP(${DEVSAN_STUBS}/libc.so.6 ${_path} AS_NEEDED(${DEVSAN_STUBS}/ld-linux-x86-64.so.2))\n")
  file(WRITE "${DEVSAN_STUBS}/libm.so" "INPUT(${DEVSAN_STUBS}/libm.so.6)\n")
  file(WRITE "${DEVSAN_STUBS}/libstdc++.so" "INPUT(${DEVSAN_STUBS}/libstdc++.so.6)\n")
  add_library(devsan_compat OBJECT "${_folder}/compat.c")
  add_library(devsan_start OBJECT "${_folder}/start.c")
  set_target_properties(devsan_compat devsan_start PROPERTIES POSITION_INDEPENDENT_CODE ON C_STANDARD 11)
  # For `devsan prepare`, where libraries for other LibTorchs are to be as portable: they name no folder of this machine either.
  file(GENERATE OUTPUT "${DEVSAN_STUBS}/c++" CONTENT "#!/bin/sh
for word do
  shift
  case $word in -Wl,-rpath*) ;; *) set -- \"$@\" \"$word\" ;; esac
done
case \" $* \" in
*' -shared '*) exec '${CMAKE_CXX_COMPILER}' '-L${DEVSAN_STUBS}' \"$@\" '$<TARGET_OBJECTS:devsan_compat>' -Wl,--push-state,--no-as-needed -l:libpthread.so.0 -l:libdl.so.2 -Wl,--pop-state ;;
*) exec '${CMAKE_CXX_COMPILER}' \"$@\" ;;
esac
" FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endif()

# devsan_link_portable(<target> [<library>...]): the libraries are those that older glibcs have apart, pthread and dl.
function(devsan_link_portable target)
  if(NOT DEVSAN_PORTABLE)
    return()
  endif()
  target_link_libraries(${target} PRIVATE $<TARGET_OBJECTS:devsan_compat>)
  target_link_options(${target} PRIVATE "-L${DEVSAN_STUBS}")
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS
    "${DEVSAN_STUBS}/libc.so.6" "${DEVSAN_STUBS}/libm.so.6" "${DEVSAN_STUBS}/libstdc++.so.6" "${DEVSAN_STUBS}/ld-linux-x86-64.so.2")
  get_target_property(_type ${target} TYPE)
  if(_type STREQUAL "EXECUTABLE")
    target_link_libraries(${target} PRIVATE $<TARGET_OBJECTS:devsan_start>)
    target_link_options(${target} PRIVATE -Wl,--wrap=__libc_start_main)
  endif()
  foreach(_library IN LISTS ARGN)
    target_link_options(${target} PRIVATE "-Wl,--push-state,--no-as-needed,-l:lib${_library}.so.$<IF:$<STREQUAL:${_library},dl>,2,0>,--pop-state")
  endforeach()
endfunction()
