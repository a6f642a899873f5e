// Options shared by all commands, and the error for an unavailable policy.
#pragma once

#include <string>

#include "mbirk/core/error.hpp"

namespace mbirk::program {

/// Ends the program with exit code 3.
struct unavailable_error : error { using error::error; };

/// The options of every command.
struct common_options {
  std::string policy = "host";
  int threads = 0;  ///< 0: all available threads
  bool quiet = false;
};

}  // namespace mbirk::program
