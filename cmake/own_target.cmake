include(${CMAKE_CURRENT_LIST_DIR}/warnings.cmake)

# mbirk_own_target(<target>): what all our own programs share: the library, threads, this machine's instructions, warnings.
function(mbirk_own_target target)
  target_link_libraries(${target} PRIVATE mbirk::mbirk)
  if(OpenMP_CXX_FOUND)
    target_link_libraries(${target} PRIVATE OpenMP::OpenMP_CXX)
  endif()
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  # CUDA_STANDARD 20 would say this, but CMake 3.25 does not know that nvcc can.
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:-std=c++20>")
  if(MBIRK_NATIVE)
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-march=native>")
  endif()
  mbirk_warnings(${target})
endfunction()

# mbirk_output_libraries(<target>): the text and compression packages that the profiler's headers use, those that were found.
function(mbirk_output_libraries target)
  foreach(package IN ITEMS fmt::fmt nlohmann_json::nlohmann_json ZLIB::ZLIB)
    if(TARGET ${package})
      target_link_libraries(${target} PRIVATE ${package})
    endif()
  endforeach()
endfunction()
