# `cpack -G DEB` in the build folder: everything that `cmake --install` installs, as a Debian package. The tree stays whole in
# /usr/lib/devsan, as it is found relative to itself; cmake/debian/finish.cmake adds what lies elsewhere.
set(DEVSAN_PACKAGE_CONTACT "The DevSan developers <devsan@devsan.invalid>" CACHE STRING "Maintainer that the Debian package names")
set(CPACK_PACKAGE_NAME devsan)
set(CPACK_PACKAGE_VENDOR DevSan)
set(CPACK_PACKAGE_CONTACT "${DEVSAN_PACKAGE_CONTACT}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "sanitizer for devices in LibTorch and PyTorch programs")
set(CPACK_PACKAGE_DESCRIPTION "DevSan finds tensors on the wrong GPU, copies and waits that nobody asked
for, modules on two devices and gathers that lose the autograd graph: in C++
and CUDA sources, and while a program runs, on simulated GPUs where there is
none. The runtime is prebuilt for one version of PyTorch, and is built on first
use for others.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr/lib/devsan)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/cmake/debian/finish.cmake")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# LibTorch belongs to no package: it is the program's.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${DEVSAN_TORCH_LIB_DIR}")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS python3)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "g++, git")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA "${PROJECT_SOURCE_DIR}/cmake/debian/prerm")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
