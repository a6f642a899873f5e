// Implementation for the program mbirk-mpi, which has no device policies of its own.
#include "ranks/rank_reconstructor.hpp"

namespace mbirk::program {

rank_devices const& rank_devices_of_this_program() {
  static rank_devices const none;
  return none;
}

}  // namespace mbirk::program
