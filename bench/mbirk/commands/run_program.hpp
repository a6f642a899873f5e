// The program mbirk: parses the command line, runs one command, and turns every failure into one line and an exit code.
#pragma once

namespace mbirk::program {

/// @return the exit code of the process
int run_program(int argc, char** argv);

}  // namespace mbirk::program
