# An overlay port of the headers, of the sources that it stands in: vcpkg install mbirk --overlay-ports=packaging/vcpkg
# vcpkg reuses its last build of a port; after a change of the sources: vcpkg remove mbirk, and --no-binarycaching.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(VCPKG_BUILD_TYPE release)  # header-only

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DMBIRK_CUDA=OFF -DMBIRK_BUILD_PROGRAM=OFF -DMBIRK_BUILD_TESTS=OFF -DMBIRK_BUILD_BENCH=OFF
          -DMBIRK_BUILD_EXAMPLES=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH share/cmake/mbirk)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/share/doc" "${CURRENT_PACKAGES_DIR}/share/cmake")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE" "${SOURCE_PATH}/NOTICE")
