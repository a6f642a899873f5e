// Starts the program mbirk. The rest is compiled with the commands, because reading their headers takes seconds.
#include "commands/run_program.hpp"

int main(int argc, char** argv) { return mbirk::program::run_program(argc, argv); }
