# What is installed beside the parts themselves: the package for find_package(DevSan), and the target "uninstall".
include(CMakePackageConfigHelpers)
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/DevSanConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/cmake/DevSanConfig.cmake" INSTALL_DESTINATION "${DEVSAN_PACKAGE_DIR}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/cmake/DevSanConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
set(_package "${PROJECT_BINARY_DIR}/cmake/DevSanConfig.cmake" "${PROJECT_BINARY_DIR}/cmake/DevSanConfigVersion.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/DevSanTest.cmake" "${PROJECT_SOURCE_DIR}/cmake/DevSanExecutable.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/DevSanChecks.cmake" "${PROJECT_SOURCE_DIR}/cmake/DevSanCheckTarget.cmake")
# Each of these is of use alone.
foreach(_component command metrics)
  if(_component STREQUAL command OR DEVSAN_BUILD_METRICS)
    install(FILES ${_package} DESTINATION "${DEVSAN_PACKAGE_DIR}" COMPONENT ${_component})
  endif()
endforeach()

if(DEVSAN_BUILD_ANALYZER)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/bazel" DESTINATION share/devsan COMPONENT analyzer)
endif()

if(PROJECT_IS_TOP_LEVEL)
  add_custom_target(uninstall VERBATIM
    COMMAND "${CMAKE_COMMAND}" "-DBUILD=${PROJECT_BINARY_DIR}" -P "${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake")
endif()
