# cmake -D compiler=... -D include=... -D file=... -P check.cmake; the file has a line `// expect: <regular expression
# of CMake>`.
file(STRINGS ${file} expect REGEX "^// expect: ")
string(REGEX REPLACE "^// expect: " "" expect "${expect}")
if(expect STREQUAL "")
  message(FATAL_ERROR "${file} has no line '// expect: <regex>'")
endif()

set(compile ${compiler} -std=c++20 -fsyntax-only -I ${include} ${file})
execute_process(COMMAND ${compile} -DMBIRK_GOOD RESULT_VARIABLE result ERROR_VARIABLE message)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "does not compile with MBIRK_GOOD:\n${message}")
endif()
execute_process(COMMAND ${compile} RESULT_VARIABLE result ERROR_VARIABLE message)
if(result EQUAL 0)
  message(FATAL_ERROR "compiles, but must not")
elseif(NOT message MATCHES "${expect}")
  message(FATAL_ERROR "fails, but not with '${expect}':\n${message}")
endif()
