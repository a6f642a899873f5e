# Repeated builds reuse ccache's results, also those of another clone. A launcher that the user chose stays.
if(MBIRK_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(MBIRK_CCACHE_PROGRAM ccache)
  if(MBIRK_CCACHE_PROGRAM)
    # -march=native means something else on another processor, and ccache does not notice: a file with the compiler's
    # interpretation takes part in its hash.
    set(interpretation ${PROJECT_BINARY_DIR}/CMakeFiles/native_target.txt)
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -march=native -E -dM -x c++ /dev/null
                    OUTPUT_FILE ${interpretation} ERROR_QUIET)
    cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH repository)
    # ccache supports precompiled headers only if it may ignore their time stamps, and clang writes none.
    set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${repository} CCACHE_NOHASHDIR=1
                 CCACHE_EXTRAFILES=${interpretation}
                 CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
                 ${MBIRK_CCACHE_PROGRAM})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${launcher})
    add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>
                        "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>")
  endif()
endif()
