# mbirk_own_target(<target>): common settings of our own programs: the library, this machine's instructions, warnings.
function(mbirk_own_target target)
  target_link_libraries(${target} PRIVATE mbirk::mbirk)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  # CUDA_STANDARD 20 would be clearer, but CMake 3.25 does not support it for nvcc.
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:-std=c++20>")
  # mbirk::compiled has this flag too
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
  # The host half of .cu files gets equal flags: exec::host must mean one thing in a program.
  if(MBIRK_NATIVE)
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-march=native>"
                           "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-march=native>")
  endif()
  mbirk_warnings(${target})
endfunction()

# mbirk_link_first(<target> <library>...): the linker takes the first definition of an inline function that it meets. It
# shall be that of the libraries, which are optimised, not that of a test at -O0: an emulation is then six times faster.
function(mbirk_link_first target)
  foreach(library IN LISTS ARGN)
    target_link_options(${target} PRIVATE LINKER:--whole-archive,$<TARGET_FILE:${library}>,--no-whole-archive)
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS $<TARGET_FILE:${library}>)
    add_dependencies(${target} ${library})
  endforeach()
endfunction()

# mbirk_optional_libraries(<target>): links the packages that some of our headers use, if they were found; our own
# programs see this as MBIRK_WITH_HDF5 and MBIRK_WITH_PNG.
function(mbirk_optional_libraries target)
  foreach(package IN ITEMS fmt::fmt nlohmann_json::nlohmann_json ZLIB::ZLIB hdf5::hdf5 PNG::PNG mbirk_toolkit_headers)
    if(TARGET ${package})
      target_link_libraries(${target} PRIVATE ${package})
    endif()
  endforeach()
  foreach(package IN ITEMS HDF5 PNG)
    if(${package}_FOUND)
      target_compile_definitions(${target} PRIVATE MBIRK_WITH_${package}=1)
    endif()
  endforeach()
endfunction()

# mbirk_scan_libraries(<target>): links the packages that read scanners' formats, if they were found; seen as
# MBIRK_WITH_TIFF, MBIRK_WITH_MATIO and MBIRK_WITH_GSF.
function(mbirk_scan_libraries target)
  foreach(package IN ITEMS TIFF MATIO GSF)
    if(${package}_FOUND)
      target_link_libraries(${target} PRIVATE mbirk_${package})
      target_compile_definitions(${target} PRIVATE MBIRK_WITH_${package}=1)
    endif()
  endforeach()
endfunction()

# mbirk_interop_libraries(<target>): links the packages of mbirk/interop that were found. Only code that exchanges
# arrays needs them.
function(mbirk_interop_libraries target)
  foreach(package IN ITEMS Eigen3::Eigen mbirk_dlpack_headers)
    if(TARGET ${package})
      target_link_libraries(${target} PRIVATE ${package})
    endif()
  endforeach()
endfunction()

# Makes a header in the target's build folder that holds the text of the files of a folder (embed.cmake).
function(mbirk_embed target folder namespace header)
  cmake_path(ABSOLUTE_PATH folder)
  set(header ${CMAKE_CURRENT_BINARY_DIR}/${header})
  file(GLOB files CONFIGURE_DEPENDS ${folder}/*)
  set(script ${PROJECT_SOURCE_DIR}/cmake/embed.cmake)
  add_custom_command(
    OUTPUT ${header}
    COMMAND ${CMAKE_COMMAND} -D folder=${folder} -D header=${header} -D namespace=${namespace} -P ${script}
    DEPENDS ${files} ${script}
    VERBATIM)
  target_sources(${target} PRIVATE ${header})
endfunction()

# mbirk_files_with(<result> <regex> <file>...): the headers and sources among these absolute paths that include a match,
# directly or through each other. Their names in includes begin below include/ and tests/.
function(mbirk_files_with result regex)
  set(found "")
  set(more ON)
  while(more)
    set(more OFF)
    foreach(file IN LISTS ARGN)
      if(NOT file IN_LIST found)
        file(STRINGS ${file} lines REGEX "^#include +(${regex})")
        if(lines)
          list(APPEND found ${file})
          string(REGEX REPLACE "^.*/(include|tests)/" "" name ${file})
          string(APPEND regex "|[<\"]${name}")
          set(more ON)
        endif()
      endif()
    endforeach()
  endwhile()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# Include names of the optional packages.
set(mbirk_optional_packages fmt nlohmann_json ZLIB HDF5 PNG TIFF MATIO GSF Eigen3 dlpack MPI)
set(mbirk_optional_includes "<fmt/" "<nlohmann/" "<zlib[.]h>" "<hdf5[.]h>" "<png[.]h>" "<tiffio[.]h>"
    "<matio[.]h>" "<gsf/" "<(unsupported/)?Eigen/" "<dlpack/" "<mpi[.]h>")
# Include names of headers of the CUDA toolkit, which nvcc provides.
set(mbirk_toolkit_packages nvtx3 cupti cudart)
set(mbirk_toolkit_includes "<nvtx3/" "<cupti[.]h>" "<cuda_(runtime|profiler_api)[.]h>")

# mbirk_files_that_compile(<result> <file>...): these files without those that need a package which was not found.
function(mbirk_files_that_compile result)
  set(files ${ARGN})
  set(packages ${mbirk_optional_packages} ${mbirk_toolkit_packages})
  set(includes ${mbirk_optional_includes} ${mbirk_toolkit_includes})
  foreach(package regex IN ZIP_LISTS packages includes)
    if(NOT ${package}_FOUND)
      mbirk_files_with(without "${regex}" ${files})
      list(REMOVE_ITEM files ${without})
    endif()
  endforeach()
  set(${result} ${files} PARENT_SCOPE)
endfunction()

# mbirk_compile_in_groups(<target>): compiles all sources of a folder at once, because most of the time of each goes
# into headers and templates that all of them use. Sources of a folder do not share names in unnamed namespaces.
function(mbirk_compile_in_groups target)
  if(NOT MBIRK_GROUPS)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "[.]cpp$")
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(GET folder FILENAME folder)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_sources)
  endforeach()
endfunction()
