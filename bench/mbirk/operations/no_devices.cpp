// Implementation for the programs mbirk and mbirk-mpi, which have no device policies of their own.
#include "operations/device_factories.hpp"

namespace mbirk::program {

device_factories const& devices_of_this_program() {
  static device_factories const none;
  return none;
}

}  // namespace mbirk::program
