# Run by CPack on the staged tree: what of a Debian package lies outside of /usr/lib/devsan.
set(root "${CPACK_TEMPORARY_INSTALL_DIRECTORY}")
set(tree "${root}/usr/lib/devsan")
if(NOT EXISTS "${tree}/bin/devsan")
  message(FATAL_ERROR "no ${tree}/bin/devsan: build everything, then run cpack -G DEB")
endif()
foreach(folder IN ITEMS bin lib/cmake/DevSan lib/python3/dist-packages share/doc/devsan share/man/man1
        share/bash-completion/completions share/zsh/vendor-completions share/fish/vendor_completions.d)
  file(MAKE_DIRECTORY "${root}/usr/${folder}")
endforeach()
file(CREATE_LINK ../lib/devsan/bin/devsan "${root}/usr/bin/devsan" SYMBOLIC)
# Files instead of a link: a package of CMake finds its parts relative to itself.
foreach(file IN ITEMS DevSanConfig DevSanConfigVersion)
  file(WRITE "${root}/usr/lib/cmake/DevSan/${file}.cmake" "include(\"\${CMAKE_CURRENT_LIST_DIR}/../../devsan/lib/cmake/DevSan/${file}.cmake\")\n")
endforeach()
file(WRITE "${root}/usr/lib/python3/dist-packages/devsan.pth" "/usr/lib/devsan/python\n")

function(write_output file)
  execute_process(COMMAND "${tree}/bin/devsan" ${ARGN} OUTPUT_FILE "${root}/usr/share/${file}" COMMAND_ERROR_IS_FATAL ANY)
endfunction()
write_output(man/man1/devsan.1 man)
write_output(bash-completion/completions/devsan completion bash)
write_output(zsh/vendor-completions/_devsan completion zsh)
write_output(fish/vendor_completions.d/devsan.fish completion fish)
set(source "${CMAKE_CURRENT_LIST_DIR}/../..")
file(COPY_FILE "${CMAKE_CURRENT_LIST_DIR}/copyright" "${root}/usr/share/doc/devsan/copyright")
file(COPY_FILE "${source}/CHANGELOG.md" "${root}/usr/share/doc/devsan/changelog")
# SOURCE_DATE_EPOCH decides the time, where it is set.
string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE "${root}/usr/share/doc/devsan/changelog.Debian"
  "devsan (${CPACK_PACKAGE_VERSION}-1) unstable; urgency=low\n\n  * Version ${CPACK_PACKAGE_VERSION}.\n\n -- ${CPACK_PACKAGE_CONTACT}  ${now}\n")
# Without names and times inside, so that the same tree gives the same package.
execute_process(COMMAND gzip -9n "${root}/usr/share/doc/devsan/changelog" "${root}/usr/share/doc/devsan/changelog.Debian"
  "${root}/usr/share/man/man1/devsan.1" COMMAND_ERROR_IS_FATAL ANY)
file(GLOB_RECURSE libraries "${tree}/lib/*.so" "${tree}/python/*.so")
file(CHMOD ${libraries} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
