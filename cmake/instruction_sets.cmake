# Options: whether mbirk::compiled and the program contain kernels for several instruction sets, one of which is chosen
# at run time, and the list of sets. On by default in distributions; off in builds for this machine, with your own
# -march, and with tests or benchmarks, which examine the kernels.
set(mbirk_dispatch ON)
if(MBIRK_NATIVE OR CMAKE_CXX_FLAGS MATCHES "-march=" OR MBIRK_BUILD_TESTS OR MBIRK_BUILD_BENCH
   OR NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" OR NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
  set(mbirk_dispatch OFF)
endif()
option(MBIRK_DISPATCH "Compile for several instruction sets and choose one at run time" ${mbirk_dispatch})
set(MBIRK_INSTRUCTION_SETS "x86-64;x86-64-v3;x86-64-v4" CACHE STRING
    "The instruction sets of MBIRK_DISPATCH, from the least, which every processor must have, to the greatest")
if(MBIRK_DISPATCH AND (MBIRK_NATIVE OR MBIRK_BUILD_TESTS OR MBIRK_BUILD_BENCH))
  message(FATAL_ERROR "mbirk: MBIRK_DISPATCH is on, expected off with MBIRK_NATIVE, MBIRK_BUILD_TESTS or "
          "MBIRK_BUILD_BENCH")
endif()

# The list for the sources: MBIRK_SET(identifier, name) for each.
set(MBIRK_INSTRUCTION_SETS_DIR ${PROJECT_BINARY_DIR}/instruction_sets)
set(list "")
foreach(set IN LISTS MBIRK_INSTRUCTION_SETS)
  if(NOT set MATCHES "^x86-64(-v[34])?$")
    message(FATAL_ERROR "mbirk: MBIRK_INSTRUCTION_SETS has ${set}, expected x86-64, x86-64-v3 and x86-64-v4")
  endif()
  string(MAKE_C_IDENTIFIER ${set} identifier)
  string(APPEND list "MBIRK_SET(${identifier}, \"${set}\")\n")
endforeach()
file(CONFIGURE OUTPUT ${MBIRK_INSTRUCTION_SETS_DIR}/instruction_sets.inc CONTENT "${list}")
