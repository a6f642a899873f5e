# mbirk_add_device_module(<name> <policy> <library>...): a module <name> whose operations run on a device, CUDA or
# EMULATED. It is made of sources of _core, whose types it has too, so it has a domain of its own.
set(mbirk_python_folder ${CMAKE_CURRENT_LIST_DIR})
function(mbirk_add_device_module name policy)
  set(sources array cone denoiser device_module iterations parallel policy values weights_and_median)
  list(TRANSFORM sources PREPEND ${mbirk_python_folder}/src/)
  list(TRANSFORM sources APPEND .cpp)
  set(target mbirk_python${name})
  nanobind_add_module(${target} NOMINSIZE STABLE_ABI NB_DOMAIN ${target} ${sources})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} CXX_EXTENSIONS OFF UNITY_BUILD ON
                                             UNITY_BUILD_BATCH_SIZE 0)
  target_compile_definitions(${target} PRIVATE MBIRK_PYTHON_${policy}=1)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wno-psabi $<$<CXX_COMPILER_ID:GNU>:-O1>)
  target_link_libraries(${target} PRIVATE ${ARGN})
endfunction()
