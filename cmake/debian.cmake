# `cpack` makes libmbirk-dev (headers, for any architecture) and mbirk (the program, unless it was built for this
# machine's processor only).
set(CPACK_GENERATOR DEB)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_PACKAGE_CONTACT "The mbirk authors <mbirk@example.org>" CACHE STRING
    "Maintainer of the packages, with an address")
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
    WORLD_READ WORLD_EXECUTE)

set(CPACK_COMPONENTS_ALL dev)
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libmbirk-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_SUGGESTS "libhdf5-dev, libpng-dev, nlohmann-json3-dev, pkgconf")
set(CPACK_DEBIAN_DEV_DESCRIPTION "Headers: projectors of parallel and cone beams whose back projection is
the exact transpose, iterative and direct reconstruction, denoising and
weights; on threads, on CUDA devices, or on an emulation of one.
They need a C++20 compiler and nothing else.")

if(TARGET mbirk_program)
  if(MBIRK_NATIVE)
    message(VERBOSE "mbirk: the Debian package of the program is off because MBIRK_NATIVE is on, which makes it for "
            "this machine's processor")
  else()
    list(APPEND CPACK_COMPONENTS_ALL program)
    set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME mbirk)
    set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
    set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
    set(CPACK_DEBIAN_PROGRAM_DESCRIPTION "The program: reconstructs measurements, runs operations on files and checks
their results, and measures every operation: times, exact counts, memory,
timelines, graphs, and which of them deserve an FPGA.")
  endif()
endif()

# Debian requires these files under the name of each package.
set(mbirk_deb ${CMAKE_CURRENT_BINARY_DIR}/debian)
file(READ LICENSE licence)
file(READ NOTICE notice)
file(WRITE ${mbirk_deb}/copyright "${licence}\n${notice}")
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${mbirk_deb}/changelog "mbirk (${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * What is new in ${PROJECT_VERSION}: CHANGELOG.md of the sources.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
file(ARCHIVE_CREATE OUTPUT ${mbirk_deb}/changelog.Debian.gz PATHS ${mbirk_deb}/changelog
     FORMAT raw COMPRESSION GZip COMPRESSION_LEVEL 9)
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} name)
  install(FILES ${mbirk_deb}/copyright ${mbirk_deb}/changelog.Debian.gz
          DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${CPACK_DEBIAN_${name}_PACKAGE_NAME}
          COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()

include(CPack)
