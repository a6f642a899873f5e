# cmake -D draw=<program> -D kept=<picture> -D drawn=<file> -P check_picture.cmake: the picture is what the program
# draws.
execute_process(COMMAND ${draw} ${drawn} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files --ignore-eol ${kept} ${drawn} RESULT_VARIABLE different)
if(different)
  message(FATAL_ERROR "${kept} is not what ${draw} draws; if the change is meant, copy ${drawn} over it")
endif()
