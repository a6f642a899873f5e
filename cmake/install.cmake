# Installed parts of the library: headers, CMake's package, pkg-config's file, licences. cpack makes the Debian
# packages.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS mbirk EXPORT mbirk-targets FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})  # for users whose CMake does not know file sets
# The compiled instances, if they are built, are a component of their own, because they are made for one processor.
if(TARGET mbirk_instances)
  install(TARGETS mbirk_instances EXPORT mbirk-compiled-targets
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT compiled)
  install(EXPORT mbirk-compiled-targets NAMESPACE mbirk::
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mbirk-compiled COMPONENT compiled)
endif()
set(mbirk_compiled_dir ${CMAKE_INSTALL_LIBDIR}/cmake/mbirk-compiled)
# A header-only package goes to the architecture-independent folder, and any pointer size may use it.
set(mbirk_config_dir ${CMAKE_INSTALL_DATADIR}/cmake/mbirk)
install(EXPORT mbirk-targets NAMESPACE mbirk:: DESTINATION ${mbirk_config_dir} COMPONENT dev)
configure_package_config_file(cmake/mbirk-config.cmake.in mbirk-config.cmake
                              INSTALL_DESTINATION ${mbirk_config_dir} PATH_VARS mbirk_compiled_dir)
write_basic_package_version_file(mbirk-config-version.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/mbirk-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/mbirk-config-version.cmake
        DESTINATION ${mbirk_config_dir} COMPONENT dev)

# The pkg-config file gives the header folder relative to itself, so both can be moved together.
set(mbirk_pc_dir ${CMAKE_INSTALL_DATADIR}/pkgconfig)
file(RELATIVE_PATH mbirk_pc_to_include ${CMAKE_INSTALL_FULL_DATADIR}/pkgconfig ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(cmake/mbirk.pc.in mbirk.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/mbirk.pc DESTINATION ${mbirk_pc_dir} COMPONENT dev)

install(FILES LICENSE NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT licence)

# Deferred, because the program is a package of its own only where it is built.
if(PROJECT_IS_TOP_LEVEL)
  cmake_language(DEFER CALL include ${PROJECT_SOURCE_DIR}/cmake/debian.cmake)
endif()
