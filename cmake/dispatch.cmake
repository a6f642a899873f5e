# mbirk_add_instruction_sets(<library> <source>...): adds the sources to the library once for each of
# MBIRK_INSTRUCTION_SETS, with the table of their operations.
#
# The objects of a set are combined into one that exports only the table. Everything else in them becomes local:
# otherwise the linker could use an inline function compiled for one processor's vectors, such as a member of
# std::vector, in the whole program.
find_program(MBIRK_LD ld REQUIRED)
find_program(MBIRK_OBJCOPY objcopy REQUIRED)

function(mbirk_add_instruction_sets library)
  target_include_directories(${library} PRIVATE ${MBIRK_INSTRUCTION_SETS_DIR})
  set(any $<$<STREQUAL:${MBIRK_INSTANCES},all>:MBIRK_SETS_HAVE_ANY=1>)
  target_compile_definitions(${library} PRIVATE ${any})

  foreach(set IN LISTS MBIRK_INSTRUCTION_SETS)
    string(MAKE_C_IDENTIFIER ${set} identifier)
    set(objects mbirk_${identifier})
    add_library(${objects} OBJECT ${ARGN} dispatch/set.cpp)
    set_target_properties(${objects} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON
                          INTERPROCEDURAL_OPTIMIZATION OFF)
    if(MBIRK_GROUPS)  # as in the library
      set_target_properties(${objects} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    endif()
    target_link_libraries(${objects} PRIVATE mbirk::mbirk)
    target_include_directories(${objects} PRIVATE ${MBIRK_INSTRUCTION_SETS_DIR})
    target_compile_definitions(${objects} PRIVATE MBIRK_COMPILED=1 MBIRK_DISPATCHED=1
                               MBIRK_INSTRUCTION_SET=${identifier} ${any})
    # Symbols that are unique in a process cannot become local. g++ 12 warns of its own std::string.
    target_compile_options(${objects} PRIVATE -march=${set} -ffp-contract=off
                           "$<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique;-Wno-restrict>")
    mbirk_warnings(${objects})

    set(combined ${CMAKE_CURRENT_BINARY_DIR}/${objects}.o)
    add_custom_command(
      OUTPUT ${combined}
      COMMAND ${MBIRK_LD} -r --force-group-allocation -o ${combined}.all $<TARGET_OBJECTS:${objects}>
      COMMAND ${MBIRK_OBJCOPY} --keep-global-symbol=mbirk_operations_${identifier} ${combined}.all ${combined}
      COMMAND ${CMAKE_COMMAND} -E rm ${combined}.all
      DEPENDS ${objects} $<TARGET_OBJECTS:${objects}>
      COMMENT "Combining the kernels for ${set}"
      COMMAND_EXPAND_LISTS
      VERBATIM)
    set_source_files_properties(${combined} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
    target_sources(${library} PRIVATE ${combined})
  endforeach()
endfunction()
