// ctrl-C stops long work at the next point where its state can be saved.
#pragma once

#include <signal.h>

#include "mbirk/core/error.hpp"

namespace mbirk::program {

/// During its lifetime, the first ctrl-C asks the work to stop; the second one ends the program at once.
class interrupt_watch {
 public:
  interrupt_watch();
  ~interrupt_watch();
  interrupt_watch(interrupt_watch const&) = delete;
  interrupt_watch& operator=(interrupt_watch const&) = delete;

 private:
  struct sigaction before_[2] = {};
};

/// Whether the user asked to stop since the watch began.
bool interrupt_asked();

/// Thrown when the user asked to stop and nothing was written; not an error of the input.
struct interrupted : error { using error::error; };
/// @throws interrupted
void stop_if_asked();

}  // namespace mbirk::program
