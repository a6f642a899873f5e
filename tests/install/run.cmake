# cmake -D way=... -P run.cmake: gets the library in this way into the folder ${work}, builds and runs consumer/ there.
cmake_minimum_required(VERSION 3.24)
set(consumer ${CMAKE_CURRENT_LIST_DIR}/consumer)
file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${work}/build)
set(headers_only -D MBIRK_BUILD_PROGRAM=OFF -D MBIRK_BUILD_TESTS=OFF -D MBIRK_BUILD_BENCH=OFF
    -D MBIRK_BUILD_EXAMPLES=OFF)
set(recipe_files vcpkg/mbirk/vcpkg.json spack/spack_repo/mbirk/packages/mbirk/package.py)
set(recipe_texts "\"version\": \"${version}\"" "version(\"${version}\")")
set(warnings -Wall -Wextra -Werror)  # a user's own warnings must stay quiet, too

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# build_by_compiler(<argument>...): the consumer without CMake.
function(build_by_compiler)
  if(compiler MATCHES "nvcc$")
    run(${compiler} -x cu -std=c++20 -Werror all-warnings -Xcompiler=-Wall,-Wextra,-Werror ${ARGN}
        ${consumer}/main.cpp -o ${work}/build/consumer)
  else()
    run(${compiler} -std=c++20 ${warnings} ${ARGN} ${consumer}/main.cpp -o ${work}/build/consumer)
  endif()
endfunction()

# build_by_cmake(<argument>...)
function(build_by_cmake)
  list(JOIN warnings " " flags)
  run(${CMAKE_COMMAND} -S ${consumer} -B ${work}/build -G ${generator} -D CMAKE_CXX_COMPILER=${compiler}
      -D CMAKE_CXX_FLAGS=${flags} ${ARGN})
  run(${CMAKE_COMMAND} --build ${work}/build)
endfunction()

# install_moved(<argument>...): moved after it was installed: the package may not remember where that was.
function(install_moved)
  run(${CMAKE_COMMAND} --install ${build} --config ${config} --prefix ${work}/installed ${ARGN})
  file(RENAME ${work}/installed ${work}/moved)
endfunction()

if(way STREQUAL "include_only")
  build_by_compiler(-I ${source}/include)
elseif(way STREQUAL "find_package")
  install_moved()
  build_by_cmake(-D CMAKE_PREFIX_PATH=${work}/moved)
  run(${work}/build/consumer_compiled)
elseif(way STREQUAL "add_subdirectory")
  build_by_cmake(-D MBIRK_SOURCE=${source})
elseif(way STREQUAL "fetch_content")
  # An archive with what docs/installing.md says is enough.
  execute_process(COMMAND ${CMAKE_COMMAND} -E tar czf ${work}/mbirk.tar.gz CMakeLists.txt LICENSE NOTICE
                          cmake include
                  WORKING_DIRECTORY ${source} COMMAND_ERROR_IS_FATAL ANY)
  build_by_cmake(-D MBIRK_ARCHIVE=${work}/mbirk.tar.gz)
  # What contains the library installs its own files only.
  run(${CMAKE_COMMAND} --install ${work}/build --prefix ${work}/installed)
  if(EXISTS ${work}/installed)
    message(FATAL_ERROR "installing the consumer installed mbirk too")
  endif()
elseif(way STREQUAL "pkg_config")
  install_moved(--component dev)
  set(ENV{PKG_CONFIG_PATH} ${work}/moved/share/pkgconfig)
  run(${tool} --validate mbirk)
  run(${tool} --exact-version=${version} mbirk)
  execute_process(COMMAND ${tool} --cflags mbirk
                  OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  build_by_compiler(${flags})
elseif(way STREQUAL "debian")
  run(${CMAKE_COMMAND} -S ${source} -B ${work}/sources -G ${generator} -D CMAKE_CXX_COMPILER=${compiler}
      ${headers_only})
  run(${CMAKE_CPACK_COMMAND} --config ${work}/sources/CPackConfig.cmake -B ${work}/packages)
  set(package ${work}/packages/libmbirk-dev_${version}-1_all.deb)
  run(${tool} --extract ${package} ${work}/root)
  file(GLOB_RECURSE files RELATIVE ${work}/root ${work}/root/*)
  file(GLOB_RECURSE expected RELATIVE ${source} ${source}/include/mbirk/*.hpp ${source}/include/mbirk/*.cuh)
  list(APPEND expected share/cmake/mbirk/mbirk-config.cmake share/cmake/mbirk/mbirk-config-version.cmake
       share/cmake/mbirk/mbirk-targets.cmake share/doc/libmbirk-dev/changelog.Debian.gz
       share/doc/libmbirk-dev/copyright share/pkgconfig/mbirk.pc)
  list(TRANSFORM expected PREPEND usr/)
  list(SORT files)
  list(SORT expected)
  if(NOT files STREQUAL expected)
    message(FATAL_ERROR "${package} has\n${files}\nexpected\n${expected}")
  endif()
  build_by_cmake(-D CMAKE_PREFIX_PATH=${work}/root/usr)
elseif(way STREQUAL "conan")
  set(ENV{CONAN_HOME} ${work}/conan)
  set(ENV{CXX} ${compiler})
  run(${tool} profile detect)
  run(${tool} create ${source}/packaging/conan --settings compiler.cppstd=20
      --conf:all tools.cmake.cmaketoolchain:generator=${generator}
      --conf:all tools.cmake.cmake_layout:test_folder=${work}/build)
  return()  # its test_package builds and runs the consumer, and compares the version
elseif(way STREQUAL "launcher")
  # bin/mbirk becomes libexec/mbirk/SET/mbirk, which here is a script that prints its set and its arguments.
  file(WRITE ${work}/build/instruction_sets.inc "MBIRK_SET(x86_64, \"x86-64\")\nMBIRK_SET(x86_64_v3, \"x86-64-v3\")\n")
  file(MAKE_DIRECTORY ${work}/bin)
  run(${compiler} -std=c++20 ${warnings} -I ${source}/include -I ${work}/build -D MBIRK_COMPILED=1
      -D MBIRK_DISPATCHED=1 -D MBIRK_PROGRAMS="../libexec/mbirk"
      ${source}/bench/mbirk/launcher/launcher.cpp ${source}/src/instruction_set.cpp -o ${work}/bin/mbirk)
  foreach(set IN ITEMS x86-64 x86-64-v3)
    file(WRITE ${work}/libexec/mbirk/${set}/mbirk "#!/bin/sh\necho ${set} \"$@\"\n")
    file(CHMOD ${work}/libexec/mbirk/${set}/mbirk PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  endforeach()
  # expect(<MBIRK_INSTRUCTION_SET> <exit code> <regex>): of what the launcher prints, which is one line.
  function(expect variable code regex)
    execute_process(COMMAND ${CMAKE_COMMAND} -E env MBIRK_INSTRUCTION_SET=${variable} ${work}/bin/mbirk ops --json
                    RESULT_VARIABLE result OUTPUT_VARIABLE printed ERROR_VARIABLE printed)
    if(NOT result EQUAL code OR NOT printed MATCHES "^${regex}\n$")
      message(FATAL_ERROR "MBIRK_INSTRUCTION_SET=${variable}: exit code ${result} and '${printed}', "
              "expected ${code} and '${regex}'")
    endif()
  endfunction()
  expect("" 0 "x86-64(-v3)? ops --json")
  expect(x86-64 0 "x86-64 ops --json")
  expect(x86-64-v9 2 "mbirk: MBIRK_INSTRUCTION_SET is \"x86-64-v9\", expected [^\n]*")
  file(REMOVE ${work}/libexec/mbirk/x86-64/mbirk)
  expect(x86-64 2 "mbirk: [^\n]*/mbirk cannot be run: No such file or directory")
  return()
elseif(way STREQUAL "aarch64")
  # nlohmann_json is the same for all processors; what else lies in its folder is not.
  run(${compiler} -std=c++20 -O1 ${warnings} -I ${source}/include -idirafter /usr/include -static
      ${CMAKE_CURRENT_LIST_DIR}/aarch64.cpp -o ${work}/build/aarch64)
  set(golden ${source}/tests/golden)
  run(${tool} ${work}/build/aarch64 ${golden}/cone_odd ${golden}/parallel_odd ${golden}/cone_32 ${golden}/parallel_32)
  return()
elseif(way STREQUAL "recipes")
  # Those that are tried by hand at least say our version.
  foreach(recipe text IN ZIP_LISTS recipe_files recipe_texts)
    file(READ ${source}/packaging/${recipe} content)
    string(FIND "${content}" "${text}" found)
    if(found EQUAL -1)
      message(FATAL_ERROR "packaging/${recipe} lacks ${text}")
    endif()
  endforeach()
  return()
else()
  message(FATAL_ERROR "no way '${way}'")
endif()

execute_process(COMMAND ${work}/build/consumer
                OUTPUT_VARIABLE printed OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
if(NOT printed STREQUAL version)
  message(FATAL_ERROR "the consumer printed '${printed}', expected '${version}', the version in CMakeLists.txt")
endif()
