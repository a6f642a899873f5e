# cmake -D embed=<embed.cmake> -D folder=<assets> -D kept=<header> -D made=<file> -D namespace=<name> -D prefix=<prefix>
# -P check_assets.cmake: the header is what embed.cmake makes of its assets.
set(names -D namespace=${namespace} -D prefix=${prefix})
execute_process(COMMAND ${CMAKE_COMMAND} -D folder=${folder} -D header=${made} ${names} -P ${embed}
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files --ignore-eol ${kept} ${made} RESULT_VARIABLE different)
if(different)
  message(FATAL_ERROR "${kept} is not what ${embed} makes of ${folder}: copy ${made} over it")
endif()
