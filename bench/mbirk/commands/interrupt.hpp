// ctrl-C, a request to terminate and the loss of the terminal stop long work at the next point where its state can be
// saved.
#pragma once

#include <signal.h>

#include "mbirk/core/error.hpp"

namespace mbirk::program {

/// During its lifetime, the first of these signals asks the work to stop; a second ctrl-C or request to terminate ends
/// the program at once.
class interrupt_watch {
 public:
  interrupt_watch();
  ~interrupt_watch();
  interrupt_watch(interrupt_watch const&) = delete;
  interrupt_watch& operator=(interrupt_watch const&) = delete;

 private:
  struct sigaction before_[3] = {};
};

/// Whether the user asked to stop since the watch began.
bool interrupt_asked();

/// Thrown when the user asked to stop and nothing was written; not an error of the input.
struct interrupted : error { using error::error; };
/// @throws interrupted
void stop_if_asked();

}  // namespace mbirk::program
