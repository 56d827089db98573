# The wheel (pyproject.toml): an installed tree as devsan/_tree, and the Python package around it. With DEVSAN_FROM_BUILD nothing is
# compiled: the tree comes from that build folder.
set(DEVSAN_FROM_BUILD "" CACHE PATH "Finished build folder that the wheel is made from; where empty, everything is built")
if(DEVSAN_FROM_BUILD)
  if(NOT EXISTS "${DEVSAN_FROM_BUILD}/cmake_install.cmake")
    message(FATAL_ERROR "DEVSAN_FROM_BUILD=${DEVSAN_FROM_BUILD} is no build folder of DevSan")
  endif()
  file(GLOB _metrics "${DEVSAN_FROM_BUILD}/python/devsan/metrics/_for/*/_metrics.abi3.so")
  if(NOT _metrics)
    message(FATAL_ERROR "${DEVSAN_FROM_BUILD} has no Python binding of the metrics: configure it with a Python that has PyTorch \
and headers, and build it")
  endif()
  foreach(_component command analyzer runtime metrics metrics_python)
    install(CODE "execute_process(COMMAND_ERROR_IS_FATAL ANY COMMAND \"\${CMAKE_COMMAND}\" --install \"${DEVSAN_FROM_BUILD}\"
      --prefix \"\${CMAKE_INSTALL_PREFIX}\" --component ${_component} --strip OUTPUT_QUIET)" COMPONENT wheel)
  endforeach()
endif()

# What script/try-releases --keep wrote, for other LibTorchs.
set(DEVSAN_SHIPPED "" CACHE PATH "Folder of libraries for other LibTorchs that the wheel brings")
if(DEVSAN_SHIPPED)
  install(DIRECTORY "${DEVSAN_SHIPPED}/torch/" DESTINATION lib/torch COMPONENT wheel)
  install(DIRECTORY "${DEVSAN_SHIPPED}/metrics/" DESTINATION python/devsan/metrics/_for COMPONENT wheel)
endif()

# The metrics are importable without `devsan run`, and under it: the package in the tree finds them on the path.
install(CODE "
  set(package \"\${CMAKE_INSTALL_PREFIX}/..\")
  file(REMOVE_RECURSE \"\${package}/metrics\")
  file(RENAME \"\${CMAKE_INSTALL_PREFIX}/python/devsan/metrics\" \"\${package}/metrics\")" COMPONENT wheel)
install(FILES "${PROJECT_SOURCE_DIR}/cmake/wheel/_command.py" DESTINATION "${SKBUILD_PLATLIB_DIR}/devsan" COMPONENT wheel)
# Without devsan.sim, which only programs under `devsan run` use.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/runtime/python/devsan/" DESTINATION "${SKBUILD_PLATLIB_DIR}/devsan"
  COMPONENT wheel FILES_MATCHING PATTERN "*.py" PATTERN sim EXCLUDE PATTERN __pycache__ EXCLUDE)
