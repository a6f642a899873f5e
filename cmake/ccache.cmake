# Repeated builds reuse ccache's results. A launcher that the user chose stays.
if(MBIRK_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(MBIRK_CCACHE_PROGRAM ccache)
  if(MBIRK_CCACHE_PROGRAM)
    # ccache supports precompiled headers only if it may ignore their time stamps.
    set(launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${MBIRK_CCACHE_PROGRAM})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${launcher})
    add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
  endif()
endif()
