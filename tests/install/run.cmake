# cmake -D way=find_package|add_subdirectory|include_only ... -P run.cmake: builds and runs consumer/ in the folder ${work}.
set(consumer ${CMAKE_CURRENT_LIST_DIR}/consumer)
file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${work}/build)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

if(way STREQUAL "include_only")
  # A user's own warnings must stay quiet, too.
  run(${compiler} -std=c++20 -Wall -Wextra -Werror -I ${source}/include ${consumer}/main.cpp -o ${work}/build/consumer)
else()
  if(way STREQUAL "find_package")
    # Moved after it was installed: the package may not remember where that was.
    run(${CMAKE_COMMAND} --install ${build} --config ${config} --prefix ${work}/installed)
    file(RENAME ${work}/installed ${work}/moved)
    set(how -D CMAKE_PREFIX_PATH=${work}/moved)
  else()
    set(how -D MBIRK_SOURCE=${source})
  endif()
  run(${CMAKE_COMMAND} -S ${consumer} -B ${work}/build -G ${generator} -D CMAKE_CXX_COMPILER=${compiler} ${how})
  run(${CMAKE_COMMAND} --build ${work}/build)
endif()

execute_process(COMMAND ${work}/build/consumer OUTPUT_VARIABLE printed OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
if(NOT printed STREQUAL version)
  message(FATAL_ERROR "the consumer printed '${printed}', expected '${version}', the version in CMakeLists.txt")
endif()
