# g++ looks for garbage whenever its heap has grown by a fixed share, which costs a tenth of the time that our sources
# take: what it has read of headers is never garbage. It begins later where there are 3 GB for each processor.
cmake_host_system_information(RESULT mebibytes QUERY TOTAL_PHYSICAL_MEMORY)
cmake_host_system_information(RESULT processors QUERY NUMBER_OF_LOGICAL_CORES)
math(EXPR mebibytes_needed "3000 * ${processors}")
set(mbirk_compiler_memory "")
if(mebibytes GREATER mebibytes_needed)
  set(mbirk_compiler_memory --param=ggc-min-heapsize=1000000)
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:${mbirk_compiler_memory}>)
endif()
